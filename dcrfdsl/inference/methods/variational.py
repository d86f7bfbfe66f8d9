"""Mean field, tree-reweighted sum-product and Gibbs sampling: over data sets (classes) and on one graph (functions).

What log Z means differs: `mean_field` gives a lower bound, `trw` an upper bound, `gibbs` none (nan, or None). All are
approximate. Their labellings are the likeliest states by their marginals (`trw`: by the max-marginals of messages that
take maxima; `gibbs`: the best sample), repaired where these break a hard constraint, then improved one at a time. Not
here: the tables of methods, which list these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Floats, Ints, Ints32
from ...errors import DcrfError, Diagnostic
from ...graph import FactorGraph, ShapeBank, bank_forests
from ...kernels.messages import (
    CHAINS,
    feasible_labelling,
    find_hard,
    gibbs,
    gibbs_sequences,
    mean_field,
    mean_field_beliefs,
    mean_field_expectations,
    node_potentials,
    reweighted_beliefs,
    reweighted_bound,
    reweighted_expectations,
    reweighted_messages,
    round_marginals,
    stretch_tables,
)
from ...kernels.runtime import IMPOSSIBLE, OK
from ...kernels.tables import Edges, Shapes
from ...semantics import GibbsSettings, MeanFieldSettings, MethodSettings, TrwSettings
from ..base import Expectations
from ..bound import BoundData, Potentials
from ..run_status import GraphResult, RunStatus
from .layout import impossible, split_states, split_tables, table_arena

__all__ = ["GibbsMethod", "MeanFieldMethod", "TrwMethod", "single_gibbs", "single_mean_field", "single_trw"]

NOTHING = np.zeros(0)
SHARPEST = 1e-8  # the bounds are off by about the square of what still moves; below this, by rounding
NO_MESSAGES = np.zeros(0, np.float32)
REMEMBERED_BYTES = 2**28


# over data sets -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Bounding(ABC):
    """What mean field and TRW share: convergence, memory, and labellings by rounding.

    workspace: the most cells and states that a sequence has, which kernels need; sizes: what they need beside it.
    """

    data: BoundData
    settings: MeanFieldSettings | TrwSettings
    approximate: bool = True

    def __post_init__(self) -> None:
        self.edges = self.data.bank.edge_arrays()
        self.workspace = _workspace(self.data)
        self.sizes: tuple[int, ...] = ()
        self.tolerance = self.settings.tolerance
        self.kept, self.kept_off = NO_MESSAGES, np.zeros(1, np.int64)
        self.is_kept = np.zeros(self.data.num_sequences, np.bool_)

    @abstractmethod
    def _remembered(self) -> Ints:
        """Numbers that each sequence leaves for the next call, as offsets [S+1]."""

    @abstractmethod
    def _own(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        """The kernel, what it takes after the edges, and after the damping. `decoding`: to show the best labelling."""

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
        """`expectations` with marginals that lie anywhere."""
        d, p, s = self.data, potentials, self.settings
        kernel, wiring, choice = self._own(decoding)
        kernel(
            first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, *wiring, p.weights, p.log_base,
            *self.workspace, *self.sizes, self.tolerance, s.max_iterations, s.damping, *choice, gradient,
            expected, out.log_z, out.status, out.iterations, out.residual, marginals, marginal_off,
            NO_MESSAGES if decoding else self.kept, self.kept_off, self.is_kept,
        )  # fmt: skip

    def remember(self) -> None:
        offsets = self._remembered()
        if 4 * int(offsets[-1]) <= REMEMBERED_BYTES:
            self.kept_off = offsets
            self.kept = np.zeros(int(offsets[-1]), np.float32)

    def sharpen(self) -> bool:
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
            first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, p.weights, p.log_base, *self.workspace,
            marginals, marginal_off, out.status, labelling, d.labelling_off,
        )  # fmt: skip
        lost = (labelling[d.labelling_off[first:last]] < 0) & (out.status[first:last] == OK)  # the search gave up
        out.iterations[first:last][lost] = -np.abs(out.iterations[first:last][lost])


class MeanFieldMethod(_Bounding):
    """Naive mean field; log_z is a lower bound."""

    @classmethod
    def of(cls, data: BoundData, settings: MethodSettings) -> MeanFieldMethod:
        assert isinstance(settings, MeanFieldSettings)
        return cls(data, settings)

    def _remembered(self) -> Ints:
        return self.data.marginal_off

    def _own(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        return mean_field_expectations, (), (self.settings.seed,)


class TrwMethod(_Bounding):
    """Tree-reweighted sum-product; log_z is an upper bound."""

    @classmethod
    def of(cls, data: BoundData, settings: MethodSettings) -> TrwMethod:
        assert isinstance(settings, TrwSettings)
        return cls(data, settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pool = bank_forests(self.data.bank, self.settings.seed)
        self.stretched_off, tables = _stretched(self.data.shapes)
        factors = int(np.diff(self.data.shapes.fac_off).max(initial=0))
        self.sizes = (tables, factors, int(self.edges.messages.max(initial=0)))

    def _remembered(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.edges.messages[self.data.rows.shape])))

    def _own(self, decoding: bool) -> tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]:
        wiring = self.pool.passes, self.pool.appearance, self.stretched_off
        return reweighted_expectations, wiring, (decoding,)


@dataclass(eq=False)
class GibbsMethod:
    """Gibbs sampling; a chain a sequence. There is no log Z (nan), so nothing can be trained by it."""

    data: BoundData
    settings: GibbsSettings
    approximate: bool = True

    def __post_init__(self) -> None:
        self.edges = self.data.bank.edge_arrays()
        self.workspace = _workspace(self.data)

    @classmethod
    def of(cls, data: BoundData, settings: MethodSettings) -> GibbsMethod:
        assert isinstance(settings, GibbsSettings)
        return cls(data, settings)

    def remember(self) -> None:
        pass

    def sharpen(self) -> bool:
        return False

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        if len(gradient):
            raise _no_log_z("a model cannot be trained by it")
        self._sample(potentials, first, last, out, np.zeros(0, np.int32))
        out.log_z[first:last] = np.where(out.status[first:last] == IMPOSSIBLE, -np.inf, np.nan)

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        self._sample(potentials, first, last, out, labelling)

    def _sample(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        d, p, s = self.data, potentials, self.settings
        gibbs_sequences(
            first, last, d.shapes, d.kinds, d.bindings, d.rows, self.edges, p.weights, p.log_base, *self.workspace,
            s.samples, s.burn_in, s.thin, s.seed, out.status, out.iterations, out.residual, out.marginals,
            d.marginal_off, labelling, d.labelling_off,
        )  # fmt: skip


def _workspace(data: BoundData) -> tuple[int, int]:
    """The most cells of the arena and states that a sequence has."""
    cells = int(data.shapes.local_end.max(initial=data.shapes.local_start))
    return cells, max((sum(shape.cards) for shape in data.bank.shapes), default=0)


def _stretched(shapes: Shapes) -> tuple[Ints, int]:
    """Where each factor's stretched table lies among those of its shape [F], and the most entries of a shape."""
    sizes = np.where(np.diff(shapes.scope_off) > 1, shapes.fac_size, 0)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    starts = ends[shapes.fac_off]
    off = ends[:-1] - np.repeat(starts[:-1], np.diff(shapes.fac_off))
    return off.astype(np.int64), int(np.diff(starts).max(initial=0))


