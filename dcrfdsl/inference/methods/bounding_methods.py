"""Methods that bound or approximate log Z by marginals: mean field, TRW, generalised BP, expectation propagation.

They have convergence, warm starts and decoding in common: a labelling takes the likeliest state of each variable, is
repaired if it breaks a hard constraint, and is then improved one variable at a time. Generalised BP and EP have no
maximising form; TRW decodes by the max-marginals of its max-product form. Not here: the messages (`kernels.messages`),
forests and regions (`graph.factor_forests`, `graph.regions`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ...foundation import Floats, Ints
from ...graph import ClusterLimits, bank_approximations, bank_forests, bank_regions
from ...kernels.messages import (
    Forests,
    forest_expectations,
    mean_field_expectations,
    region_expectations,
    reweighted_expectations,
    round_marginals,
)
from ...kernels.runtime import OK
from ...kernels.tables import Control, Potentials, Ragged, Shapes, Totals, WarmStart
from ...semantics import EpSettings, GbpSettings, MeanFieldSettings, TrwSettings
from ..base import Decoded, Expectations
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
        out: Expectations | Decoded,
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

    def memory(self) -> dict[str, Any]:
        return {}  # a resumed training begins with fresh marginals

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Nothing was saved."""

    def tighten_tolerance(self) -> bool:
        if self.tolerance <= SHARPEST:
            return False
        self.tolerance = max(SHARPEST, 0.1 * self.tolerance)
        return True

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        d, p = self.data, potentials
        marginal_off = d.marginal_off - d.marginal_off[first]
        marginals = np.zeros(int(marginal_off[last]))
        self._run(p, first, last, out, NOTHING, np.zeros(len(d.hard)), marginals, marginal_off, True)
        round_marginals(
            first, last, d.problem, self.edges, p, Ragged(marginals, marginal_off), out.status, d.ragged(out.labelling)
        )
        lost = (out.labelling[d.labelling_off[first:last]] < 0) & (out.status[first:last] == OK)  # the search gave up
        out.iterations[first:last][lost] = -np.abs(out.iterations[first:last][lost])


class MeanFieldMethod(BoundingMethod[MeanFieldSettings]):
    """The best product of single-variable distributions; a sequence keeps its marginals for the next call."""

    def _remembered(self) -> Ints:
        return self.data.marginal_off

    def _seed(self) -> int:
        return self.settings.seed

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return mean_field_expectations, (), ()


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


class ExpectationPropagation(BoundingMethod[EpSettings]):
    """Terms that are renewed one by one; a sequence keeps them for the next call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.walks = bank_approximations(self.data.bank, self.settings.family)

    def _remembered(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.walks.cells[self.data.rows.shape])))

    def _kernel(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return forest_expectations, (self.walks,), (self.settings.power,)
