"""Hidden Markov SVM: a large margin between the known labelling and every wrong one, on any graph.

    ½ ‖λ‖² + C Σ_i ξ_i,         ½ [g(y_i) − g(y)] ≥ loss(y) − ξ_i      for all y ≠ y_i         (SVM1)
    ½ ‖λ‖² + C Σ_i Σ_y ξ_iy,    with a ξ for every y                                            (SVM2)

Optimizers see the constraints as cuts d = ½ [F(y_i) − F(y)] of sequences, λ·d ≥ loss − ξ. With an observation kernel
on a clique, its features are positions of the training data, and the kernel says how alike these are (eq. 12;
`features.observation_kernels`). Where labels are latent or not known, y_i is the best labelling that agrees with the
known ones, and the problem is not convex. A labelling of all variables is then wrong if it contradicts a known label;
all others have no margin to keep, whatever their hidden states. A label that is known to be one of several is
contradicted by every other state.

A wrong labelling costs 1, or what its wrong labels do (`label_costs`): a sum over places, so that decoding may maximise
it together with the score. Sources: Altun & Hofmann 2003 §5; Tsochantaridis et al. 2005, margin rescaling. Not here:
the search for the most violated labelling (`violated_labellings`), solving (`optimizers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..foundation import Codes, DcrfError, Diagnostic, Floats, Ints
from ..inference import Decoded, RunStatus, score_sequences
from ..kernels import optimization
from ..kernels.sequences import score_labellings
from ..kernels.tables import Potentials
from ..optimizers import MarginProblem
from ..semantics import HmsvmSettings, TrainSettings
from .competing_labellings import ConstrainedSearch, Search, WrongLabellingSearch, data_excluding_gold
from .criterion import Clamped, Criterion
from .label_costs import LabelCosts, inference_beside, label_costs
from .likelihood import clamped_part
from .training_problem import ResolvedInference, TrainingProblem
from .violated_labellings import ChainSearch, CostAugmentedSearch, NBestSearch, chain_decoder

# the objective --------------------------------------------------------------------------------------------------------

AnySearch = Search | ConstrainedSearch | NBestSearch
SEARCHES = 32  # runs of sequences, searched one after another; the weights may move between two of them
STATE_COST = 2.0  # score of a cost of 1: margins are half of score differences
SMALLEST = 8  # sequences of a run, at least
TIE = 5e-7  # of scores, where losses are 1 or more: less decides nothing, and rounding would go in circles


class Hmsvm(Criterion):
    """The primal, and what the dual needs of it."""

    solver = "working_set"

    def __init__(
        self, problem: TrainingProblem, settings: HmsvmSettings, inference: ResolvedInference,
        search: AnySearch, known: Codes, loss: LabelCosts | None, clamped: Clamped | None,
        factor: Floats | None = None,
    ):  # fmt: skip
        """known: a labelling of all variables, flat; its negative entries are completed, at weights of 0 first.

        factor [S]: how much the slacks of each sequence count; by default all once.
        """
        self._data = problem.bind_plain(programs=False)
        self._search, self._known, self.clamped = search, known, clamped
        self._loss, self._tie = loss, TIE * (1.0 if loss is None else min(1.0, loss.least))
        self._problem, self.inference_description = problem, inference.name
        self.num_weights = self._data.num_weights
        has_fixed = problem.graph.has_fixed_scores
        self._fixed = self._data.potentials(np.zeros(self.num_weights)) if has_fixed else None
        self._bias_of = optimization.bias_of_cells(self._data.bindings, len(self._data.hard))
        self._competitors = np.zeros_like(known)
        self._is_full = np.zeros(self._data.num_sequences, np.bool_)  # whether the list of a sequence is full
        self._total = np.zeros(self.num_weights)
        self._is_listed = np.zeros(self.num_weights, np.bool_)
        count = self._data.num_sequences
        self.each_counts, self._most = isinstance(search, NBestSearch), settings.most
        self.limit = np.full(count, settings.C)
        if self.each_counts:
            self.limit *= settings.weight ** (np.diff(problem.sentence_off) * problem.graph.num_labels)
        if factor is not None:
            self.limit *= factor
        self.metric = _metric(problem)
        self.tolerance = settings.tolerance
        self.runs: Sequence[tuple[int, int]] = (
            [(0, count)] if search.whole else self._data.chunks(max(1, min(SEARCHES, count // SMALLEST)))
        )
        self.complete(np.zeros(self.num_weights))

    @property
    def approximate(self) -> bool:
        """Whether a labelling that violates its margin more may have been missed."""
        return self._search.approximate

    @property
    def total_status(self) -> RunStatus:
        return self._search.status

    # what the dual needs --------------------------------------------------------------------------------------------

    def margin_problem(self) -> MarginProblem:
        return self

    def find_cuts(self, scores: Floats, first: int, last: int) -> optimization.Cuts:
        """See `MarginProblem.find_cuts`: the cut of the labelling of each sequence that violates its margin most; with
        a slack for each labelling, the cuts of all listed labellings that violate theirs.
        """
        if not isinstance(self._search, NBestSearch):
            self._search.find(scores, first, last, self._competitors)
            return self._cuts(first, last, self._competitors[None], np.ones(last - first, np.int64))
        labellings, count = self._search.list(scores, first, last, self._floor(self._search, scores, first, last))
        listed = self._cuts(first, last, labellings, count)
        is_violated = listed.loss > optimization.margins_of(listed, scores, np.zeros(len(listed.loss)))
        nothing = optimization.empty_cuts(last - first)
        cuts: optimization.Cuts = optimization.join_cuts(listed, is_violated, nothing, np.zeros(0, np.bool_))
        self._is_full[first:last] = np.diff(cuts.block_off) >= self._most
        return cuts

    def _floor(self, search: NBestSearch, scores: Floats, first: int, last: int) -> Floats:
        """What a labelling must score to violate its margin, [S]; a loss that counts is part of the score."""
        floor = np.full(self._data.num_sequences, 0.0 if self._loss is not None else -STATE_COST)
        if not search.is_relative:
            d, right = self._data, np.zeros(self._data.num_sequences)
            score_labellings(first, last, d.problem, d.potentials(scores), d.ragged(self._known), right)
            floor += right
        return floor

    @property
    def full(self) -> int:
        """How many sequences have as many violated labellings as `most` lists."""
        return int(np.count_nonzero(self._is_full))

    @property
    def remarks(self) -> tuple[str, ...]:
        return margin_remarks(self.inference_description, self._search.approximate, self.full, len(self._is_full))

    def _cuts(self, first: int, last: int, labellings: Codes, count: Ints) -> optimization.Cuts:
        """The cuts of the first `count` [last - first] labellings [ranks, flat] of each sequence that are wrong."""
        d, off = self._data, self._data.labelling_off
        wrong = np.stack(
            [self._wrong(first, last, labellings[rank]) for rank in range(int(count.max(initial=0)))]
            or [np.zeros((self._problem.graph.num_labels, last - first), np.int64)]
        )
        sequence = np.repeat(np.arange(last - first), count)
        rank = np.arange(len(sequence)) - np.repeat(np.cumsum(count) - count, count)
        differs = wrong[rank, :, sequence].any(axis=1)
        sequence, rank = sequence[differs], rank[differs]
        ends, index, value = optimization.list_differences(
            0, len(sequence), d.problem, self._bias_of, self._known, labellings, off, first + sequence, rank,
            self._total, self._is_listed,
        )  # fmt: skip
        block_off = np.searchsorted(sequence, np.arange(last - first + 1))
        loss = np.ones(len(sequence))
        if self._loss is not None:
            of_rank = np.stack([self._loss.of(first, last, labellings[n]) for n in range(len(wrong))])
            loss = of_rank[rank, sequence]
        if self._fixed is not None:  # scores without weights are no part of d: half their difference is kept already
            others = np.stack([self._fixed_scores(self._fixed, first, last, labellings[n]) for n in range(len(wrong))])
            right = self._fixed_scores(self._fixed, first, last, self._known)
            loss = loss - (right[sequence] - others[rank, sequence]) / STATE_COST
        states = self._other_states(labellings, rank, first + sequence)
        cuts = optimization.Cuts(block_off, ends, index, value, *states, loss, np.zeros(len(loss)), np.zeros(len(loss)))
        optimization.measure_cuts(cuts, self.metric)
        return cuts

    def _fixed_scores(self, fixed: Potentials, first: int, last: int, labelling: Codes) -> Floats:
        """What scores without weights add to a labelling of these sequences, [last - first]."""
        out = np.zeros(self._data.num_sequences)
        score_labellings(first, last, self._data.problem, fixed, self._data.ragged(labelling), out)
        return out[first:last]

    def _other_states(self, labellings: Codes, rank: Ints, sequence: Ints) -> tuple[Ints, Ints]:
        """What each of these labellings is known by (see `Cuts`): offsets [n+1], and states other than those of y*."""
        off = self._data.labelling_off
        size = off[sequence + 1] - off[sequence]
        owner = np.repeat(np.arange(len(sequence)), size)
        variable = np.arange(len(owner)) - (np.cumsum(size) - size)[owner]
        flat = off[sequence][owner] + variable
        state = labellings[rank[owner], flat]
        other = np.flatnonzero(state != self._known[flat])
        return np.searchsorted(owner[other], np.arange(len(sequence) + 1)), variable[other] << 32 | state[other]

    def _wrong(self, first: int, last: int, labelling: Codes) -> Ints:
        """How many wrong states of each label a labelling has in each of these sequences, [labels, last - first]."""
        graph, off = self._problem.graph, self._problem.sentence_off[first : last + 1]
        labels, begin, end = graph.num_labels, int(off[0]), int(off[-1])
        states = labelling.reshape(-1, len(graph.cards))[begin:end, :labels]
        gold = replace(self._problem.gold, codes=self._problem.gold.codes[:, begin:end])
        wrong = np.cumsum(gold.contradicts(states.T, graph.cards[:labels]), axis=1)
        return np.diff(np.concatenate([np.zeros((labels, 1), np.int64), wrong], axis=1)[:, off - begin], axis=1)

    def metric_times(self, point: Floats) -> Floats:
        metric = self.metric
        if not len(metric.gram):
            return point
        scores = point.copy()
        for start, stop, states, gram in zip(*metric, strict=True):
            own = point[start:stop].reshape(-1, states)
            scores[start:stop] = (gram[: len(own), : len(own)] @ own).ravel()
        return scores

    def complete(self, weights: Floats) -> bool:
        """See `MarginProblem.complete`. A labelling stays where no other is better by more than a tie."""
        if self.clamped is None:
            return False
        before, clamped = self._known.copy(), self.clamped
        method, out = clamped.method, Decoded.empty(clamped.data, labelling=self._known)
        potentials = clamped.data.potentials(self.metric_times(weights))
        for first, last in clamped.runs(0, clamped.data.num_sequences):
            method.decode(potentials, first, last, out)  # type: ignore[attr-defined]
        kept, best = (
            score_sequences(clamped.data, codes, potentials, self._problem.workers) for codes in (before, self._known)
        )
        off = clamped.data.labelling_off
        for s in np.flatnonzero(clamped.partly & ~(best > kept + self._tie) & np.isfinite(kept)).tolist():
            self._known[off[s] : off[s + 1]] = before[off[s] : off[s + 1]]
        return not np.array_equal(before, self._known)

    # what every criterion has; the gap to the optimum comes from the dual, not from a gradient ------------------------

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The primal at `weights` [W], and a subgradient. A clique with a kernel has dual coefficients as weights."""
        scores, pull = self.metric_times(weights), weights.copy()
        value = 0.5 * float(weights @ scores)
        for first, last in self.runs:
            cuts = self.find_cuts(scores, first, last)
            value += optimization.primal_and_gap(cuts, self.limit[first:last], self.each_counts, scores)[0]
            counted = optimization.most_violated(cuts, self.limit[first:last], self.each_counts, scores)
            pull -= optimization.combine_cuts(cuts, counted, np.zeros(len(weights)))
        return value, self.metric_times(pull)


