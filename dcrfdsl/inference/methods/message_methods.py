"""Inference over a data set: a method = a schedule, a stopping rule, and what it returns.

`METHODS` is the table of methods. A method is built for one `BoundData`; it then answers for runs of sequences, so that
threads can share it. Nothing is raised for non-convergence: the status says so.

To add a method: a settings class in `semantics.settings.training_settings`, a class here with the three functions of
`SequenceMethod`, a line in `METHODS`; the tests loop over the table.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors.arguments import require_whole
from ...errors.problems import DcrfError, Diagnostic, data_error
from ...graph.model_cost import exact_cost, exact_pays, sweep_cost, sweep_messages
from ...graph.programs.elimination import OrderCost
from ...graph.shape_bank import GraphShape
from ...graph.spanning_forests import bank_pools, pool_arrays
from ...graph.unroll import ModelGraph
from ...kernels.exact.checkpointing import blocked_decode, blocked_expectations
from ...kernels.exact.contraction import IMPOSSIBLE, UNDERFLOW
from ...kernels.messages.propagation import FLOOD, ORDERED, RANDOM, RESIDUAL
from ...kernels.sequences.expectations import (
    BROKEN,
    exact_decode,
    exact_expectations,
    message_decode,
    message_expectations,
)
from ...kernels.tables.wiring import Patterns, Programs
from ...registry import Table
from ...semantics.settings.training_settings import AutoSettings, BpSettings, ExactSettings, MethodSettings, TrpSettings
from ..bound.chain_graphs import ChainRuns, chain_of
from ..bound.potentials import BoundData, Potentials
from ..run_status import RunStatus
from .mixed import MixedMethod, parts_by_cost
from .variational import GibbsMethod, MeanFieldMethod, TrwMethod

__all__ = [
    "METHODS", "Expectations", "ExpectingMethod", "MixedMethod", "SequenceMethod", "Workers", "choose_method",
    "mixed_method",
]  # fmt: skip

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Kernel = Callable[..., None]
NOTHING = np.zeros(0)
SHARPEST = 1e-6  # the Bethe sum is off by about the square of what messages still move by
REMEMBERED_BYTES = 2**28


@dataclass(eq=False)
class Expectations:
    """What a run over all sequences of a data set yields; each sequence writes at its own index.

    log_z [S]: natural logs, -inf where no labelling is possible.   marginals: flat, see `BoundData.marginal_off`.
    """

    log_z: Floats
    status: NDArray[np.int8]
    redone: NDArray[np.bool_]
    iterations: NDArray[np.int64]
    residual: Floats
    damped: NDArray[np.bool_]
    marginals: Floats = field(default_factory=lambda: NOTHING)
    approximate: bool = False

    @classmethod
    def empty(cls, data: BoundData, *, marginals: bool = False, approximate: bool = False) -> Expectations:
        n = data.num_sequences
        return cls(
            np.zeros(n), np.zeros(n, np.int8), np.zeros(n, np.bool_), np.ones(n, np.int64), np.zeros(n),
            np.zeros(n, np.bool_), np.zeros(int(data.marginal_off[-1])) if marginals else NOTHING, approximate,
        )  # fmt: skip

    def summary(self) -> RunStatus:
        rested = self.iterations > 0
        worked = self.status == 0
        return RunStatus(
            graphs=len(self.status),
            not_converged=int((~rested & worked & (self.iterations < 0)).sum()),
            iterations=int(np.abs(self.iterations).max(initial=0)),
            residual=float(self.residual.max(initial=0.0)),
            redone=int(self.redone.sum()),
            damped=int(self.damped.sum()),
            impossible=tuple(np.flatnonzero(self.status == IMPOSSIBLE).tolist()),
            approximate=self.approximate,
        )


class ExpectingMethod(Protocol):
    """What training needs of inference, on the sequences `first`..`last` of the data that it was built for."""

    @property
    def approximate(self) -> bool:
        """Whether some answer may not be exact."""

    def remember(self) -> None:
        """Lets each call of `expectations` begin where the last one ended, at weights nearby, if there is memory."""

    def sharpen(self) -> bool:
        """Tightens convergence tenfold for the calls that follow; False if the answers cannot get more exact."""

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """Writes log Z and status to `out`; adds expected counts to `gradient` [W] and `expected` [shared cells]."""


class SequenceMethod(ExpectingMethod, Protocol):
    """A method that decodes as well."""

    def decode(
        self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: NDArray[np.int32]
    ) -> None:
        """Writes the best labelling found to `labelling` (see `BoundData.labelling_off`), -1 if there is none."""


@dataclass(eq=False)
class ExactMethod:
    """Variable elimination by contraction programs; exact on any graph whose tables fit.

    A chain with one table between neighbours has a kernel of its own, which leaves to the programs what it cannot do.
    """

    data: BoundData
    settings: ExactSettings | AutoSettings
    approximate: bool = False

    def __post_init__(self) -> None:
        chain = chain_of(self.data.graph, self.data.kinds)
        self.chain = ChainRuns(self.data, chain) if chain is not None else None
        self._own = threading.local()

    # A chain needs none of these but where its kernel gives up.

    @cached_property
    def programs(self) -> Programs:
        return self.data.bank.program_arrays()

    @cached_property
    def patterns(self) -> Patterns:
        return self.data.bank.patterns.arrays()

    @cached_property
    def in_blocks(self) -> NDArray[np.bool_]:
        """Which sequences are so long that they are computed in blocks, [S]."""
        return np.diff(self.programs.block_off)[self.data.rows.shape] > 0

    def _room(self) -> tuple[Floats, Floats]:
        """Two arenas that belong to the calling thread."""
        if not hasattr(self._own, "room"):
            shapes = self.data.shapes
            size = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            self._own.room = np.empty(size), np.empty(size)
        room: tuple[Floats, Floats] = self._own.room
        return room

    def _kernels(self, begin: int, end: int, whole: Kernel, in_blocks: Kernel) -> list[Kernel]:
        """What a run of sequences needs of the two; a kernel that is never called need not be compiled."""
        blocked = self.in_blocks[begin:end]
        return [kernel for kernel, needed in ((whole, not blocked.all()), (in_blocks, blocked.any())) if needed]

    def remember(self) -> None:
        pass

    def sharpen(self) -> bool:
        return False

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats,
        share: Floats = NOTHING,
    ) -> None:  # fmt: skip
        """`share` [S]: what the expectations of each sequence are multiplied by; empty: 1."""
        d, p, left = self.data, potentials, [(first, last)]
        if self.chain is not None:
            left = self.chain.expectations(
                p, first, last, out.log_z, out.status, out.marginals, gradient, expected, share
            )
        for begin, end in left:
            value, adjoint = self._room()
            for run in self._kernels(begin, end, exact_expectations, blocked_expectations):
                run(
                    begin, end, d.shapes, d.kinds, d.bindings, d.rows, self.programs, self.patterns, p.weights,
                    p.log_base, p.base, p.peaks, p.fits, gradient, expected, out.log_z, out.status, out.redone,
                    out.marginals, d.marginal_off, value, adjoint, share,
                )  # fmt: skip

    def decode(
        self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: NDArray[np.int32]
    ) -> None:
        d, p, left = self.data, potentials, [(first, last)]
        if self.chain is not None:
            left = self.chain.decode(p, first, last, out.log_z, out.status, labelling)
        for begin, end in left:
            for run in self._kernels(begin, end, exact_decode, blocked_decode):
                run(
                    begin, end, d.shapes, d.kinds, d.bindings, d.rows, self.programs, self.patterns, p.weights,
                    p.log_base, out.log_z, labelling, d.labelling_off,
                )  # fmt: skip
            out.status[begin:end] = np.where(np.isneginf(out.log_z[begin:end]), IMPOSSIBLE, 0)


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

    def decode(
        self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: NDArray[np.int32]
    ) -> None:
        d, p, s = self.data, potentials, self.settings
        for again in (None, True):  # with a search only where that is needed
            if again is None or (out.status[first:last] == BROKEN).any():
                message_decode(
                    first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, self.schedules, p.weights,
                    p.log_base, self.schedule, self.tolerance, s.max_iterations, s.damping, s.seed, out.status,
                    out.damped, out.iterations, out.residual, labelling, d.labelling_off, self.residual_too, again,
                )  # fmt: skip


@dataclass(frozen=True)
class MethodEntry:
    """A line of `METHODS`: how to build the method, and whether the data must bring contraction programs."""

    build: Callable[[BoundData, MethodSettings], SequenceMethod]
    programs: bool


def _build_exact(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, ExactSettings | AutoSettings)
    return ExactMethod(data, settings)


def _build_trp(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, TrpSettings | AutoSettings)
    return MessageMethod(data, settings, ORDERED, bank_pools(data.bank, settings.seed))


def _build_bp(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, BpSettings)
    schedules = {"random": RANDOM, "flood": FLOOD, "residual": RESIDUAL}
    return MessageMethod(data, settings, schedules[settings.schedule], [[] for _ in data.bank.shapes])


def mixed_method(data: BoundData, settings: MethodSettings) -> MixedMethod:
    """Exact inference or messages for each sequence, by the cost of its graph."""
    assert isinstance(settings, AutoSettings)
    parts = parts_by_cost(data, lambda shape, cost: _pays(shape, cost, len(data.graph.cards), settings.max_table))
    methods = [
        _build_trp(own, settings) if own.bank.order_of is None else ExactMethod(own, settings) for _, own in parts
    ]
    return MixedMethod(data, parts, methods)


def _pays(shape: GraphShape, cost: OrderCost, width: int, max_table: int) -> bool:
    """Whether exact inference pays on a graph of `width` variables a position."""
    larger = [scope for scope in shape.scopes if len(scope) > 1]
    sweep = sum(len(scope) * math.prod(shape.cards[v] for v in scope) for scope in larger)
    return exact_pays(cost, max_table, sweep, sum(map(len, larger)), len(shape.cards) / width)


METHODS: Table[MethodEntry] = Table(
    "inference method",
    {
        "exact": MethodEntry(_build_exact, programs=True),
        "trp": MethodEntry(_build_trp, programs=False),
        "bp": MethodEntry(_build_bp, programs=False),
        "mean_field": MethodEntry(MeanFieldMethod.of, programs=False),
        "trw": MethodEntry(TrwMethod.of, programs=False),
        "gibbs": MethodEntry(GibbsMethod.of, programs=False),
        "auto": MethodEntry(mixed_method, programs=False),
    },
)


def choose_method(graph: ModelGraph, settings: MethodSettings) -> tuple[str, MethodSettings]:
    """Name and settings of the method to run: `auto` becomes `exact` where that pays, else `trp`.

    It stays `auto` where the data joins positions: then it is decided for each sequence when the method is built.
    Raises DcrfError where `exact` is asked for and does not fit, before anything is laid out for it.
    """
    if isinstance(settings, ExactSettings):
        check_width(graph, settings.max_table)
    if not isinstance(settings, AutoSettings):
        return settings.method, settings
    if graph.relational:
        return "auto", settings
    pays = exact_pays(exact_cost(graph), settings.max_table, sweep_cost(graph), sweep_messages(graph))
    return ("exact" if pays else "trp"), settings


def check_width(graph: ModelGraph, max_table: int) -> None:
    """Raises DcrfError if exact inference would build a table of more than `max_table` entries."""
    cost = exact_cost(graph)
    if cost.largest > max_table:
        label = graph.variables[cost.culprit % len(graph.variables)]
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {cost.largest:.3g} entries over {cost.width} variables when it sums out "
            f"`{label}`; `max_table` allows {max_table}",
            help="use `infer trp`, or raise `max_table` if there is memory for it",
        )


class Workers:
    """A pool of threads for runs of sequences. The result does not depend on the number of threads."""

    def __init__(self, threads: int | None = None):
        if threads is not None:
            require_whole(threads, "threads")
        wanted = threads if threads is not None else _threads_asked_for()
        self.threads = wanted or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def map(self, task: Callable[[int, int], Result], runs: Sequence[tuple[int, int]]) -> list[Result]:
        """`task(first, last)` for each run, results in order."""
        if self._pool is None or len(runs) < 2:
            return [task(first, last) for first, last in runs]
        return list(self._pool.map(lambda run: task(*run), runs))


def _threads_asked_for() -> int:
    """What `DCRFDSL_THREADS` says; 0 where it says nothing."""
    said = os.environ.get("DCRFDSL_THREADS") or "0"
    if not said.strip().isdecimal():
        message = f"`DCRFDSL_THREADS` is `{said}`: expected a number of threads"
        raise DcrfError(Diagnostic("bad-setting", message))
    return int(said)
