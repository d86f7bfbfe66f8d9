"""Generalised belief propagation over a data set: log Z is the Kikuchi approximation.

There is no maximising form: a labelling is rounded from marginals, as `bounding_method` says. Not here: the messages
(`kernels.messages.region_messages`), the regions (`graph.regions`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...foundation import Ints
from ...graph import ClusterLimits, bank_regions
from ...kernels.messages import region_expectations
from ...semantics import GbpSettings
from .bounding_method import BoundingMethod

DOUBLING = {"never": 0, "fallback": 1, "always": 2}


class RegionMethod(BoundingMethod[GbpSettings]):
    """Messages between clusters and shared regions; a sequence keeps them for the next call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = ClusterLimits(self.settings.clusters, self.settings.size, self.settings.max_table)
        self.regions = bank_regions(self.data.bank, limits)

    def _remembered(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.regions.messages[self.data.rows.shape])))

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return region_expectations, (self.regions,), (DOUBLING[self.settings.double_loop],)
