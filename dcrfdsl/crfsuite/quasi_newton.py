"""L-BFGS and OWL-QN with the settings, the steps and the stopping rules of CRFsuite.

Minimises f(λ) + c1 ‖λ‖₁ from λ = 0. Two rules end the search: ‖g‖ ≤ epsilon · max(1, ‖λ‖), with g the gradient, or the
pseudo-gradient where c1 > 0; and, once `period` iterations are done, a relative fall of the objective by less than
`delta` over the last `period` iterations. With c1 > 0 a step is halved until the value falls enough. Otherwise one of
three searches finds a step t along a direction d from the weights of an iteration. With φ(t) = f(λ + t d) a step is
taken if φ(t) ≤ φ(0) + µ t φ'(0), and

    Backtracking        φ'(t) ≥ 0.9 φ'(0)                            (the Wolfe condition)
    StrongBacktracking  |φ'(t)| ≤ 0.9 |φ'(0)|                        (the strong one)
    MoreThuente         |φ'(t)| ≤ 0.9 |φ'(0)|, by interpolation

The first two halve the step, or multiply it by 2.1. The constants are those with which CRFsuite calls libLBFGS, so that
the steps, and with them the log, are the same; the package's own optimizers are faster, and stop elsewhere. Inner
products are our own: those of numpy share the machine's threads with others, and their sums depend on these.

Sources: Nocedal & Wright, "Numerical optimization", §3.1 and algorithm 7.4; Moré & Thuente, "Line search algorithms
with guaranteed sufficient decrease", ACM TOMS 20 (1994), §2 to §4; Andrew & Gao, "Scalable training of L1-regularized
log-linear models" (2007); CRFsuite's manual for the rules.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from ..foundation import Floats, dataclass
from ..kernels.optimization import dot
from ..optimizers import Corners, norm_of

SUFFICIENT = 1e-4  # µ
FLAT = 0.9
SHORTER, LONGER = 0.5, 2.1
LEAST_STEP, LARGEST_STEP = 1e-20, 1e20
ROUNDING = 1e-16
REACH = 4.0  # how far a step may go beyond the last one
SHRINKING = 0.66  # by which an interval is to shrink in two trials


class Failure(Exception):
    """The search found no step; its argument is libLBFGS's number for the reason."""


TOO_SMALL, TOO_LARGE, TOO_MANY, ROUNDED, NARROW, NOT_DOWNHILL = -1000, -999, -998, -1001, -996, -994


class Found(NamedTuple):
    """The weights at a step, value and gradient there, the step, and the number of trials."""

    weights: Floats
    value: float
    gradient: Floats
    step: float
    trials: int


@dataclass
class Ray:
    """The objective along a direction, from a point with a value and a slope φ'(0)."""

    evaluate: Callable[[Floats], tuple[float, Floats]]
    weights: Floats
    direction: Floats
    value: float
    slope: float
    most_trials: int

    def at(self, step: float, trials: int) -> tuple[Found, float]:
        """The point at a step, and the slope there."""
        weights = self.weights + step * self.direction
        value, gradient = self.evaluate(weights)
        return Found(weights, value, gradient, step, trials), float(dot(gradient, self.direction))


Search: TypeAlias = Callable[[Ray, float], Found]


def _backtracking(ray: Ray, step: float, *, strong: bool) -> Found:
    """Halves the step until the value falls enough; lengthens it while the slope is still steep."""
    if ray.slope > 0.0:
        raise Failure(NOT_DOWNHILL)
    for trials in range(1, ray.most_trials + 1):
        found, slope = ray.at(step, trials)
        if found.value > ray.value + SUFFICIENT * step * ray.slope:
            factor = SHORTER
        elif slope < FLAT * ray.slope:
            factor = LONGER
        elif strong and slope > -FLAT * ray.slope:
            factor = SHORTER
        else:
            return found
        check_range(step)
        step *= factor
    raise Failure(TOO_MANY)


