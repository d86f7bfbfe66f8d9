"""The reading of a cell of a label column: one value, one of several (`ambiguous`), or none (`missing`).

The mark of a missing value always means "unknown", alone or as a member of a set. A value that is itself a state is
never split. Not here: whole columns (`data.partial`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from .model_spec import Label

Reading: TypeAlias = tuple[str, ...]  # the texts that a cell allows, each once and as written; () if unknown


def read_cell(label: Label, value: str, states: Collection[str], marks: Collection[str | None]) -> Reading:
    """The reading of one value; `marks` are those of a missing value."""
    if value in marks:
        return ()
    if value in states or not label.ambiguous or label.ambiguous not in value:
        return (value,)
    members = tuple(dict.fromkeys(value.split(label.ambiguous)))
    return () if any(member in marks for member in members) else members
