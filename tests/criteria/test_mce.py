"""Minimum classification error against its definition: every labelling of short sentences, scored in texts."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import (
    SEGMENTED,
    labellings_with_hidden,
    scores_of,
    settings_of,
    smooth,
)
from piece_twin import supervised
from template_cases import CASES, Case

from dcrfdsl.criteria.likelihood import build_likelihood
from dcrfdsl.criteria.mce_objective import build_mce
from dcrfdsl.criteria.sequence_errors import SequenceCounter
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.settings.infer_settings import BpSettings, ExactSettings, TrpSettings
from dcrfdsl.semantics.settings.loss_settings import (
    LOSSES,
    LogisticSmoothing,
    MceSettings,
    SequenceLoss,
    SigmoidSmoothing,
)
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import LikelihoodSettings, TrainSettings

GRAPHS = ["independent", "chain", "padded chain", "second order", "factorial", "three chains", "skip chain", "segments",
          "forbidden moves", "a view that ties weights"]  # fmt: skip
SMOOTH = [SigmoidSmoothing(alpha=0.7, beta=0.3), LogisticSmoothing(alpha=1.4)]


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


@pytest.mark.long
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
        value_of = partial(lambda objective, w: objective.value_and_gradient(w)[0], objective)
        reference.assert_gradient(value_of, weights, gradient, 2e-6 * max(1.0, np.abs(gradient).max()))


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


# by messages ---------------------------------------------------------------------------------------------------------

BY_MESSAGES = [BpSettings(tolerance=1e-9), TrpSettings(tolerance=1e-9)]


def rivals_of(case: Case, settings: MethodSettings) -> tuple[Any, list[float]]:
    """The scores of the best wrong labellings that a method finds, one a sentence."""
    given, weights = supervised(case)
    objective = build_mce(given, settings_of(smoothing=LogisticSmoothing()).model_copy(update={"infer": settings}))
    assert isinstance(objective.counter, SequenceCounter) and objective.counter._competitors is not None
    codes = objective.counter._competitors.best(weights)
    return weights, [float(score) for score in objective.counter._scores(weights, codes.T.ravel())]


@pytest.mark.long
@pytest.mark.parametrize("settings", BY_MESSAGES, ids=lambda s: s.method)
@pytest.mark.parametrize("name", ["chain", "segments", "factorial", "skip chain"])
def test_messages_find_wrong_labellings(name: str, settings: MethodSettings) -> None:
    """Never better than the best wrong one; that one on trees, where the best of all is wrong."""
    case = CASES[name]
    weights, found = rivals_of(case, settings)
    is_tree = name in ("chain", "segments")
    times = 0
    for (scores, right), score in zip(scores_of(case, weights), found, strict=True):
        wrong = np.isfinite(scores)
        wrong[right] = False
        best = float(scores[wrong].max()) if wrong.any() else -math.inf
        assert score <= best + 1e-9
        if is_tree and best > scores[right]:
            assert score == pytest.approx(best, rel=1e-9)
            times += 1
    assert times > 0 or not is_tree


@pytest.mark.parametrize("settings", BY_MESSAGES, ids=lambda s: s.method)
@pytest.mark.parametrize("loss", ["sequence", "label", "fscore"])
def test_gradients_under_messages(loss: str, settings: MethodSettings) -> None:
    given, weights = supervised(SEGMENTED["two labels"])
    names = {} if loss == "sequence" else {"labels": ("y", "z")}
    own = settings_of(loss=LOSSES[loss](**names)).model_copy(update={"infer": settings})
    objective = build_mce(given, own)
    assert objective.counter.approximate
    value, gradient = objective.value_and_gradient(weights)
    exact = build_mce(given, settings_of(loss=LOSSES[loss](**names))).value_and_gradient(weights)[0]
    assert value == pytest.approx(exact, rel=0.3)  # messages may miss the best on loops
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 1e-6)


@pytest.mark.parametrize("psi", [1.0, math.inf])
def test_what_is_hidden_is_summed_out_or_filled_in(psi: float) -> None:
    """A latent variable and missing labels: log Σ_h exp g (ψ = 1), or the best completion (ψ = inf)."""
    text = (
        'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nlatent h in 2\nclique y, h: bias, word\n'
        "clique y[-1], y\ninfer exact\n"
    )
    sentences = [[("a", "P"), ("b", "_"), ("a", "Q")], [("b", "Q"), ("c", "P")], [("c", "_"), ("a", "P")]]
    case = Case(text, sentences, None)
    given, weights = supervised(case)
    objective = build_mce(given, settings_of(psi=psi, smoothing=LogisticSmoothing(alpha=0.9)))
    value, gradient = objective.value_and_gradient(weights)
    expected = 0.0
    for sentence, (labels, every) in zip(sentences, labellings_with_hidden(case, weights), strict=True):
        known = [t for t, (_, y) in enumerate(sentence) if y != "_"]
        right = [score for own, score in every if all(own["y"][t] == labels[t] for t in known)]
        wrong = [score for own, score in every if any(own["y"][t] != labels[t] for t in known)]
        add = reference.log_sum if psi == 1.0 else max
        expected += smooth(LogisticSmoothing(alpha=0.9), float(add(np.array(wrong))) - float(add(np.array(right))))
    assert value == pytest.approx(expected, rel=1e-9)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 1e-6)
    with pytest.raises(DcrfError, match="cannot sum out"):
        build_mce(given, settings_of(psi=2.0))
