"""The words of a `segment` statement's list: its length, and what `first`, `last`, `any` and `joined` read of tokens.

Not here: their values (`segment_rows`), rules on them (`semantics.checks`).
"""

from __future__ import annotations

from typing import Any

from ...semantics import LENGTH, SEGMENT_FUNCTIONS, Apply, At, Cross, Feature, Here, Reference, children, with_children

LENGTH_OF_SEGMENT = "length of segment"  # no name that a template can declare


def with_length(feature: Feature) -> Feature:
    """A feature in which the bare word `length` is that of the segment; `length(…)` stays a function."""
    if isinstance(feature, Cross):
        return Cross(factors=tuple(_with_length(factor) for factor in feature.factors))
    changed: Feature = _with_length(feature)
    return changed


def _with_length(condition: Any) -> Any:
    if isinstance(condition, Reference):
        named = condition.name == LENGTH and condition.place == Here()
        return Reference(name=LENGTH_OF_SEGMENT) if named else condition
    if isinstance(condition, Apply):
        return condition
    return with_children(condition, [_with_length(part) for _, part in children(condition)])


def reads_segment(term: Reference | Apply) -> bool:
    """Whether a term is one of the functions that read the tokens of a segment, and not a function of one."""
    return (
        isinstance(term, Apply)
        and term.function in SEGMENT_FUNCTIONS
        and len(term.arguments) == 1
        and isinstance(term.arguments[0].value, Reference)
    )


def segment_place(term: Apply) -> tuple[str, int]:
    """The column that such a term reads, and how far beside the first or last token."""
    read = term.arguments[0].value
    assert isinstance(read, Reference)  # see `reads_segment`
    return read.name, read.place.offset if isinstance(read.place, At) else 0
