"""Chains: graphs that `kernels.chain` handles instead of the general programs, and inference on data sets of them.

A graph is a chain if each position has one variable; each factor lies on one variable or on two neighbours; factors on
two variables lie at every pair of neighbours and read no features; and factors on one variable lie at every position,
at the first or at the last. This includes hard constraints between neighbours, and padded cliques without features,
whose instances at the ends are factors on one variable. Values agree with the general path up to rounding. Sequences
that leave the range of linear space, or are very long, take the general path.

Linked chains are chains whose moves may have scores of their own at each position: features, positions, observed
constraints. A data set is one of them if it has one label, and every factor of every sequence lies on one position or
on two neighbours.
"""

from __future__ import annotations

import math
import threading
from dataclasses import field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...foundation import Floats, Ints, Ints32, cached_property, chosen_ranges, dataclass
from ...graph import LAST, CliqueTemplate, ModelGraph, Pattern
from ...kernels import chain as kernels
from ...kernels.runtime import IMPOSSIBLE, OK, UNDERFLOW, aligned_zeros, block_registers, padded
from ...kernels.sequences import ErrorSums
from ...kernels.tables import Bindings, Kinds, Potentials, Ragged
from .binding import BoundData

NOTHING = np.zeros(0)
LOG_FLOOR = math.log(kernels.FLOOR)  # of a table of moves in linear space
MOST_ROWS = 2**25  # cells if each weight had a row: those of two weights or more have one, usually 64 MB then
MANY = 2**12  # positions for which such rows are made: that takes as long as to read them
LONGEST = 2**15  # positions; longer sequences take the general path, block by block
USUAL, KEPT = 64, 2**10  # positions for which a workspace is made at least, and kept at most


