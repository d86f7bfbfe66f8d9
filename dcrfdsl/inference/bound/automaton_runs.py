"""Models as automata bound to data: tables at given weights, runs of the kernels, expected counts of the shared cells.

`graph.automaton_graphs` finds the automaton of a model, `kernels.automaton` sums over it. Values agree with the general
path up to rounding. Sequences that leave the range of linear space, or are very long, are left to others.
"""

from __future__ import annotations

import threading
from dataclasses import field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...foundation import Floats, Ints, Ints32, cached_property, chosen_ranges, dataclass
from ...graph import AutomatonGraph, ModelGraph, Parameters, automaton_graph, paying_automaton
from ...kernels import automaton as kernels
from ...kernels.runtime import IMPOSSIBLE, LANES, OK, UNDERFLOW, aligned_zeros
from ...kernels.tables import Potentials, Ragged
from .binding import BoundData
from .chain_runs import chain_of
from .packing import valued_sets

NOTHING = np.zeros(0)
LONGEST = 2**15  # positions; longer sequences are left to others
MOST_CELLS = 2**27  # of a workspace: 1 GiB
TOGETHER = len(kernels.REGISTERS) * LANES  # sequences that advance together
USUAL, KEPT = 64, 2**22  # positions for which a workspace is made at least, and cells that are kept at most


