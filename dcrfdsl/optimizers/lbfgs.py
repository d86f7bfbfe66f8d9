"""Limited-memory BFGS.

A pair is a move s of the weights and the change y of the gradient that it caused. The two loops of the textbook use
inner products alone, which are kept. So each pair is read twice in an iteration, once for its products with the new
vectors and once to be added to the direction, with a range of weights for each thread.

The first guess of the inverse Hessian is γI, or γI + γ' diag(1/h) if the curvature h of each weight is known: γI alone
is slow in frequent features, the other in features that duplicate each other. Converged: by the rule of `progress`, on
the gradient. Sources: Nocedal & Wright, "Numerical optimization", algorithm 7.4 and eq. 7.20; Chen, Wang, Zhou,
"Large-scale L-BFGS using MapReduce" (2014); the method's use for CRFs: Sutton 2004 §3.3. Not here: storing pairs
(`stored_pairs`), the search along a direction (`line_search`), the stopping rule (`progress`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import combine, dot, pair_products
from ..semantics import LbfgsSettings
from .line_search import line_search
from .objective import Objective, Outcome, Watch
from .progress import ROUNDING, Progress
from .run_state import RunState
from .stored_pairs import StoredPairs, as_bits

# pairs ----------------------------------------------------------------------------------------------------------------


Result = TypeVar("Result")


class PairMemory(StoredPairs):
    """Pairs with their products. `metric` [W]: the inverse of each weight's curvature, None if it is unknown."""

    def __init__(self, objective: Objective, num_weights: int, size: int, metric: Floats | None, state: RunState):
        self._metric = np.zeros(0) if metric is None else metric
        # [i, j]: s_i · y_j, y_i · y_j, y_i · diag(metric) y_j of rows i and j
        super().__init__(objective, num_weights, size, ("cross", "plain", "bent"), state, halves=True)
        self._s_y, self._y_y, self._y_D_y = self._tables.values()

    def _remember(self) -> dict[str, Any]:
        return {**super()._remember(), "is_new": self._is_new}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        super()._recall(saved)
        self._is_new = saved["is_new"]

    def forget(self) -> bool:
        self._is_new = False
        return super().forget()

    @property
    def scaled(self) -> bool:
        """Whether a step of 1 along the direction is about right."""
        return bool(self.pairs) or len(self._metric) > 0

    def _spread(self, task: Callable[[int, int], Result]) -> list[Result]:
        return self._objective.spread(task, self._num_weights)

    def add(self, weights: Floats, before: Floats, gradient: Floats, gradient_before: Floats) -> None:
        """Remembers the move between two points in place of the oldest pair, if it has information on the curvature.

        Its products are computed with the next direction, together with those of the gradient.
        """
        if self._store(weights, before, gradient, gradient_before) is not None:
            self._is_new = True

    def _products(self, gradient: Floats) -> tuple[Floats, Floats, Floats]:
        """s_i · g, y_i · g and y_i · diag(metric) g of all pairs; fills in the products of the newest pair."""
        used, newest = len(self.pairs), self.pairs[-1] if self._is_new else -1
        moves, changes = as_bits(self._moves[:used]), as_bits(self._changes[:used])
        products = np.sum(
            self._spread(lambda a, b: pair_products(a, b, moves, changes, newest, gradient, self._metric)), axis=0
        )
        if self._is_new:
            self._s_y[:used, newest], self._s_y[newest, :used] = products[:, 3], products[:, 6]
            self._y_y[:used, newest] = self._y_y[newest, :used] = products[:, 4]
            self._y_D_y[:used, newest] = self._y_D_y[newest, :used] = products[:, 5]
            self._is_new = False
        return products[:, 0], products[:, 1], products[:, 2]

    def direction(self, gradient: Floats) -> Floats:
        """−H g [W], where the pairs define the inverse Hessian H."""
        used, scale = len(self.pairs), -1.0
        with_moves, with_changes, with_bent = self._products(gradient)
        # the first loop: q = −g − Σ α_i y_i, from the newest pair to the oldest
        of_changes, of_moves = np.zeros((2, used))
        for i in reversed(self.pairs):
            of_changes[i] = -(self._s_y[i, :used] @ of_changes + scale * with_moves[i]) / self._s_y[i, i]
        plain, bend = self._first_guess()
        # y_i · H₀ q of every pair, and the second loop: r = H₀ q + Σ (α_i − β_i) s_i
        along = (plain * self._y_y[:used, :used] + bend * self._y_D_y[:used, :used]) @ of_changes
        along += scale * (plain * with_changes + bend * with_bent)
        for i in self.pairs:
            of_moves[i] = -of_changes[i] - (along[i] + of_moves @ self._s_y[:used, i]) / self._s_y[i, i]
        out = np.empty(self._num_weights)
        moves, changes = as_bits(self._moves[:used]), as_bits(self._changes[:used])
        self._spread(
            lambda first, last: combine(
                first, last, gradient, scale, changes, of_changes, plain, bend, self._metric, moves, of_moves, out
            )
        )
        return out

    def _first_guess(self) -> tuple[float, float]:
        """γ and γ' of the first guess γI + γ' diag(metric): each alone fits the newest pair; or the mean of both."""
        known = len(self._metric) > 0
        if not self.pairs:
            return (0.0, 1.0) if known else (1.0, 0.0)
        i = self.pairs[-1]
        plain = float(self._s_y[i, i] / self._y_y[i, i])
        return (0.5 * plain, 0.5 * float(self._s_y[i, i] / self._y_D_y[i, i])) if known else (plain, 0.0)


# the descent ----------------------------------------------------------------------------------------------------------


def minimise_lbfgs(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; `watch` is called after each iteration and may stop it. Returns the best point.

    If the line search fails because the objective is inexact (message passing stops at a tolerance), the objective is
    asked to be more exact and the search continues from the best point.
    """
    progress = Progress(objective, start, settings, watch, state)
    descend(progress, settings.memory, None, state)
    return progress.outcome()


def descend(progress: Progress, size: int, metric: Floats | None, state: RunState) -> None:
    """Continues from the point of `progress` until a rule stops it.

    size: the number of remembered pairs.   metric [W]: the inverse of each weight's curvature, if it is known.
    """
    memory = PairMemory(progress.objective, len(progress.weights), size, metric, state)
    progress.run(lambda: _iterate(progress, memory), memory.forget)


def _iterate(progress: Progress, memory: PairMemory) -> bool:
    """One iteration; False if it finds no better point."""
    direction = memory.direction(progress.gradient)
    slope = float(dot(progress.gradient, direction))
    if not slope < 0.0:
        return False
    first = 1.0 if memory.scaled else min(1.0, 1.0 / progress.norm)
    progress.is_flat = -slope * first <= 10.0 * ROUNDING * abs(progress.value)
    point = line_search(progress, direction, slope, first)
    if point is None:
        return False
    weights, value, gradient = point
    memory.add(weights, progress.weights, gradient, progress.gradient)
    progress.accept(weights, value, gradient)
    return True
