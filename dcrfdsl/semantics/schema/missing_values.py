"""What the data lack: numbers, the option `missing` of `data` and the test `temp is missing`; and cells of labels.

With the option, a column of numbers may have gaps. Where there is one, no feature of the number fires, every comparison
is false, and `temp is missing` is true. Numbers of functions, as `standardize(temp)` and `mean(temp[-3..3])`, too.

The cell of a label is one value, one of several (`ambiguous`), a distribution over some (`soft`), or none (`missing`).
The mark of a missing value always means "unknown", alone or as a member of a set. A value that is itself a state is
never split.

Not here: how a cell of numbers is read (`data.columns`), whole columns of labels (`data.label_columns`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from ...syntax import NUMERIC, Apply, Condition, DataSpec, Is, Label, Reference, Text
from .function_signatures import gives_number
from .model_spec import ModelSpec

MISSING = "missing"  # the name of the option, and the word of the test


def missing_mark(data: DataSpec | None) -> str | None:
    """The text of a cell that stands for a number that is not known; None if all numbers have to be there."""
    options = data.options if data is not None else ()
    values = (option.value for option in options if option.name == MISSING)
    return next((value.value for value in values if isinstance(value, Text)), None)


def gap_of(spec: ModelSpec, feature: Condition) -> Is | None:
    """The test whether a number is missing, for one by itself that may be; its place stays."""
    if missing_mark(spec.data) is None or not isinstance(feature, Reference | Apply) or not _is_number(spec, feature):
        return None
    return Is(term=feature, state=MISSING)


def tests_gap(spec: ModelSpec, condition: Condition) -> bool:
    """Whether a condition is `temp is missing` or `temp is not missing`, of a number."""
    return isinstance(condition, Is) and condition.state == MISSING and _is_number(spec, condition.term)


def _is_number(spec: ModelSpec, term: object) -> bool:
    column = spec.column(term.name) if isinstance(term, Reference) else None
    return gives_number(term) or (column is not None and column.type.name in NUMERIC and column.type.size is None)


Reading: TypeAlias = tuple[str, ...]  # the texts that a cell allows, each once and as written; () if unknown


def read_cell(label: Label, value: str, states: Collection[str], marks: Collection[str | None]) -> Reading:
    """The reading of one value; `marks` are those of a missing value."""
    if value in marks:
        return ()
    weighed = soft_parts(label, value, states)
    if weighed is not None:
        return tuple(dict.fromkeys(state for state, _ in weighed))
    if value in states or not label.ambiguous or label.ambiguous not in value:
        return (value,)
    members = tuple(dict.fromkeys(value.split(label.ambiguous)))
    return () if any(member in marks for member in members) else members


BETWEEN = "|"  # the states of a distribution, where `ambiguous` does not say otherwise


def soft_parts(label: Label, value: str, states: Collection[str]) -> list[tuple[str, str]] | None:
    """The states of a distribution with the texts of their weights, `""` where one has none; None for another cell."""
    mark = None if label.soft_column is not None else label.soft
    if not mark or mark not in value or value in states:
        return None
    members = (member.rpartition(mark) for member in value.split(label.ambiguous or BETWEEN))
    return [(state, weight) if found else (weight, "") for state, found, weight in members]
