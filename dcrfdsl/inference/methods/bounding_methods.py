"""Methods that bound or approximate log Z by marginals: mean field, TRW, generalised BP, expectation propagation.

They have convergence, warm starts and decoding in common: a labelling takes the likeliest state of each variable, is
repaired if it breaks a hard constraint, and is then improved one variable at a time. Generalised BP and EP have no
maximising form; TRW decodes by the max-marginals of its max-product form. Not here: the messages (`kernels.messages`),
forests and regions (`graph.factor_forests`, `graph.regions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ...foundation import Floats, Ints, dataclass
from ...graph import ClusterLimits, bank_approximations, bank_forests, bank_regions, offsets
from ...kernels import messages
from ...kernels.runtime import OK, UNDERFLOW
from ...kernels.tables import Control, Potentials, Ragged, Totals, WarmStart
from ...semantics import EpSettings, GbpSettings, MeanFieldSettings, TrwSettings
from ..base import Decoded, Expectations, IterativeMethod
from ..bound import BoundData

Chosen = TypeVar("Chosen", MeanFieldSettings, TrwSettings, GbpSettings, EpSettings)
NOTHING = np.zeros(0)
NO_MESSAGES = np.zeros(0, np.float32)


@dataclass(eq=False)
class BoundingMethod(IterativeMethod, ABC, Generic[Chosen]):
    """An estimate of log Z, mostly a bound, and marginals that are improved until they converge.

    room [S]: the numbers that each sequence leaves for the next call.   kernel: takes `wiring` before `control`, and
    `choice` after it.
    """

    data: BoundData
    settings: Chosen
    approximate: bool = True
    sharpest: ClassVar[float] = 1e-8  # bounds are off by about the square of the last change; below, rounding dominates
    decodes_apart: ClassVar[bool] = False  # whether the kernel is told that the marginals are for a labelling

    def __post_init__(self) -> None:
        super().__init__(self.data, self.settings.tolerance)
        self.wiring: tuple[Any, ...] = ()
        self.choice: tuple[Any, ...] = ()
        self.room, self.kernel = self._prepare()

    @abstractmethod
    def _prepare(self) -> tuple[Ints, Callable[..., None]]:
        """Returns `room` and the kernel; sets its `wiring` and `choice`, if it has some."""

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        self._run(potentials, first, last, out, gradient, expected, out.marginals, self.data.marginal_off, False)

    def _run(
        self, potentials: Potentials, first: int, last: int, out: Expectations | Decoded, gradient: Floats,
        expected: Floats, marginals: Floats, marginal_off: Ints, decoding: bool,
    ) -> None:  # fmt: skip
        """`expectations` with marginals written to any array."""
        settings = self.settings
        damping = -1.0 if settings.damping is None else settings.damping  # the kernel chooses where it is negative
        seed = settings.seed if isinstance(settings, MeanFieldSettings | TrwSettings) else 0  # others draw nothing
        control = Control(self.present_tolerance, settings.max_iterations, damping, seed)
        wiring, choice = self.wiring, (decoding,) if self.decodes_apart else self.choice
        start = WarmStart(NO_MESSAGES, self.kept_off, self.is_kept) if decoding else self.start(first, last)
        outputs = Totals(gradient, expected), out.results, Ragged(marginals, marginal_off), start
        problem = self.data.problem
        self.kernel(first, last, problem, self.edges, potentials, *wiring, control, *choice, *outputs)
        if (out.status[first:last] == UNDERFLOW).any():  # `ep`: in log space only if needed
            self.kernel(first, last, problem, self.edges, potentials, *wiring, control, *choice[:-1], True, *outputs)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        d, p = self.data, potentials
        marginal_off = d.marginal_off - d.marginal_off[first]
        marginals = np.zeros(int(marginal_off[last]))
        self._run(p, first, last, out, NOTHING, np.zeros(len(d.hard)), marginals, marginal_off, True)
        messages.round_marginals(
            first, last, d.problem, self.edges, p, Ragged(marginals, marginal_off), out.status, d.ragged(out.labelling)
        )
        lost = (out.labelling[d.labelling_off[first:last]] < 0) & (out.status[first:last] == OK)  # the search gave up
        out.iterations[first:last][lost] = -np.abs(out.iterations[first:last][lost])


class MeanFieldMethod(BoundingMethod[MeanFieldSettings]):
    """The best product of single-variable distributions; a sequence keeps its marginals for the next call."""

    def _prepare(self) -> tuple[Ints, Callable[..., None]]:
        return np.diff(self.data.marginal_off), messages.mean_field_expectations


class ReweightedMethod(BoundingMethod[TrwSettings]):
    """A bound by messages; a sequence keeps them for the next call."""

    decodes_apart = True

    def begin_inference(self, anew: str = "") -> bool:  # a convex bound has one least value, wherever messages begin
        return not anew and super().begin_inference(anew)

    def _prepare(self) -> tuple[Ints, Callable[..., None]]:
        pool, shapes = bank_forests(self.data.bank, self.settings.seed), self.data.shapes
        # the place of each factor's stretched table among those of its shape, [F]
        ends = offsets(np.where(np.diff(shapes.scope_off) > 1, shapes.fac_size, 0))
        stretched = ends[:-1] - np.repeat(ends[shapes.fac_off[:-1]], np.diff(shapes.fac_off))
        self.wiring = (messages.Forests(pool.passes, pool.appearance, stretched),)
        return self.edges.messages[self.data.rows.shape], messages.reweighted_expectations


DOUBLING = {"never": 0, "fallback": 1, "always": 2}


class RegionMethod(BoundingMethod[GbpSettings]):
    """Messages between clusters and shared regions; a sequence keeps them for the next call."""

    def _prepare(self) -> tuple[Ints, Callable[..., None]]:
        limits = ClusterLimits(self.settings.clusters, self.settings.size, self.settings.max_table)
        regions = bank_regions(self.data.bank, limits)
        self.wiring, self.choice = (regions,), (DOUBLING[self.settings.double_loop],)
        return regions.messages[self.data.rows.shape], messages.region_expectations


class ExpectationPropagation(BoundingMethod[EpSettings]):
    """Terms that are renewed one by one; a sequence keeps them for the next call."""

    def _prepare(self) -> tuple[Ints, Callable[..., None]]:
        walks = bank_approximations(self.data.bank, self.settings.family)
        self.wiring, self.choice = (walks,), (self.settings.power, None)
        return walks.cells[self.data.rows.shape], messages.forest_expectations
