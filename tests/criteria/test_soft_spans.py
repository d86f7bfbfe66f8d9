"""Soft maxima over the states of spans (finite ψ), where moves have scores of their own, against every labelling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import BIO, goes_on, labellings_of, segments, settings_of, smooth
from model_cases import trained
from piece_twin import supervised
from template_cases import Case

from dcrfdsl.criteria.mce_objective import build_mce
from dcrfdsl.criteria.span_errors import SpanCounter
from dcrfdsl.foundation import DcrfError
from dcrfdsl.inference.bound.chain_runs import ChainRuns, LinkedChains
from dcrfdsl.semantics.settings.loss_settings import (
    LOSSES,
    LogisticSmoothing,
    SigmoidSmoothing,
    SmoothingSettings,
)

HEAD = "data conll(word, y)\nlabel y in bio(A, B)\nclique y: bias, word\n"
MOVES = {
    "features of moves": "clique y[-1], y: bias, word\n",
    "padded": "clique y[-1], y with edges = pad: word, word[-1]\n",
    "two cliques of moves": "clique y[-1], y: word\nclique y[1], y as later: bias, word\n",
    "a move through a view": "view kind = prefix(y, 1)\nclique kind[-1], y: bias, word\nclique y[-1], y\n",
    "a constraint that reads": "clique y[-1], y: bias, word\nforbid y[-1] is O and y is B-A when word is r\n",
}


def case_of(name: str) -> Case:
    return Case(HEAD + MOVES[name], BIO, None)


def soft_d(agrees: Any, part: Any, every: Any, psi: float) -> float:
    """eq. 7 with 15: wrong states u of a span have the score of the best labelling that has them.   part: what of a
    labelling the sum tells apart.
    """
    right = max(score for labels, score in every if agrees(labels))
    best: dict[Any, float] = {}
    for labels, score in every:
        if not agrees(labels):
            best[part(labels)] = max(best.get(part(labels), -math.inf), score)
    return reference.log_sum(psi * np.array(list(best.values()))) / psi - right if best else -math.inf


def loss_of(
    gold: list[str], every: Any, span: tuple[int, int, bool], psi: float, smoothing: SmoothingSettings
) -> float:
    """ℓ(d) of a span (first, last, whether it must go on as the gold one)."""
    first, last, checked = span

    def agrees(labels: dict[str, list[str]]) -> bool:
        own = labels["y"]
        same = own[first : last + 1] == gold[first : last + 1]
        return same and (not checked or goes_on(own, last) == goes_on(gold, last))

    d = soft_d(agrees, lambda labels: tuple(labels["y"][first : last + 1]), every, psi)
    return smooth(smoothing, d) if d > -math.inf else 0.0


def expected(case: Case, weights: Any, psi: float, loss: str, smoothing: SmoothingSettings) -> float:
    """The objective by going through all labellings."""
    missed = false = 0.0
    judged = 0
    for gold_labels, every in labellings_of(case, weights):
        gold = gold_labels["y"]
        spans = [(t, t, False) for t in range(len(gold))]
        if loss == "fscore":
            spans = [(first, last, True) for first, last, _ in segments(gold)]
            wrong, _ = max(((labels["y"], score) for labels, score in every if labels["y"] != gold), key=lambda p: p[1])
            new = segments(wrong) - segments(gold)
            false += sum(loss_of(gold, every, (a, b, gold[b][0] in "BI"), psi, smoothing) for a, b, _ in new)
        judged += len(spans)
        missed += sum(loss_of(gold, every, span, psi, smoothing) for span in spans)
    return missed if loss == "label" else (missed + false) / (2.0 * (judged - missed))


@pytest.mark.parametrize("psi", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("loss", ["label", "fscore"])
@pytest.mark.parametrize("name", MOVES)
def test_value_and_gradient_are_those_of_every_labelling(name: str, loss: str, psi: float) -> None:
    case = case_of(name)
    given, _ = supervised(case)
    generator = np.random.default_rng(3)
    weights = generator.normal(0.0, 0.7, trained(case)[0].num_weights)
    for smoothing in (SigmoidSmoothing(alpha=0.8, beta=0.3), LogisticSmoothing(alpha=0.7)):
        if loss == "fscore" and smoothing.method != "sigmoid":
            continue
        own = settings_of(loss=LOSSES[loss](labels=("y",)), psi=psi, smoothing=smoothing)
        objective = build_mce(given, own)
        assert isinstance(objective.counter, SpanCounter) and isinstance(objective.counter._runs, LinkedChains)
        value, gradient = objective.value_and_gradient(weights)
        assert value == pytest.approx(expected(case, weights, psi, loss, smoothing), rel=1e-9)
        reference.assert_gradient(lambda w, o=objective: o.value_and_gradient(w)[0], weights, gradient, 1e-5)


@pytest.mark.parametrize("loss", ["label", "fscore"])
def test_moves_that_are_the_same_everywhere_are_a_special_case(loss: str) -> None:
    """The two ways to compute the same objective agree."""
    case = Case(HEAD + "clique y[-1], y\n", BIO, None)
    given, _ = supervised(case)
    objective = build_mce(given, settings_of(loss=LOSSES[loss](labels=("y",)), psi=2.0))
    counter = objective.counter
    assert isinstance(counter, SpanCounter) and isinstance(counter._runs, ChainRuns)
    weights = np.random.default_rng(4).normal(0.0, 0.8, objective.num_weights)
    value, gradient = objective.value_and_gradient(weights)
    objective.counter = SpanCounter(counter.data, LinkedChains, counter.labelling, counter.judging, given.workers)
    other, other_gradient = objective.value_and_gradient(weights)
    assert other == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_gradient, gradient, rtol=1e-9, atol=1e-12)


def test_other_graphs_are_refused_in_words() -> None:
    case = Case(HEAD + "clique y[-2], y: word\n", BIO, None)
    given, _ = supervised(case)
    with pytest.raises(DcrfError, match="one label is known everywhere and joined to its neighbours alone"):
        build_mce(given, settings_of(loss=LOSSES["label"](labels=("y",)), psi=2.0))