@dataclass(frozen=True, eq=False)
class BoundAutomaton:
    """The automaton of a model for the kernels, and its tables at the last weights."""

    graph: AutomatonGraph
    structure: kernels.Automaton
    per_thread: threading.local = field(default_factory=threading.local)
    _last: dict[str, tuple[Floats, kernels.AutomatonTables, kernels.LinearTables | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: AutomatonGraph) -> BoundAutomaton:
        structure = kernels.automaton_of(
            graph.labels.astype(np.int64), np.array(graph.cards, np.int64), np.array(graph.scored, np.int64),
            np.array(graph.scored_variable, np.int64), graph.source, graph.target, graph.source_group,
            graph.reached, graph.source_class, graph.visible, np.array(graph.scored_label, np.int64),
            counts_ends=bool(graph.weighted[graph.first_cells].any() or graph.weighted[graph.last_cells].any()),
            observed=np.array(graph.observed, np.int64),
            at_first=np.array(graph.at_first, np.bool_),
        )  # fmt: skip
        return cls(graph, structure)

    def tables(self, log_base: Floats) -> tuple[kernels.AutomatonTables, kernels.LinearTables | None]:
        """Tables at the weights of `log_base`, and the same in linear space; None if they leave its range."""
        last = self._last.get("tables")
        if last is None or last[0] is not log_base:  # the shared tables of some weights are never written again
            graph, cell = self.graph, np.append(log_base, -np.inf)
            tables = kernels.AutomatonTables(
                cell[graph.state_cells].sum(axis=0),
                np.where(graph.initial, cell[graph.first_cells].sum(axis=0), -np.inf),
                cell[graph.last_cells].sum(axis=0),
                cell[graph.move_cells].sum(axis=0),
            )
            last = self._last["tables"] = log_base, tables, kernels.linear_tables(self.structure, tables)
        return last[1:]

    @cached_property
    def _spread(self) -> list[tuple[str, Ints, Ints]]:
        """(name of the sums, which of them, shared cells) of all cells that have weights."""
        graph, out = self.graph, []
        for name, cells in (
            ("state", graph.state_cells), ("first", graph.first_cells), ("last", graph.last_cells),
            ("transition", graph.move_cells),
        ):  # fmt: skip
            row, item = np.nonzero(graph.weighted[cells])
            out.append((name, item, cells[row, item]))
        return out

    def spread(self, sums: kernels.AutomatonSums, expected: Floats) -> None:
        """Adds expected counts to those of the shared cells that have weights."""
        for name, item, cells in self._spread:
            np.add.at(expected, cells, getattr(sums, name)[item])


_BOUND = WeakKeyDictionary[ModelGraph, BoundAutomaton]()  # of each graph at its last weights, for all its data sets


def bound_automaton(data: BoundData, *, chain: bool, alone: bool) -> BoundAutomaton | None:
    """The automaton of a data set's model, if that is the fastest form of it.

    chain: whether the model is a chain, see `chain_runs`.   alone: whether there is no other form.
    """
    graph, kinds, weighted = data.graph, data.kinds, data.bindings.bias_cell
    if len(kinds.base) != len(graph.shared.sizes):  # some have no template
        return None
    if alone:
        found = automaton_graph(graph, weighted)
    else:
        found = paying_automaton(graph, weighted, chain=chain, share=filled_lanes(data))
    if found is None:
        return None
    bound = _BOUND.get(graph)
    if bound is None or bound.graph is not found:
        bound = _BOUND[graph] = BoundAutomaton.of(found)
    return bound


def filled_lanes(data: BoundData) -> float:
    """The share of the lanes in which sequences advance together that this data can fill, in (0, 1]."""
    if data.num_sequences == 1:  # much faster than arrays of length 1
        return 1.0 / TOGETHER
    lengths = np.sort(np.diff(data.rows.token_off))[::-1]
    steps = int(lengths[::TOGETHER].sum())  # those of the longest of every group that advances together
    return int(lengths.sum()) / (steps * TOGETHER) if steps else 1.0


def fastest_automaton(graph: ModelGraph, parameters: Parameters) -> AutomatonGraph | None:
    """The automaton of a model with these weights, if that is the fastest form of it."""
    chain = chain_of(graph, graph.kind_arrays(parameters.run_base()))
    return paying_automaton(graph, parameters.bias_places(graph)[1], chain=chain is not None)


class AutomatonRuns:
    """Inference on a data set by an automaton. Methods return the runs that are left to others."""

    def __init__(self, data: BoundData, automaton: BoundAutomaton):
        self.data, self.automaton = data, automaton
        longest = int(np.diff(data.rows.token_off).max(initial=0))
        self.structure = structure = _with_lists(automaton.structure, data)
        # cells of a workspace for a position
        self._position = len(structure.registers) * LANES * (structure.width + structure.states + structure.groups)
        self.longest = min(LONGEST, MOST_CELLS // self._position, longest)
        self._per_thread = threading.local()

    def _workspace(self) -> kernels.AutomatonWorkspace:
        """The workspace of the calling thread. That for sentences of usual length outlives the data."""
        usual = USUAL * self._position <= KEPT
        longest = max(self.longest, USUAL) if usual else self.longest
        kept = self.automaton.per_thread if longest * self._position <= KEPT else self._per_thread
        workspace: kernels.AutomatonWorkspace | None = getattr(kept, "workspace", None)
        if workspace is None or workspace.longest < self.longest:
            workspace = kept.workspace = kernels.workspace_of_automaton(self.automaton.structure, longest)
        return workspace

    def expectations(
        self, potentials: Potentials, first: int, last: int, log_z: Floats, status: NDArray[np.int8],
        marginals: Floats, gradient: Floats, expected: Floats, share: Floats = NOTHING,
    ) -> list[tuple[int, int]]:  # fmt: skip
        d, (_, linear) = self.data, self.automaton.tables(potentials.log_base)
        if linear is None:
            return [(first, last)]
        sums = kernels.sums_of_automaton(self.automaton.structure)
        kernels.automaton_expectations(
            first, last, self.structure, linear, d.problem, potentials.weights,
            kernels.AutomatonTotals(gradient, sums), log_z, status, Ragged(marginals, d.marginal_off),
            self._workspace(), share,
        )  # fmt: skip
        if len(gradient):
            self.automaton.spread(sums, expected)
        return chosen_ranges(status[first:last] == UNDERFLOW, first)

    def log_expectations(
        self, potentials: Potentials, first: int, last: int, log_z: Floats, status: NDArray[np.int8],
        marginals: Floats, gradient: Floats, expected: Floats, share: Floats = NOTHING,
    ) -> list[tuple[int, int]]:  # fmt: skip
        """As `expectations`, in log space: slower, and no sequence leaves its range."""
        d, structure = self.data, self.structure
        longest = int(np.diff(d.rows.token_off[first : last + 1]).max(initial=0))
        sums = kernels.sums_of_automaton(structure)
        kernels.automaton_log_expectations(
            first, last, structure, self.automaton.tables(potentials.log_base)[0], d.problem, potentials.weights,
            kernels.AutomatonTotals(gradient, sums), log_z, status, Ragged(marginals, d.marginal_off),
            aligned_zeros(kernels.log_cells(structure, longest)), share,
        )  # fmt: skip
        if len(gradient):
            self.automaton.spread(sums, expected)
        return []

    def decode(
        self, potentials: Potentials, first: int, last: int, score: Floats, status: NDArray[np.int8],
        labelling: Ints32,
    ) -> list[tuple[int, int]]:  # fmt: skip
        """As `SequenceMethod.decode`; `score` [S] gets the score of each labelling."""
        d, (tables, _) = self.data, self.automaton.tables(potentials.log_base)
        kernels.automaton_decode(
            first, last, self.structure, tables, d.problem, potentials.weights, score,
            d.ragged(labelling), self._workspace(),
        )  # fmt: skip
        status[first:last] = np.where(np.isneginf(score[first:last]), IMPOSSIBLE, OK)
        return chosen_ranges(np.isnan(score[first:last]), first)


def _with_lists(structure: kernels.Automaton, data: BoundData) -> kernels.Automaton:
    """The automaton with one list for each token in the place of rows of several kinds, for data of repeated passes.

    Kinds that are packed, of first positions alone, with values or with fixed weights keep their rows.
    """
    kinds, rows, scored, at, at_first = data.kinds, data.rows, structure.scored, structure.scored_at, structure.at_first
    if data.packing is None or structure.width > np.iinfo(np.int16).max or data.num_cells > np.iinfo(np.int32).max:
        return structure
    valued = valued_sets(rows, data.set_off)[kinds.feature_set[scored]]
    kept = rows.packed.is_packed[scored] | at_first | valued | kinds.fixed[scored]
    if np.count_nonzero(~kept) < 2:
        return structure
    off, cell, place = kernels.list_rows(scored[~kept], at[~kept], kinds, data.bindings, rows)
    others = structure._replace(scored=scored[kept], scored_at=at[kept], at_first=at_first[kept])
    return others._replace(listed_off=off, listed_cell=cell, listed_at=place)
