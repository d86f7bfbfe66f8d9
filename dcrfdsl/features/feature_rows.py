"""Sparse feature rows, the product of `features` and the input of training; and induced features in them.

There is one `FeatureRows` per feature set (the distinct feature list of one or more cliques). Row r lists the ids of
the features that fire there; ids count from 0 in the alphabet of their feature set.

Induced features are conjunctions of two features that fire in the same row; each may itself be a conjunction. A feature
set with F features in its alphabet and K conjunctions has the features 0 … F+K−1. Conjunction k is the feature F + k,
and its two members have smaller numbers. New text is treated like training data: first the alphabet is looked up, then
conjunctions are formed. Not here: the choice of conjunctions (`training`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, IncompatibleState, Ints, Ints32, Offsets, array, dataclass
from ..kernels.extraction import conjoin


class FeatureRows(NamedTuple):
    """CSR rows over positions. Position t of sentence s (t runs from -pad_left to T-1+pad_right) has the row

    `sentence_off[s] + s * (pad_left + pad_right) + pad_left + t`; without padding this is the number of the token. The
    rows of a relational clique are its pairs; those of sentence s begin at `pair_off[s]`.
    """

    row_off: Offsets  # [R+1]  offsets into `feature`
    feature: Ints32  #  [nnz]  feature id
    value: Floats  #    [nnz], or [0] if every value is 1
    pad_left: int = 0
    pad_right: int = 0
    pair_off: Offsets | None = None  # [S+1]

    def summed(self, sentence_off: Offsets) -> FeatureRows:
        """The rows in which the first position of a sentence has the features of all of them, and the others none.

        Without padding and pairs. A feature that fires at several positions is there several times.
        """
        off = np.asarray(sentence_off, np.int64)
        row_off = np.repeat(self.row_off[off[1:]], np.diff(off))
        first = off[:-1][np.diff(off) > 0]
        row_off[first] = self.row_off[first]
        return self._replace(row_off=np.append(row_off, self.row_off[-1]))

    def first_row(self, sentence_off: Offsets) -> Ints:
        """The row of anchor 0 of each sentence, [S]."""
        if self.pair_off is not None:
            return self.pair_off[:-1]
        if not self.pad_left and not self.pad_right:
            return sentence_off[:-1]
        sentences = np.arange(len(sentence_off) - 1)
        return sentence_off[:-1] + sentences * (self.pad_left + self.pad_right) + self.pad_left


# conjunctions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """`members` [K, 2] int32: the two features of each conjunction; `first` is the number of conjunction 0."""

    first: int
    members: Ints32

    @classmethod
    def none(cls, num_features: int) -> Conjunctions:
        return cls(num_features, np.zeros((0, 2), np.int32))

    @property
    def num_features(self) -> int:
        """Features of the alphabet and conjunctions together."""
        return self.first + len(self.members)

    def extended(self, members: Ints32) -> Conjunctions:
        return Conjunctions(self.first, np.concatenate([self.members, members]))

    def atoms(self, feature: int) -> frozenset[int]:
        """The features of the alphabet of which a feature consists."""
        met, left = {feature}, [feature]
        while left:  # each member once, however often it occurs
            if (at := left.pop() - self.first) >= 0:
                new = set(self.members[at].tolist()) - met
                met |= new
                left += new
        return frozenset(one for one in met if one < self.first)

    def partners(self) -> tuple[Ints, Ints32, Ints32]:
        """For each feature its partners in conjunctions: offsets, the other member, the conjunction."""
        number = np.arange(self.first, self.num_features, dtype=np.int32)
        one, other = np.concatenate([self.members, self.members[:, ::-1]]).T if len(number) else self.members.T
        order = np.argsort(one, kind="stable")
        off = np.searchsorted(one[order], np.arange(self.num_features + 1)).astype(np.int64)
        return off, np.ascontiguousarray(other[order]), np.concatenate([number, number])[order]


def conjoined(rows: FeatureRows, conjunctions: Conjunctions) -> FeatureRows:
    """The rows with the conjunctions that fire there after their features; the value of a conjunction is 1."""
    if not len(conjunctions.members):
        return rows
    row_off, feature = conjoin(rows.row_off, rows.feature, *conjunctions.partners())
    value = rows.value
    if len(value):
        value = np.ones(len(feature))
        lengths = np.diff(rows.row_off)
        place = np.arange(len(rows.value)) + np.repeat(row_off[:-1] - rows.row_off[:-1], lengths)
        value[place] = rows.value
    return rows._replace(row_off=row_off, feature=feature, value=value)


# storage ------------------------------------------------------------------------------------------------------------


def conjunction_arrays(sets: Sequence[Conjunctions]) -> dict[str, Ints32]:
    """The members of each set's conjunctions, for the sets that have any."""
    return {
        f"conjunctions.{n}": conjunctions.members for n, conjunctions in enumerate(sets) if len(conjunctions.members)
    }


def restored_conjunctions(num_features: Sequence[int], arrays: Mapping[str, NDArray]) -> list[Conjunctions]:
    """From stored arrays. `IncompatibleState` unless every member is an earlier feature; kernels do not check
    bounds.
    """
    restored = []
    for n, first in enumerate(num_features):
        conjunctions = Conjunctions.none(first)
        if (name := f"conjunctions.{n}") in arrays:
            members = array(arrays, name, np.int32, 2)
            known = np.arange(len(members))[:, None] + first
            if members.shape[1] != 2 or (members < 0).any() or (members >= known).any():
                raise IncompatibleState("the stored conjunctions do not fit the alphabet")
            conjunctions = Conjunctions(first, np.ascontiguousarray(members))
        restored.append(conjunctions)
    return restored