def _no_log_z(why: str) -> DcrfError:
    remedy = "use `exact`, `trp`, `bp`, `mean_field` or `trw` for this"
    return DcrfError(Diagnostic("no-log-z", f"`gibbs` gives no estimate of log Z, so {why}", help=remedy))


# on one graph ---------------------------------------------------------------------------------------------------


@dataclass
class _Laid:
    """One graph as kernels see it. `node` and `taken`: log unary potentials and what was taken out of them."""

    graph: FactorGraph
    bank: ShapeBank
    shapes: Shapes
    edges: Edges
    logs: Floats
    node: Floats
    taken: float
    state: int

    @classmethod
    def of(cls, graph: FactorGraph) -> _Laid:
        bank = ShapeBank(1)
        bank.add(graph.shape())
        shapes = bank.shape_arrays()
        logs, node = table_arena(graph, int(shapes.local_end[0])), np.zeros(sum(graph.cards))
        taken, state = node_potentials(0, shapes, logs, True, node)
        return cls(graph, bank, shapes, bank.edge_arrays(), logs, node, taken, state)

    def rounded(self, status: RunStatus, marginals: Floats) -> GraphResult:
        """The labelling near the likeliest states; none if the search gave up."""
        assignment = np.zeros(len(self.graph.cards), np.int64)
        hard = find_hard(0, self.shapes, self.logs)
        state = feasible_labelling(0, self.shapes, self.edges, self.logs, self.node, marginals.copy(), hard, assignment)
        return self.labelled(status, state, assignment)

    def labelled(self, status: RunStatus, state: int, assignment: Ints) -> GraphResult:
        if state == IMPOSSIBLE:
            return impossible(status)
        if state != OK:
            return GraphResult(status + RunStatus(not_converged=1, residual=np.inf))
        return GraphResult(status, assignment=assignment, score=self.graph.score(assignment))

    def result(self, status: RunStatus, log_z: float | None, marginals: Floats, belief: Floats) -> GraphResult:
        return GraphResult(
            status,
            log_z=None if log_z is None else log_z + self.graph.constant,
            marginals=split_states(self.graph, marginals),
            factor_marginals=split_tables(self.graph, belief),
        )