def margin_remarks(inference: str, approximate: bool, full: int, sequences: int) -> tuple[str, ...]:
    """What a user should know about margins that an inference method found.

    approximate: whether it may miss labellings.   full: so many of the sequences have more labellings than are listed.
    """
    sentences = []
    if approximate:
        sentences.append(
            f"`{inference}` may miss the labelling that violates its margin most, so the gap is "
            "that to the worst of those that it found"
        )
    if full:
        sentences.append(
            f"in {full:,} of {sequences:,} sentences more labellings may violate their margin than `most` lists, and "
            "the objective counts those that are listed"
        )
    return tuple(sentences)


def build_hmsvm(problem: TrainingProblem, settings: TrainSettings[HmsvmSettings]) -> Hmsvm:
    """The criterion of a stage. DcrfError where the loss does not suit the labels."""
    criterion, inference = settings.criterion, problem.inference(settings)
    loss, judged = label_costs(problem, criterion.loss), problem  # None: of 1
    if loss is not None:
        judged = loss.augmented(problem, STATE_COST)
        inference = inference_beside(loss, judged, settings, inference, "loss")
    known = np.array(problem.gold.codes.T, order="C").ravel()  # a copy: it is completed in place
    search = _search(problem, judged, criterion, inference, known)
    return Hmsvm(
        problem, criterion, inference, search, known, loss, clamped_part(problem, inference),
        problem.sentence_importance(settings),
    )  # fmt: skip


