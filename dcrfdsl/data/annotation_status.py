"""Whether what a record of an annotation tool says counts as gold, by the fields in which such tools keep its status.

| tool | field | counts for nothing |
|---|---|---|
| Prodigy | `answer` of a text, or of a span | `reject`, `ignore` |
| Label Studio | `was_cancelled` of an annotation | true |
| Label Studio | `last_action` of an annotation | `rejected`, `skipped` |
| Argilla | `status` of a record | `discarded`, `draft`, `pending` |

Not here: which of several annotations is read (`studio_tasks`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

_REFUSED: Mapping[str, tuple[Any, ...]] = {
    "answer": ("reject", "ignore"),
    "was_cancelled": (True,),
    "last_action": ("rejected", "skipped"),
    "status": ("discarded", "draft", "pending"),
}
STATUS_KEYS = tuple(_REFUSED)


def refusal(item: Any, columns: Collection[str] = ()) -> str | None:
    """Why a record, an annotation or a span counts for nothing, in words; None if it counts.

    columns: the keys that are data, and no status.
    """
    if not isinstance(item, Mapping):
        return None
    for key, values in _REFUSED.items():
        value = item.get(key)
        if key in columns or not isinstance(value, bool | str):
            continue
        said = value.lower() if isinstance(value, str) else value
        if said in values:
            return f"`{key}` is `{'true' if said is True else said}`"
    return None


class LeftOutTexts:
    """Counts what is left out of the gold, or is read in spite of doubts, by reason, with the first line of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, reason: str, line: int, what: str = "text") -> None:
        """what: is left out, in the singular."""
        count, first = self._found.get((what, reason), (0, line))
        self._found[what, reason] = count + 1, first

    def notes(self, file: str) -> Iterator[str]:
        """A line for each reason."""
        for (what, reason), (count, first) in self._found.items():
            place = f"line {first}" if count == 1 else f"the first in line {first}"
            plural = what if count == 1 else f"{what}s"
            yield f"{file}: {count:,} {plural} {'is' if count == 1 else 'are'} {reason} ({place})"
