"""A data set twice: free, and clamped to what is known of its labels, where that is not all. Not here: objectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Mask, chosen_ranges
from ..inference import BoundData, Expectations, ExpectingMethod

__all__ = ["Clamped"]


@dataclass(frozen=True, eq=False)
class Clamped:
    """The same data set clamped to what is known, for the sentences `partly` [S] known; the others are counted."""

    data: BoundData
    method: ExpectingMethod
    partly: Mask

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of partly known sentences from `first` to `last`."""
        return iter(chosen_ranges(self.partly[first:last], first))

    def known_runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of the others."""
        return iter(chosen_ranges(~self.partly[first:last], first))

    def contradictions(self) -> tuple[int, ...]:
        """Sentences for which no labelling agrees with what is known and the hard constraints."""
        out = Expectations.empty(self.data)
        potentials = self.data.potentials(np.zeros(self.data.num_weights))
        nothing, cells = np.zeros(0), np.zeros(len(self.data.hard))
        for begin, end in self.runs(0, self.data.num_sequences):
            self.method.expectations(potentials, begin, end, out, nothing, cells)
        return out.summary().impossible
