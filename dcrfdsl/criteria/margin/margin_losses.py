"""What a wrong labelling costs, beside a loss of 1: the sum of the costs of its wrong states, or of its wrong segments.

    hamming, cost   Σ_t cost(y*_t, y_t), by the gold label and the predicted state
    segments        the gold segments that y does not have, and the segments of y that are not gold ones

Both are sums over positions, so that decoding may maximise them together with the score (`graph.variants`).
Source: Tsochantaridis et al. 2005, margin rescaling. Not here: decoding (`violated_labellings`), margins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ...data import mark_table, segments_of
from ...foundation import Codes, DcrfError, Diagnostic, Floats, Ints
from ...graph import SegmentMoves, cost_augmented_graph, known_label_rows, segment_cost_graph, segment_cost_rows
from ...semantics import CostLoss, HammingLoss, MethodSettings, SegmentsLoss, state_costs
from ..judged_spans import check_segments_known, segment_marks
from ..supervision import TrainingProblem

STATE_COST = 2.0  # score of a cost of 1: margins are half of score differences


class MarginLoss(Protocol):
    """A loss that is no constant. least: what a labelling costs at least that costs anything."""

    least: float

    def augmented(self) -> TrainingProblem:
        """The training data in a graph whose scores have the loss added, times `STATE_COST`. Its first variables are
        those of the model.
        """

    def of(self, first: int, last: int, labelling: Codes) -> Floats:
        """What a labelling of all variables, flat, costs in the sequences from `first` to `last` - 1."""


def margin_loss(supervision: TrainingProblem, loss: MethodSettings) -> MarginLoss | None:
    """None for a loss of 1. DcrfError where the loss does not suit the labels."""
    if isinstance(loss, SegmentsLoss):
        return SegmentCosts(supervision, loss)
    return StateCosts(supervision, loss) if isinstance(loss, HammingLoss | CostLoss) else None


def _sums(cost: Floats, off: Ints) -> Floats:
    """The sums of the costs of tokens over sequences; `off`: from the first token.

    Each is added up by itself, so that rounding does not depend on the sequences before it.
    """
    size = len(off) - 1
    sums: Floats = np.bincount(np.repeat(np.arange(size), np.diff(off)), cost, size).astype(np.float64)
    return sums


class StateCosts:
    """Costs of wrong states."""

    def __init__(self, supervision: TrainingProblem, loss: HammingLoss | CostLoss):
        self._supervision, self._costs = supervision, _costs_of(supervision, loss)
        self.least = min((float(cost[cost > 0.0].min(initial=np.inf)) for cost in self._costs.values()), default=np.inf)

    def augmented(self) -> TrainingProblem:
        """See `MarginLoss`."""
        supervision, costs = self._supervision, self._costs
        doubled = {variable: STATE_COST * cost for variable, cost in costs.items()}
        graph = cost_augmented_graph(supervision.graph, doubled, len(supervision.rows))
        rows = known_label_rows(supervision.graph, supervision.gold, list(costs))
        return replace(supervision, graph=graph, rows=(*supervision.rows, *rows))

    def of(self, first: int, last: int, labelling: Codes) -> Floats:
        """See `MarginLoss`."""
        graph, off = self._supervision.graph, self._supervision.sentence_off[first : last + 1]
        begin, end = int(off[0]), int(off[-1])
        states = labelling.reshape(-1, len(graph.cards))[begin:end]
        total = np.zeros(end - begin)
        for variable, cost in self._costs.items():
            kinds = self._supervision.gold.runs(variable, graph.cards[variable])[begin:end]
            total += cost[kinds, states[:, variable]]
        return _sums(total, off - begin)


def _costs_of(supervision: TrainingProblem, loss: HammingLoss | CostLoss) -> Mapping[int, Floats]:
    """What each state costs for each kind of gold label, [kinds, states], of the labels that a loss looks at.

    The kinds are those of `Gold.runs`. A state that the gold label allows costs nothing; where it is one of several,
    any other state costs as much as for the cheapest of them.
    """
    out = {}
    for variable in supervision.labels_named(loss.labels):
        card = supervision.graph.cards[variable]
        allowed = supervision.gold.allowed(variable, card)
        pairs = np.ones((card, card))
        if isinstance(loss, CostLoss):
            try:
                pairs = np.array(state_costs(loss, supervision.states[variable]))
            except ValueError as error:
                message = f'`"{error}"` is no pair of states of `{supervision.graph.variables[variable]}` and a cost'
                remedy = 'write `"GOLD PREDICTED NUMBER"`, with `*` for any state'
                raise DcrfError(Diagnostic("bad-argument", message, help=remedy)) from None
        cheapest = np.array([pairs[row].min(axis=0, initial=np.inf) for row in allowed])
        out[variable] = np.where(allowed, 0.0, cheapest)
    return out


class SegmentCosts:
    """One for each gold segment that is missed, and for each false segment."""

    least = 1.0

    def __init__(self, supervision: TrainingProblem, loss: SegmentsLoss):
        self._supervision, self._variables = supervision, supervision.labels_named(loss.labels)
        self._last: list[Ints] = []  # of each label [N, types]: where the gold segment that begins here ends, or -1
        for variable in self._variables:
            name, states = supervision.graph.variables[variable], supervision.states[variable]
            codes = supervision.gold.codes[variable]
            check_segments_known(loss.method, name, codes, supervision.sentence_off)
            mark, kind, kinds = mark_table(states)
            if not kinds:
                message = f"`{loss.method}` counts segments, and the states of `{name}` mark none"
                raise DcrfError(Diagnostic("no-segments", message, help="write `loss = hamming`, which counts labels"))
            gold = segments_of(codes, mark, kind, supervision.sentence_off)
            last = np.full((len(codes), len(kinds)), -1, np.int64)
            last[gold.start, gold.kind] = gold.end
            self._last.append(last)

    def augmented(self) -> TrainingProblem:
        """See `MarginLoss`."""
        supervision = self._supervision
        moves = {variable: _moves(supervision.states[variable]) for variable in self._variables}
        graph = segment_cost_graph(supervision.graph, moves, STATE_COST, len(supervision.rows))
        rows = [
            row
            for variable, of_label in moves.items()
            for row in segment_cost_rows(supervision.gold.codes[variable], of_label, supervision.sentence_off)
        ]
        return replace(supervision, graph=graph, rows=(*supervision.rows, *rows))

    def of(self, first: int, last: int, labelling: Codes) -> Floats:
        """See `MarginLoss`."""
        supervision, off = self._supervision, self._supervision.sentence_off[first : last + 1]
        begin, end = int(off[0]), int(off[-1])
        states = labelling.reshape(-1, len(supervision.graph.cards))[begin:end]
        total = np.zeros(end - begin)
        for variable, of_gold in zip(self._variables, self._last, strict=True):
            mark, kind, _ = mark_table(supervision.states[variable])
            found = segments_of(states[:, variable], mark, kind, off - begin)
            right = of_gold[begin + found.start, found.kind] == begin + found.end
            total += (of_gold[begin:end] >= 0).sum(axis=1)
            total[found.start] += np.where(right, -1.0, 1.0)
        return _sums(total, off - begin)


def _moves(states: Sequence[str]) -> SegmentMoves:
    marks = segment_marks(tuple(states))
    return SegmentMoves(marks.kind.astype(np.int64), marks.starts, marks.goes_on)
