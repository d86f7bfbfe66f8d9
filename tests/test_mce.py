"""Minimum classification error against its definition: every labelling of short sentences, scored in texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
from piece_twin import supervised
from template_cases import CASES, Case
from test_criteria import columns, gold_of, trained, twin_of

from dcrfdsl.criteria.likelihood import build_likelihood
from dcrfdsl.criteria.mce import build_mce
from dcrfdsl.criteria.mce.measures import MEASURES, Counts
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.spec.losses import (
    LOSSES,
    LogisticSmoothing,
    MceSettings,
    SequenceLoss,
    SigmoidSmoothing,
    SmoothingSettings,
)
from dcrfdsl.spec.resolve import load_text
from dcrfdsl.spec.settings import ExactSettings, GaussianPrior, LikelihoodSettings, NoPrior, TrainSettings
from dcrfdsl.training import fit

GRAPHS = ["independent", "chain", "padded chain", "second order", "factorial", "three chains", "skip chain", "segments",
          "forbidden moves", "a view that ties weights"]  # fmt: skip
SMOOTH = [SigmoidSmoothing(alpha=0.7, beta=0.3), LogisticSmoothing(alpha=1.4)]


def settings_of(**own: Any) -> TrainSettings:
    return TrainSettings(criterion=MceSettings(**own), prior=NoPrior(), infer=ExactSettings())


def scores_of(case: Case, weights: Any) -> list[tuple[Any, tuple[int, ...]]]:
    """Of every sentence the log potential of each labelling, and the index of the right one."""
    model, _ = trained(case)
    model = model.with_weights(weights, model.record)
    twin, found = twin_of(model, case), []
    for sentence in case.sentences:
        table = columns(case, sentence)
        gold = gold_of(model, table)
        right = tuple(model.states[name].index(gold[name][t]) for t in range(len(sentence)) for name in model.states)
        found.append((twin.joint(table), right))
    return found


def smooth(own: SmoothingSettings, d: float, beta: float = 0.0) -> float:
    z = own.alpha * d + (beta if own.beta is None else own.beta)
    logistic = float(np.logaddexp(0.0, z))
    return math.exp(z - logistic) if own.method == "sigmoid" else logistic / own.alpha


def soft_maximum(others: Any, psi: float, normalise: bool) -> float:
    if math.isinf(psi):
        return float(others.max())
    mean = math.log(len(others)) if normalise else 0.0
    return (float(reference.log_sum(psi * others)) - mean) / psi


def expected_sequences(case: Case, weights: Any, own: MceSettings) -> float:
    total = 0.0
    for scores, right in scores_of(case, weights):
        possible = np.isfinite(scores)
        wrong = possible.copy()
        wrong[right] = False
        if not wrong.any():
            total += smooth(own.smoothing, -700.0)
            continue
        best = soft_maximum(scores[wrong], own.psi, own.normalise)
        log_z = float(reference.log_sum(scores[possible]))
        match own.measure:
            case "softmax":
                total += smooth(own.smoothing, best - scores[right])
            case "ratio":
                total += smooth(own.smoothing, math.exp(best - scores[right]), -own.smoothing.alpha)
            case "difference":
                total += smooth(own.smoothing, math.exp(best - log_z) - math.exp(scores[right] - log_z))
    return total


@pytest.mark.parametrize("measure", ["softmax", "ratio", "difference"])
@pytest.mark.parametrize("psi", [0.5, 1.0, 3.0, math.inf])
@pytest.mark.parametrize("name", GRAPHS)
def test_whole_sentences(name: str, psi: float, measure: str) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    weights = 0.3 * weights
    for smoothing in SMOOTH:
        own = {"psi": psi, "measure": measure, "smoothing": smoothing, "normalise": psi == 3.0}
        objective = build_mce(given, settings_of(**own))
        value, gradient = objective.value_and_gradient(weights)
        assert value == pytest.approx(expected_sequences(case, weights, MceSettings(**own)), rel=1e-9)
        numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)  # noqa: B023
        np.testing.assert_allclose(gradient, numeric, atol=2e-6 * max(1.0, np.abs(gradient).max()))


@pytest.mark.parametrize("name", GRAPHS)
def test_one_choice_of_settings_is_the_likelihood(name: str) -> None:
    given, weights = supervised(CASES[name])
    own = {"psi": 1.0, "smoothing": LogisticSmoothing(), "loss": SequenceLoss()}
    value, gradient = build_mce(given, settings_of(**own)).value_and_gradient(weights)
    likelihood = TrainSettings(criterion=LikelihoodSettings(), prior=NoPrior(), infer=ExactSettings())
    expected, expected_gradient = build_likelihood(given, likelihood).value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9 * np.abs(expected_gradient).max())


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain"])
def test_a_large_psi_comes_to_the_best_wrong_labelling(name: str) -> None:
    given, weights = supervised(CASES[name])
    far = [
        build_mce(given, settings_of(psi=psi)).value_and_gradient(weights) for psi in (10.0, 100.0, 1000.0, math.inf)
    ]
    gaps = [abs(value - far[-1][0]) for value, _ in far[:-1]]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-3
    assert np.abs(far[2][1] - far[3][1]).max() < np.abs(far[0][1] - far[3][1]).max()


# positions and segments ----------------------------------------------------------------------------------------------

HEADER = "data conll(word, y)\nlabel y in {scheme}(A, B)\nclique y: bias, word\nclique y[-1], y\n"
BIO = [
    [("p", "B-A"), ("q", "I-A"), ("p", "B-A"), ("r", "O")],
    [("q", "O"), ("r", "B-B"), ("p", "I-B"), ("q", "I-B")],
    [("r", "O"), ("q", "B-A")],
    [("q", "B-B")],
]
BIOES = [
    [("p", "B-A"), ("q", "E-A"), ("p", "S-A")],
    [("q", "O"), ("r", "B-B"), ("p", "E-B")],
    [("r", "S-B")],
    [("p", "O"), ("q", "B-A"), ("r", "I-A"), ("p", "E-A")],
]
PAIR = "data conll(word, y, z)\nlabel y in bio(A)\nlabel z in bio(B)\nclique y: bias, word\nclique z: bias, word\n" \
       "clique y[-1], y\nclique z[-1], z\nclique y, z\n"  # fmt: skip
PAIRS = [
    [("p", "B-A", "O"), ("q", "I-A", "B-B"), ("r", "O", "I-B")],
    [("r", "O", "B-B"), ("p", "B-A", "B-B")],
]

SEGMENTED = {
    "bio": Case(HEADER.format(scheme="bio"), BIO, None),
    "bioes": Case(HEADER.format(scheme="bioes"), BIOES, None),
    "two labels": Case(PAIR, PAIRS, None),
    "second order": Case(HEADER.format(scheme="bio") + "clique y[-2], y\n", BIO, None),
    "skip": Case(HEADER.format(scheme="bio") + "clique y[i], y[j] where word[i] = word[j] as skip with min_gap = 2\n",
                 BIO, None),
}  # fmt: skip


def segments(labels: list[str]) -> set[tuple[int, int, str]]:
    """The segments of a legal labelling: from each B or S to the last label of its type that goes on."""
    found = set()
    for t, label in enumerate(labels):
        if label[0] in "BS":
            end = t
            while label[0] == "B" and end + 1 < len(labels) and labels[end + 1][0] in "IE":
                end += 1
            found.add((t, end, label[2:]))
    return found


def goes_on(labels: list[str], last: int) -> bool:
    """Whether the segment at `last` goes on behind it."""
    return labels[last][0] in "BI" and last + 1 < len(labels) and labels[last + 1][0] in "IE"


def labellings_of(
    case: Case, weights: Any
) -> list[tuple[dict[str, list[str]], list[tuple[dict[str, list[str]], float]]]]:
    """Of every sentence the gold labels, and every labelling with its score."""
    model, _ = trained(case)
    model = model.with_weights(weights, model.record)
    twin, found = twin_of(model, case), []
    names = list(model.states)
    for sentence in case.sentences:
        table = columns(case, sentence)
        scores = twin.joint(table)
        every = [
            (
                {name: [model.states[name][index[t * len(names) + m]] for t in range(len(sentence))]
                 for m, name in enumerate(names)},
                float(scores[index]),
            )
            for index in np.argwhere(np.isfinite(scores)).tolist()
            for index in [tuple(index)]
        ]  # fmt: skip
        found.append((gold_of(model, table), every))
    return found


def judged(agrees: Any, every: Any) -> float:
    """d of a stretch: the best that disagrees less the best that agrees."""
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
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


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
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights)
    np.testing.assert_allclose(gradient, numeric, atol=2e-6)


@pytest.mark.parametrize("name", ["bio", "bioes", "two labels"])
def test_smooth_counts_come_to_those_of_conlleval(name: str) -> None:
    """With α = 10⁴ every stretch counts as 0 or 1: TP, FP and FN of the best labelling."""
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


@pytest.mark.parametrize("loss", ["sequence", "label", "fscore"])
def test_single_sentences_sum_to_the_gradient_of_all(loss: str) -> None:
    case = SEGMENTED["bio"]
    given, weights = supervised(case)
    names = {} if loss == "sequence" else {"labels": ("y",)}
    settings = settings_of(loss=LOSSES[loss](**names)).model_copy(update={"prior": GaussianPrior(variance=3.0)})
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


def test_training_is_the_same_for_any_number_of_threads() -> None:
    text = HEADER.format(scheme="bio") + "train mce: loss = fscore(y), optimizer = quickprop(online = 2)\n"
    resolved = load_text(text)
    corpus = corpus_from_rows(BIO * 20, resolved.require().data)
    fits = [fit(resolved, corpus, threads=threads).weights for threads in (1, 2, 3)]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("found", [0.0, 1e-200])
def test_weights_that_find_nothing_are_worse_than_all_others_and_lead_nowhere(name: str, found: float) -> None:
    measure = MEASURES[name](MceSettings())
    assert measure(Counts(0, -found, 2.0)) == (math.inf, 0.0, 0.0)
    assert measure(Counts(3, 2.9, 2.0)).value < math.inf
