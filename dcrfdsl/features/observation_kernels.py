"""Observation kernels: similarities of two positions by the features that fire there (Altun & Hofmann 2003 eq. 12).

A clique with a kernel has one feature for each support vector (a position of the training data) instead of its listed
features. The value of that feature at a position is the kernel of the two. Kernels are functions of φ(x)·φ(x') and of
norms, so features may be words as well as numbers. Not here: dual weights (`optimizers`), the choice of support vectors
(`training`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ..foundation import (
    Count,
    Floats,
    IncompatibleState,
    Ints,
    array,
    check_finite,
    check_offsets,
    check_within,
    dataclass,
    typed,
)
from ..kernels.extraction import row_products
from ..semantics import KERNELS, LinearKernel, MethodSettings, PolyKernel, RbfKernel
from .feature_rows import FeatureRows


def _poly(products: Floats, left: Floats, right: Floats, settings: MethodSettings) -> Floats:
    assert isinstance(settings, PolyKernel)
    powers: Floats = (settings.scale * products + settings.constant) ** settings.degree
    return powers


def _rbf(products: Floats, left: Floats, right: Floats, settings: MethodSettings) -> Floats:
    assert isinstance(settings, RbfKernel)
    distances = np.maximum(left[:, None] + right[None, :] - 2.0 * products, 0.0)
    values: Floats = np.exp(-settings.gamma * distances)
    return values


# Functions of products φ(x)·φ(x') [A, B] and of squared norms [A], [B].
FORMULAS: Mapping[str, Callable[[Floats, Floats, Floats, MethodSettings], Floats]] = {
    LinearKernel.method: lambda products, left, right, settings: products,
    PolyKernel.method: _poly,
    RbfKernel.method: _rbf,
}


@dataclass(frozen=True, eq=False)
class ObservationKernel:
    """clique: its number.   feature_set, num_features: of the compared rows.   kernel: settings.   support: rows."""

    clique: int
    feature_set: int
    num_features: int
    kernel: MethodSettings
    support: FeatureRows

    @property
    def size(self) -> int:
        """The number of support vectors."""
        return len(self.support.row_off) - 1

    def gram(self, rows: FeatureRows) -> Floats:
        """The kernel of each of `rows` and each support vector, [rows, support]."""
        support, width = self.support, self.size
        order = np.argsort(support.feature, kind="stable")  # of a feature: where it fires
        off = np.append(0, np.cumsum(np.bincount(support.feature, minlength=self.num_features)))
        fires = _row_numbers(support)[order].astype(np.int32), _values(support)[order]
        products = row_products(rows.row_off, rows.feature, _values(rows), off, *fires, width)
        return FORMULAS[self.kernel.method](products, self._norms(rows), self._norms(support), self.kernel)

    def rows(self, rows: FeatureRows) -> FeatureRows:
        """The rows of the clique: every support vector, with the value of the kernel."""
        count = len(rows.row_off) - 1
        values = self.gram(rows).ravel() if count and self.size else np.zeros(0)
        row_off = np.arange(count + 1, dtype=np.int64) * self.size
        every = np.tile(np.arange(self.size, dtype=np.int32), count)
        return FeatureRows(row_off, every, values, rows.pad_left, rows.pad_right)

    def only(self, kept: Ints) -> ObservationKernel:
        """The same kernel with fewer support vectors."""
        count = np.diff(self.support.row_off)[kept]
        off = np.append(0, np.cumsum(count))
        at = np.arange(off[-1]) + np.repeat(self.support.row_off[kept] - off[:-1], count)
        value = self.support.value[at] if len(self.support.value) else self.support.value
        return replace(self, support=FeatureRows(off, self.support.feature[at], value))

    def _norms(self, rows: FeatureRows) -> Floats:
        """φ(x)·φ(x) of each row. A feature that fires several times in it counts with the sum of its values."""
        pairs, pair = np.unique(_row_numbers(rows) * self.num_features + rows.feature, return_inverse=True)
        sums = np.bincount(pair, _values(rows), len(pairs)).astype(np.float64)
        return np.bincount(pairs // self.num_features, sums * sums, len(rows.row_off) - 1).astype(np.float64)


def _row_numbers(rows: FeatureRows) -> Ints:
    """The row of each entry of `rows.feature`."""
    return np.repeat(np.arange(len(rows.row_off) - 1), np.diff(rows.row_off))


def _values(rows: FeatureRows) -> Floats:
    return rows.value if len(rows.value) else np.ones(len(rows.feature))


def kernel_arrays(kernels: Sequence[ObservationKernel]) -> dict[str, NDArray[Any]]:
    """The support vectors of each kernel as arrays for a model file."""
    return {
        f"support.{n}.{name}": getattr(kernel.support, name)
        for n, kernel in enumerate(kernels)
        for name in ("row_off", "feature", "value")
    }


def kernel_metadata(kernels: Sequence[ObservationKernel]) -> list[dict[str, Any]]:
    """The rest of each kernel, as plain JSON values."""
    return [
        {
            "clique": kernel.clique,
            "feature_set": kernel.feature_set,
            "num_features": kernel.num_features,
            "kernel": kernel.kernel.method,
            "settings": kernel.kernel.model_dump(),
        }
        for kernel in kernels
    ]


class ObservationKernelRecord(BaseModel, strict=True, extra="forbid"):
    """What a model file says about an observation kernel, besides its arrays."""

    clique: Count
    feature_set: Count
    num_features: Count
    kernel: str
    settings: dict[str, Any]


def restored_kernels(
    arrays: Mapping[str, NDArray[Any]],
    records: Sequence[ObservationKernelRecord],
    set_of_clique: Sequence[int],
    num_features: Sequence[int],
) -> tuple[ObservationKernel, ...]:
    """The kernels of a model file. set_of_clique: without kernels.   num_features: of each feature set.

    Raises `IncompatibleState` if clique, features or support vectors do not fit the template.
    """
    restored: list[ObservationKernel] = []
    for n, record in enumerate(records):
        clique, source = record.clique, record.feature_set
        fits = clique < len(set_of_clique) and source == set_of_clique[clique]
        if not fits or any(clique == one.clique for one in restored) or record.num_features != num_features[source]:
            raise IncompatibleState(f"a kernel compares features that clique {clique} does not have")
        if record.kernel not in KERNELS:
            raise IncompatibleState(f"`{record.kernel}` is not a kernel")
        kernel = typed(KERNELS[record.kernel], record.settings, f"kernel of clique {clique}")
        support = _support(arrays, f"support.{n}", record.num_features)
        restored.append(ObservationKernel(clique, source, record.num_features, kernel, support))
    return tuple(restored)


def _support(arrays: Mapping[str, NDArray[Any]], name: str, num_features: int) -> FeatureRows:
    row_off, feature = array(arrays, f"{name}.row_off", np.int64), array(arrays, f"{name}.feature", np.int32)
    value = array(arrays, f"{name}.value", np.float64)
    check_offsets(row_off, len(feature), f"{name}.row_off")
    check_within(feature, 0, num_features, f"{name}.feature")
    check_finite(value, f"{name}.value")
    if len(value) not in (0, len(feature)):
        raise IncompatibleState(f"`{name}.value` has {len(value):,} numbers, expected {len(feature):,}")
    return FeatureRows(row_off, feature, value)
