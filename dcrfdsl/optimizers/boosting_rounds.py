"""Boosting: in each round the weight whose step promises to lower the exponential risk most (Altun 2003, algorithm 2).

Let D be the share of each wrong labelling in the risk, D(i) the share of sequence i, u_ik (between L_ik and U_ik) how
much more often the labelling counts feature k than the gold labelling of i, and a_ik = Σ_y D(i, y) (U_ik − u_ik(y)) /
(U_ik − L_ik). Then a step Δ multiplies the risk by

    Z_k(Δ) ≤ 1 + Σ_i [a_ik e^{Δ L_ik} + (D(i) − a_ik) e^{Δ U_ik} − D(i)],    i: the sequences in which k can count

which is convex in Δ. Newton's method minimises it for each k that may be the best
(`kernels.optimization.boosting_bounds`); with one pair of bounds the minimum is Δ = log(−a L / ((1 − a) U)) / (U − L).
If no mass is at an L below 0, or none at a U above, longer steps promise ever more, and Δ is `max_step` in that
direction; so it is where a constraint keeps a feature from one end. `parallel`: every weight takes 1/M of its step,
where at most M weights can count in a sequence; by convexity the risk falls by the mean of the promises (Collins,
Schapire & Singer 2002). The bounds of frequent features are far apart, so their steps are short and other features are
chosen first; `steepest` takes the largest derivative and searches along it. The risk is its value at the start times
the product of all Z, so bounds on Z also bound what the risk bounds.

Converged: no weight promises to leave less than 1 − tolerance of the risk (`parallel`: all together; `steepest`: its
search found no such step of the steepest weight), or the risk is 0. Not here: the risk and the contribution of each
sequence to it (the objective computes both).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, recalled
from ..kernels.optimization import least_bound, least_bounds
from ..semantics import AutoOptimizer
from .objective import BoostingProblem, BoostingRound, CountRanges, Iteration, Objective, Outcome, Watch, require_part
from .progress import norm_of
from .run_state import RunState

FLAT = 0.1  # a search ends when the slope has fallen to this share
TRIALS = 20  # of a search
LONGER = 30.0  # the next trial is at most this many times the last one
INSIDE = 0.1  # of the interval that contains the minimum: its ends, which are not tried


class StepBounds(NamedTuple):
    """The best step of each weight [W], and an upper bound on the share of the risk that remains after it [W]."""

    step: Floats
    left: Floats


def step_bounds(
    ranges: CountRanges, mass: Floats, mean: Floats, total: float, max_step: float, alone: int | None = None
) -> StepBounds:
    """The step of each weight with the least bound.

    mass, mean [G]: see `BoostingProblem.shares`.   total: the risk.   alone: the only weight to consider, if any.
    """
    first, last = (0, len(ranges.off) - 1) if alone is None else (alone, alone + 1)
    begin, end = int(ranges.off[first]), int(ranges.off[last])
    best = StepBounds(np.zeros(last - first), np.ones(last - first))
    least_bounds(
        ranges.off[first : last + 1] - begin, ranges.low[begin:end], ranges.high[begin:end], mass[begin:end] / total,
        mean[begin:end] / total, 1.0, max_step, best.step, best.left,
    )  # fmt: skip
    return best


def best_step(
    ranges: CountRanges, mass: Floats, mean: Floats, total: float, max_step: float
) -> tuple[int, float, float]:
    """The first weight whose step has the least bound, that step, and the bound; arguments as in `step_bounds`."""
    weight, step, left = least_bound(ranges.off, ranges.low, ranges.high, mass / total, mean / total, 1.0, max_step)
    return int(weight), float(step), float(left)


def minimise_boosting(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Boosts from `start` [W] for as many rounds as the objective says, fewer if none promises enough."""
    problem, begun = require_part(objective.boosting(), "an exponential risk"), time.perf_counter()
    choose = UPDATES[problem.update]
    weights, path = start.copy(), list[BoostingRound]()
    evaluations, converged, reason = 1, False, f"{problem.rounds} rounds done"
    saved = state.take("boosting")
    if saved is not None:
        weights, evaluations = recalled(saved, "weights", len(start)), saved["evaluations"]
        path, begun = [BoostingRound(*done) for done in saved["path"]], begun - saved["seconds"]
    state.keep("boosting", lambda: {
        "weights": weights, "path": [list(done) for done in path], "evaluations": evaluations,
        "seconds": time.perf_counter() - begun,
    })  # fmt: skip
    risk, gradient = problem.value_and_gradient(weights)
    for number in range(len(path) + 1, problem.rounds + 1):
        if risk == 0.0:
            converged, reason = True, "the risk is 0 in double precision"
            break
        if not np.isfinite(risk):
            reason = "the risk is not finite"
            break
        chosen, step, left, tried = choose(problem, weights, risk, gradient)
        evaluations += tried
        if not left < 1.0 - problem.tolerance:
            converged, reason = bool(np.isfinite(left)), NO_PROMISE[problem.update]
            break
        weights = weights + step
        risk, gradient = problem.value_and_gradient(weights)
        evaluations += 1
        path.append(BoostingRound(chosen, float(step[np.abs(step).argmax()]), left, risk))
        seconds = time.perf_counter() - begun
        if watch(Iteration(number, risk, norm_of(gradient), seconds), weights):
            reason = "stopped on request"
            break
    reason = f"{reason}; {np.count_nonzero(weights):,} of {len(weights):,} weights are not 0"
    seconds = time.perf_counter() - begun
    return Outcome(
        weights, risk, len(path), evaluations, converged, seconds, reason, False, norm_of(gradient), path=tuple(path)
    )


