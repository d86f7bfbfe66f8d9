"""The best labelling and the sums of one short chain, in numpy alone: nothing is compiled, and nothing loads.

A chain has scores s_t(y) [T, L] and transitions ψ(i, j) [L, L] between neighbours, both logarithms:

    δ_t(j) = max_i (δ_{t-1}(i) + ψ(i, j)) + s_t(j)
    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) exp ψ(i, j)        β_t(i) = Σ_j exp(ψ(i, j) + s_{t+1}(j)) β_{t+1}(j)

Sums run in the linear domain, some rows divided by their totals (Rabiner 1989 §III), and in logarithms where a number
becomes too small for that. Not here: scores of items (`scoring`), data sets (`inference`).
"""

from __future__ import annotations

import math

import numpy as np

from ..foundation import Floats, Ints, dataclass

_STEPS = 4  # rows between two that are divided by their totals
_FLOOR = 1e-100  # a product of three such numbers is still a normal double: no underflow goes unnoticed


@dataclass(frozen=True)
class Transitions:
    """The transitions of all neighbours in the forms that the loops read.

    scores: [L, L] ψ(i, j);  turned: [L, L] ψ(i, j) at [j, i];  peak: their maximum
    linear: [L, L] exp(ψ − peak);  is_even: whether none of them is too small for sums in the linear domain
    starts: [L] where the rows of a flat [L, L] begin
    """

    scores: Floats
    turned: Floats
    peak: float
    linear: Floats
    is_even: bool
    starts: Ints


def transitions_of(scores: Floats) -> Transitions:
    """The forms of transitions [L, L]."""
    peak = float(scores.max())
    linear = np.exp(scores - peak)
    starts = np.arange(0, scores.size, len(scores))
    return Transitions(scores, np.ascontiguousarray(scores.T), peak, linear, bool(linear.min() >= _FLOOR), starts)


def best_path(scores: Floats, transitions: Transitions) -> list[int]:
    """The best labelling [T] of T ≥ 1 positions; of equal ones that with the lowest label, from the right."""
    length, turned, starts = len(scores), transitions.turned, transitions.starts
    through = np.empty_like(turned)  #                           δ_{t-1}(i) + ψ(i, j) at [j, i]
    flat = through.reshape(-1)
    came = np.empty((length, len(turned)), np.intp)  #           the best label before each label
    best = scores[0]
    add, argmax, take = np.add, through.argmax, flat.take
    for state, before in zip(scores[1:], came[1:], strict=True):
        add(best, turned, through)
        argmax(1, before)
        best = take(before + starts)
        best += state
    path = [int(best.argmax())]
    for row in came[:0:-1].tolist():
        path.append(row[path[-1]])
    path.reverse()
    return path


def path_score(scores: Floats, transitions: Transitions, path: list[int]) -> float:
    """The unnormalised log score of a labelling [T]."""
    states = scores[np.arange(len(path)), path].sum()
    return float(states + transitions.scores[path[:-1], path[1:]].sum())


def sums_of(scores: Floats, transitions: Transitions) -> tuple[float, Floats]:
    """(log Z, marginals [T, L]) of T ≥ 1 positions."""
    found = _linear_sums(scores, transitions) if transitions.is_even else None
    return found if found is not None else _log_sums(scores, transitions)


def _linear_sums(scores: Floats, transitions: Transitions) -> tuple[float, Floats] | None:
    """None if a number may have become too small."""
    length, linear = len(scores), transitions.linear
    peaks = scores.max(axis=1)
    states = np.exp(scores - peaks[:, None])
    forward, backward = np.empty_like(states), np.ones_like(states)
    ones = np.ones(len(linear))
    log_scale = 0.0  # what forward rows have been divided by
    row = forward[0] = states[0]
    for t in range(1, length):
        row = np.multiply(row.dot(linear), states[t], forward[t])
        if t % _STEPS == 0:
            total = float(row.dot(ones))  # faster than a sum
            if not total > 0.0:
                return None
            row /= total
            log_scale += math.log(total)
    for t in range(length - 1, 0, -1):
        row = linear.dot(states[t] * backward[t], backward[t - 1])
        if t % _STEPS == 0:
            row /= max(row.dot(ones), _FLOOR)
    if min(states.min(), forward.min(), backward.min()) < _FLOOR:
        return None
    marginals = forward * backward
    marginals /= marginals.sum(axis=1, keepdims=True)
    log_scale += math.log(forward[-1].dot(ones)) + float(peaks.sum())
    return log_scale + (length - 1) * transitions.peak, marginals


def _log_sums(scores: Floats, transitions: Transitions) -> tuple[float, Floats]:
    """The same in logarithms: slower, and right for all finite scores."""
    forward, backward = np.empty_like(scores), np.zeros_like(scores)
    forward[0] = scores[0]
    for t in range(1, len(scores)):
        forward[t] = np.logaddexp.reduce(forward[t - 1] + transitions.turned, axis=1) + scores[t]
    for t in range(len(scores) - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(transitions.scores + (scores[t + 1] + backward[t + 1]), axis=1)
    log_z = float(np.logaddexp.reduce(forward[-1]))
    return log_z, np.exp(forward + backward - log_z)
