"""The weight vectors of a perceptron, each with the number of sequences that it lasted.

Neighbours differ in the few weights of one mistake, so a vector is stored as its change from the previous one, the
first as its change from zero. Source: Freund and Schapire, "Large margin classification using the perceptron algorithm"
(1999), figure 1. Not here: the votes on a labelling (`inference.decoding.labellings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..foundation import (
    Floats,
    IncompatibleState,
    Ints,
    Ints32,
    Offsets,
    array,
    check_finite,
    check_offsets,
    check_within,
    dataclass,
)


@dataclass(frozen=True, eq=False)
class Voters:
    """V weight vectors in the order of training."""

    votes: Ints  #    [V]    sequences that the vector lasted, above 0
    off: Offsets  #   [V+1]  offsets of the changes of each vector
    weight: Ints32  # [off[-1]] a changed weight, once per vector
    change: Floats  # [off[-1]] its change

    @classmethod
    def of(cls, start: Floats, steps: Sequence[tuple[Ints32, Floats]], votes: Sequence[int]) -> Voters:
        """The vector `start` [W] and one after each of `steps` (weights, changes); `votes` of each, 0 is left out."""
        begun = np.flatnonzero(start).astype(np.int32)
        all_steps = [(begun, start[begun]), *steps]
        counts = np.array(votes, np.int64)
        off = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(weights) for weights, _ in all_steps])])
        weight, change = (np.concatenate(parts) for parts in zip(*all_steps, strict=True))
        return cls(counts, off, weight, change)._only(np.flatnonzero(counts))

    def __len__(self) -> int:
        return len(self.votes)

    def goes_on_from(self, earlier: Voters) -> bool:
        """Whether these are `earlier` ones, of which the last may have lasted longer since, and others after them."""
        count, size = len(earlier), int(earlier.off[-1])
        return (
            0 < count <= len(self)
            and np.array_equal(self.votes[: count - 1], earlier.votes[:-1])
            and bool(self.votes[count - 1] >= earlier.votes[-1])
            and np.array_equal(self.off[: count + 1], earlier.off)
            and np.array_equal(self.weight[:size], earlier.weight)
            and np.array_equal(self.change[:size], earlier.change)
        )

    def longest(self, count: int) -> Voters:
        """The `count` vectors that lasted longest, the later ones in case of a tie; all if there are no more."""
        if count >= len(self):
            return self
        return self._only(np.sort(np.lexsort((np.arange(len(self)), self.votes))[-count:]))

    def _only(self, kept: Ints) -> Voters:
        """Some of the vectors. The changes of vectors in between are added up."""
        if len(kept) == len(self):
            return self
        weights, changes = [np.zeros(0, np.int32)], [np.zeros(0)]
        begin = 0
        for end in self.off[kept + 1].tolist():
            touched, place = np.unique(self.weight[begin:end], return_inverse=True)
            moved = np.bincount(place, self.change[begin:end], len(touched))
            weights.append(touched[moved != 0.0])
            changes.append(moved[moved != 0.0])
            begin = end
        off = np.cumsum([len(changed) for changed in weights])
        return Voters(self.votes[kept], off, np.concatenate(weights), np.concatenate(changes))

    def walk(self, num_weights: int) -> Iterator[tuple[int, Floats]]:
        """(votes, weights [W]) of each vector; the array is reused and changed in place."""
        weights, off = np.zeros(num_weights), self.off.tolist()
        for votes, begin, end in zip(self.votes.tolist(), off, off[1:], strict=False):
            weights[self.weight[begin:end]] += self.change[begin:end]
            yield votes, weights

    # files --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray]:
        """For a model file, see `restore`."""
        return {"votes": self.votes, "off": self.off, "weight": self.weight, "change": self.change}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray], num_weights: int) -> Voters:
        """From `arrays()`. `IncompatibleState` if they do not fit together, or not to this number of weights."""
        votes, off = array(arrays, "votes", np.int64), array(arrays, "off", np.int64)
        weight, change = array(arrays, "weight", np.int32), array(arrays, "change", np.float64)
        check_within(votes, 1, 1 << 62, "votes")
        check_offsets(off, len(weight), "voters.off")
        check_within(weight, 0, num_weights, "voters.weight")
        check_finite(change, "voters.change")
        if len(off) != len(votes) + 1 or len(votes) == 0 or len(weight) != len(change):
            raise IncompatibleState("the voters have arrays of different lengths")
        return cls(votes, off, weight, change)