class _Round(NamedTuple):
    """The weight that moves (-1: all do), the step [W], the bound on the remaining share of the risk, and the number of
    evaluations that finding them took.
    """

    weight: int
    step: Floats
    left: float
    evaluations: int = 0


def _one(weight: int, step: float, left: float, size: int, evaluations: int = 0) -> _Round:
    steps = np.zeros(size)
    steps[weight] = step
    return _Round(weight, steps, left, evaluations)


def _most_promising(problem: BoostingProblem, weights: Floats, risk: float, gradient: Floats) -> _Round:
    return _one(*best_step(problem.ranges, *problem.shares, risk, problem.max_step), len(weights))


def _all_at_once(problem: BoostingProblem, weights: Floats, risk: float, gradient: Floats) -> _Round:
    best, most = step_bounds(problem.ranges, *problem.shares, risk, problem.max_step), problem.most_weights
    return _Round(-1, best.step / most, float(1.0 - (1.0 - best.left).sum() / most))


def _steepest(problem: BoostingProblem, weights: Floats, risk: float, gradient: Floats) -> _Round:
    best = int(np.abs(gradient).argmax())
    mass = problem.mass(best)
    if not mass > 0.0:
        return _one(best, 0.0, 1.0, len(weights))
    promised = step_bounds(problem.ranges, *problem.shares, risk, problem.max_step, best)
    first = float(np.clip(promised.step[0], -problem.max_step, problem.max_step))
    step, value, tried = _least_along(problem, weights, best, first, risk, float(gradient[best]) / mass)
    return _one(best, step, value / risk, len(weights), tried)


def _least_along(
    problem: BoostingProblem, weights: Floats, weight: int, trial: float, risk: float, begin: float
) -> tuple[float, float, int]:
    """A step of a weight that approximately minimises the risk, the risk there, and the number of trials.

    trial: a step that is not too long.   risk, begin: at a step of 0, the latter E_D u over the sequences in which the
    feature fires. Regula falsi for E_D u = 0: it rises with the step, and more evenly than the derivative does.
    """
    (near, at_near), far, at_far = (0.0, begin), np.nan, np.nan
    best, moved, tried = (0.0, risk), weights.copy(), 0
    while tried < TRIALS:
        tried += 1
        moved[weight] = weights[weight] + trial
        value, gradient = problem.value_and_gradient(moved)
        mass = problem.mass(weight)
        here = float(gradient[weight]) / mass if 0.0 < mass < np.inf else np.nan
        if value < best[1]:
            best = trial, value
        if abs(here) <= FLAT * abs(begin) or mass == 0.0 or (here * begin > 0.0 and abs(trial) >= problem.max_step):
            break
        if here * begin > 0.0:
            before, at_before, near, at_near = near, at_near, trial, here
            if np.isnan(far):
                longer = near + (near - before) * here / (at_before - here) if at_before != here else np.inf
                longer = min(max(abs(longer), 2.0 * abs(near)), LONGER * abs(near), problem.max_step)
                trial = float(np.copysign(longer, near))
                continue
        else:
            far, at_far = trial, here
        share = at_near / (at_near - at_far) if np.isfinite(at_far) else 0.5
        trial = near + (far - near) * min(max(share, INSIDE), 1.0 - INSIDE)
    return *best, tried


NO_PROMISE: Mapping[str, str] = {
    "sequential": "no step promises to lower the risk by more than the tolerance",
    "parallel": "all steps together do not promise to lower the risk by more than the tolerance",
    "steepest": "no step of the steepest weight was found to lower the risk by more than the tolerance",
}
UPDATES: Mapping[str, Callable[[BoostingProblem, Floats, float, Floats], _Round]] = {
    "sequential": _most_promising,
    "parallel": _all_at_once,
    "steepest": _steepest,
}
