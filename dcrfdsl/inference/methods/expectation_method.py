"""Expectation propagation over a data set, with a forest of each graph as approximating family.

There is no maximising form: a labelling is rounded from marginals, as `bounding_method` says. Not here: the messages
(`kernels.messages.expectation_propagation`), the forests (`graph.factor_forests`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...foundation import Ints
from ...graph import bank_approximations
from ...kernels.messages import forest_expectations
from ...semantics import EpSettings
from .bounding_method import BoundingMethod


class ExpectationPropagation(BoundingMethod[EpSettings]):
    """Terms that are renewed one by one; a sequence keeps them for the next call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.walks = bank_approximations(self.data.bank, self.settings.family)

    def _remembered(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.walks.cells[self.data.rows.shape])))

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return forest_expectations, (self.walks,), (self.settings.power,)
