"""Observation kernels: how alike two positions are by the features that fire there (Altun & Hofmann 2003 eq. 12).

A clique with a kernel has, in the place of its features, one for each position of the training data that supports the
model; its value at a position is how alike the two are. Kernels are functions of φ(x)·φ(x') and of norms, so features
may be words as well as numbers. Not here: dual weights (`optimizers`), which positions support (`supports`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ..arrays import Floats, Ints
from ..files import Count, Unfit, array, check_finite, check_offsets, check_within, typed
from ..semantics import KERNELS, LinearKernel, MethodSettings, PolyKernel, RbfKernel
from .feature_rows import FeatureRows

__all__ = ["Likeness", "LikenessRecord", "likeness_arrays", "likeness_metadata", "restored_likenesses"]

DENSE = 2048  # features up to which products of dense rows are faster


def _linear(products: Floats, left: Floats, right: Floats, settings: MethodSettings) -> Floats:
    return products


def _poly(products: Floats, left: Floats, right: Floats, settings: MethodSettings) -> Floats:
    assert isinstance(settings, PolyKernel)
    powers: Floats = (settings.scale * products + settings.constant) ** settings.degree
    return powers


def _rbf(products: Floats, left: Floats, right: Floats, settings: MethodSettings) -> Floats:
    assert isinstance(settings, RbfKernel)
    distances = np.maximum(left[:, None] + right[None, :] - 2.0 * products, 0.0)
    found: Floats = np.exp(-settings.gamma * distances)
    return found


# Of products φ(x)·φ(x') [A, B] and squared norms [A], [B].
FORMULAS: Mapping[str, Callable[[Floats, Floats, Floats, MethodSettings], Floats]] = {
    LinearKernel.method: _linear,
    PolyKernel.method: _poly,
    RbfKernel.method: _rbf,
}


@dataclass(frozen=True, eq=False)
class Likeness:
    """clique: its number.   feature_set, num_features: of what is compared.   kernel: settings.   support: its rows."""

    clique: int
    feature_set: int
    num_features: int
    kernel: MethodSettings
    support: FeatureRows

    @property
    def size(self) -> int:
        """Positions that support."""
        return len(self.support.row_off) - 1

    def gram(self, rows: FeatureRows) -> Floats:
        """How alike each of `rows` is to each position that supports, [rows, support]."""
        ours, theirs = self._matrix(rows), self._matrix(self.support)
        is_dense = self.num_features <= DENSE
        products = ours.toarray() @ theirs.toarray().T if is_dense else (ours @ theirs.T).toarray()
        left, right = (np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel() for matrix in (ours, theirs))
        return FORMULAS[self.kernel.method](products, left, right, self.kernel)

    def rows(self, rows: FeatureRows) -> FeatureRows:
        """The rows of the clique: every position that supports, with its likeness as value."""
        count = len(rows.row_off) - 1
        values = self.gram(rows).ravel() if count and self.size else np.zeros(0)
        return FeatureRows(
            np.arange(count + 1, dtype=np.int64) * self.size,
            np.tile(np.arange(self.size, dtype=np.int32), count),
            values,
            rows.pad_left,
            rows.pad_right,
        )

    def only(self, kept: Ints) -> Likeness:
        """With fewer positions that support."""
        matrix = self._matrix(self.support)[kept]
        valued = len(self.support.value) > 0
        support = FeatureRows(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data if valued else np.zeros(0)
        )
        return Likeness(self.clique, self.feature_set, self.num_features, self.kernel, support)

    def _matrix(self, rows: FeatureRows) -> Any:
        from scipy.sparse import csr_array  # only models with kernels need it, and it takes time to import

        value = rows.value if len(rows.value) else np.ones(len(rows.feature))
        return csr_array((value, rows.feature, rows.row_off), shape=(len(rows.row_off) - 1, self.num_features))


def likeness_arrays(likenesses: Sequence[Likeness]) -> dict[str, NDArray[Any]]:
    """For a model file."""
    return {
        f"support.{n}.{name}": getattr(own.support, name)
        for n, own in enumerate(likenesses)
        for name in ("row_off", "feature", "value")
    }


def likeness_metadata(likenesses: Sequence[Likeness]) -> list[dict[str, Any]]:
    """The rest."""
    return [
        {
            "clique": own.clique,
            "feature_set": own.feature_set,
            "num_features": own.num_features,
            "kernel": own.kernel.method,
            "settings": own.kernel.model_dump(),
        }
        for own in likenesses
    ]


class LikenessRecord(BaseModel, strict=True, extra="forbid"):
    """What a model file says of a likeness beside its arrays."""

    clique: Count
    feature_set: Count
    num_features: Count
    kernel: str
    settings: dict[str, Any]


def restored_likenesses(
    arrays: Mapping[str, NDArray[Any]],
    records: Sequence[LikenessRecord],
    set_of_clique: Sequence[int],
    num_features: Sequence[int],
) -> tuple[Likeness, ...]:
    """From a model file. set_of_clique: without likenesses.   num_features: of each feature set.

    `Unfit` where clique, features or support vectors are not those of the template.
    """
    found: list[Likeness] = []
    for n, own in enumerate(records):
        clique, source = own.clique, own.feature_set
        fits = (
            clique < len(set_of_clique) and source == set_of_clique[clique] and all(clique != o.clique for o in found)
        )
        if not fits or own.num_features != num_features[source]:
            raise Unfit(f"a kernel compares features that clique {clique} does not have")
        if own.kernel not in KERNELS:
            raise Unfit(f"`{own.kernel}` is not a kernel")
        kernel = typed(KERNELS[own.kernel], own.settings, f"kernel of clique {clique}")
        found.append(Likeness(clique, source, own.num_features, kernel, _support(arrays, n, own.num_features)))
    return tuple(found)


def _support(arrays: Mapping[str, NDArray[Any]], number: int, num_features: int) -> FeatureRows:
    name = f"support.{number}"
    row_off, feature = array(arrays, f"{name}.row_off", np.int64), array(arrays, f"{name}.feature", np.int32)
    value = array(arrays, f"{name}.value", np.float64)
    check_offsets(row_off, len(feature), f"{name}.row_off")
    check_within(feature, 0, num_features, f"{name}.feature")
    check_finite(value, f"{name}.value")
    if len(value) not in (0, len(feature)):
        raise Unfit(f"`{name}.value` has {len(value):,} numbers, expected {len(feature):,}")
    return FeatureRows(row_off, feature, value)
