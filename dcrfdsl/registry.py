"""Tables of named things (methods, criteria, readers …) and "did you mean".

A room registers what it offers in one explicit table, filled at import and never after. Choice is a look-up
in such a table, never a chain of comparisons.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["Table", "did_you_mean"]

Entry = TypeVar("Entry")


def did_you_mean(word: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str | None:
    """The known name that `word` most likely stands for, or None. `synonyms` maps other tools' words to ours."""
    names = list(known)
    if synonyms and synonyms.get(word.lower()) in names:
        return synonyms[word.lower()]
    folded = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


class Table(Generic[Entry], Mapping[str, Entry]):
    """A read-only mapping from name to entry. `kind` is the word that messages use (`inference method`)."""

    def __init__(self, kind: str, entries: Mapping[str, Entry], synonyms: Mapping[str, str] | None = None):
        self.kind = kind
        self._entries = dict(entries)
        self._synonyms = dict(synonyms or {})

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def suggest(self, name: str) -> str | None:
        """The entry that a misspelt `name` most likely means."""
        return did_you_mean(name, self._entries, self._synonyms)
