"""Errors on positions and segments, and measures of them, against every labelling; and their training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import (
    BIO,
    HEADER,
    SEGMENTED,
    goes_on,
    labellings_of,
    segments,
    settings_of,
    smooth,
)
from piece_twin import supervised
from template_cases import CASES, Case

from dcrfdsl.criteria.error_counts import MEASURES
from dcrfdsl.criteria.mce_objective import build_mce
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.loss_settings import (
    LOSSES,
    LogisticSmoothing,
    MceSettings,
    SigmoidSmoothing,
    SmoothingSettings,
)
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.training.pipeline import fit

# positions and segments ----------------------------------------------------------------------------------------------


def judged(agrees: Any, every: Any) -> float:
    """d of a span: the best that disagrees less the best that agrees."""
    right = max(score for labels, score in every if agrees(labels))
    return max((score for labels, score in every if not agrees(labels)), default=-math.inf) - right


def agreeing(name: str, gold: list[str], first: int, last: int) -> Any:
    def agrees(labels: dict[str, list[str]]) -> bool:
        own = labels[name]
        return own[first : last + 1] == gold[first : last + 1] and goes_on(own, last) == goes_on(gold, last)

    return agrees


def expected_counts(
    case: Case, weights: Any, names: list[str], smoothing: SmoothingSettings
) -> tuple[int, float, float]:
    """How many gold segments there are, the smooth count of those missed, and of those falsely found."""
    total, missed, false = 0, 0.0, 0.0
    for gold, every in labellings_of(case, weights):
        for name in names:
            for segment in segments(gold[name]):
                total += 1
                missed += smooth(smoothing, judged(lambda labels: segment in segments(labels[name]), every))  # noqa: B023
        wrong = [own for own in every if any(own[0][name] != gold[name] for name in names)]
        rival = max(wrong, key=lambda own: own[1])[0]
        for name in names:
            for first, last, _ in segments(rival[name]) - segments(gold[name]):
                false += smooth(smoothing, judged(agreeing(name, gold[name], first, last), every))
    return total, missed, false


MEASURED = {
    "fscore": lambda n, fn, fp: (4.0 * fn + fp) / (5.0 * (n - fn)),
    "precision": lambda n, fn, fp: fp / (n - fn),
    "recall": lambda n, fn, fp: fn / (n - fn),
}


@pytest.mark.long
@pytest.mark.parametrize("measure", MEASURED)
@pytest.mark.parametrize("name", SEGMENTED)
def test_measures_of_segments(name: str, measure: str) -> None:
    case = SEGMENTED[name]
    labels = ["y", "z"] if name == "two labels" else ["y"]
    given, weights = supervised(case)
    smoothing = SigmoidSmoothing(alpha=0.6, beta=0.2)
    loss = LOSSES[measure](labels=tuple(labels))
    objective = build_mce(given, settings_of(loss=loss, gamma=2.0, smoothing=smoothing))
    value, gradient = objective.value_and_gradient(weights)
    counts = expected_counts(case, weights, labels, smoothing)
    assert counts[1] > 0.1 and counts[2] > 0.1
    assert value == pytest.approx(MEASURED[measure](*counts), rel=1e-9)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 1e-6)


@pytest.mark.parametrize("method", ["label", "balanced_accuracy"])
@pytest.mark.parametrize("name", ["chain", "factorial", "segments", "second order"])
def test_positions(name: str, method: str) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    smoothing = LogisticSmoothing(alpha=0.8)
    objective = build_mce(given, settings_of(loss=LOSSES[method](labels=("y",)), smoothing=smoothing))
    value, gradient = objective.value_and_gradient(weights)
    found, states = [], []
    for gold, every in labellings_of(case, weights):
        for t, state in enumerate(gold["y"]):
            found.append(smooth(smoothing, judged(lambda labels: labels["y"][t] == state, every)))  # noqa: B023
            states.append(state)
    share = {state: len(states) / (len(set(states)) * states.count(state)) for state in states}
    shares = [share[state] if method == "balanced_accuracy" else 1.0 for state in states]
    assert value == pytest.approx(float(np.dot(found, shares)), rel=1e-9)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 2e-6)


@pytest.mark.parametrize("name", ["bio", "bioes", "two labels"])
def test_smooth_counts_come_to_those_of_conlleval(name: str) -> None:
    """With α = 10⁴ every span counts as 0 or 1: TP, FP and FN of the best labelling."""
    case = SEGMENTED[name]
    given, weights = supervised(case)
    labels = ["y", "z"] if name == "two labels" else ["y"]
    loss = LOSSES["fscore"](labels=tuple(labels))
    objective = build_mce(given, settings_of(loss=loss, smoothing=SigmoidSmoothing(alpha=1e4)))
    all_right, all_wrong = 0, 0
    for seed in range(4):
        weights = np.random.default_rng(seed).normal(0.0, 1.0, len(weights))
        counted = objective.counter.count(weights)
        right, predicted, total = 0, 0, 0
        for gold, every in labellings_of(case, weights):
            best = max(every, key=lambda own: own[1])[0]
            for own in labels:
                right += len(segments(best[own]) & segments(gold[own]))
                predicted += len(segments(best[own]))
                total += len(segments(gold[own]))
        assert counted.missed == pytest.approx(total - right, abs=1e-6)
        assert counted.false == pytest.approx(predicted - right, abs=1e-6)
        all_right, all_wrong = all_right + right, all_wrong + predicted - right
    assert all_right > 0 and all_wrong > 0


@pytest.mark.parametrize(
    ("loss", "psi"),
    [("sequence", math.inf), ("label", math.inf), ("fscore", math.inf), ("label", 1.0), ("fscore", 2.0)],
)
def test_single_sentences_sum_to_the_gradient_of_all(loss: str, psi: float) -> None:
    case = SEGMENTED["bio"]
    given, weights = supervised(case)
    names = {} if loss == "sequence" else {"labels": ("y",)}
    settings = settings_of(loss=LOSSES[loss](**names), psi=psi).model_copy(
        update={"prior": GaussianPrior(variance=3.0)}
    )
    objective = build_mce(given, settings)
    _, gradient = objective.value_and_gradient(weights)
    batches = objective.batches(1)
    assert batches is not None and batches.count == len(case.sentences)
    batches.begin(weights)
    summed = weights / 3.0
    for number in range(batches.count):
        _, touched, part = batches.gradient(number)
        summed[touched] += part
    np.testing.assert_allclose(summed, gradient, atol=1e-10)


@pytest.mark.parametrize(
    "optimizer", ["auto", "lbfgs", "cg", "owlqn", "gpd", "sgd", "quickprop", "quickprop(online = 0)"]
)
def test_every_optimizer_lowers_it(optimizer: str) -> None:
    text = HEADER.format(scheme="bio") + (
        "train likelihood as map: prior = gaussian(variance = 1), optimizer = lbfgs(max_iterations = 3)\n"
        "train mce as mce_f after map: loss = fscore(y), prior = gaussian(variance = 100), optimizer = OPTIMIZER\n"
    )
    resolved = load_text(text.replace("OPTIMIZER", optimizer))
    corpus = corpus_from_rows(BIO, resolved.require().data)
    before, after = fit(resolved, corpus, stage="map"), fit(resolved, corpus)
    given, _ = supervised(SEGMENTED["bio"])
    settings = settings_of(loss=LOSSES["fscore"](labels=("y",)))
    objective = build_mce(given, settings.model_copy(update={"prior": GaussianPrior(variance=100.0)}))
    assert after.record.objective == pytest.approx(objective.value_and_gradient(after.weights)[0], rel=1e-9)
    assert after.record.objective < 0.9 * objective.value_and_gradient(before.weights)[0]


@pytest.mark.parametrize("name", ["bio", "bioes"])
def test_a_large_psi_comes_to_the_best_wrong_states_of_a_span(name: str) -> None:
    given, weights = supervised(SEGMENTED[name])
    loss = LOSSES["fscore"](labels=("y",))
    far = [
        build_mce(given, settings_of(loss=loss, psi=psi)).value_and_gradient(weights)
        for psi in (10.0, 100.0, 1000.0, math.inf)
    ]
    gaps = [abs(value - far[-1][0]) for value, _ in far[:-1]]
    assert 0.0 < gaps[0] >= gaps[1] >= gaps[2] < 1e-3
    assert np.abs(far[2][1] - far[3][1]).max() < np.abs(far[0][1] - far[3][1]).max()


def test_scores_far_apart_keep_their_digits() -> None:
    """The sum over wrong states is no difference of a sum over all: far below y*, it is still that of ψ = inf."""
    case = SEGMENTED["bio"]
    given, weights = supervised(case)
    loss = LOSSES["label"](labels=("y",))
    for scale in (40.0, 200.0):
        soft, best = (
            build_mce(given, settings_of(loss=loss, psi=psi, smoothing=LogisticSmoothing(alpha=0.01)))
            for psi in (50.0, math.inf)
        )
        value, gradient = soft.value_and_gradient(scale * weights)
        expected, expected_gradient = best.value_and_gradient(scale * weights)
        assert value == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@pytest.mark.parametrize("name", ["second order", "skip", "two labels"])
def test_soft_maxima_of_spans_are_refused_off_chains(name: str) -> None:
    given, _ = supervised(SEGMENTED[name])
    with pytest.raises(DcrfError, match="joined to its neighbours alone"):
        build_mce(given, settings_of(loss=LOSSES["fscore"](labels=("y",)), psi=1.0))


@pytest.mark.long
@pytest.mark.parametrize("psi", ["inf", "1"])
def test_training_is_the_same_for_any_number_of_threads(psi: str) -> None:
    text = (
        HEADER.format(scheme="bio") + f"train mce: loss = fscore(y), psi = {psi}, optimizer = quickprop(online = 2)\n"
    )
    resolved = load_text(text)
    corpus = corpus_from_rows(BIO * 20, resolved.require().data)
    fits = [fit(resolved, corpus, threads=threads).weights for threads in (1, 2, 3)]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("found", [0.0, 1e-200])
def test_weights_that_find_nothing_are_worse_than_all_others_and_lead_nowhere(name: str, found: float) -> None:
    measure = MEASURES[name](MceSettings())
    assert measure(0, -found, 2.0) == (math.inf, 0.0, 0.0)
    assert measure(3, 2.9, 2.0).value < math.inf


@pytest.mark.long
def test_the_first_rate_of_single_sentences_fits_the_scale_of_a_measure() -> None:
    """The derivatives of an F-score go as one over the size of the data; so must steps after single sentences grow."""
    text = HEADER.format(scheme="bio") + "train mce: loss = fscore(y), prior = none, optimizer = gpd(epochs = 5)\n"
    resolved = load_text(text)
    corpus = corpus_from_rows(BIO * 200, resolved.require().data)
    steps: list[float] = []
    fit(resolved, corpus, threads=1, on_iteration=lambda step: steps.append(step.objective))
    assert steps[-1] < 0.5 * steps[0]
