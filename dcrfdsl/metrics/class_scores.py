"""Scores by class: precision, recall, F1 and support of each state or segment type, their averages, confusion matrices;
and errors by type, place by place, so that two models can be compared on what each gets wrong.

    micro     of the sums of the counts of all classes
    macro     the plain mean over classes that the gold or the prediction has
    weighted  the mean over classes, weighted by their support

Counts of parts of some data add up, even where a part has classes that another lacks. Source: Sokolova & Lapalme
(2009), table 3, with F1 averaged over classes, as scikit-learn and seqeval do. Not here: what a segment is
(`segment_scores`), what is right (`evaluation`), how tables are printed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, TypeAlias

import numpy as np

from ..foundation import Ints, dataclass
from ..semantics import has_segments, plain
from ..syntax import CallSpec
from .evaluation import Evaluation, confusion
from .segment_scores import UNSEEN, ComparedSegments, SegmentCounts, compared_segments, same_tokens, shares_a_token

NOTHING = None  # predicted in a sentence without any possible labelling
UNKNOWN = "(unknown)"  # a gold value that the model does not know, where not even its text is known
Pair: TypeAlias = tuple[str, str | None]
Place: TypeAlias = tuple[int, int, str]  # the first and the last token, and the type or the gold state


class ScoreRow(NamedTuple):
    """Shares from 0 to 1, 0 where there is nothing to divide by.   support: how often the gold has the class."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class ClassScores:
    """Scores of classes: of the states of a label, or of segment types.

    counts: by class, how often it is right, predicted, and in the gold. Classes that neither has are left out.
    """

    counts: Mapping[str, SegmentCounts] = field(default_factory=dict)

    def __add__(self, other: ClassScores) -> ClassScores:
        """Of both parts together; the classes of the first come first."""
        none = SegmentCounts(0, 0, 0)
        names = dict.fromkeys([*self.counts, *other.counts])
        pairs = ((name, self.counts.get(name, none), other.counts.get(name, none)) for name in names)
        return ClassScores({name: SegmentCounts(*map(sum, zip(a, b, strict=True))) for name, a, b in pairs})

    def in_alphabetical_order(self) -> ClassScores:
        """The same, classes by name."""
        return ClassScores(dict(sorted(self.counts.items())))

    @property
    def rows(self) -> dict[str, ScoreRow]:
        """The scores of each class."""
        return {name: _row(counts) for name, counts in self.counts.items()}

    @property
    def micro(self) -> ScoreRow:
        """Of all classes counted together."""
        return _row(SegmentCounts(*(sum(counts[n] for counts in self.counts.values()) for n in range(3))))

    @property
    def macro(self) -> ScoreRow:
        """The mean of the classes."""
        return self._mean([1] * len(self.counts))

    @property
    def weighted(self) -> ScoreRow:
        """The mean of the classes, weighted by support."""
        return self._mean([counts.gold for counts in self.counts.values()])

    @property
    def averages(self) -> dict[str, ScoreRow]:
        """The three averages by name."""
        return {"micro": self.micro, "macro": self.macro, "weighted": self.weighted}

    def _mean(self, weights: Sequence[int]) -> ScoreRow:
        support, total = sum(counts.gold for counts in self.counts.values()), sum(weights)
        if not total:
            return ScoreRow(0.0, 0.0, 0.0, support)
        shares = zip(*(row[:3] for row in self.rows.values()), strict=True)
        # summed without rounding, so that the order of classes, which parts may show in any order, does not matter
        precision, recall, f1 = (
            math.fsum(weight * share for weight, share in zip(weights, column, strict=True)) / total
            for column in shares
        )
        return ScoreRow(precision, recall, f1, support)


