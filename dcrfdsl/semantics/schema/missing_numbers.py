"""Numbers that the data lack: the option `missing` of `data`, and the test `temp is missing`.

With the option, a column of numbers may have gaps. Where there is one, no feature of the number fires, every comparison
is false, and `temp is missing` is true. Not here: how a cell is read (`data.columns`), labels (`label_cells`).
"""

from __future__ import annotations

from ...syntax import Condition, Is, Reference, Text
from .model_spec import NUMERIC, DataSpec, ModelSpec

MISSING = "missing"  # the name of the option, and the word of the test


def missing_mark(data: DataSpec | None) -> str | None:
    """The text of a cell that stands for a number that is not known; None if all numbers have to be there."""
    options = data.options if data is not None else ()
    values = (option.value for option in options if option.name == MISSING)
    return next((value.value for value in values if isinstance(value, Text)), None)


def gap_of(spec: ModelSpec, feature: Condition) -> Is | None:
    """The test whether a number is missing, for the name of a column of numbers that may be; its place stays."""
    if not isinstance(feature, Reference) or missing_mark(spec.data) is None or not _is_number(spec, feature):
        return None
    return Is(term=feature, state=MISSING)


def tests_gap(spec: ModelSpec, condition: Condition) -> bool:
    """Whether a condition is `temp is missing` or `temp is not missing`, with a column of numbers."""
    return isinstance(condition, Is) and condition.state == MISSING and _is_number(spec, condition.term)


def _is_number(spec: ModelSpec, term: object) -> bool:
    column = spec.column(term.name) if isinstance(term, Reference) else None
    return column is not None and column.type.name in NUMERIC and column.type.size is None
