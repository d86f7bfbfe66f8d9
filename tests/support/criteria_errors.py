"""Error rates of minimum classification error by enumeration of labellings (Suzuki 2006), slow and obvious.

Not here: the other criteria (`criteria_twin`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from criteria_cases import Enumerated, segments_of
from criteria_twin import Problem, Value, log_sum
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labelling = Mapping[str, Sequence[str]]


def sigmoid(alpha: float, beta: float) -> Callable[[float], float]:
    return lambda d: 1.0 / (1.0 + math.exp(min(700.0, -alpha * d - beta)))


def logistic(alpha: float, beta: float) -> Callable[[float], float]:
    return lambda d: float(np.logaddexp(0.0, alpha * d + beta)) / alpha


def mce_sequence(
    smooth: Callable[[float], float], psi: float = math.inf, normalise: bool = False, measure: str = "softmax"
) -> Value:
    """Suzuki 2006 eq. 5–10 and the appendix; hidden labels are summed out at ψ = 1 and maximised over at ψ = inf."""

    def value(problem: Problem, weights: Floats) -> float:
        total = 0.0
        for sentence in problem.sentences:
            scores = sentence.counts @ weights
            wrong, right = scores[~sentence.agrees], scores[sentence.agrees]
            if math.isinf(psi):
                best, gold = float(wrong.max()), float(right.max())
            else:
                by_labels = sentence.by_labels(sentence.agrees.astype(float))  # |Y| counts those, not hidden states
                count = sum(any(agreeing) for agreeing in by_labels.values())  # those that agree with what is known
                mean = math.log((len(by_labels) - count) / count) if normalise else 0.0
                best = (log_sum(psi * wrong) - mean) / psi
                gold = log_sum(psi * right) / psi
            d = best - gold
            if measure == "ratio":
                d = math.exp(d)
            if measure == "difference":
                log_z = log_sum(scores)
                d = math.exp(best - log_z) - math.exp(gold - log_z)
            total += smooth(d)
        return total

    return value


def judged(
    sentence: Enumerated, scores: Floats, agrees: Callable[[Labelling], bool], span: Callable[[Labelling], object],
    psi: float,
) -> float:  # fmt: skip
    """d of a span: the score of the best labelling that disagrees on it, minus that of the best that agrees.

    With ψ finite, a soft maximum over the states of the span in place of the best that disagrees.
    """
    right = sentence.where(agrees)
    best: dict[object, float] = {}
    for y, score, agreeing in zip(sentence.labellings, scores, right, strict=True):
        if not agreeing:
            best[span(y)] = max(best.get(span(y), -math.inf), float(score))
    wrong = np.array(list(best.values()))
    if math.isfinite(psi) and best:
        return float(log_sum(psi * wrong)) / psi - float(scores[right].max())
    return float(wrong.max(initial=-math.inf)) - float(scores[right].max())


def mce_label(
    smooth: Callable[[float], float], name: str = "y", balanced: bool = False, psi: float = math.inf
) -> Value:
    def value(problem: Problem, weights: Floats) -> float:
        losses: list[tuple[str, float]] = []
        for sentence in problem.sentences:
            scores = sentence.counts @ weights
            for t, gold in enumerate(sentence.known[name]):
                if gold is not None:
                    d = judged(sentence, scores, lambda y: y[name][t] == gold, lambda y: y[name][t], psi)  # noqa: B023
                    losses.append((gold, smooth(d)))
        states = [state for state, _ in losses]
        share = {state: len(states) / (len(set(states)) * states.count(state)) for state in states}
        return sum((share[state] if balanced else 1.0) * one for state, one in losses)

    return value


def mce_segments(
    smooth: Callable[[float], float], measure: str, gamma: float, name: str = "y", literal: bool = False,
    psi: float = math.inf,
) -> Value:  # fmt: skip
    """Eq. 13–16: missed gold segments, and false segments of the best wrong labelling, both smoothed.

    literal: what follows a segment is not looked at.
    """

    def states(first: int, last: int) -> Callable[[Labelling], object]:
        return lambda y: tuple(y[name][first : last + 1])

    def value(problem: Problem, weights: Floats) -> float:
        total, missed, false = 0, 0.0, 0.0
        for sentence in problem.sentences:
            scores = sentence.counts @ weights
            gold = [str(state) for state in sentence.known[name]]
            for segment in segments_of(gold):
                total += 1

                def has(y: Labelling, segment: tuple[int, int] = segment) -> bool:
                    first, last = segment
                    if literal:
                        return list(y[name][first : last + 1]) == gold[first : last + 1]  # noqa: B023
                    return segment in segments_of(y[name])

                missed += smooth(judged(sentence, scores, has, states(*segment), psi))
            measured = sentence.where(lambda y: list(y[name]) != gold)  # noqa: B023
            rival = sentence.labellings[int(np.flatnonzero(measured)[scores[measured].argmax()])]
            for first, last in segments_of(rival[name]) - segments_of(gold):

                def agrees(y: Labelling, first: int = first, last: int = last) -> bool:
                    same = list(y[name][first : last + 1]) == gold[first : last + 1]  # noqa: B023
                    return same and (literal or goes_on(y[name], last) == goes_on(gold, last))  # noqa: B023

                false += smooth(judged(sentence, scores, agrees, states(first, last), psi))
        hit = total - missed
        return {
            "fscore": (gamma**2 * missed + false) / ((gamma**2 + 1.0) * hit),
            "precision": false / hit,
            "recall": missed / hit,
        }[measure]

    return value


def goes_on(states: Sequence[str], last: int) -> bool:
    """Whether the segment at `last` continues after it."""
    return states[last] != "O" and last + 1 < len(states) and states[last + 1] == "I-X"
