"""The unrolled graphs that a model keeps between data sets: those it met last, up to a bound of memory.

A data set of one shape, as a single sentence is, has a bank of its own, so that its wiring does not depend on what was
tagged before. Data sets of several shapes share a bank. A bank in use never changes: new shapes go to a copy. So
threads may ask at once without locks, which a forked process could inherit locked. At worst two threads unroll the same
graph. Not here: the graphs (`graph`), data (`potentials`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from ...foundation import Ints32
from ...graph import ModelGraph, ShapeBank

PairsOf: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]  # of each relational clique, in a sequence
ShapeKey: TypeAlias = tuple[int, PairsOf]  # length and pairs, which determine a sequence's graph

MOST_VARIABLES = 2**15  # of the graphs that are kept, here and there; a variable takes one or two kilobytes
ONE = np.zeros(1, np.int32)  # the numbers of the shapes of one sequence
MOST_ALONE = 256  # shapes that are kept with a bank of their own


class ShapeCache:
    """Banks of a model's shapes. programs, latents_first: as in `ModelGraph.bank`."""

    def __init__(self, graph: ModelGraph, *, programs: bool, latents_first: bool):
        self._graph, self._how = graph, {"programs": programs, "latents_first": latents_first}
        self._alone: dict[ShapeKey, ShapeBank] = {}  # the one that was not asked for longest is first
        self._together: tuple[dict[ShapeKey, int], ShapeBank] = {}, self._bank()

    def _bank(self) -> ShapeBank:
        return self._graph.bank(**self._how)

    @property
    def num_variables(self) -> int:
        """The variables of all graphs that are kept."""
        return self._together[1].num_variables + sum(bank.num_variables for bank in list(self._alone.values()))

    def bank(self, keys: Sequence[ShapeKey]) -> tuple[ShapeBank, Ints32]:
        """A bank with the shapes of these sequences, and the number of each sequence's shape in it, [S]."""
        if len(keys) == 1:
            return self._bank_of(keys[0]), ONE
        distinct = dict.fromkeys(keys)
        if len(distinct) == 1:
            return self._bank_of(keys[0]), np.zeros(len(keys), np.int32)
        number, bank = self._bank_of_several(list(distinct))
        return bank, np.array([number[key] for key in keys], np.int32)

    def _bank_of(self, key: ShapeKey) -> ShapeBank:
        bank = self._alone.pop(key, None)
        if bank is None:
            bank = self._bank()
            bank.add(self._graph.shape(*key))
            self._make_room(bank.num_variables)
        if bank.num_variables <= MOST_VARIABLES:
            self._alone[key] = bank  # the last one now
        return bank

    def _make_room(self, more: int) -> None:
        """Forgets the banks that were not asked for longest, until `more` variables fit beside the others."""
        while self._alone and (
            len(self._alone) >= MOST_ALONE
            or sum(bank.num_variables for bank in list(self._alone.values())) + more > MOST_VARIABLES
        ):
            with suppress(KeyError, RuntimeError, StopIteration):  # another thread was here at the same time
                del self._alone[next(iter(self._alone))]

    def _bank_of_several(self, keys: Sequence[ShapeKey]) -> tuple[dict[ShapeKey, int], ShapeBank]:
        known, bank = self._together
        new = [key for key in keys if key not in known]
        if not new:
            return known, bank
        more = len(self._graph.cards) * sum(length for length, _ in new)
        if bank.num_variables + more > MOST_VARIABLES:
            known, bank, new = {}, self._bank(), list(keys)
        else:
            known, bank = dict(known), bank.copy()
        for key in new:
            known[key] = bank.add(self._graph.shape(*key))
        if bank.num_variables <= MOST_VARIABLES and not self._graph.relational:  # joined pairs seldom come again
            self._together = known, bank
        return known, bank
