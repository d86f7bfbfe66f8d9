"""Naive mean field over a data set: log Z is a lower bound. Not here: the ascent (`kernels.messages`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...foundation import Ints
from ...kernels.messages import mean_field_expectations
from ...semantics import MeanFieldSettings
from .bounding_method import BoundingMethod


class MeanFieldMethod(BoundingMethod[MeanFieldSettings]):
    """The best product of single-variable distributions; a sequence keeps its marginals for the next call."""

    def _remembered(self) -> Ints:
        return self.data.marginal_off

    def _seed(self) -> int:
        return self.settings.seed

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return mean_field_expectations, (), ()
