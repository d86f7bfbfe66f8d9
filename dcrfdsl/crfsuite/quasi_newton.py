"""L-BFGS and OWL-QN with the settings, the steps and the stopping rules of CRFsuite.

Minimises f(λ) + c1 ‖λ‖₁ from λ = 0. Two rules end the search: ‖g‖ ≤ epsilon · max(1, ‖λ‖), with g the gradient, or the
pseudo-gradient where c1 > 0; and, once `period` iterations are done, a relative fall of the objective by less than
`delta` over the last `period` iterations. Sources: Nocedal & Wright, "Numerical optimization", algorithm 7.4; Andrew &
Gao, "Scalable training of L1-regularized log-linear models" (2007); CRFsuite's manual for the rules. The package's
own optimizers are faster; these stop where CRFsuite does. Not here: line searches along a smooth ray
(`line_searches`).

Inner products are our own: those of numpy share the machine's threads with others, and their sums depend on these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from .line_searches import LINE_SEARCHES, SHORTER, SUFFICIENT, TOO_MANY, Failure, Found, Ray, check_range

# why a search ended; others are `Failure.code`, and all are libLBFGS's numbers
CONVERGED, STOPPED, MINIMUM_AT_START, NO_MORE_ITERATIONS, NO_FEATURES = 0, 1, 2, -997, -1020

Objective = Callable[[Floats], tuple[float, Floats]]


class QuasiNewtonStep(NamedTuple):
    """An iteration, from 1: the objective, the norms of weights and (pseudo-)gradient, the step and its trials."""

    number: int
    weights: Floats
    objective: float
    weight_norm: float
    gradient_norm: float
    step: float
    trials: int


@dataclass(frozen=True)
class Rules:
    """The parameters of `lbfgs`; see CRFsuite's manual."""

    c1: float
    max_iterations: int
    num_memories: int
    epsilon: float
    period: int
    delta: float
    linesearch: str
    max_linesearch: int


def minimise_as_crfsuite(
    objective: Objective, num_weights: int, rules: Rules, watch: Callable[[QuasiNewtonStep], None]
) -> tuple[Floats, int]:
    """The weights of the last iteration that was reported to `watch`, and why it ended."""
    search = _Corners(objective, rules) if rules.c1 > 0.0 else _Smooth(objective, rules)
    weights = np.zeros(num_weights)
    value, gradient = search.evaluate(weights)
    slope = search.slope(weights, gradient)
    if norm_of(slope) <= rules.epsilon:
        return weights, MINIMUM_AT_START
    memory: deque[tuple[Floats, Floats, float]] = deque(maxlen=rules.num_memories)  # s, y and s·y
    past = deque([value], maxlen=max(1, rules.period))
    direction = -slope
    step = 1.0 / norm_of(direction)
    number = 0
    while True:
        try:
            found = search.along(weights, direction, value, slope, step)
        except Failure as failure:
            return weights, failure.code
        number += 1
        before, gradient_before = weights, gradient
        weights, value, gradient = found.weights, found.value, found.gradient
        slope = search.slope(weights, gradient)
        report = QuasiNewtonStep(number, weights, value, norm_of(weights), norm_of(slope), found.step, found.trials)
        watch(report)
        if report.gradient_norm <= rules.epsilon * max(1.0, report.weight_norm):
            return weights, CONVERGED
        if rules.period:
            if number >= rules.period and relative_fall(past[0], value) < rules.delta:
                return weights, STOPPED
            past.append(value)
        if rules.max_iterations and number >= rules.max_iterations:
            return weights, NO_MORE_ITERATIONS
        move, change = weights - before, gradient - gradient_before
        memory.append((move, change, float(dot(move, change))))
        direction = search.aligned(_two_loops(memory, -slope), slope)
        step = 1.0


def norm_of(vector: Floats) -> float:
    return float(np.sqrt(dot(vector, vector)))


def relative_fall(before: float, value: float) -> float:
    """(before − value) / value; where the value is 0, infinite, or 0 if it was 0 before."""
    if value == 0.0:
        return 0.0 if before == 0.0 else float("inf")
    return (before - value) / value


def _two_loops(memory: deque[tuple[Floats, Floats, float]], direction: Floats) -> Floats:
    """−H g for the inverse Hessian H of the remembered pairs (algorithm 7.4)."""
    out, factors = direction, []
    for move, change, product in reversed(memory):
        factors.append(float(dot(move, out)) / product)
        out = out - factors[-1] * change
    _, change, product = memory[-1]
    out *= product / float(dot(change, change))
    for (move, change, product), factor in zip(memory, reversed(factors), strict=True):
        out += (factor - float(dot(change, out)) / product) * move
    return out


class _Smooth:
    """The objective without corners."""

    def __init__(self, objective: Objective, rules: Rules):
        self.evaluate, self._rules = objective, rules

    def slope(self, weights: Floats, gradient: Floats) -> Floats:
        return gradient

    def aligned(self, direction: Floats, slope: Floats) -> Floats:
        return direction

    def along(self, weights: Floats, direction: Floats, value: float, slope: Floats, step: float) -> Found:
        ray = Ray(self.evaluate, weights, direction, value, float(dot(slope, direction)), self._rules.max_linesearch)
        return LINE_SEARCHES[self._rules.linesearch](ray, step)


class _Corners:
    """The objective and c1 ‖λ‖₁ by OWL-QN: a step stays within the orthant of its start."""

    def __init__(self, objective: Objective, rules: Rules):
        self._objective, self._rules = objective, rules

    def evaluate(self, weights: Floats) -> tuple[float, Floats]:
        """The value with its corners, and the gradient of the smooth part."""
        value, gradient = self._objective(weights)
        return value + self._rules.c1 * float(np.abs(weights).sum()), gradient

    def slope(self, weights: Floats, gradient: Floats) -> Floats:
        """The pseudo-gradient: in a corner the least slope of both sides."""
        c1 = self._rules.c1
        least = np.sign(gradient) * np.maximum(np.abs(gradient) - c1, 0.0)
        return np.where(weights != 0.0, gradient + c1 * np.sign(weights), least)

    def aligned(self, direction: Floats, slope: Floats) -> Floats:
        return np.where(direction * slope >= 0.0, 0.0, direction)

    def along(self, weights: Floats, direction: Floats, value: float, slope: Floats, step: float) -> Found:
        """Halves the step until the value falls enough."""
        orthant = np.where(weights == 0.0, -slope, weights)
        for trials in range(1, self._rules.max_linesearch + 1):
            at = weights + step * direction
            at[at * orthant <= 0.0] = 0.0
            found, gradient = self.evaluate(at)
            if found <= value + SUFFICIENT * float(dot(at - weights, slope)):
                return Found(at, found, gradient, step, trials)
            check_range(step)
            step *= SHORTER
        raise Failure(TOO_MANY)
