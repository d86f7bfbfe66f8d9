"""The best labelling and the sums of one short chain, in numpy alone: nothing is compiled, and nothing loads.

A chain has scores s_t(y) [T, L] and transitions ψ(i, j) [L, L] between neighbours, both logarithms:

    δ_t(j) = max_i (δ_{t-1}(i) + ψ(i, j)) + s_t(j)
    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) exp ψ(i, j)        β_t(i) = Σ_j exp(ψ(i, j) + s_{t+1}(j)) β_{t+1}(j)

Sums run in the linear domain, each row divided by its total (Rabiner 1989 §III), and in logarithms where a number
becomes too small for that. Not here: scores of items (`scoring`), data sets (`inference`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats

__all__ = ["Transitions", "best_path", "path_score", "sums_of", "transitions_of"]

_FLOOR = 1e-100  # a product of three such numbers is still a normal double: no underflow goes unnoticed


@dataclass(frozen=True)
class Transitions:
    """The transitions of all neighbours in the forms that the loops read.

    scores: [L, L] ψ(i, j);  turned: [L, L] ψ(i, j) at [j, i];  peak: their maximum
    linear: [L, L] exp(ψ − peak)
    """

    scores: Floats
    turned: Floats
    peak: float
    linear: Floats


def transitions_of(scores: Floats) -> Transitions:
    """The forms of transitions [L, L]."""
    peak = float(scores.max())
    return Transitions(scores, np.ascontiguousarray(scores.T), peak, np.exp(scores - peak))


def best_path(scores: Floats, transitions: Transitions) -> list[int]:
    """The best labelling [T] of T ≥ 1 positions; of equal ones that with the lowest label, from the right."""
    length, turned = len(scores), transitions.turned
    best = np.empty_like(scores)  # δ
    best[0] = scores[0]
    through = np.empty_like(turned)
    for t in range(1, length):
        np.add(best[t - 1], turned, out=through)
        np.maximum.reduce(through, axis=1, out=best[t])
        best[t] += scores[t]
    path = [int(best[-1].argmax())]
    for t in range(length - 2, -1, -1):
        path.append(int((best[t] + turned[path[-1]]).argmax()))
    path.reverse()
    return path


def path_score(scores: Floats, transitions: Transitions, path: list[int]) -> float:
    """The unnormalised log score of a labelling [T]."""
    states = scores[np.arange(len(path)), path].sum()
    return float(states + transitions.scores[path[:-1], path[1:]].sum())


def sums_of(scores: Floats, transitions: Transitions) -> tuple[float, Floats]:
    """(log Z, marginals [T, L]) of T ≥ 1 positions."""
    found = _linear_sums(scores, transitions)
    return found if found is not None else _log_sums(scores, transitions)


def _linear_sums(scores: Floats, transitions: Transitions) -> tuple[float, Floats] | None:
    """None if a number may have become too small."""
    length, linear = len(scores), transitions.linear
    peaks = scores.max(axis=1)
    states = np.exp(scores - peaks[:, None])
    forward, backward = np.empty_like(states), np.ones_like(states)
    totals = np.empty(length)
    row = states[0]
    for t in range(length):
        if t:
            row = row @ linear
            row *= states[t]
        total = totals[t] = row.sum()
        if not total > 0.0:
            return None
        row = np.divide(row, total, out=forward[t])
    for t in range(length - 2, -1, -1):
        row = linear @ (states[t + 1] * backward[t + 1])
        np.divide(row, row.sum(), out=backward[t])
    if min(states.min(), forward.min(), backward.min()) < _FLOOR:
        return None
    marginals = forward * backward
    marginals /= marginals.sum(axis=1, keepdims=True)
    return float(np.log(totals).sum() + peaks.sum() + (length - 1) * transitions.peak), marginals


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