def _metric(problem: TrainingProblem) -> optimization.Metric:
    """The ordinary inner product of weights, except on cliques with observation kernels."""
    compared = problem.compared
    states = np.array([problem.graph.templates[clique].num_assignments for clique in compared], np.int64)
    start = np.array([problem.parameters.entry_start(clique) for clique in compared], np.int64)
    sizes = np.array([len(gram) for gram in compared.values()], np.int64)
    most = int(sizes.max(initial=0))
    grams = np.zeros((len(compared), most, most))
    for gram, block, size in zip(compared.values(), grams, sizes.tolist(), strict=True):
        block[:size, :size] = gram
    return optimization.Metric(start, start + sizes * states, states, grams)


def _search(
    problem: TrainingProblem,
    judged: TrainingProblem,
    criterion: HmsvmSettings,
    inference: ResolvedInference,
    known: Codes,
) -> AnySearch:
    """judged: the training data with the loss in its scores; `problem` itself for a loss of 1."""
    labels, all_known = list(range(problem.graph.num_labels)), bool((known >= 0).all())
    if criterion.slack == "labelling":
        if inference.name != "exact":
            message = (
                f"`slack = labelling` lists the best labellings, which `{inference.name}` cannot: only `exact` can"
            )
            raise DcrfError(Diagnostic("needs-exact", message, help="write `infer = exact` in the stage"))
        if all_known:
            is_wider = len(judged.graph.cards) > len(problem.graph.cards)  # `known` is no labelling of `judged`
            floors_from = known[:0] if is_wider else known
            return NBestSearch(judged.bind(programs=True), criterion.most + 1, problem, floors_from)
        return NBestSearch(data_excluding_gold(judged, labels), criterion.most, problem, known[:0])
    if all_known and judged is not problem:
        return CostAugmentedSearch(judged, problem, inference)
    if inference.name == "exact":
        runs = chain_decoder(problem) if all_known else None
        if runs is not None:
            return ChainSearch(runs, known, problem)
        return WrongLabellingSearch(judged, problem, labels, inference)
    return ConstrainedSearch(judged, labels, inference)
