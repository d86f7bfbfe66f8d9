"""Whether the rows of each sentence stand together, where a column tells sentences apart.

The names of the last sentences are kept, so that memory is bounded: rows that are not sorted show soon.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..foundation import data_error
from .vector_columns import shown

_REMEMBERED = 200_000


class SentenceOrder:
    """Told of each sentence in turn.   unit: what a number counts, `line` or `row`."""

    def __init__(self, file: str, unit: str):
        self._file, self._unit = file, unit
        self._recent: deque[Any] = deque()
        self._seen: set[Any] = set()
        self._last: Any = None

    def begin(self, name: Any, number: int) -> None:
        """A sentence begins at a row. `DcrfError` if its name was that of an earlier one, not the one just before."""
        if self._recent and name == self._last:
            return
        if name in self._seen:
            message = f"sentence {shown(name)} comes again in {self._unit} {number}, after another sentence"
            remedy = "sort the rows by sentence, or give each sentence a name of its own"
            raise data_error("split-sentence", message, file=self._file, line=number, help=remedy)
        self._last = name
        self._seen.add(name)
        self._recent.append(name)
        if len(self._recent) > _REMEMBERED:
            self._seen.discard(self._recent.popleft())
