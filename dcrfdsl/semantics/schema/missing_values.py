"""What the data lack: numbers, the option `missing` of `data` and the test `temp is missing`; cells of labels; and what
each source of labels annotates, the option `covers` of a label.

With the option, a column of numbers may have gaps. Where there is one, no feature of the number fires, every comparison
is false, and `temp is missing` is true. Numbers of functions, as `standardize(temp)` and `mean(temp[-3..3])`, too.

The cell of a label is one value, one of several (`ambiguous`), a distribution over some (`soft`), or none (`missing`).
The mark of a missing value always means "unknown", alone or as a member of a set. A value that is itself a state is
never split. Where a source writes the state that marks nothing, the label may be of any type that the source does not
cover: the cell is a set, over which training sums (Bellare & McCallum 2007).

Not here: how a cell of numbers is read (`data.columns`), whole columns of labels (`data.label_columns`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from ...syntax import NUMERIC, Apply, Condition, DataSpec, Is, Label, Reference, Scheme, Text
from .function_signatures import gives_number
from .model_spec import ModelSpec
from .segment_schemes import OUTSIDE, split_state

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


# sources of labels ----------------------------------------------------------------------------------------------------


def covered(label: Label) -> dict[str, tuple[str, ...] | None]:
    """The types, or states of a label without a scheme, that each source annotates; None for all of them.

    ValueError, whose text is that of the option, where one is not written `SOURCE: TYPE …` or comes twice.
    """
    found: dict[str, tuple[str, ...] | None] = {}
    for text in label.covers:
        source, _, types = (part.strip() for part in text.rpartition(":"))
        if not source or not types or source in found:
            raise ValueError(text)
        found[source] = None if types == "all" else tuple(types.split())
    return found


def unmarked(label: Label) -> str | None:
    """The state by which a source says that it annotates nothing here; None where nothing tells it."""
    return OUTSIDE if isinstance(label.domain, Scheme) else label.others


def hidden_states(label: Label, states: Sequence[str], types: tuple[str, ...] | None) -> tuple[str, ...]:
    """The states that a source of these types does not mark; the unmarked one alone, if it annotates all."""
    nothing, scheme = unmarked(label), label.domain.name if isinstance(label.domain, Scheme) else None
    split = {state: split_state(scheme, state) if scheme else None for state in states}
    type_of = {state: state if parts is None else parts[1] for state, parts in split.items()}
    return tuple(one for one in states if one == nothing or (types is not None and type_of[one] not in types))
