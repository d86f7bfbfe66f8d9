"""A data set clamped to its known labels, for the sentences with an unknown one. Not here: objectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..foundation import Mask, chosen_ranges
from ..inference import BoundData, Expectations, MarginalInference


@dataclass(frozen=True, eq=False)
class Clamped:
    """A data set clamped to its known labels. partly [S]: the sentences with an unknown label; only these are run."""

    data: BoundData
    method: MarginalInference
    partly: Mask

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of partly known sentences from `first` to `last`."""
        return iter(chosen_ranges(self.partly[first:last], first))

    def known_runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The runs of wholly known sentences from `first` to `last`."""
        return iter(chosen_ranges(~self.partly[first:last], first))

    def contradictions(self) -> tuple[int, ...]:
        """Sentences in which no labelling agrees with both the known labels and the hard constraints."""
        out = Expectations.empty(self.data)
        potentials = self.data.potentials(np.zeros(self.data.num_weights))
        nothing, cells = np.zeros(0), np.zeros(len(self.data.hard))
        for begin, end in self.runs(0, self.data.num_sequences):
            self.method.expectations(potentials, begin, end, out, nothing, cells)
        return out.summary().impossible
