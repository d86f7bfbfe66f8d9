"""Hidden Markov SVM: the margin between the known labelling and every wrong one, on any graph, and its norm.

    ½ ‖λ‖² + C Σ_i ξ_i,         ½ [g(y_i) − g(y)] ≥ loss(y) − ξ_i      for all y ≠ y_i         (SVM1)
    ½ ‖λ‖² + C Σ_i Σ_y ξ_iy,    with a ξ for every y                                            (SVM2)

Optimizers see it as cuts d = ½ [F(y_i) − F(y)] of sequences, λ·d ≥ loss − ξ. With an observation kernel on a clique
its features are positions of the training data, alike as the kernel says (eq. 12; `kernels`). Where labels are latent
or not known, y_i is the best labelling that agrees with what is known, and the problem is not convex. A labelling y of
all variables is then wrong where it contradicts what is known: others have no margin to keep, whatever is hidden in
them. Labels that are known to be one of several are wrong where they are none of these.
Source: Altun & Hofmann 2003 §5. Not here: which labelling violates its margin most (`search`), solving (`optimizers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Codes, Floats, Ints, Mask
from ...errors import DcrfError, Diagnostic
from ...inference import Expectations, RunStatus, largest_table
from ...kernels.optimization import (
    Cuts,
    Metric,
    bias_of_cells,
    combine_cuts,
    empty_cuts,
    join_cuts,
    list_differences,
    margins_of,
    measure_cuts,
    most_violated,
    primal_and_gap,
)
from ...optimizers import MarginProblem
from ...semantics import ExactSettings, HammingLoss, HmsvmSettings, TrainSettings
from ..competing_labellings import OrderedRivals, constrained_decoder_of, unpacked_data_excluding_gold
from ..criterion import Criterion
from ..free_and_clamped import Clamped
from ..likelihood import clamped_part
from ..supervision import Inference, Supervision
from .violated_labellings import (
    ChainSearch,
    CostedSearch,
    ListSearch,
    OrderedSearch,
    Search,
    SearchExcludingGold,
    costed,
    deciding_chain,
)

__all__ = ["Hmsvm", "build_hmsvm"]

SEARCHES = 32  # in which labellings are looked for one after another, each at weights of its own
SMALLEST = 8  # sequences of a search


class Hmsvm(Criterion):
    """The primal, and what the dual needs of it."""

    solver = "working_set"

    def __init__(
        self, given: Supervision, settings: HmsvmSettings, inference: Inference, search: Search | ListSearch,
        known: Codes, looked_at: list[int], clamped: Clamped | None,
    ):  # fmt: skip
        """known: a labelling of all variables, flat; negative where it is to be completed, which it is at once."""
        self._data = given.bind_plain(programs=False)
        self._search, self._known, self.clamped = search, known, clamped
        self._looked_at, self._counts_states = looked_at, isinstance(settings.loss, HammingLoss)
        self._given, self.inference_description, self.num_weights = given, inference.name, self._data.num_weights
        self._bias_of = bias_of_cells(self._data.bindings, len(self._data.hard))
        self._found = np.zeros_like(known)
        self._is_full = np.zeros(self._data.num_sequences, np.bool_)  # whether no more labellings could be listed
        self._total = np.zeros(self.num_weights)
        self._is_listed = np.zeros(self.num_weights, np.bool_)
        count = self._data.num_sequences
        self.each_counts, self._most = isinstance(search, ListSearch), settings.most
        self.limit = np.full(count, settings.C)
        if self.each_counts:
            self.limit *= settings.weight ** (np.diff(given.sentence_off) * given.graph.num_labels)
        self.metric = _metric(given)
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

    def find_cuts(self, scores: Floats, first: int, last: int) -> Cuts:
        """See `MarginProblem.find_cuts`: the wrong labelling of each sequence that is violated most; with a slack a
        labelling all that are violated, as far as they are listed.
        """
        if not isinstance(self._search, ListSearch):
            self._search.find(scores, first, last, self._found)
            return self._cuts(first, last, self._found, np.ones(last - first, np.bool_))
        found, count = self._search.list(scores, first, last)
        cuts = empty_cuts(last - first)
        for rank in range(int(count.max(initial=0))):
            more = self._cuts(first, last, found[rank], count > rank)
            is_violated = more.loss > margins_of(more, scores, np.zeros(len(more.loss)))
            cuts = join_cuts(cuts, np.ones(len(cuts.loss), np.bool_), more, is_violated)
        self._is_full[first:last] = np.diff(cuts.block_off) >= self._most
        return cuts

    @property
    def remarks(self) -> tuple[str, ...]:
        found = []
        if self._search.approximate:
            found.append(
                f"`{self.inference_description}` may miss the labelling that violates its margin most, so the gap is "
                "that to the worst of those that it found"
            )
        if self._is_full.any():
            found.append(
                f"in {np.count_nonzero(self._is_full):,} of {len(self._is_full):,} sentences more labellings may "
                "violate their margin than `most` lists, and the objective counts those that are listed"
            )
        return tuple(found)

    def _cuts(self, first: int, last: int, found: Codes, chosen: Mask) -> Cuts:
        """The cuts by a labelling each of some sequences, `chosen` [last - first] and wrong."""
        d, off = self._data, self._data.labelling_off
        wrong = self._wrong(first, last, found)
        differs = chosen & (wrong.sum(axis=0) > 0)
        sequence = first + np.flatnonzero(differs)
        ends, index, value = list_differences(
            0, len(sequence), d.problem, self._bias_of, self._known, found, off, sequence, self._total, self._is_listed
        )
        block_off = np.concatenate([np.zeros(1, np.int64), np.cumsum(differs)])
        loss = wrong[self._looked_at].sum(axis=0) if self._counts_states else np.ones(last - first)
        loss = loss[differs].astype(np.float64)
        cuts = Cuts(block_off, ends, index, value, loss, np.zeros(len(loss)), np.zeros(len(loss)))
        measure_cuts(cuts, self.metric)
        return cuts

    def _wrong(self, first: int, last: int, found: Codes) -> Ints:
        """How many wrong states each label has in what was found for some sequences, [labels, last - first]."""
        graph, off = self._given.graph, self._given.sentence_off[first : last + 1]
        labels, begin, end = graph.num_labels, int(off[0]), int(off[-1])
        states = found.reshape(-1, len(graph.cards))[begin:end, :labels]
        gold = replace(self._given.gold, codes=self._given.gold.codes[:, begin:end])
        wrong = np.cumsum(gold.contradicts(states.T, graph.cards[:labels]), axis=1)
        return np.diff(np.concatenate([np.zeros((labels, 1), np.int64), wrong], axis=1)[:, off - begin], axis=1)

    def metric_times(self, point: Floats) -> Floats:
        """See `MarginProblem.metric_times`."""
        own = self.metric
        if not len(own.gram):
            return point
        found = point.copy()
        found[own.start : own.stop] = (own.gram @ point[own.start : own.stop].reshape(-1, own.states)).ravel()
        return found

    def complete(self, weights: Floats) -> bool:
        """See `MarginProblem.complete`."""
        if self.clamped is None:
            return False
        before, clamped = self._known.copy(), self.clamped
        method, out = clamped.method, Expectations.empty(clamped.data)
        potentials = clamped.data.potentials(self.metric_times(weights))
        for first, last in clamped.runs(0, clamped.data.num_sequences):
            method.decode(potentials, first, last, out, self._known)  # type: ignore[attr-defined]
        return not np.array_equal(before, self._known)

    # what every criterion has: the dual says how far the optimum is, a gradient does not ----------------------------

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The primal at `weights` [W], and a subgradient. A clique with a kernel has dual coefficients as weights."""
        scores, pull = self.metric_times(weights), weights.copy()
        value = 0.5 * float(weights @ scores)
        for first, last in self.runs:
            cuts = self.find_cuts(scores, first, last)
            value += primal_and_gap(cuts, self.limit[first:last], self.each_counts, scores)[0]
            counted = most_violated(cuts, self.limit[first:last], self.each_counts, scores)
            pull -= combine_cuts(cuts, counted, np.zeros(len(weights)))
        return value, self.metric_times(pull)


