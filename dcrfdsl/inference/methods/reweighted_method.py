"""Tree-reweighted sum-product over a data set: log Z is an upper bound.

It decodes by the max-marginals of the max-product form. Not here: the messages (`kernels.messages.trw`), the forests
that determine their weights (`graph.factor_forests`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...foundation import Ints
from ...graph import bank_forests
from ...kernels.messages import Forests, reweighted_expectations
from ...kernels.tables import Shapes
from ...semantics import TrwSettings
from .bounding_method import BoundingMethod


class ReweightedMethod(BoundingMethod[TrwSettings]):
    """A bound by messages; a sequence keeps them for the next call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pool = bank_forests(self.data.bank, self.settings.seed)
        self.stretched_off = _stretched(self.data.shapes)

    def _remembered(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.edges.messages[self.data.rows.shape])))

    def _seed(self) -> int:
        return self.settings.seed

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        forests = Forests(self.pool.passes, self.pool.appearance, self.stretched_off)
        return reweighted_expectations, (forests,), (decoding,)


def _stretched(shapes: Shapes) -> Ints:
    """The place of each factor's stretched table among those of its shape, [F]."""
    sizes = np.where(np.diff(shapes.scope_off) > 1, shapes.fac_size, 0)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    starts = ends[shapes.fac_off]
    off = ends[:-1] - np.repeat(starts[:-1], np.diff(shapes.fac_off))
    places: Ints = off.astype(np.int64)
    return places