@dataclass(frozen=True)
class Confusion:
    """How often each gold state of a label was labelled as each state.

    known: the states of the model, in its order.
    pairs: counts by gold and predicted state, those above 0. `NOTHING` is predicted where no labelling is possible.

    Tokens whose gold value is missing or ambiguous are left out.
    """

    known: tuple[str, ...] = ()
    pairs: Mapping[Pair, int] = field(default_factory=dict)

    def __add__(self, other: Confusion) -> Confusion:
        """Of both parts together."""
        return Confusion(tuple(dict.fromkeys([*self.known, *other.known])), Counter(self.pairs) + Counter(other.pairs))

    @property
    def states(self) -> tuple[str, ...]:
        """The states that the gold or the prediction has: those of the model in its order, then others by name."""
        seen = {state for pair in self.pairs for state in pair if state is not NOTHING}
        known = [state for state in self.known if state in seen]
        return (*known, *sorted(seen.difference(known)))

    @property
    def matrix(self) -> Ints:
        """[K, K] by gold and predicted state, in the order of `states`; without what nothing was predicted for."""
        return self._table[:, :-1]

    @property
    def unlabelled(self) -> Ints:
        """[K] for how many tokens of each gold state nothing was predicted."""
        return self._table[:, -1]

    @property
    def scores(self) -> ClassScores:
        """Precision, recall, F1 and support of each state."""
        table = self._table
        counts = zip(np.diagonal(table), table[:, :-1].sum(axis=0), table.sum(axis=1), strict=True)
        return ClassScores({name: SegmentCounts(*map(int, row)) for name, row in zip(self.states, counts, strict=True)})

    @property
    def mistakes(self) -> list[tuple[str, str | None, int]]:
        """Gold state, predicted state and count of what was wrong, the commonest first."""
        wrong = [(gold, predicted, count) for (gold, predicted), count in self.pairs.items() if gold != predicted]
        return sorted(wrong, key=lambda one: (-one[2], one[0], one[1] or ""))

    @property
    def _table(self) -> Ints:
        """[K, K + 1]: the last column is for nothing."""
        states = self.states
        number: dict[str | None, int] = {state: k for k, state in enumerate(states)} | {NOTHING: len(states)}
        table = np.zeros((len(states), len(states) + 1), np.int64)
        for (gold, predicted), count in self.pairs.items():
            table[number[gold], number[predicted]] = count
        return table


def confusion_of(evaluation: Evaluation, label: str) -> Confusion:
    """The confusions of a label, where its gold value is known and not ambiguous."""
    gold, predicted = (np.asarray(codes[label], np.int64) for codes in (evaluation.gold, evaluation.predicted))
    counted, states = gold >= UNSEEN, evaluation.states[label]
    # one more state, the first, stands for a gold value without a text and for nothing predicted
    table = confusion(gold[counted] + 1, predicted[counted] + 1, len(states) + 1)
    pairs: Counter[Pair] = Counter()
    for a, b in np.argwhere(table).tolist():
        pair = states[a - 1] if a else UNKNOWN, states[b - 1] if b else NOTHING
        pairs[pair] += int(table[a, b])
    return Confusion(tuple(evaluation.known_states(label)), pairs)


def segments_compared(evaluation: Evaluation, label: str, *, runs: bool = False) -> ComparedSegments:
    """The gold and predicted segments of a label. runs: whether its states have no marks (`segment_scores`)."""
    gold, predicted, sets = evaluation.gold[label], evaluation.predicted[label], evaluation.sets.get(label, ())
    return compared_segments(gold, predicted, evaluation.states[label], evaluation.sentence_off, runs=runs, sets=sets)


def scores_by_type(evaluation: Evaluation, label: str, *, runs: bool = False) -> ClassScores:
    """The scores of each type of segment of a label. Takes what `segments_compared` takes."""
    return ClassScores(segments_compared(evaluation, label, runs=runs).by_type)


