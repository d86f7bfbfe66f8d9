"""The tables of a label: its confusion matrix, and the scores of its states and of its segment types.

Not here: how classes are counted and averaged (`class_scores`), how tables are printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..semantics import CallSpec, has_segments, plain
from .class_scores import ClassScores, Confusion, confusion_of, scores_by_type
from .evaluation import Evaluation


@dataclass(frozen=True)
class LabelTables:
    """The tables of a label on some gold data; `+` joins those of two parts.

    confusion: a `Confusion`: its `states`, `matrix` and `mistakes`.
    by_type: the `ClassScores` of its segment types; None for a label without segments.

    >>> tables = model.tables(corpus)["part"]
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
    views = {str(plain(call.arguments[0].value)) for call in metrics if call.arguments} & set(evaluation.views)
    tables = _tables(evaluation, metrics)
    for view in (name for name in evaluation.views if name in views):
        tables |= _tables(evaluation.seen_as(view), metrics)
    return tables


def _tables(evaluation: Evaluation, metrics: Sequence[CallSpec]) -> dict[str, LabelTables]:
    runs = {str(plain(call.arguments[0].value)) for call in metrics if len(call.arguments) == 2 and _is_of_runs(call)}
    tables = {}
    for label in evaluation.gold:
        types = None
        if label in runs or has_segments(evaluation.known_states(label)):
            types = scores_by_type(evaluation, label, runs=label in runs).in_alphabetical_order()
        tables[label] = LabelTables(confusion_of(evaluation, label), types)
    return tables


def _is_of_runs(call: CallSpec) -> bool:
    return plain(call.arguments[1].value) == "runs" and call.name in ("segments", "by_type")
