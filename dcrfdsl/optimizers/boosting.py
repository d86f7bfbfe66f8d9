"""Boosting: in each round the weight whose step promises to lower the exponential risk most (Altun 2003, algorithm 2).

With D the share of each wrong labelling in the risk, u_k between L_k and U_k how much more it counts feature k than
the gold labelling, and a_k = (U_k − E_D u_k) / (U_k − L_k), a step Δ multiplies the risk by

    Z_k(Δ) ≤ a_k e^{Δ L_k} + (1 − a_k) e^{Δ U_k},      least at Δ = log(−a_k L_k / ((1 − a_k) U_k)) / (U_k − L_k)

where L_k < 0 < U_k; else longer steps promise ever more, and Δ is `max_step` towards it. `parallel`: every weight by
1/M of its own step, where at most M weights can count in a sequence; by convexity the risk falls by the mean of what
they promise (Collins, Schapire & Singer 2002). The risk is the start times the product of all Z, and so bounds what it
bounds. Not here: the risk (the objective has it).
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .objective import BoostedObjective, BoostingRound, Iteration, Outcome, Watch
from .progress import norm_of

__all__ = ["Promises", "minimise_boosting", "promises"]

Floats = NDArray[np.float64]
EXTREME = 1e-12  # shares of D at either end, below which they are rounding


class Promises(NamedTuple):
    """Of each weight its best step, and the share of the risk that is left at most, [W]."""

    step: Floats
    left: Floats


def promises(low: Floats, high: Floats, mean: Floats, mass: Floats | float, max_step: float) -> Promises:
    """low, high [W]: L and U.   mean [W]: E_D u, over labellings that have `mass` together, 0 elsewhere."""
    width = high - low
    moves = (width > 0.0) & (np.asarray(mass) > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((high * mass - mean) / (width * mass), EXTREME, 1.0 - EXTREME)
        step = np.log(-share * low / ((1.0 - share) * high)) / width
    step = np.where(low >= 0.0, -max_step, np.where(high <= 0.0, max_step, step))
    step = np.where(moves, step, 0.0)
    share = np.where(moves, share, 1.0)
    with np.errstate(over="ignore"):
        left = share * np.exp(step * low) + (1.0 - share) * np.exp(step * high)
    return Promises(step, np.where(moves, left, 1.0))


def minimise_boosting(objective: BoostedObjective, start: Floats, watch: Watch) -> Outcome:
    """Boosts from `start` [W] for as many rounds as the objective says, fewer if none promises enough."""
    begun = time.perf_counter()
    low, high = objective.bounds
    weights, path = start.copy(), list[BoostingRound]()
    risk, gradient = objective.value_and_gradient(weights)
    evaluations, converged, reason = 1, False, f"{objective.rounds} rounds done"
    for number in range(1, objective.rounds + 1):
        if not risk > 0.0:
            converged, reason = True, "the risk is 0"
            break
        chosen, step, left = _step(objective, low, high, risk, gradient)
        if left >= 1.0 - objective.tolerance:
            converged, reason = True, "no step promises to lower the risk by more than the tolerance"
            break
        weights = weights + step
        risk, gradient = objective.value_and_gradient(weights)
        evaluations += 1
        path.append(BoostingRound(chosen, float(step[np.abs(step).argmax()]), left, risk))
        seconds = time.perf_counter() - begun
        if watch(Iteration(number, risk, norm_of(gradient), seconds), weights):
            reason = "stopped on request"
            break
    reason = f"{reason}; {np.count_nonzero(weights):,} of {len(weights):,} weights are not 0"
    seconds = time.perf_counter() - begun
    return Outcome(
        weights,
        risk,
        len(path),
        evaluations,
        converged,
        seconds,
        reason,
        False,
        norm_of(gradient),
        path=tuple(path),
    )


def _step(
    objective: BoostedObjective, low: Floats, high: Floats, risk: float, gradient: Floats
) -> tuple[int, Floats, float]:
    """The weight that moves (-1: all do), the step [W], and the share of the risk that is left at most."""
    if objective.parallel:
        mass = objective.mass / risk
        found = promises(low, high, gradient / risk, mass, objective.max_step)
        most = objective.most_weights
        return -1, found.step / most, float(1.0 - (mass * (1.0 - found.left)).sum() / most)
    found = promises(low, high, gradient / risk, 1.0, objective.max_step)
    best = int(found.left.argmin())
    step = np.zeros(len(low))
    step[best] = found.step[best]
    return best, step, float(found.left[best])
