"""The pairs that L-BFGS remembers, and the direction that they give.

A pair is a move s of the weights and the change y of the gradient that it caused. The two loops of the textbook use
inner products alone, which are kept. So each pair is read twice in an iteration, once for its products with the new
vectors and once to be added to the direction, with a range of weights for each thread. Sources: Nocedal & Wright,
algorithm 7.4; Chen, Wang, Zhou, "Large-scale L-BFGS using MapReduce" (2014). Not here: keeping pairs
(`stored_pairs`), steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import combine, inner_products
from .objective import Objective
from .run_state import RunState
from .stored_pairs import StoredPairs

__all__ = ["PairMemory"]

Result = TypeVar("Result")


class PairMemory(StoredPairs):
    """At most `size` pairs of W weights. `curvature` [W]: of each weight, or None if it is unknown.

    It goes on from what `state` has saved, if anything.
    """

    def __init__(self, objective: Objective, num_weights: int, size: int, curvature: Floats | None, state: RunState):
        super().__init__(objective, num_weights, size)
        self._metric = None if curvature is None else 1.0 / curvature
        # the vectors for products: the newest y, g and the newest s; then y and g times the metric
        self._others = np.zeros((3 if curvature is None else 5, num_weights))
        self.forget()
        self._go_on(state)

    def _remember(self) -> dict[str, Any]:
        own = {"others": self._others, "cross": self._cross, "plain": self._plain, "bent": self._bent}
        return {**super()._remember(), **own, "is_new": self._is_new}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        super()._recall(saved)
        self._others[:], self._is_new = saved["others"], saved["is_new"]
        self._cross, self._plain, self._bent = (saved[name].copy() for name in ("cross", "plain", "bent"))

    def forget(self) -> bool:
        """Forgets all pairs; False if there were none."""
        size, had_pairs = len(self._moves), bool(self.pairs)
        self.pairs = []
        # [i, j]: s_i · y_j, y_i · y_j, y_i · diag(1/h) y_j of rows i and j
        self._cross, self._plain, self._bent = np.zeros((3, size, size))
        self._is_new = False
        return had_pairs

    @property
    def scaled(self) -> bool:
        """Whether a step of 1 along the direction is about right."""
        return bool(self.pairs) or self._metric is not None

    def _spread(self, task: Callable[[int, int], Result]) -> list[Result]:
        return self._objective.spread(task, self._num_weights)

    def add(self, weights: Floats, before: Floats, gradient: Floats, gradient_before: Floats) -> None:
        """Remembers the move between two points in place of the oldest pair, if it has information on the curvature.

        Its products are computed with the next direction, together with those of the gradient.
        """
        change, _, move = self._others[:3]
        np.subtract(weights, before, out=move)
        np.subtract(gradient, gradient_before, out=change)
        row = self._store(move, change)
        if row is None:
            return
        move[:], change[:] = self._moves[row], self._changes[row]  # in the precision of the memory
        self._is_new = True

    def _products(self, gradient: Floats) -> tuple[Floats, Floats, Floats]:
        """s_i · g, y_i · g and y_i · diag(1/h) g of all pairs; fills in the products of the newest pair."""
        used, others = len(self.pairs), self._others
        others[1] = gradient
        if self._metric is not None:
            np.multiply(self._metric, others[:2], out=others[3:])
        moves, changes = self._moves[:used], self._changes[:used]

        def products(first: int, last: int) -> tuple[Floats, Floats]:
            return (
                inner_products(first, last, moves, others[:2]),
                inner_products(first, last, changes, others),
            )

        parts = self._spread(products)
        of_moves = np.sum([product for product, _ in parts], axis=0)
        of_changes = np.sum([product for _, product in parts], axis=0)
        if self._metric is None:
            of_changes = np.concatenate([of_changes, np.zeros((used, 2))], axis=1)
        if self._is_new:
            row = self.pairs[-1]
            self._cross[:used, row], self._cross[row, :used] = of_moves[:, 0], of_changes[:, 2]
            self._plain[:used, row] = self._plain[row, :used] = of_changes[:, 0]
            self._bent[:used, row] = self._bent[row, :used] = of_changes[:, 3]
            self._is_new = False
        return of_moves[:, 1], of_changes[:, 1], of_changes[:, 4]

    def direction(self, gradient: Floats) -> Floats:
        """−H g [W], where the pairs define the inverse Hessian H."""
        used, scale = len(self.pairs), -1.0
        with_moves, with_changes, with_bent = self._products(gradient)
        # the first loop: q = −g − Σ α_i y_i, from the newest pair to the oldest
        of_changes, of_moves = np.zeros((2, used))
        for i in reversed(self.pairs):
            of_changes[i] = -(self._cross[i, :used] @ of_changes + scale * with_moves[i]) / self._cross[i, i]
        plain, bend = self._first_guess()
        # y_i · H₀ q of every pair, and the second loop: r = H₀ q + Σ (α_i − β_i) s_i
        along = (plain * self._plain[:used, :used] + bend * self._bent[:used, :used]) @ of_changes
        along += scale * (plain * with_changes + bend * with_bent)
        for i in self.pairs:
            of_moves[i] = -of_changes[i] - (along[i] + of_moves @ self._cross[:used, i]) / self._cross[i, i]
        out = np.empty(self._num_weights)
        moves, changes = self._moves[:used], self._changes[:used]
        metric = self._metric if self._metric is not None else np.zeros(0)
        self._spread(
            lambda first, last: combine(
                first, last, gradient, scale, changes, of_changes, plain, bend, metric, moves, of_moves, out
            )
        )
        return out

    def _first_guess(self) -> tuple[float, float]:
        """γ and γ' of the first guess γI + γ' diag(1/h): each alone fits the newest pair; or the mean of both."""
        known = self._metric is not None
        if not self.pairs:
            return (0.0, 1.0) if known else (1.0, 0.0)
        i = self.pairs[-1]
        plain = float(self._cross[i, i] / self._plain[i, i])
        return (0.5 * plain, 0.5 * float(self._cross[i, i] / self._bent[i, i])) if known else (plain, 0.0)
