"""Belief propagation over a data set, with any of its schedules: TRP's trees, random orders, floods, residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints32
from ...graph import bank_pools, pool_arrays
from ...kernels.messages import FLOOD, ORDERED, RANDOM, RESIDUAL
from ...kernels.runtime import UNDERFLOW
from ...kernels.sequences import BROKEN, message_decode, message_expectations
from ...semantics import AutoSettings, BpSettings, TrpSettings
from ..base import Expectations
from ..bound import BoundData, Potentials

__all__ = ["MessageMethod"]

SHARPEST = 1e-6  # the Bethe sum is off by about the square of what messages still move by
REMEMBERED_BYTES = 2**28
SCHEDULES = {"random": RANDOM, "flood": FLOOD, "residual": RESIDUAL}


@dataclass(eq=False)
class MessageMethod:
    """Belief propagation; `schedule` is one of the kernel's. Exact on trees, approximate on loops.

    `tolerance` begins as the settings' and may be tightened by `sharpen`.
    """

    data: BoundData
    settings: TrpSettings | BpSettings | AutoSettings
    schedule: int
    pools: list[list[list[int]]]
    approximate: bool = True

    @classmethod
    def by_trees(cls, data: BoundData, settings: TrpSettings | AutoSettings) -> MessageMethod:
        """Along random spanning forests of each graph: tree-based reparameterization."""
        return cls(data, settings, ORDERED, bank_pools(data.bank, settings.seed))

    @classmethod
    def by_schedule(cls, data: BoundData, settings: BpSettings) -> MessageMethod:
        """In the order that `settings` names."""
        return cls(data, settings, SCHEDULES[settings.schedule], [[] for _ in data.bank.shapes])

    def __post_init__(self) -> None:
        self.edges = self.data.bank.edge_arrays()
        self.schedules = pool_arrays(self.pools)
        self.residual_too = True if self.schedule == RESIDUAL else None
        self.tolerance = self.settings.tolerance
        self.kept, self.kept_off = np.zeros(0, np.float32), np.zeros(1, np.int64)
        self.is_kept = np.zeros(self.data.num_sequences, np.bool_)

    def remember(self) -> None:
        counts = self.edges.messages[self.data.rows.shape]
        if 4 * int(counts.sum()) <= REMEMBERED_BYTES:
            self.kept_off = np.concatenate(([0], np.cumsum(counts)))
            self.kept = np.zeros(int(self.kept_off[-1]), np.float32)

    def sharpen(self) -> bool:
        if self.tolerance <= SHARPEST:
            return False
        self.tolerance = max(SHARPEST, 0.1 * self.tolerance)
        return True

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        d, p, s = self.data, potentials, self.settings
        for again in (None, True):  # in log space only where that is needed
            if again is None or (out.status[first:last] == UNDERFLOW).any():
                message_expectations(
                    first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, self.schedules, p.weights,
                    p.log_base, p.base, p.peaks, p.fits, self.schedule, self.tolerance, s.max_iterations, s.damping,
                    s.seed, gradient, expected, out.log_z, out.status, out.redone, out.damped, out.iterations,
                    out.residual, out.marginals, d.marginal_off, self.kept, self.kept_off, self.is_kept,
                    self.residual_too, again,
                )  # fmt: skip

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        d, p, s = self.data, potentials, self.settings
        for again in (None, True):  # with a search only where that is needed
            if again is None or (out.status[first:last] == BROKEN).any():
                message_decode(
                    first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, self.schedules, p.weights,
                    p.log_base, self.schedule, self.tolerance, s.max_iterations, s.damping, s.seed, out.status,
                    out.damped, out.iterations, out.residual, labelling, d.labelling_off, self.residual_too, again,
                )  # fmt: skip
