"""Belief propagation over a data set, with any schedule: TRP's trees, random orders, flooding, residuals."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...foundation import Floats, dataclass
from ...kernels.messages import COVER, FLOOD, RANDOM, RESIDUAL, TREES, first_trees
from ...kernels.runtime import BROKEN, UNDERFLOW
from ...kernels.sequences import message_decode, message_expectations, message_log_expectations
from ...kernels.tables import Control, Potentials, Ragged, Schedules, Sweeps, Totals
from ...semantics import AutoSettings, BpSettings, TrpSettings
from ..base import Decoded, Expectations, IterativeMethod
from ..bound import BoundData

SCHEDULES = {"random": RANDOM, "flood": FLOOD, "residual": RESIDUAL}
TREE_KINDS = {"random": TREES, "cover": COVER}
FIRST_TREES = 32  # drawn once for all sequences of a shape; runs that need more draw them in passing …
DRAWN_SENDS = 2**22  # … and so they do where so many would take more numbers than these, 16 MiB


@dataclass(eq=False)
class MessageMethod(IterativeMethod):
    """Belief propagation; `schedule` is one of the kernel's. Exact on trees, approximate on loops."""

    data: BoundData
    settings: TrpSettings | BpSettings | AutoSettings
    schedule: int
    approximate: bool = True
    sharpest: ClassVar[float] = 1e-6  # the Bethe free energy is off by about the square of the last change of messages

    @classmethod
    def by_trees(cls, data: BoundData, settings: TrpSettings | AutoSettings) -> MessageMethod:
        """Along random spanning trees of each graph, a new one in each iteration: tree-based reparameterization."""
        return cls(data, settings, TREE_KINDS[settings.trees])

    @classmethod
    def by_schedule(cls, data: BoundData, settings: BpSettings) -> MessageMethod:
        return cls(data, settings, SCHEDULES[settings.schedule])

    def __post_init__(self) -> None:
        IterativeMethod.__init__(self, self.data, self.settings.tolerance)
        self.room = self.edges.messages[self.data.rows.shape]
        self.sweeps = Sweeps(self.schedule, self._trees()) if self.schedule != RESIDUAL else None

    def _trees(self) -> Schedules:
        """The first trees of each shape, drawn once for a bank of shapes; none for other schedules."""
        if self.schedule not in TREE_KINDS.values():
            return Schedules(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32))
        bank, edges, seed, cover = self.data.bank, self.edges, self.settings.seed, self.schedule == COVER
        count = max(1, min(FIRST_TREES, DRAWN_SENDS // max(1, len(edges.edge_var))))
        return bank.once(
            ("trees", seed, cover), lambda: Schedules(*first_trees(bank.shape_arrays(), edges, seed, cover, count))
        )

    @property
    def control(self) -> Control:
        return Control(self.present_tolerance, self.settings.max_iterations, self.settings.damping, self.settings.seed)

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        d, results, totals = self.data, out.results, Totals(gradient, expected)
        marginals = Ragged(out.marginals, d.marginal_off)
        message_expectations(
            first, last, d.problem, self.edges, potentials, self.sweeps, self.control, totals, results, marginals,
            self.start(first, last),
        )  # fmt: skip
        if (out.status[first:last] == UNDERFLOW).any():  # in log space only if needed
            message_log_expectations(
                first, last, d.problem, self.edges, potentials, self.sweeps, self.control, totals, results, marginals
            )

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        inputs = self.data.problem, self.edges, potentials, self.sweeps, self.control
        outputs = out.results, self.data.ragged(out.labelling)
        message_decode(first, last, *inputs, *outputs, None)
        if (out.status[first:last] == BROKEN).any():  # with a search only if needed
            message_decode(first, last, *inputs, *outputs, True)
