"""A table of all criteria with their main variants: the settings as in a template, and the value by enumeration.

Not here: the tests of a row on a structure (`test_all_criteria`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from criteria_errors import logistic, mce_label, mce_segments, mce_sequence, sigmoid
from criteria_pieces import Cases, both_ways, by_clique, by_site, by_variable, directed, joined_apart, pieces
from criteria_twin import (
    PENALTIES,
    Problem,
    Value,
    boosted,
    cost_of_states,
    exponential,
    hmsvm,
    likelihood,
    marginal,
    perceptron,
    softmax_margin,
    wrong_segments,
    wrong_states,
)
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """train: the criterion with its settings.   value: its value by enumeration; `on_skip`: the value on the structure
    `skip`, if different.   kind: the kind of states.   prepare: a call on the objective before it is evaluated.
    """

    train: str
    value: Value
    kind: str = "plain"
    prepare: Callable[[Any, Floats], None] = lambda objective, weights: None
    on_skip: Value | None = None


def complete(objective: Any, weights: Floats) -> None:
    """Completes the hidden labels at the weights."""
    objective.complete(weights)


def penalised(prior: str) -> Value:
    return lambda problem, weights: likelihood(problem, weights) + PENALTIES[prior](weights)


def word_penalty(problem: Problem, weights: Floats) -> float:
    is_word = np.array([key[0] == "y_words" for key in problem.keys])
    return (
        likelihood(problem, weights)
        + float((weights[is_word] ** 2).sum())
        + float((weights[~is_word] ** 2).sum()) / 6.0
    )


NO = "prior = none"
COSTLY = {  # texts of pairs of gold and predicted state, and what they say
    "plain": ('"P Q 2.5", "* P 0.4"', {("P", "Q"): 2.5, ("Q", "P"): 0.4}),
    "bio": ('"B-X O 2.5", "* I-X 0.4"', {("B-X", "O"): 2.5, ("O", "I-X"): 0.4, ("B-X", "I-X"): 0.4}),
}
HARD, SOFT = sigmoid(0.8, 0.3), logistic(1.4, 0.2)
HARD_TEXT, SOFT_TEXT = "smoothing = sigmoid(alpha = 0.8, beta = 0.3)", "smoothing = logistic(alpha = 1.4, beta = 0.2)"
ROWS: dict[str, Row] = {
    # sums over labellings
    **{f"likelihood, {prior}": Row(f"likelihood: prior = {prior}", penalised(prior)) for prior in PENALTIES},
    "likelihood, segments": Row(f"likelihood: {NO}", likelihood, "bio"),
    "likelihood, hamming": Row(f"likelihood: {NO}, cost = hamming", softmax_margin(wrong_states)),
    **{
        f"likelihood, cost{', segments' if kind == 'bio' else ''}": Row(
            f"likelihood: {NO}, cost = cost(y, {texts}, others = 1.5, scale = 0.7)",
            softmax_margin(lambda sentence, pairs=pairs: 0.7 * cost_of_states(sentence, pairs, 1.5)), kind,
        )
        for kind, (texts, pairs) in COSTLY.items()
    },
    "likelihood, cost of segments": Row(
        f"likelihood: {NO}, cost = segments(y, missed = 3, false = 0.5)",
        softmax_margin(lambda sentence: wrong_segments(sentence, 3.0, 0.5)), "bio",
    ),
    "likelihood, cost of segments, added": Row(
        f"likelihood: {NO}, cost = sum(segments(y, missed = 2), hamming(scale = 3), scale = 0.5)",
        softmax_margin(lambda s: 0.5 * (wrong_segments(s, 2.0) + 3.0 * wrong_states(s))), "bio",
    ),
    "induce": Row(f"induce: {NO}", likelihood),
    "marginal": Row(f"marginal: {NO}", marginal),
    "marginal, segments": Row(f"marginal: {NO}", marginal, "bio"),
    "exponential": Row(f"exponential: {NO}", exponential(None)),
    "exponential, weight = 0.4": Row(f"exponential: {NO}, weight = 0.4", exponential(0.4)),
    "exponential, segments": Row(f"exponential: {NO}", exponential(None), "bio"),
    "adaboost": Row("adaboost", boosted(None)),
    "adaboost, weight = 0.4": Row("adaboost: weight = 0.4", boosted(0.4)),
    "adaboost, segments": Row("adaboost", boosted(None), "bio"),
    # the best labellings
    "perceptron": Row("perceptron", perceptron),
    "perceptron, segments": Row("perceptron", perceptron, "bio"),
    **{
        f"hmsvm, {loss}, slack = {slack}{', segments' if kind == 'bio' else ''}": Row(
            f"hmsvm: C = 0.7, loss = {loss}, slack = {slack}{more}",
            hmsvm(loss, slack, 0.7, weight), kind, prepare=complete,
        )
        for loss in ("zero_one", "hamming")
        for slack, more, weight in (("sequence", "", 1.0), ("labelling", ", most = 10000, weight = 0.6", 0.6))
        for kind in ("plain", "bio")
    },
    **{
        f"hmsvm, cost, slack = {slack}{', segments' if kind == 'bio' else ''}": Row(
            f"hmsvm: C = 0.7, loss = cost(y, {texts}, others = 1.5), slack = {slack}{more}",
            hmsvm("cost", slack, 0.7, weight, pairs, 1.5), kind, prepare=complete,
        )
        for slack, more, weight in (("sequence", "", 1.0), ("labelling", ", most = 10000, weight = 0.6", 0.6))
        for kind, (texts, pairs) in COSTLY.items()
    },
    **{
        f"hmsvm, segments, slack = {slack}": Row(
            f"hmsvm: C = 0.7, loss = segments(y), slack = {slack}{more}",
            hmsvm("segments", slack, 0.7, weight), "bio", prepare=complete,
        )
        for slack, more, weight in (("sequence", "", 1.0), ("labelling", ", most = 10000, weight = 0.6", 0.6))
    },
    "hmsvm, segments, added": Row(
        "hmsvm: C = 0.7, loss = sum(segments(y, missed = 3, false = 0.5), hamming, scale = 0.8)",
        hmsvm(lambda s: 0.8 * (wrong_segments(s, 3.0, 0.5) + wrong_states(s)), "sequence", 0.7), "bio",
        prepare=complete,
    ),
    # error rates
    **{
        f"mce, psi = {psi}, {name}": Row(f"mce: {NO}, psi = {psi}, {text}", mce_sequence(smooth, float(psi)))
        for psi in ("inf", "1", "0.5")
        for name, text, smooth in (("sigmoid", HARD_TEXT, HARD), ("logistic", SOFT_TEXT, SOFT))
    },
    "mce, psi = 2, normalise": Row(f"mce: {NO}, psi = 2, normalise = yes, {HARD_TEXT}", mce_sequence(HARD, 2.0, True)),
    "mce, psi = 1, normalise": Row(f"mce: {NO}, psi = 1, normalise = yes, {HARD_TEXT}", mce_sequence(HARD, 1.0, True)),
    **{
        f"mce, {measure}, psi = {psi}": Row(
            f"mce: {NO}, psi = {psi}, measure = {measure}, {HARD_TEXT}", mce_sequence(HARD, float(psi), measure=measure)
        )
        for measure in ("ratio", "difference") for psi in ("inf", "1")
    },
    "mce, ratio, beta = -alpha": Row(
        f"mce: {NO}, psi = 1, measure = ratio, smoothing = sigmoid(alpha = 0.8)",
        mce_sequence(sigmoid(0.8, -0.8), 1.0, measure="ratio"),
    ),
    "mce, segments": Row(f"mce: {NO}, {HARD_TEXT}", mce_sequence(HARD), "bio"),
    "mce, loss = label": Row(f"mce: {NO}, loss = label(y), {SOFT_TEXT}", mce_label(SOFT)),
    "mce, loss = label, segments": Row(f"mce: {NO}, loss = label(y), {HARD_TEXT}", mce_label(HARD), "bio"),
    "mce, loss = balanced_accuracy": Row(
        f"mce: {NO}, loss = balanced_accuracy(y), {HARD_TEXT}", mce_label(HARD, balanced=True), "bio"
    ),
    **{
        f"mce, loss = {measure}": Row(
            f"mce: {NO}, loss = {measure}(y), gamma = 2, {HARD_TEXT}", mce_segments(HARD, measure, 2.0), "bio"
        )
        for measure in ("fscore", "precision", "recall")
    },
    **{
        f"mce, loss = {measure}, literal": Row(
            f"mce: {NO}, loss = {measure}(y), segments = literal, {HARD_TEXT}",
            mce_segments(HARD, measure, 1.0, literal=True), "bio",
        )
        for measure in ("fscore", "precision")
    },
    **{
        f"mce, soft {measure}, psi = {psi}{', literal' * literal}": Row(
            f"mce: {NO}, psi = {psi}, loss = {measure}(y), {HARD_TEXT}{', segments = literal' * literal}",
            mce_segments(HARD, measure, 1.0, literal=literal, psi=psi), "bio",
        )
        for measure, psi, literal in (("fscore", 1.0, False), ("fscore", 0.5, True), ("recall", 3.0, False),
                                      ("precision", 1.0, False))
    },
    **{
        f"mce, soft label, psi = {psi}": Row(
            f"mce: {NO}, psi = {psi}, loss = label(y), {HARD_TEXT}", mce_label(HARD, psi=psi), "bio"
        )
        for psi in (1.0, 2.0)
    },
    "mce, soft label, ratio": Row(
        f"mce: {NO}, psi = 1, loss = label(y), measure = ratio, {HARD_TEXT}",
        mce_label(lambda d: HARD(math.exp(d)), psi=1.0),
    ),
    # pieces
    **{
        f"{text}{nota and ', nota = ' + nota_text}": Row(
            f"{text}: {NO}{nota and ', nota = ' + nota_text}", pieces(rule, cases),
            on_skip=pieces(joined_apart) if text == "piecewise" else None,
        )
        for text, rule in (
            ("piecewise", by_clique), ("pwpl", by_site), ("pseudolikelihood", by_variable), ("memm", directed()),
            ("memm(by = slice)", directed(by_slice=True)), ("memm(order = reverse)", directed(first=True)),
            ("bidirectional", both_ways),
        )
        for nota, nota_text, cases in (
            ("", "", None), ("all", "all", Cases()), ("one", "all(reach = one)", Cases(reach="one"))
        )
    },
    **{
        f"{text}, overlap = divide": Row(f"{text}: {NO}, overlap = divide", pieces(rule, divide=True))
        for text, rule in (("pwpl", by_site), ("pseudolikelihood", by_variable), ("bidirectional", both_ways))
    },
}  # fmt: skip
