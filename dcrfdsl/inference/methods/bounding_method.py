"""The base class of methods that bound or approximate log Z by marginals: convergence, warm starts, decoding.

A labelling takes the likeliest state of each variable, is repaired if it breaks a hard constraint, and is then improved
one variable at a time. Not here: the methods (`mean_field_method`,
`reweighted_method`, `region_method`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ...kernels.messages import round_marginals
from ...kernels.runtime import OK
from ...kernels.tables import Control, Potentials, Ragged, Totals, WarmStart
from ...semantics import EpSettings, GbpSettings, MeanFieldSettings, TrwSettings
from ..base import Expectations
from ..bound import BoundData

Chosen = TypeVar("Chosen", MeanFieldSettings, TrwSettings, GbpSettings, EpSettings)
NOTHING = np.zeros(0)
SHARPEST = 1e-8  # a bound is off by about the square of the last change; below this, rounding errors dominate
NO_MESSAGES = np.zeros(0, np.float32)
REMEMBERED_BYTES = 2**28


@dataclass(eq=False)
class BoundingMethod(ABC, Generic[Chosen]):
    """An estimate of log Z, mostly a bound, and marginals that are improved until they converge."""

    data: BoundData
    settings: Chosen
    approximate: bool = True
    together: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self.edges = self.data.bank.edge_arrays()
        self.tolerance = self.settings.tolerance
        self.kept, self.kept_off = NO_MESSAGES, np.zeros(1, np.int64)
        self.is_kept = np.zeros(self.data.num_sequences, np.bool_)

    @abstractmethod
    def _remembered(self) -> Ints:
        """Offsets [S+1] of the numbers that each sequence leaves for the next call."""

    def _damping(self) -> float:
        """The share of old messages that new ones keep; negative if the kernel chooses it."""
        return -1.0 if self.settings.damping is None else self.settings.damping

    def _seed(self) -> int:
        """What random numbers start from, where the method draws any."""
        return 0

    @abstractmethod
    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        """The kernel, and its arguments before and after `control`. decoding: whether marginals are for a labelling."""

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        self._run(potentials, first, last, out, gradient, expected, out.marginals, self.data.marginal_off, False)

    def _run(
        self,
        potentials: Potentials,
        first: int,
        last: int,
        out: Expectations,
        gradient: Floats,
        expected: Floats,
        marginals: Floats,
        marginal_off: Ints,
        decoding: bool,
    ) -> None:
        """`expectations` with marginals written to any array."""
        settings = self.settings
        control = Control(self.tolerance, settings.max_iterations, self._damping(), self._seed())
        kernel, wiring, choice = self._kernel(decoding)
        kernel(
            first, last, self.data.problem, self.edges, potentials, *wiring, control, *choice,
            Totals(gradient, expected), out.results, Ragged(marginals, marginal_off),
            WarmStart(NO_MESSAGES if decoding else self.kept, self.kept_off, self.is_kept),
        )  # fmt: skip

    def remember(self) -> None:
        offsets = self._remembered()
        if 4 * int(offsets[-1]) <= REMEMBERED_BYTES:
            self.kept_off = offsets
            self.kept = np.zeros(int(offsets[-1]), np.float32)

    def tighten_tolerance(self) -> bool:
        if self.tolerance <= SHARPEST:
            return False
        self.tolerance = max(SHARPEST, 0.1 * self.tolerance)
        return True

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        d, p = self.data, potentials
        marginal_off = d.marginal_off - d.marginal_off[first]
        marginals = np.zeros(int(marginal_off[last]))
        self._run(p, first, last, out, NOTHING, np.zeros(len(d.hard)), marginals, marginal_off, True)
        round_marginals(
            first, last, d.problem, self.edges, p, Ragged(marginals, marginal_off), out.status, d.ragged(labelling)
        )
        lost = (labelling[d.labelling_off[first:last]] < 0) & (out.status[first:last] == OK)  # the search gave up
        out.iterations[first:last][lost] = -np.abs(out.iterations[first:last][lost])
