"""Pairs of a move s of the weights and the change y of the gradient that it caused: the memory of quasi-Newton methods.

Pairs are kept in single precision, which is accurate enough and half as much to read. Source: Nocedal & Wright,
"Numerical optimization", §7.2. Not here: what follows from pairs (`lbfgs_memory`, `proximal_memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import dot
from .objective import Objective
from .run_state import RunState

__all__ = ["StoredPairs"]

LEAST_ANGLE = 1e-10  # a cosine between s and y below this means that the pair has no information


class StoredPairs:
    """At most `size` pairs of W weights. pairs: the rows in use, oldest first."""

    def __init__(self, objective: Objective, num_weights: int, size: int):
        self._objective, self._num_weights = objective, num_weights
        self._moves = np.zeros((size, num_weights), np.float32)
        self._changes = np.zeros((size, num_weights), np.float32)
        self.pairs: list[int] = []

    def _go_on(self, state: RunState) -> None:
        """Goes on from what `state` has saved, if anything, and saves there from now on."""
        saved = state.take("pairs")
        if saved is not None:
            self._recall(saved)
        state.keep("pairs", self._remember)

    def _remember(self) -> dict[str, Any]:
        used = len(self.pairs)
        return {"pairs": self.pairs, "moves": self._moves[:used], "changes": self._changes[:used]}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        self.pairs = list(saved["pairs"])
        self._moves[: len(self.pairs)], self._changes[: len(self.pairs)] = saved["moves"], saved["changes"]

    def _store(self, move: Floats, change: Floats) -> int | None:
        """The row of a pair, in place of the oldest one; None if it has no information on the curvature."""
        if not dot(move, change) > LEAST_ANGLE * np.sqrt(dot(move, move) * dot(change, change)):
            return None
        row = self.pairs.pop(0) if len(self.pairs) == len(self._moves) else len(self.pairs)
        self.pairs.append(row)
        self._moves[row], self._changes[row] = move, change
        return row
