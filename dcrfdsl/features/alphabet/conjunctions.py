"""Induced features: conjunctions of two features that fire in the same row, each of which may be one itself.

A feature set with F features of its alphabet and K conjunctions has the features 0 … F+K−1. Conjunction k is the
feature F + k, and its two members have smaller numbers. New text is looked at in the same way as training data: first
the alphabet, then what fires together. Not here: which conjunctions are worth having (`induction`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Ints, Ints32
from ...files import Unfit, array
from ...kernels.extraction import conjoin
from ..feature_rows import FeatureRows

__all__ = ["Conjunctions", "conjoined", "conjunction_arrays", "restored_conjunctions"]


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """`members` [K, 2] int32: of each conjunction its two features; `first` is the number of conjunction 0."""

    first: int
    members: Ints32

    @classmethod
    def none(cls, num_features: int) -> Conjunctions:
        return cls(num_features, np.zeros((0, 2), np.int32))

    @property
    def num_features(self) -> int:
        """Of the alphabet and of conjunctions together."""
        return self.first + len(self.members)

    def extended(self, members: Ints32) -> Conjunctions:
        return Conjunctions(self.first, np.concatenate([self.members, members]))

    def atoms(self, feature: int) -> frozenset[int]:
        """The features of the alphabet that a feature is the conjunction of."""
        met, left = {feature}, [feature]
        while left:  # each member once, however often and deep it is one
            if (at := left.pop() - self.first) >= 0:
                new = set(self.members[at].tolist()) - met
                met |= new
                left += new
        return frozenset(one for one in met if one < self.first)

    def partners(self) -> tuple[Ints, Ints32, Ints32]:
        """Of each feature those that it makes a conjunction with: offsets, the other one, the conjunction."""
        number = np.arange(self.first, self.num_features, dtype=np.int32)
        one, other = np.concatenate([self.members, self.members[:, ::-1]]).T if len(number) else self.members.T
        order = np.argsort(one, kind="stable")
        off = np.searchsorted(one[order], np.arange(self.num_features + 1)).astype(np.int64)
        return off, np.ascontiguousarray(other[order]), np.concatenate([number, number])[order]


def conjoined(rows: FeatureRows, conjunctions: Conjunctions) -> FeatureRows:
    """The rows with the conjunctions that fire there, after their features; the value of a conjunction is 1."""
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
    """The members of each set's conjunctions, where it has any."""
    return {f"conjunctions.{n}": own.members for n, own in enumerate(sets) if len(own.members)}


def restored_conjunctions(num_features: Sequence[int], arrays: Mapping[str, NDArray]) -> list[Conjunctions]:
    """From stored arrays. `Unfit` where a member is no earlier feature; kernels do not check bounds."""
    found = []
    for n, first in enumerate(num_features):
        own = Conjunctions.none(first)
        if (name := f"conjunctions.{n}") in arrays:
            members = array(arrays, name, np.int32, 2)
            known = np.arange(len(members))[:, None] + first
            if members.shape[1] != 2 or (members < 0).any() or (members >= known).any():
                raise Unfit("the stored conjunctions do not fit the alphabet")
            own = Conjunctions(first, np.ascontiguousarray(members))
        found.append(own)
    return found