def check_range(step: float) -> None:
    if step < LEAST_STEP:
        raise Failure(TOO_SMALL)
    if step > LARGEST_STEP:
        raise Failure(TOO_LARGE)


# Moré and Thuente ---------------------------------------------------------------------------------------------------


class _End(NamedTuple):
    """An end of the interval of uncertainty: a step, the value and the slope there."""

    step: float
    value: float
    slope: float

    def tilted(self, slope: float) -> _End:
        """The end as one of the function ψ(t) = φ(t) − slope · t (§2)."""
        return _End(self.step, self.value - self.step * slope, self.slope - slope)


def _more_thuente(ray: Ray, step: float) -> Found:
    """Keeps an interval that holds a step to be taken, and tries the minimum of cubic and quadratic interpolations."""
    if ray.slope > 0.0:
        raise Failure(NOT_DOWNHILL)
    decrease = SUFFICIENT * ray.slope
    best = other = _End(0.0, ray.value, ray.slope)
    bracketed, first_stage = False, True
    width, width_before = LARGEST_STEP - LEAST_STEP, 2.0 * (LARGEST_STEP - LEAST_STEP)
    for trials in range(1, ray.most_trials + 1):
        low, high = best.step, other.step if bracketed else step + REACH * (step - best.step)
        if bracketed:
            low, high = min(low, high), max(low, high)
        step = min(max(step, LEAST_STEP), LARGEST_STEP)
        is_narrow = bracketed and high - low <= ROUNDING * high
        if (bracketed and (step <= low or high <= step or trials >= ray.most_trials)) or is_narrow:
            step = best.step
        found, slope = ray.at(step, trials)
        enough = ray.value + step * decrease
        if bracketed and (step <= low or high <= step):
            raise Failure(ROUNDED)
        if step == LARGEST_STEP and found.value <= enough and slope <= decrease:
            raise Failure(TOO_LARGE)
        if step == LEAST_STEP and (enough < found.value or decrease <= slope):
            raise Failure(TOO_SMALL)
        if is_narrow:
            raise Failure(NARROW)
        if trials >= ray.most_trials:
            raise Failure(TOO_MANY)
        if found.value <= enough and abs(slope) <= FLAT * -ray.slope:
            return found
        if first_stage and found.value <= enough and min(SUFFICIENT, FLAT) * ray.slope <= slope:
            first_stage = False
        trial = _End(step, found.value, slope)
        # in the first stage the interval is that of ψ, whose minimum is a step to be taken
        tilt = decrease if first_stage and enough < found.value <= best.value else 0.0
        ends = _next_interval(best.tilted(tilt), other.tilted(tilt), trial.tilted(tilt), low, high, bracketed)
        (best, other), step, bracketed = (end.tilted(-tilt) for end in ends[0]), ends[1], ends[2]
        if bracketed:
            if SHRINKING * width_before <= abs(other.step - best.step):
                step = best.step + 0.5 * (other.step - best.step)
            width_before, width = width, abs(other.step - best.step)
    raise Failure(TOO_MANY)


def _next_interval(
    best: _End, other: _End, trial: _End, low: float, high: float, bracketed: bool
) -> tuple[tuple[_End, _End], float, bool]:
    """The next interval (§3), the next step (§4) and whether a minimum is bracketed."""
    turns = trial.slope * math.copysign(1.0, best.slope) < 0.0
    if bracketed:
        inside = min(best.step, other.step) < trial.step < max(best.step, other.step)
        if not inside or best.slope * (trial.step - best.step) >= 0.0:
            raise Failure(ROUNDED)
    bounded = False
    if trial.value > best.value:  # case 1: a minimum lies between
        bracketed = bounded = True
        cubic, square = _cubic(best, trial), _quadratic(best, trial)
        step = cubic if abs(cubic - best.step) < abs(square - best.step) else cubic + 0.5 * (square - cubic)
    elif turns:  # case 2: slopes of opposite signs
        bracketed = True
        cubic, secant = _cubic(best, trial), _secant(best, trial)
        step = cubic if abs(cubic - trial.step) > abs(secant - trial.step) else secant
    elif abs(trial.slope) < abs(best.slope):  # case 3: it falls less steeply
        bounded = True
        cubic, secant = _far_cubic(best, trial, low, high), _secant(best, trial)
        nearer = abs(trial.step - cubic) < abs(trial.step - secant)
        farther = abs(trial.step - cubic) > abs(trial.step - secant)
        step = cubic if (nearer if bracketed else farther) else secant
    elif bracketed:  # case 4: it falls more steeply
        step = _cubic(trial, other)
    else:
        step = high if best.step < trial.step else low
    if trial.value > best.value:
        other = trial
    else:
        if turns:
            other = best
        best = trial
    step = min(max(step, low), high)
    if bracketed and bounded:
        limit = best.step + SHRINKING * (other.step - best.step)
        step = min(step, limit) if best.step < other.step else max(step, limit)
    return (best, other), step, bracketed


