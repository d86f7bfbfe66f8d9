"""What people call the words of a corpus, if it has any: sequences of numbers have none.

Not here: how they are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import groupby, islice
from typing import TypeVar

from .corpus import Corpus, InternedColumn

T = TypeVar("T", bound=Hashable)
FEW, ENOUGH = 10, 1000  # so few numbers may be words; so many values tell


def word_column(corpus: Corpus, labels: Collection[str]) -> str | None:
    """The first column of texts that is no label; None if there is none, or if its values are numbers, as times are."""
    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and name not in labels:
            values = column.values
            return None if len(values) > FEW and all(map(_is_number, islice(values, ENOUGH))) else name
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True


def runs_of(states: Sequence[T]) -> list[tuple[T, int, int]]:
    """Runs of one state: it, and the first and the last position, from 0."""
    runs, first = [], 0
    for state, tokens in groupby(states):
        size = len(list(tokens))
        runs.append((state, first, first + size - 1))
        first += size
    return runs