def build_hmsvm(given: Supervision, settings: TrainSettings[HmsvmSettings]) -> Hmsvm:
    """The criterion of a stage."""
    own, inference = settings.criterion, given.inference(settings)
    looked_at = given.labels_named(own.loss.labels if isinstance(own.loss, HammingLoss) else ())
    known = np.array(given.gold.codes.T, order="C").ravel()  # a copy: it is completed in place
    search = _search(given, own, inference, known, looked_at)
    return Hmsvm(given, own, inference, search, known, looked_at, clamped_part(given, inference))


def _metric(given: Supervision) -> Metric:
    """Of weights, but for a clique whose features are positions."""
    if given.compared is None:
        return Metric(0, 0, 1, np.zeros((0, 0)))
    clique, gram = given.compared
    states = given.graph.templates[clique].num_assignments
    start = given.parameters.entry_start(clique)
    return Metric(start, start + len(gram) * states, states, gram)


def _search(
    given: Supervision, own: HmsvmSettings, inference: Inference, known: Codes, looked_at: list[int]
) -> Search | ListSearch:
    labels, all_known = list(range(given.graph.num_labels)), bool((known >= 0).all())
    counts_states = isinstance(own.loss, HammingLoss)
    judged = costed(given, looked_at) if counts_states else given
    if own.slack == "labelling":
        if inference.name != "exact":
            message = (
                f"`slack = labelling` lists the best labellings, which `{inference.name}` cannot: only `exact` can"
            )
            raise DcrfError(Diagnostic("needs-exact", message, help="write `infer = exact` in the stage"))
        if all_known:
            return ListSearch(judged.bind_plain(programs=True), own.most + 1, given)
        return ListSearch(unpacked_data_excluding_gold(judged, labels), own.most, given)
    if all_known and counts_states:
        return CostedSearch(judged, inference)
    if inference.name == "exact":
        runs = deciding_chain(given) if all_known else None
        if runs is not None:
            return ChainSearch(runs, known, given)
        return SearchExcludingGold(judged, labels, ExactSettings(max_table=largest_table(inference.settings)))
    return OrderedSearch(OrderedRivals(constrained_decoder_of(judged, inference, labels), judged, labels, inference))