def single_mean_field(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """`infer_graph` by mean field; no marginals and no log Z where no labelling to start from was found."""
    assert isinstance(settings, MeanFieldSettings)
    laid = _Laid.of(graph)
    q, state = np.zeros_like(laid.node), laid.state
    converged, iterations, residual = False, 0, np.inf
    if state == OK:
        converged, iterations, residual, state = mean_field(
            0, laid.shapes, laid.edges, laid.logs, laid.node, settings.tolerance, settings.max_iterations,
            settings.damping, settings.seed, False, q,
        )  # fmt: skip
    status = RunStatus(1, int(not converged), int(iterations), float(residual), approximate=True)
    if state != OK:
        return impossible(status) if state == IMPOSSIBLE else GraphResult(status)
    if task == "map":
        return laid.rounded(status, q)
    belief = np.zeros_like(laid.logs)
    bound = mean_field_beliefs(0, laid.shapes, laid.logs, q, belief)
    return laid.result(status, bound, q, belief)


def single_trw(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """`infer_graph` by tree-reweighted sum-product."""
    assert isinstance(settings, TrwSettings)
    laid = _Laid.of(graph)
    pool = bank_forests(laid.bank, settings.seed)
    shapes, edges, rho = laid.shapes, laid.edges, pool.appearance
    off, entries = _stretched(shapes)
    factors = len(graph.scopes)
    stretched, peak, fits = np.zeros((2, entries)), np.zeros(factors), np.zeros(factors, np.bool_)
    message, state = np.zeros(int(edges.messages[0])), laid.state
    converged, iterations, residual = False, 0, np.inf
    if state == OK:
        state = stretch_tables(0, shapes, rho, off, laid.logs, stretched, peak, fits)
    if state == OK:
        converged, iterations, residual, state = reweighted_messages(
            0, shapes, edges, rho, off, stretched, fits, laid.node, settings.tolerance, settings.max_iterations,
            settings.damping, task == "map", False, message,
        )  # fmt: skip
    status = RunStatus(1, int(not converged), int(iterations), float(residual), approximate=True)
    if state != OK:
        return impossible(status)
    marginals, belief, scratch = np.zeros_like(laid.node), np.zeros_like(laid.logs), np.zeros(max(1, entries))
    free_energy = reweighted_beliefs(
        0, shapes, edges, rho, off, stretched, peak, fits, laid.node, message, marginals, belief, scratch
    )
    if free_energy == -np.inf:
        return impossible(status)
    if task == "map":
        return laid.rounded(status, marginals)
    bound = reweighted_bound(0, shapes, edges, pool.passes, rho, off, stretched, peak, fits, laid.node, message)
    return laid.result(status, bound + laid.taken, marginals, belief)


def single_gibbs(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """`infer_graph` by Gibbs sampling. Raises DcrfError for `pr`, which sampling does not answer."""
    assert isinstance(settings, GibbsSettings)
    if task == "pr":
        raise _no_log_z("it cannot answer `pr`")
    laid = _Laid.of(graph)
    current, best = np.zeros(len(graph.cards), np.int32), np.zeros(len(graph.cards), np.int32)
    marginals, belief = np.zeros_like(laid.node), np.zeros_like(laid.logs)
    error, agree, state = np.inf, False, laid.state
    if state == OK:
        error, agree, _, state = gibbs(
            0, laid.shapes, laid.edges, laid.logs, laid.node, settings.samples, settings.burn_in, settings.thin,
            settings.seed, current, best, marginals, belief,
        )  # fmt: skip
    sweeps = settings.burn_in * CHAINS + settings.samples * settings.thin
    status = RunStatus(1, int(not agree or state != OK), sweeps if state == OK else 0, float(error), approximate=True)
    if task == "map" or state != OK:
        return laid.labelled(status, state, best.astype(np.int64))
    return laid.result(status, None, marginals, belief)