def _cubic_terms(u: _End, v: _End) -> tuple[float, float, float, float]:
    """Of the cubic through both ends with their slopes: distance, θ, the scale s and what is under the root."""
    distance = v.step - u.step
    theta = 3.0 * (u.value - v.value) / distance + u.slope + v.slope
    scale = max(abs(theta), abs(u.slope), abs(v.slope))
    return distance, theta, scale, (theta / scale) ** 2 - (u.slope / scale) * (v.slope / scale)


def _cubic(u: _End, v: _End) -> float:
    """The minimum of the cubic."""
    distance, theta, scale, under = _cubic_terms(u, v)
    gamma = math.copysign(scale * math.sqrt(max(under, 0.0)), distance)
    p, q = gamma - u.slope + theta, gamma - u.slope + gamma + v.slope
    return u.step + p / q * distance


def _far_cubic(u: _End, v: _End, low: float, high: float) -> float:
    """The minimum of the cubic, if it lies beyond v; else the end of the range on that side."""
    distance, theta, scale, under = _cubic_terms(u, v)
    gamma = scale * math.sqrt(max(under, 0.0))
    if v.step > u.step:
        gamma = -gamma
    p, q = gamma - v.slope + theta, gamma - v.slope + gamma + u.slope
    ratio = p / q if q else 0.0
    if ratio < 0.0 and gamma != 0.0:
        return v.step - ratio * distance
    return high if v.step > u.step else low


def _quadratic(u: _End, v: _End) -> float:
    """The minimum of the parabola through both values, with the slope of u."""
    distance = v.step - u.step
    return u.step + u.slope / ((u.value - v.value) / distance + u.slope) / 2.0 * distance


def _secant(u: _End, v: _End) -> float:
    """Where the line through both slopes is zero."""
    return v.step + v.slope / (v.slope - u.slope) * (u.step - v.step)


LINE_SEARCHES: Mapping[str, Search] = {
    "MoreThuente": _more_thuente,
    "Backtracking": lambda ray, step: _backtracking(ray, step, strong=False),
    "StrongBacktracking": lambda ray, step: _backtracking(ray, step, strong=True),
}


# iterations -----------------------------------------------------------------------------------------------------------


# why a search ended; others are those of `Failure`, and all are libLBFGS's numbers
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
    search = _Corners(objective, rules, num_weights) if rules.c1 > 0.0 else _Smooth(objective, rules)
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
            return weights, failure.args[0]
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

    def __init__(self, objective: Objective, rules: Rules, num_weights: int):
        self._objective, self._rules, self._corners = objective, rules, Corners(np.full(num_weights, rules.c1), None)

    def evaluate(self, weights: Floats) -> tuple[float, Floats]:
        """The value with its corners, and the gradient of the smooth part."""
        value, gradient = self._objective(weights)
        return value + self._rules.c1 * float(np.abs(weights).sum()), gradient

    def slope(self, weights: Floats, gradient: Floats) -> Floats:
        """The pseudo-gradient: in a corner the least slope of both sides."""
        return self._corners.least(weights, gradient + self._rules.c1 * np.sign(weights))

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
