"""The risk that label sequence AdaBoost lowers, and what its rounds need from the features (Altun 2003 §6).

    R(λ) = Σ_i D_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)),      D_i = w_i / Σ_j w_j (|Y_j| − 1)

R is 1 where all weights are 0, and never below the rank risk with weights D_i (propositions 5 and 6). The paper's D_i
is this one with w_i = w(T_i) / (|Y_i| − 1), which `uniform` and `divide` ask for. Without the division, long sequences
count for more, as they can be wrong in more ways. Not here: the rounds (`optimizers.boosting_rounds`).
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, dataclass
from ..inference import BoundData, ExactMethod, Expectations, Workers, even_runs
from ..kernels.chain import ChainSums, ChainWorkspace, workspace_for
from ..kernels.runtime import UNDERFLOW, aligned_zeros
from ..kernels.sequences import ChainCells, PairTable, chain_pairs, collect_pairs, exact_pairs, known_scores, sum_groups
from ..kernels.tables import Totals
from ..optimizers import BoostingProblem
from ..semantics import AdaboostSettings, TrainSettings
from .competing_labellings import unpacked_data_excluding_gold
from .gold_counts import FeatureFirings, SequenceCounts, feature_firings
from .penalties import Penalty
from .risks import Risk, check_start, log_importance, require_exact
from .training_problem import ResolvedInference, TrainingProblem
from .wrong_labelling_sums import NEAR, WrongLabellingSums, finite_or_zero, log_wrong_ratio


@dataclass(frozen=True, eq=False)
class GroupedCountRanges:
    """G groups of pairs (sequence, weight), weight by weight. off [W+1]: the groups of each.   low, high [G]: L and U.

    Each pair has a slot, in the order of groups: slot_off [G+1], sequence [pairs].   pair_off [S+1]: the pairs of each
    sequence, in the order of its columns and of their weights; slot [pairs]: their slots.   gold [m]: the slot of each
    gold count.
    """

    off: Ints
    low: Floats
    high: Floats
    slot_off: Ints
    sequence: Ints32
    pair_off: Ints
    slot: Ints32
    gold: Ints


def count_ranges_of(firing: FeatureFirings, gold: SequenceCounts, *, shared: bool = False) -> GroupedCountRanges:
    """The groups of a data set.   gold: F(y_i, x_i) of every sequence, [S, W].   shared: one pair of bounds a weight
    for all sequences in which it can count, and so one group.
    """
    above, first = firing.above, firing.first
    width = np.diff(first)[above.column]
    entry = np.repeat(np.arange(len(width), dtype=np.int32), width)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(width)])
    weight = firing.order[np.arange(len(entry)) - (start[:-1] - first[above.column])[entry]].astype(np.int32)
    sequence = above.sequence.astype(np.int32)[entry]
    keys = sequence * np.int64(gold.num_columns) + weight
    place = np.argsort(keys, kind="stable")
    of_gold = place[np.searchsorted(keys, gold.sequence * gold.num_columns + gold.column, sorter=place)]
    del keys, place
    low, high = firing.below.count[entry], above.count[entry]
    low[of_gold] -= gold.count
    high[of_gold] -= gold.count
    del entry
    if shared:
        least, most = np.zeros((2, gold.num_columns))  # u may be 0 in any sequence
        np.minimum.at(least, weight, low)
        np.maximum.at(most, weight, high)
        low, high = least[weight], most[weight]
    order = np.lexsort((high, low, weight)).astype(np.int32)
    starts = np.ones(len(order), np.bool_)
    starts[1:] = np.diff(weight[order]) != 0
    for values in (low, high):
        starts[1:] |= np.diff(values[order]) != 0.0
    heads = np.flatnonzero(starts)
    slot = np.empty(len(order), np.int32)
    slot[order] = np.arange(len(order), dtype=np.int32)
    off = np.searchsorted(weight[order[heads]], np.arange(gold.num_columns + 1))
    return GroupedCountRanges(
        off, low[order[heads]], high[order[heads]], np.append(heads, len(order)), sequence[order], start[above.off],
        slot, slot[of_gold].astype(np.int64),
    )  # fmt: skip


class _Workspace(NamedTuple):
    """Memory of a thread: arenas, overwritten; totals and sums, all 0 between calls. `sums`: None without a chain."""

    value: Floats
    adjoint: Floats
    totals: Totals
    sums: ChainSums | None


class PairExpectations:
    """⟨f⟩ of the pairs of single sequences in one data set, minus the gold counts."""

    def __init__(
        self, data: BoundData, method: ExactMethod, firing: FeatureFirings, ranges: GroupedCountRanges,
        gold: SequenceCounts, workers: Workers,
    ):  # fmt: skip
        """data: not bundled, with contraction programs; `method` is built for it."""
        self.out = Expectations.empty(data)
        self._data, self._method, self._workers = data, method, workers
        bindings, counts = data.bindings, firing.above
        order = np.argsort(bindings.bias_weight, kind="stable")
        self._table = PairTable(
            counts.off, counts.column, firing.first, firing.order, ranges.pair_off, ranges.slot, gold.off, ranges.gold,
            gold.count,
            np.ascontiguousarray(data.cell_of_weight()),
            np.searchsorted(bindings.bias_weight[order], np.arange(data.num_weights + 1)),
            bindings.bias_cell[order].astype(np.int64),
        )  # fmt: skip
        runs = method.chain
        packed = runs is not None and (data.packing is not None or not len(runs.chain.scored))  # as its kernel reads
        self._chain = runs.chain if runs is not None and packed and runs.fits else None
        if self._chain is not None:
            chain, base = self._chain, self._chain.base
            self._longest = runs.longest if runs is not None else 0
            places = [np.array(kinds, np.int64) for kinds in (chain.everywhere, chain.at_first, chain.at_last)]
            pairs = np.array([kind for kind, _ in chain.pairs], np.int64)
            turned = np.array([turned for _, turned in chain.pairs], np.bool_)
            self._cells = ChainCells(base[places[0]], base[places[1]], base[places[2]], base[pairs], turned)
        self._workspaces = threading.local()

    def update(self, weights: Floats, sequences: Ints, value: Floats) -> None:
        """Writes log Z and status of these sequences into `out`, expectations of their pairs into `value` [slots]."""
        out, d = self.out, self._data
        p, left = d.potentials(weights), sequences
        out.redone[sequences] = False
        tables = self._chain.tables(p.log_base, linear=True) if self._chain is not None else None
        if tables is not None:

            def by_chain(first: int, last: int) -> None:
                workspace = self._workspace()
                chain_pairs(
                    sequences[first:last], tables, d.problem, p.weights, workspace.totals, workspace.sums, self._cells,
                    out.results, ChainWorkspace(self._longest, workspace.value), self._table, value,
                )  # fmt: skip

            self._workers.map(by_chain, self._runs(len(sequences)))
            left = sequences[out.status[sequences] == UNDERFLOW]
        if not len(left):
            return
        method = self._method
        in_blocks = method.in_blocks[left]
        others = left[~in_blocks]

        def by_programs(first: int, last: int) -> None:
            workspace = self._workspace(programs=True)
            exact_pairs(
                others[first:last], d.problem, method.programs, method.patterns, p, workspace.totals, out.results,
                workspace.value, workspace.adjoint, self._table, value,
            )  # fmt: skip

        self._workers.map(by_programs, self._runs(len(others)))
        rest = np.concatenate([left[in_blocks], others[out.status[others] == UNDERFLOW]])
        for s in rest.tolist():
            workspace = self._workspace()
            method.expectations(p, s, s + 1, out, *workspace.totals)
            collect_pairs(s, self._table, *workspace.totals, value)

    def _workspace(self, *, programs: bool = False) -> _Workspace:
        """Memory of the calling thread, for chains or for programs."""
        name = "programs" if programs or self._chain is None else "chain"
        workspace: _Workspace | None = getattr(self._workspaces, name, None)
        if workspace is None:
            shapes, chain = self._data.shapes, self._chain
            arena = max(int(shapes.arena_end.max(initial=0)), shapes.local_start)
            size, adjoint, sums = arena, arena, None
            if name == "chain" and chain is not None:
                size, adjoint, sums = workspace_for(self._longest, chain.width), 0, chain.sums()
            workspace = _Workspace(
                aligned_zeros(size), np.zeros(adjoint),
                Totals(aligned_zeros(self._data.num_cells), np.zeros(len(self._data.hard))), sums,
            )  # fmt: skip
            setattr(self._workspaces, name, workspace)
        return workspace

    def _runs(self, count: int) -> list[tuple[int, int]]:
        """Runs of `count` sequences. Results do not depend on the cut, as each sequence has separate pairs."""
        return even_runs(count) if self._workers.threads > 1 else even_runs(count, 1)


# the risk -------------------------------------------------------------------------------------------------------------


class BoostingRisk(Risk):
    """The risk, and what rounds of boosting need from it."""

    solver = "boosting"

    def __init__(
        self, problem: TrainingProblem, settings: TrainSettings[AdaboostSettings], inference: ResolvedInference
    ):
        criterion = settings.criterion
        super().__init__(problem, Penalty.none(problem.parameters.num_weights), None, "exact")
        self.rounds, self.tolerance, self.max_step = criterion.rounds, criterion.tolerance, criterion.max_step
        self.update: str = criterion.update
        self._wrong, self._weight = WrongLabellingSums(problem, inference), criterion.weight
        labels = problem.graph.num_labels * np.diff(problem.sentence_off)
        wrong = self._wrong.log_ratios(np.zeros(self.num_weights))[0]
        weight = np.zeros(len(labels)) if criterion.weight == "uniform" else labels * np.log(criterion.weight)
        if criterion.weight == "uniform" or criterion.divide:
            weight = weight - finite_or_zero(wrong)
        weight = weight + log_importance(problem, settings)
        total = np.logaddexp.reduce((weight + wrong)[np.isfinite(wrong)], initial=-np.inf)
        self.log_weight = weight - (total if np.isfinite(total) else 0.0)
        self._problem, self._inference, self._every = problem, inference, feature_firings(problem)
        self._column_of, self._fires_in = self._every.column_of, self._every.sequences_of()
        self.ranges = count_ranges_of(self._every, self._wrong.gold, shared=criterion.bounds == "all")
        self._weight_of = np.repeat(np.arange(self.num_weights), np.diff(self.ranges.off))
        size = self._wrong.num_sequences
        varies = np.repeat(self.ranges.high > self.ranges.low, np.diff(self.ranges.slot_off))
        self.most_weights = max(1, int(np.bincount(self.ranges.sequence[varies], minlength=size).max(initial=0)))
        # The last point, and at that point: for each sequence the score of its known labels, its risk, and the factor
        # of its expectations in the gradient; for each pair these expectations.
        self._point: Floats | None = None
        self._right, self._risk, self._share = np.zeros((3, size))
        self._value = np.zeros(len(self.ranges.slot))
        self._group_shares = np.zeros((2, len(self.ranges.low)))
        self._summed = False

    def boosting(self) -> BoostingProblem:
        return self

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`. Only computes the sequences that have changed since the last call."""
        self._move(weights)
        gradient = np.bincount(self._weight_of, self.shares[1], self.num_weights).astype(np.float64, copy=False)
        return float(self._risk.sum()), gradient

    def _move(self, weights: Floats) -> None:
        """Brings all stored values to `weights` [W]."""
        changed = self._changed(weights)
        self._point, self._summed = weights.copy(), False
        gold = self._wrong.gold
        known_scores(changed, gold.off, gold.column, gold.count, weights, self._right)
        self._right[changed] += self._problem.fixed_scores[changed]
        self._of_all.update(weights, changed, self._value)
        above = self._of_all.out.log_z[changed] - self._right[changed]
        ratio, near = log_wrong_ratio(above), above < NEAR
        if near.any():
            few = changed[near]
            self._of_wrong.update(weights, few, self._value)
            ratio[near] = self._of_wrong.out.log_z[few] - self._right[few]
        with np.errstate(over="ignore"):
            self._risk[changed] = np.exp(self.log_weight[changed] + ratio)
            self._share[changed] = np.exp(self.log_weight[changed] + np.where(near, ratio, above))
        self.total_status = self.total_status + self._of_all.out.summary()

    def _changed(self, weights: Floats) -> Ints:
        """The sequences in which a changed weight can count."""
        if self._point is None:
            return np.arange(len(self._risk))
        off, sequences = self._fires_in
        columns = np.unique(self._column_of[np.flatnonzero(weights != self._point)])
        fires = np.zeros(len(self._risk), np.bool_)
        for column in columns.tolist():
            fires[sequences[off[column] : off[column + 1]]] = True
        return np.flatnonzero(fires)

    @property
    def shares(self) -> tuple[Floats, Floats]:
        if not self._summed:
            ranges = self.ranges
            sum_groups(ranges.slot_off, ranges.sequence, self._risk, self._share, self._value, self._group_shares)
            self._summed = True
        return self._group_shares[0], self._group_shares[1]

    @cached_property
    def _of_all(self) -> PairExpectations:
        return self._expectations(self._problem.bind_plain(programs=True))

    @cached_property
    def _of_wrong(self) -> PairExpectations:
        return self._expectations(unpacked_data_excluding_gold(self._problem, range(self._problem.graph.num_labels)))

    def _expectations(self, plain: BoundData) -> PairExpectations:
        data = plain.packed()
        method = self._inference.build(data)
        assert isinstance(method, ExactMethod)
        return PairExpectations(data, method, self._every, self.ranges, self._wrong.gold, self.workers)

    def mass(self, weight: int) -> float:
        off, sequences = self._fires_in
        column = self._column_of[weight]
        return float(self._risk[sequences[off[column] : off[column + 1]]].sum())

    def start(self, weights: Floats) -> Floats:
        check_start(self.log_weight + self._wrong.log_ratios(weights)[0], self._weight)
        return weights


def build_boosting(problem: TrainingProblem, settings: TrainSettings[AdaboostSettings]) -> BoostingRisk:
    """The criterion of a stage. DcrfError where exact inference does not fit, or some label is not known."""
    unknown = np.flatnonzero((problem.gold.codes < 0).any(axis=0))
    if len(unknown):
        sentence = int(np.searchsorted(problem.sentence_off, unknown[0], side="right"))
        message = f"`adaboost` needs labels that are all known, and in sentence {sentence} some are not"
        raise DcrfError(Diagnostic("cannot-sum-out", message, help="train by `exponential`, which sums them out"))
    return BoostingRisk(problem, settings, require_exact(problem, settings))