@dataclass(frozen=True, eq=False)
class Chain:
    """The kinds of a chain's factors, by their place. `base[k]` is the shared cell where kind k's base table begins."""

    states: int
    base: Ints
    scored: Ints  #   on one variable, with features
    everywhere: tuple[int, ...]  # on every variable, those with features too
    at_first: tuple[int, ...]
    at_last: tuple[int, ...]
    pairs: tuple[tuple[int, bool], ...]  # on neighbours; whether the table's first variable is the right one
    per_thread: threading.local = field(default_factory=threading.local)
    _last: dict[bool, tuple[Floats, kernels.ChainTables | None]] = field(default_factory=dict)  # see `tables`

    @cached_property
    def width(self) -> int:
        return padded(self.states)

    def tables(self, log_base: Floats, *, linear: bool) -> kernels.ChainTables | None:
        """Tables at the weights of `log_base`; with `linear`, None if the pair table leaves the range of linear space.

        Also None if no pair of states is possible.
        """
        last = self._last.get(linear)
        if last is None or last[0] is not log_base:  # the shared tables of some weights are never written again
            last = self._last[linear] = log_base, self._tables(log_base, linear)
        return last[1]

    def _tables(self, log_base: Floats, linear: bool) -> kernels.ChainTables | None:
        pair = np.zeros((self.states, self.states))
        for kind, turned in self.pairs:
            table = log_base[self.base[kind] : self.base[kind] + self.states**2].reshape(pair.shape)
            pair += table.T if turned else table
        peak = float(pair.max())
        if not math.isfinite(peak):
            return None
        pair -= peak
        if linear:
            if ((pair < LOG_FLOOR) & (pair > -np.inf)).any():
                return None
            pair = np.exp(pair)
        n, width, square = self.states, self.width, self.width**2
        cells = aligned_zeros(3 * width + 2 * square)
        rows, squares = cells[: 3 * width].reshape(3, width), cells[3 * width :].reshape(2, width, width)
        for row, kinds in zip(rows, (self.everywhere, self.at_first, self.at_last), strict=True):
            for kind in kinds:
                row[:n] += log_base[self.base[kind] : self.base[kind] + n]
        rows[0, n:] = -np.inf
        squares[0, :n, :n], squares[1, :n, :n] = pair, pair.T
        return kernels.ChainTables(
            registers=(0,) * block_registers(n),
            states=n,
            width=width,
            scored=self.scored,
            everywhere=rows[0],
            at_first=rows[1],
            at_last=rows[2],
            pair=squares[0].ravel(),
            pair_turned=squares[1].ravel(),
            pair_peak=peak,
            rows=self._unit,
            row=np.zeros(0, np.int32),
            multiple=NOTHING,
        )

    def with_rows(self, potentials: Potentials, bindings: Bindings, *, linear: bool) -> kernels.ChainTables | None:
        """As `tables`, with the weights of each feature as a row, or as a multiple of a row that is 1 in one state."""
        tables = self.tables(potentials.log_base, linear=linear)
        if tables is None or len(tables.row):
            return tables
        weights, counts = potentials.weights[bindings.num_bias :][: len(bindings.entry)], np.diff(bindings.run_off)
        own, feature = counts > 1, np.repeat(np.arange(len(counts)), counts)
        own[feature[~np.isfinite(weights)]] = True  # nothing can be multiplied with -inf, as of a hard constraint
        alone, several = np.flatnonzero(~own[feature]), np.flatnonzero(own[feature])
        row, multiple = np.where(own, self.states - 1 + np.cumsum(own), 0).astype(np.int32), own.astype(np.float64)
        row[feature[alone]], multiple[feature[alone]] = bindings.entry[alone], weights[alone]
        rows = aligned_zeros((self.states + int(own.sum())) * self.width)
        rows[: len(tables.rows)] = tables.rows
        rows[row[feature[several]] * np.int64(self.width) + bindings.entry[several]] = weights[several]
        self._last[linear] = potentials.log_base, tables._replace(row=row, rows=rows, multiple=multiple)
        return self._last[linear][1]

    @cached_property
    def _unit(self) -> Floats:
        unit = aligned_zeros(self.states * self.width)
        unit[:: self.width + 1] = 1.0
        return unit

    def sums(self) -> kernels.ChainSums:
        """Sums of 0 for the kernel to add to."""
        rows, width = -(-self.states // 4) * 4, self.width  # the kernel works on four rows at once
        cells = aligned_zeros((3 + rows) * width)
        return kernels.ChainSums(
            cells[:width], cells[width : 2 * width], cells[2 * width : 3 * width], cells[3 * width :]
        )

    def spread(self, sums: kernels.ChainSums, expected: Floats, tables: kernels.ChainTables | None = None) -> None:
        """Adds `sums` to the expectations of the shared cells, `expected`. Those of pairs are multiplied by ψ if these
        are sums beside `tables`, and not counts.
        """
        n = self.states
        pairs = sums.pair.reshape(-1, self.width)[:n, :n]
        if tables is not None:
            table = tables.pair.reshape(-1, self.width)[:n, :n]
            pairs = np.where(table > 0.0, pairs * table, 0.0)
        at_ends = (self.at_first, sums.at_first), (self.at_last, sums.at_last)
        for kinds, counts in ((self.everywhere, sums.everywhere), *at_ends):
            for kind in kinds:
                expected[self.base[kind] : self.base[kind] + n] += counts[:n]
        for kind, turned in self.pairs:
            expected[self.base[kind] : self.base[kind] + n * n] += (pairs.T if turned else pairs).ravel()


_CHAINS = WeakKeyDictionary[ModelGraph, Chain | None]()  # of each graph, for all its data sets


def chain_of(graph: ModelGraph, kinds: Kinds) -> Chain | None:
    """The chain of a graph, None if it is not a chain. `kinds`: the graph's, and perhaps some that have no template."""
    if len(graph.cards) != 1 or graph.of_sentence or graph.relational or len(graph.kinds) < len(kinds.base):
        return None
    if graph not in _CHAINS:
        _CHAINS[graph] = _chain_of(graph, kinds)
    return _CHAINS[graph]


def _chain_of(graph: ModelGraph, kinds: Kinds) -> Chain | None:
    places: dict[str, list[int]] = {"everywhere": [], "at_first": [], "at_last": []}
    pairs, scored = [], []
    for number, kind in enumerate(graph.kinds):
        template, pattern = kind.template, kind.pattern
        if pattern.count(0) == 2 and _joins_neighbours(template) and template.feature_set < 0:
            pairs.append((number, template.offsets[0] > template.offsets[1]))
            continue
        place = _place(template, pattern)
        if place is None:
            return None
        if template.feature_set >= 0:
            if place != "everywhere" or kinds.inverse_off[number] != -1:
                return None
            scored.append(number)
        places[place].append(number)
    everywhere, first, last = map(tuple, places.values())
    return Chain(graph.cards[0], kinds.base, np.array(scored, np.int64), everywhere, first, last, tuple(pairs))


def _joins_neighbours(template: CliqueTemplate) -> bool:
    """Whether a template of two sites lies at every pair of neighbours."""
    beside = len(template.offsets) == 2 and template.span == 1 and template.position is None
    return beside and (template.pad or min(template.offsets) <= 0 <= max(template.offsets))


def _place(template: CliqueTemplate, pattern: Pattern) -> str | None:
    """Where instances with one site in the sequence lie: `everywhere`, `at_first` or `at_last`; None if elsewhere."""
    if template.offsets == (0,) and not any(pattern):
        return {None: "everywhere", 0: "at_first", LAST: "at_last"}.get(template.position)
    if _joins_neighbours(template) and pattern.count(0) == 1:
        return "at_first" if -1 in pattern else "at_last"
    return None


class ChainRuns:
    """Inference on a data set whose graphs are chains. Methods return the runs that are left to the general path."""

    def __init__(self, data: BoundData, chain: Chain):
        self.data, self.chain = data, chain
        self._problem = kernels.read_by_chains(data.problem)
        off = data.rows.token_off
        self.longest = min(LONGEST, int(off[1]) if len(off) == 2 else int((off[1:] - off[:-1]).max(initial=0)))
        self._per_thread = threading.local()
        # the kernel reads weights by list or packed, not both
        self.fits = data.packing is None or bool(data.rows.packed.is_packed[chain.scored].all())

    def _tables(self, potentials: Potentials, *, linear: bool) -> kernels.ChainTables | None:
        """The tables; with rows of weights for much data at a model's weights, which never change."""
        d, chain = self.data, self.chain
        pays = d.rows.token_off[-1] >= MANY and len(d.bindings.entry) * chain.width <= MOST_ROWS
        if pays and d.packing is None and any(kept is potentials for _, kept in list(d.kept.values())):
            return chain.with_rows(potentials, d.bindings, linear=linear)
        return chain.tables(potentials.log_base, linear=linear)

    def _workspace(self) -> kernels.ChainWorkspace:
        """The workspace of the calling thread. That for sentences of usual length outlives the data."""
        kept = self.chain.per_thread if self.longest <= KEPT else self._per_thread
        workspace: kernels.ChainWorkspace | None = getattr(kept, "workspace", None)
        if workspace is None or workspace.longest < self.longest:
            longest = max(self.longest, USUAL)
            workspace = kernels.ChainWorkspace(longest, aligned_zeros(kernels.workspace_for(longest, self.chain.width)))
            kept.workspace = workspace
        return workspace

    def expectations(
        self, potentials: Potentials, first: int, last: int, log_z: Floats, status: NDArray[np.int8],
        marginals: Floats, gradient: Floats, expected: Floats, share: Floats = NOTHING,
    ) -> list[tuple[int, int]]:  # fmt: skip
        d, tables = self.data, self._tables(potentials, linear=True)
        if tables is None or not self.fits:
            return [(first, last)]
        sums = self.chain.sums()
        kernels.chain_expectations(
            first, last, tables, self._problem, potentials.weights, gradient, sums, log_z, status,
            Ragged(marginals, d.marginal_off), self._workspace(), share,
        )  # fmt: skip
        if len(gradient):
            self.chain.spread(sums, expected, tables)
        return chosen_ranges(status[first:last] == UNDERFLOW, first)

    def tangents(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, importance: Floats, risk: Floats,
        status: NDArray[np.int8], gradient: Floats, expected: Floats,
    ) -> list[tuple[int, int]]:  # fmt: skip
        d, tables = self.data, self.chain.tables(potentials.log_base, linear=True)
        if tables is None or not self.fits:
            return [(first, last)]
        sums = self.chain.sums()
        cells = aligned_zeros(kernels.tangent_workspace(self.longest, self.chain.width))
        kernels.chain_tangents(
            first, last, tables, self._problem, potentials.weights, d.ragged(labelling), importance, gradient, sums,
            risk, status, kernels.ChainWorkspace(self.longest, cells),
        )  # fmt: skip
        self.chain.spread(sums, expected, tables)
        return chosen_ranges(status[first:last] == UNDERFLOW, first)

    def competitors(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, judging: kernels.SpanLoss,
        right: ErrorSums, wrong: ErrorSums, status: NDArray[np.int8],
    ) -> None:  # fmt: skip
        d, tables = self.data, self.chain.tables(potentials.log_base, linear=False)
        if tables is None:  # no transition is possible at all
            status[first:last] = IMPOSSIBLE
            return
        sums, wrong_sums = self.chain.sums(), self.chain.sums()
        kernels.chain_competitors(
            first, last, tables, self._problem, potentials.weights, d.ragged(labelling), judging,
            kernels.CompetitorSums(right.gradient, sums, right.loss),
            kernels.CompetitorSums(wrong.gradient, wrong_sums, wrong.loss), status,
            kernels.competitor_workspace(self.longest, self.chain.width),
        )  # fmt: skip
        self.chain.spread(sums, right.expected)
        self.chain.spread(wrong_sums, wrong.expected)

    def decode_other(self, potentials: Potentials, first: int, last: int, known: Ints32, labelling: Ints32) -> None:
        """Writes the best labelling other than `known` (both flat) of each sequence, -1 if there is none.

        Only of `competing_chains`.
        """
        d, tables = self.data, self.chain.tables(potentials.log_base, linear=False)
        if tables is None:
            labelling[d.labelling_off[first] : d.labelling_off[last]] = -1
            return
        workspace = kernels.ChainWorkspace(
            self.longest, aligned_zeros(kernels.COMPETITOR_ROWS * self.longest * self.chain.width)
        )
        kernels.chain_decode_competitor(
            first, last, tables, self._problem, potentials.weights, known, d.ragged(labelling), workspace
        )

    def decode(
        self, potentials: Potentials, first: int, last: int, score: Floats, status: NDArray[np.int8], labelling: Ints32
    ) -> list[tuple[int, int]]:
        """As `SequenceMethod.decode`; `score` [S] gets the score of each labelling."""
        d, tables = self.data, self._tables(potentials, linear=False)
        if tables is None or not self.fits:
            return [(first, last)]
        kernels.chain_decode(
            first, last, tables, self._problem, potentials.weights, score, d.ragged(labelling), self._workspace()
        )
        if last - first == 1 and math.isfinite(score[first]):  # much faster than arrays of length 1
            status[first] = OK
            return []
        status[first:last] = np.where(np.isneginf(score[first:last]), IMPOSSIBLE, OK)
        return chosen_ranges(np.isnan(score[first:last]), first)


def competing_chains(data: BoundData) -> ChainRuns | None:
    """The runs that compare labellings of this data set; None where its graphs are no chains, or some are too long."""
    chain = chain_of(data.graph, data.kinds)
    if chain is None or int(np.diff(data.rows.token_off).max(initial=0)) > LONGEST:
        return None
    runs = ChainRuns(data, chain)
    return runs if runs.fits else None


MOST_CELLS = 2**25  # of the moves of the longest sequence: 256 MB for each of three tables


class LinkedChains:
    """Losses of spans on a data set of linked chains, run by run."""

    def __init__(self, data: BoundData):
        self.data = data
        self._states = data.graph.cards[0]
        self._width, self._longest = padded(self._states), int(np.diff(data.rows.token_off).max(initial=0))

    def competitors(
        self, potentials: Potentials, first: int, last: int, labelling: Ints32, judging: kernels.SpanLoss,
        right: ErrorSums, wrong: ErrorSums, status: NDArray[np.int8],
    ) -> None:  # fmt: skip
        d, width = self.data, self._width
        row = (0,) * block_registers(self._states), self._states, width
        memory = kernels.competitor_workspace(self._longest, width), aligned_zeros(3 * self._longest * width**2)
        kernels.linked_competitors(
            first, last, row, d.problem, potentials, d.ragged(labelling), judging, right, wrong, status, memory
        )


def linked_chains(data: BoundData) -> LinkedChains | None:
    """The runs that judge spans of this data set; None where its graphs are no linked chains, or too long for them."""
    graph, shapes = data.graph, data.shapes
    if len(graph.cards) != 1 or graph.of_sentence:
        return None
    sizes = np.diff(shapes.scope_off)
    pairs = shapes.scope_off[:-1][sizes == 2]
    apart = np.abs(shapes.scope[pairs] - shapes.scope[pairs + 1])
    if not np.isin(sizes, (1, 2)).all() or (apart != 1).any():
        return None
    runs = LinkedChains(data)
    return runs if runs._longest * runs._width**2 <= MOST_CELLS else None
