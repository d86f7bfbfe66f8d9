"""What wrong labels cost, a sum over places, and the training data with it in its scores.

    hamming, cost   Σ_t cost(y*_t, y_t), by the gold label and the predicted state
    segments        missed · (gold segments that y does not have) + false · (segments of y that are not gold ones)
    sum             of these

A label that is not known costs nothing. One known to be one of several costs nothing where it is one of them, and else
as much as for the cheapest of these. So the labellings that agree with what is known cost 0. `hmsvm` looks for the
labelling with the largest sum of score and cost; the likelihood sums over all of them, as if the costs were scores
without weights. The graphs are in `graph.margin_graphs`. Sources: Tsochantaridis et al. 2005, margin rescaling; Gimpel
& Smith 2010, softmax-margin. Not here: the objectives (`margin_objective`, `likelihood`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..data import mark_table, segments_of
from ..features import FeatureRows
from ..foundation import Codes, DcrfError, Diagnostic, Floats, Ints
from ..graph import Gold, SegmentMoves, known_label_rows, restricted_graph, segment_cost_graph, segment_cost_rows
from ..semantics import (
    CostLoss,
    HammingLoss,
    MethodSettings,
    SegmentsLoss,
    SumLoss,
    TrainSettings,
    cost_parts,
    state_costs,
)
from .judged_spans import check_segments_known, segment_marks
from .training_problem import ResolvedInference, TrainingProblem


class LabelCosts(ABC):
    """A cost. least: what a labelling costs at least that costs anything.   needs_exact: whether it follows segments,
    as messages cannot.
    """

    least: float
    needs_exact = False

    def __init__(self, problem: TrainingProblem):
        self._problem = problem

    @abstractmethod
    def augmented(self, data: TrainingProblem, times: float) -> TrainingProblem:
        """`data` in a graph whose scores have the cost added, multiplied by `times`. Its first variables are those of
        the model; what is known of a labelling is known of those that follow. `data` is that of the cost, or has other
        costs in its scores.
        """

    @abstractmethod
    def at_tokens(self, begin: int, end: int, off: Ints, states: Codes) -> Floats:
        """The costs at tokens `begin` to `end` - 1 with states [tokens, variables].   off: from the first token."""

    def of(self, first: int, last: int, labelling: Codes) -> Floats:
        """What a labelling of all variables, flat, costs in the sequences from `first` to `last` - 1.

        Each sequence is added up by itself, so that rounding does not depend on the sequences before it.
        """
        off = self._problem.sentence_off[first : last + 1]
        begin, end, size = int(off[0]), int(off[-1]), last - first
        states = labelling.reshape(-1, len(self._problem.graph.cards))[begin:end]
        costs = self.at_tokens(begin, end, off - begin, states)
        return np.bincount(np.repeat(np.arange(size), np.diff(off)), costs, size).astype(np.float64)


class StateCosts(LabelCosts):
    """Costs of wrong states."""

    def __init__(self, problem: TrainingProblem, loss: HammingLoss | CostLoss):
        super().__init__(problem)
        self._tables = _costs_of(problem, loss)
        self.least = _least(*(cost for table in self._tables.values() for cost in table.ravel().tolist()))

    def augmented(self, data: TrainingProblem, times: float) -> TrainingProblem:
        scores = {variable: times * cost for variable, cost in self._tables.items()}
        graph = restricted_graph(data.graph, scores, len(data.rows), "cost of")
        rows = known_label_rows(data.graph, data.gold, list(scores))
        return replace(data, graph=graph, rows=(*data.rows, *rows))

    def at_tokens(self, begin: int, end: int, off: Ints, states: Codes) -> Floats:
        total, gold, cards = np.zeros(end - begin), self._problem.gold, self._problem.graph.cards
        for variable, cost in self._tables.items():
            total += cost[gold.runs(variable, cards[variable])[begin:end], states[:, variable]]
        return total


def _costs_of(problem: TrainingProblem, loss: HammingLoss | CostLoss) -> Mapping[int, Floats]:
    """What each state costs for each kind of gold label, [kinds, states], of the labels that a loss looks at.

    The kinds are those of `Gold.runs`. A state that the gold label allows costs nothing; where it is one of several,
    any other state costs as much as for the cheapest of them.
    """
    out = {}
    for variable in problem.labels_named(loss.labels):
        card = problem.graph.cards[variable]
        allowed = problem.gold.allowed(variable, card)
        pairs = np.ones((card, card))
        if isinstance(loss, CostLoss):
            try:
                pairs = np.array(state_costs(loss, problem.states[variable]))
            except ValueError as error:
                message = f'`"{error}"` is no pair of states of `{problem.graph.variables[variable]}` and a cost'
                remedy = 'write `"GOLD PREDICTED NUMBER"`, with `*` for any state'
                raise DcrfError(Diagnostic("bad-argument", message, help=remedy)) from None
        cheapest = np.array([pairs[row].min(axis=0, initial=np.inf) for row in allowed])
        out[variable] = np.where(allowed, 0.0, loss.scale * cheapest)
    return out


def _least(*costs: float) -> float:
    return min((cost for cost in costs if cost > 0.0), default=np.inf)


class SegmentCosts(LabelCosts):
    """Costs of gold segments that are missed, and of false segments."""

    needs_exact = True

    def __init__(self, problem: TrainingProblem, loss: SegmentsLoss):
        super().__init__(problem)
        self._missed, self._false = loss.scale * loss.missed, loss.scale * loss.false
        self.least = _least(self._missed, self._false)
        self._variables = problem.labels_named(loss.labels)
        self._last: list[Ints] = []  # of each label [N, types]: where the gold segment that begins here ends, or -1
        for variable in self._variables:
            name, states = problem.graph.variables[variable], problem.states[variable]
            codes = problem.gold.codes[variable]
            check_segments_known(loss.method, name, codes, problem.sentence_off)
            mark, kind, kinds = mark_table(states)
            if not kinds:
                message = f"`{loss.method}` counts segments, and the states of `{name}` mark none"
                raise DcrfError(Diagnostic("no-segments", message, help="take `hamming`, which counts labels"))
            gold = segments_of(codes, mark, kind, problem.sentence_off)
            last = np.full((len(codes), len(kinds)), -1, np.int64)
            last[gold.start, gold.kind] = gold.end
            self._last.append(last)

    def augmented(self, data: TrainingProblem, times: float) -> TrainingProblem:
        marks = {variable: segment_marks(data.states[variable]) for variable in self._variables}
        moves = {v: SegmentMoves(mark.kind.astype(np.int64), mark.starts, mark.goes_on) for v, mark in marks.items()}
        graph = segment_cost_graph(data.graph, moves, times * self._missed, times * self._false, len(data.rows))
        rows: list[FeatureRows] = []
        codes = list(data.gold.codes)
        for variable, of_label in moves.items():
            gold = data.gold.codes[variable]
            rows += segment_cost_rows(gold, of_label, data.sentence_off)
            codes.append((of_label.kind[gold] >= 0).astype(gold.dtype))  # right so far: inside of a gold segment
        known = Gold(np.stack(codes), (*data.gold.sets, *(() for _ in moves)))
        return replace(data, graph=graph, rows=(*data.rows, *rows), gold=known)

    def at_tokens(self, begin: int, end: int, off: Ints, states: Codes) -> Floats:
        total = np.zeros(end - begin)
        for variable, of_gold in zip(self._variables, self._last, strict=True):
            mark, kind, _ = mark_table(self._problem.states[variable])
            found = segments_of(states[:, variable], mark, kind, off)
            right = of_gold[begin + found.start, found.kind] == begin + found.end
            total += self._missed * (of_gold[begin:end] >= 0).sum(axis=1)
            total[found.start] += np.where(right, -self._missed, self._false)
        return total


class SummedCosts(LabelCosts):
    """The sum of some costs."""

    def __init__(self, problem: TrainingProblem, costs: Sequence[LabelCosts]):
        super().__init__(problem)
        self._each = costs
        self.least, self.needs_exact = _least(*(cost.least for cost in costs)), any(one.needs_exact for one in costs)

    def augmented(self, data: TrainingProblem, times: float) -> TrainingProblem:
        for cost in self._each:
            data = cost.augmented(data, times)
        return data

    def at_tokens(self, begin: int, end: int, off: Ints, states: Codes) -> Floats:
        return sum((cost.at_tokens(begin, end, off, states) for cost in self._each), np.zeros(end - begin))


def label_costs(problem: TrainingProblem, settings: MethodSettings | None) -> LabelCosts | None:
    """A cost of the training data; None where the settings name no cost that is a sum over places.

    DcrfError where it does not suit the labels.
    """
    factor = settings.scale if isinstance(settings, SumLoss) else 1.0
    each: list[LabelCosts] = []
    for part in cost_parts(settings):
        scaled = part.model_copy(update={"scale": factor * part.scale})
        if isinstance(scaled, SegmentsLoss):
            each.append(SegmentCosts(problem, scaled))
        elif isinstance(scaled, HammingLoss | CostLoss):
            each.append(StateCosts(problem, scaled))
    return SummedCosts(problem, each) if len(each) > 1 else each[0] if each else None


def inference_beside(
    costs: LabelCosts, judged: TrainingProblem, settings: TrainSettings, inference: ResolvedInference, written: str
) -> ResolvedInference:
    """The inference of a stage over data with costs in its scores; `exact` where they follow segments.

    written: the setting that names them. DcrfError where `exact` is not asked for or does not fit the graph.
    """
    if not costs.needs_exact:
        return inference
    may_be = inference.name in ("exact", "auto", "automaton")  # `auto`: by the width of each graph
    exact = judged.exact_if_it_fits(settings) if may_be else None
    if exact is None:
        message = f"`{written} = segments` needs `exact`, and this stage takes `{inference.name}`"
        if may_be:
            message = f"`{written} = segments` needs `exact`, which builds too large a table with it"
        remedy = (
            f"write `{written} = hamming`, or `infer = exact(max_table = …)` in the stage if there is memory for it"
        )
        raise DcrfError(Diagnostic("needs-exact", message, help=remedy))
    return exact