def label_errors(evaluation: Evaluation, label: str, *, of_segments: bool, runs: bool = False) -> dict[Place, str]:
    """The errors of a label by their places: of gold segments, but of predicted ones where they are spurious.

        missing       no predicted segment shares a token with the gold one
        wrong type    a predicted segment has the same tokens as the gold one, and another type
        wrong border  a predicted segment shares a token with the gold one, and none has the same tokens
        spurious      a predicted segment shares no token with a gold one
        wrong label   of a token, where a label has no segments

    of_segments: whether segments are judged, not tokens.   runs: whether its states have no marks (`segment_scores`).
    """
    if not of_segments:
        gold, states = np.asarray(evaluation.gold[label]), evaluation.states[label]
        tokens = np.flatnonzero(evaluation.scored(label) & ~evaluation.right(label)).tolist()
        return {(t, t, states[gold[t]] if gold[t] >= 0 else UNKNOWN): "wrong label" for t in tokens}
    found, size = segments_compared(evaluation, label, runs=runs), evaluation.num_tokens
    golds, ours = found.golds, found.ours
    partner = same_tokens(golds, ours, size)
    matched = partner >= 0
    typed = np.zeros_like(matched)
    typed[matched] = ours.kind[partner[matched]] == golds.kind[matched]
    untouched = np.where(shares_a_token(golds, ours, size), "wrong border", "missing")
    spurious = ~shares_a_token(ours, golds, size) & ~shares_a_token(ours, found.unsure, size)
    of_golds = np.where(typed, "", np.where(matched, "wrong type", untouched)).tolist()
    places = zip((*golds.start, *ours.start), (*golds.end, *ours.end), (*golds.kind, *ours.kind), strict=True)
    errors = zip(places, (*of_golds, *np.where(spurious, "spurious", "").tolist()), strict=True)
    return {(int(start), int(end), found.types[kind]): error for (start, end, kind), error in errors if error}


def _row(counts: SegmentCounts) -> ScoreRow:
    return ScoreRow(counts.precision, counts.recall, counts.f1, counts.gold)


# the tables of a label ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTables:
    """The tables of a label on some gold data; `+` joins those of two parts.

    confusion: a `Confusion`: its `states`, `matrix` and `mistakes`.
    by_type: the `ClassScores` of its segment types; None for a label without segments.

    >>> tables = model.scores.tables(corpus)["part"]
    >>> tables.by_state.rows["B-TOWN"]
    ScoreRow(precision=1.0, recall=1.0, f1=1.0, support=3)
    >>> tables.by_type.macro.f1
    1.0
    """

    confusion: Confusion = field(default_factory=Confusion)
    by_type: ClassScores | None = None

    @property
    def by_state(self) -> ClassScores:
        """The `ClassScores` of its states: `rows` by state, and the averages `micro`, `macro` and `weighted`."""
        return self.confusion.scores

    def __add__(self, other: LabelTables) -> LabelTables:
        is_whole = self.by_type is not None and other.by_type is not None
        types = self.by_type + other.by_type if is_whole else None  # type: ignore[operator]  # both are there
        return LabelTables(self.confusion + other.confusion, types)


def label_tables(evaluation: Evaluation, metrics: Sequence[CallSpec] = ()) -> dict[str, LabelTables]:
    """The tables of each label, and of each view that a metric names.

    metrics: those of the template. A label that has segments without marks in one of them, `segments(y, runs)`, has
    them here too.
    """
    named = {str(plain(call.arguments[0].value)) for call in metrics if call.arguments}
    tables = _tables(evaluation, metrics)
    for view in evaluation.views:
        if view in named:
            tables |= _tables(evaluation.seen_as(view), metrics)
    return tables


def _tables(evaluation: Evaluation, metrics: Sequence[CallSpec]) -> dict[str, LabelTables]:
    runs, tables = labels_of_runs(metrics), {}
    for label in evaluation.gold:
        types = None
        if label in runs or has_segments(evaluation.known_states(label)):
            types = scores_by_type(evaluation, label, runs=label in runs).in_alphabetical_order()
        tables[label] = LabelTables(confusion_of(evaluation, label), types)
    return tables


def labels_of_runs(metrics: Sequence[CallSpec]) -> set[str]:
    """The labels whose segments are runs without marks in one of these metrics."""
    calls = ((call.name, *(plain(argument.value) for argument in call.arguments)) for call in metrics)
    return {str(call[1]) for call in calls if call[0] in ("segments", "by_type") and call[2:] == ("runs",)}
