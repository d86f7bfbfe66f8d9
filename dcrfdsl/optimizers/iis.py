"""Improved iterative scaling for conditional random fields: algorithms S and T.

    S:  δλ_k = (1/S) log(Ê f_k / E f_k),     S the largest feature total T(x, y) of any labelling of any sequence
    T:  δλ_k = log β_k,     Σ_t a_{k,t} β_k^t = Ê f_k,     a_{k,t} = E f_k over the sequences with T(x) = t

T(x) is the largest total of a labelling of x; if it is the same for all sequences, S and T are equal. Every update
raises the likelihood, so there is no search. Converged: by the rule of `progress`, on the gradient. The slack feature
of S has no weight. A feature that no gold labelling shows has its optimum at −∞, whatever the other weights are: its
weight is `NEVER`, and it is left out of the totals. Source: Lafferty, McCallum, Pereira, "Conditional random fields"
(2001), §4. Not here: expectations and totals, which the objective computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..foundation import Floats, Ints, data_error
from ..semantics import IisSettings
from .objective import Objective, Outcome, Scaling, Watch
from .progress import ROUNDING, Progress
from .run_state import RunState

NEVER = -30.0  # a factor of 1e-13
MOST_NEWTON = 100
EXACT = 1e-13  # of the roots' logarithms


def minimise_iis(objective: Objective, start: Floats, settings: IisSettings, watch: Watch, state: RunState) -> Outcome:
    """Maximises the likelihood from `start` [W]. DcrfError if iterative scaling does not apply to the objective."""
    scaling = objective.scaling()
    if scaling is None:
        message = "`iis` scales the expectations of counts, and this objective has none"
        raise data_error("cannot-train", message, help="train by `lbfgs`")
    update = ALGORITHMS[settings.algorithm](scaling)
    seen = scaling.counts > 0.0
    progress = Progress(objective, np.where(seen, start, np.minimum(start, NEVER)), settings, watch, state)

    def iterate() -> bool:
        weights = progress.weights.copy()
        weights[seen] += update(progress.weights, progress.gradient)[seen]
        value, gradient = progress.evaluate(weights)
        # a rise is allowed only below the rounding of the objective
        if not value - progress.value <= ROUNDING * abs(progress.value):
            return False
        progress.accept(weights, value, gradient)
        return True

    progress.run(iterate, lambda: False)
    return progress.outcome()


Update = Callable[[Floats, Floats], Floats]  # weights and gradient [W] -> δλ [W]


def _by_slack(scaling: Scaling) -> Update:
    """Algorithm S."""
    largest = float(scaling.totals.max(initial=0.0))
    counts = scaling.counts

    def update(weights: Floats, gradient: Floats) -> Floats:
        seen, delta = counts > 0.0, np.zeros_like(counts)
        # the gradient is E f − Ê f
        delta[seen] = np.log(counts[seen] / (gradient[seen] + counts[seen])) / largest
        return delta

    return update


def _by_totals(scaling: Scaling) -> Update:
    """Algorithm T. With one total it equals S, and needs no second pass over the data."""
    values = np.unique(scaling.totals[scaling.totals > 0.0])
    if len(values) < 2:
        return _by_slack(scaling)

    def update(weights: Floats, gradient: Floats) -> Floats:
        return roots(values, scaling.expectations_by_total(weights, values), scaling.counts)

    return update


ALGORITHMS: Mapping[str, Callable[[Scaling], Update]] = {"S": _by_slack, "T": _by_totals}


def roots(totals: Floats, parts: list[tuple[Ints, Floats]], counts: Floats) -> Floats:
    """The δ [W] with Σ_t a_{k,t} exp(t δ_k) = counts_k, by Newton's method on the logarithms of both sides; 0 where
    counts_k is 0.

    The logarithm of the sum is convex and rises in δ: after one step Newton's comes from above and never passes the
    root.   parts: for each total t the weights k with a_{k,t} > 0 and these.
    """
    seen, delta, step = counts > 0.0, np.zeros(len(counts)), np.zeros(len(counts))
    goal = np.log(counts[seen])
    for _ in range(MOST_NEWTON):
        peak = np.full(len(counts), -np.inf)
        exponents = []
        for total, (weights, amount) in zip(totals.tolist(), parts, strict=True):
            exponents.append(np.log(amount) + total * delta[weights])
            peak[weights] = np.maximum(peak[weights], exponents[-1])
        mass, slope = np.zeros((2, len(counts)))
        for total, (weights, _), exponent in zip(totals.tolist(), parts, exponents, strict=True):
            share = np.exp(exponent - peak[weights])
            mass[weights] += share
            slope[weights] += total * share
        step[seen] = (np.log(mass[seen]) + peak[seen] - goal) * mass[seen] / slope[seen]
        delta -= step
        if np.abs(step).max(initial=0.0) <= EXACT:
            break
    return delta
