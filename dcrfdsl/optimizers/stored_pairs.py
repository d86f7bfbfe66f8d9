"""Pairs of a move s of the weights and the change y of the gradient that it caused: the memory of quasi-Newton methods.

Pairs are kept in single precision, which is accurate enough and half as much to read. Many weights may be kept as the
upper halves of such numbers (bfloat16, 8 bits of precision): errors of single weights, at most 2⁻⁹ of each, even out in
sums over many. On CoNLL-2000 (456,468 weights) L-BFGS then takes 167 iterations in place of 166. Source: Nocedal &
Wright, "Numerical optimization", §7.2. Not here: what follows from pairs (`lbfgs`, `proximal`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, IncompatibleState, recalled
from ..kernels.optimization import keep_difference, pair_squares
from .objective import Objective
from .run_state import RunState

FEWEST, MOST = 20, 80  # pairs where nobody says how many
LONG = 0.1  # seconds of an evaluation on one core, from which more pairs than the fewest may pay
PAIR_SECONDS = 1.5e-9  # of a pair in an iteration, a weight
SHARE = 0.1  # of an evaluation's time that pairs may take …
MOST_BYTES = 2**28  # … and the memory
LEAST_ANGLE = 1e-10  # a cosine between s and y below this means that the pair has no information
MANY = 50_000  # weights from which halves of numbers may be kept


def keep_halves_from(num_weights: int) -> int:
    """Lets halves be kept from another number of weights on, to try both ways; returns the number that held before."""
    global MANY
    before, MANY = MANY, num_weights
    return before


def _kept_type(num_weights: int) -> type[np.uint16] | type[np.float32]:
    """The type of the numbers of pairs where halves may be kept."""
    return np.uint16 if num_weights >= MANY else np.float32


def pair_bytes(num_weights: int) -> int:
    """What a pair of L-BFGS takes, a weight."""
    return 2 * np.dtype(_kept_type(num_weights)).itemsize


def pairs_kept(asked: int | None, seconds: float, num_weights: int) -> int:
    """How many pairs L-BFGS keeps: those asked for, else as many as pay.

    seconds: of an evaluation on one core, roughly; 0 where that is not known. With more pairs there are fewer of them.
    """
    if asked is not None or seconds < LONG:
        return asked or FEWEST
    pays = min(SHARE * seconds / PAIR_SECONDS, MOST_BYTES / pair_bytes(num_weights)) / num_weights
    return max(FEWEST, min(MOST, int(pays)))


def as_bits(rows: NDArray[Any]) -> NDArray[Any]:
    """Numbers of pairs as kernels read and write them: those of single precision by their bits."""
    return rows.view(np.uint32) if rows.dtype == np.float32 else rows


class StoredPairs:
    """At most `size` pairs of W weights. It goes on from what `state` has saved, if anything.

    pairs: the rows in use, oldest first.   products: names of the tables of products [size, size] that are kept.
    halves: whether many weights are kept as upper halves of numbers.
    """

    def __init__(
        self, objective: Objective, num_weights: int, size: int, products: Sequence[str], state: RunState, *,
        halves: bool = False,
    ):  # fmt: skip
        self._objective, self._num_weights = objective, num_weights
        kept = _kept_type(num_weights) if halves else np.float32
        self._moves: NDArray[Any] = np.zeros((size, num_weights), kept)
        self._changes: NDArray[Any] = np.zeros((size, num_weights), kept)
        self.pairs: list[int] = []
        self._tables = {name: np.zeros((size, size)) for name in products}
        self.forget()
        saved = state.take("pairs")
        if saved is not None:
            self._recall(saved)
        state.keep("pairs", self._remember)

    def forget(self) -> bool:
        """Forgets all pairs; False if there were none."""
        had_pairs = bool(self.pairs)
        self.pairs = []
        for table in self._tables.values():
            table.fill(0.0)
        return had_pairs

    def _remember(self) -> dict[str, Any]:
        used = len(self.pairs)
        own = {"pairs": self.pairs, "moves": self._moves[:used], "changes": self._changes[:used]}
        return {**own, **self._tables}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        pairs, used = list(saved["pairs"]), len(saved["pairs"])
        if used > len(self._moves) or sorted(pairs) != list(range(used)):
            raise IncompatibleState(
                f"`pairs` are the rows {pairs}, expected each of 0 to {len(self._moves) - 1} once at most"
            )
        for rows, name in ((self._moves, "moves"), (self._changes, "changes")):
            rows[:used] = recalled(saved, name, used, self._num_weights, dtype=rows.dtype)
        for name, table in self._tables.items():
            table[:] = recalled(saved, name, *table.shape)
        self.pairs = pairs

    def _store(self, after: Floats, before: Floats, gradient: Floats, gradient_before: Floats) -> int | None:
        """The row of the pair between two points, in place of the oldest one; None if it tells nothing of curvature."""
        ends = (after, before, gradient, gradient_before)
        moves, changes = as_bits(self._moves), as_bits(self._changes)
        squares = np.sum(
            self._objective.spread(lambda a, b: pair_squares(a, b, *ends, moves), self._num_weights), axis=0
        )
        for along, of_move, of_change in squares.reshape(2, 3):  # as they are, and as they are kept
            if not along > LEAST_ANGLE * np.sqrt(of_move * of_change):
                return None
        row = self.pairs.pop(0) if len(self.pairs) == len(self._moves) else len(self.pairs)
        self.pairs.append(row)
        move, change = moves[row], changes[row]
        self._objective.spread(lambda a, b: keep_difference(a, b, after, before, move), self._num_weights)
        self._objective.spread(lambda a, b: keep_difference(a, b, gradient, gradient_before, change), self._num_weights)
        return row
