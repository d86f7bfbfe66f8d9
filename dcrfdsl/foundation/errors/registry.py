"""Tables of named things (methods, criteria, readers …) and "did you mean".

A room registers what it offers in one explicit table, filled at import; only programs that use the package add to one
later, by `Table.add`. Choice is a look-up in such a table, never a chain of comparisons.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry", covariant=True)
Kind = TypeVar("Kind")
Result = TypeVar("Result")
MOST_SHOWN = 40  # names that a message lists


def did_you_mean(word: str, known: Iterable[str], synonyms: Mapping[str, str] | None = None) -> str | None:
    """The known name that `word` most likely stands for, or None. `synonyms` maps other tools' words to ours."""
    names = list(known)
    if synonyms and synonyms.get(word.lower()) in names:
        return synonyms[word.lower()]
    folded = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def spelling_remedy(guess: str | None, otherwise: str) -> str:
    """The remedy for an unknown name, where `guess` is the known one that is most likely meant."""
    return f"did you mean `{guess}`?" if guess else otherwise


def checked_kind(settings: object, kind: type[Kind]) -> Kind:
    """`settings`, with the type of their class. Raises TypeError unless they are of `kind`."""
    if not isinstance(settings, kind):
        raise TypeError(f"expected settings {kind.__name__}, not {type(settings).__name__}")
    return settings


def typed_entry(kind: type[Kind], function: Callable[[Kind], Result]) -> Callable[[object], Result]:
    """A function of settings of class `kind` as a table entry that takes any settings and checks their class."""
    return lambda settings: function(checked_kind(settings, kind))


class SpellingGuesses:
    """`did_you_mean` with a budget: no more guesses after `left` comparisons.

    Without a limit the time would grow with the product of misspelt and known names.
    """

    def __init__(self, left: int = 10_000):
        self.left = left

    def near(self, word: str, known: Collection[str], synonyms: Mapping[str, str] | None = None) -> str | None:
        self.left -= len(known)
        return did_you_mean(word, known, synonyms) if self.left >= 0 else None


def quoted_names(names: Sequence[str], most: int = MOST_SHOWN) -> list[str]:
    """The names in backquotes; at most `most` of them, and then a text with the number of the others."""
    quoted = [f"`{name}`" for name in names[:most]]
    return quoted if len(names) <= most else [*quoted, f"{len(names) - most:,} more"]


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

    def add(self, name: str, entry: Any) -> None:
        """Adds what a program brings along that uses the package, or replaces it; entries of the package stay."""
        self._entries[name] = entry

    def synonyms_of(self, name: str) -> tuple[str, ...]:
        """Words of other tools that stand for the entry `name`."""
        return tuple(word for word, meant in self._synonyms.items() if meant == name)

    def suggest(self, name: str) -> str | None:
        """The entry that a misspelt `name` most likely means."""
        return did_you_mean(name, self._entries, self._synonyms)
