"""A first-order hidden Markov model by counting, with additive smoothing, and its Viterbi search.

It stands in the example because the language has no such criterion yet. Not here: scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcrfdsl.data import Corpus, InternedColumn

__all__ = ["Hmm"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RARE = 0.01  # added, so that no state is impossible


@dataclass(frozen=True)
class Hmm:
    """Log probabilities. A symbol that training does not show is one more symbol, never seen.

    states     Y names
    symbols    symbol -> column of `emitted`
    start      [Y]      log p(y | start)
    moves      [Y, Y]   log p(y' | y), row y
    stop       [Y]      log p(stop | y)
    emitted    [Y, S+1] log p(x | y); the last column is of unseen symbols
    """

    states: tuple[str, ...]
    symbols: dict[str, int]
    start: Floats
    moves: Floats
    stop: Floats
    emitted: Floats

    @staticmethod
    def counted(corpus: Corpus, symbol: str, label: str, *, moves: float, emissions: float) -> Hmm:
        """symbol, label: columns.   moves, emissions: what is added to every count."""
        states, symbols = corpus.text_column(label), corpus.text_column(symbol)
        size = len(states.values)
        seen = np.zeros((size, len(symbols.values) + 1))
        np.add.at(seen, (states.codes, symbols.codes), 1.0)
        # row and column `size`: before the first and behind the last
        moved = np.zeros((size + 1, size + 1))
        first, last = corpus.sentence_off[:-1], corpus.sentence_off[1:] - 1
        before = np.concatenate([[size], states.codes[:-1]])
        before[first] = size
        np.add.at(moved, (before, states.codes), 1.0)
        np.add.at(moved, (states.codes[last], np.full(len(last), size)), 1.0)
        log_seen, log_moved = _log_shares(seen + emissions), _log_shares(moved + moves)
        return Hmm(
            tuple(states.values),
            {text: n for n, text in enumerate(symbols.values)},
            start=log_moved[size, :size],
            moves=log_moved[:size, :size],
            stop=log_moved[:size, size],
            emitted=log_seen,
        )

    def with_rare(self, corpus: Corpus, symbol: str, label: str) -> Hmm:
        """The same, but what each state emits of unseen symbols is what it emits of those seen once in its training."""
        states, symbols = corpus.text_column(label), corpus.text_column(symbol)
        once = np.bincount(symbols.codes)[symbols.codes] == 1
        size = len(self.states)
        rare = np.bincount(states.codes[once], minlength=size) + RARE
        emitted = self.emitted.copy()
        emitted[:, -1] = np.log(rare / (np.bincount(states.codes, minlength=size) + RARE))
        return replace(self, emitted=emitted)

    def tagged(self, corpus: Corpus, symbol: str) -> list[str]:
        """The states of the most probable path of each sentence, one after the other."""
        columns = _columns(self.symbols, corpus.text_column(symbol))
        found: list[str] = []
        for start, end in zip(corpus.sentence_off[:-1].tolist(), corpus.sentence_off[1:].tolist(), strict=True):
            found += [self.states[y] for y in self.path(columns[start:end])]
        return found

    def path(self, columns: Ints) -> Sequence[int]:
        """Viterbi: the states of the most probable path through symbols [T]."""
        best = self.start + self.emitted[:, columns[0]]
        came_from = []
        for column in columns[1:].tolist():
            scores = best[:, None] + self.moves
            came_from.append(scores.argmax(axis=0))
            best = scores.max(axis=0) + self.emitted[:, column]
        path = [int((best + self.stop).argmax())]
        for earlier in reversed(came_from):
            path.append(int(earlier[path[-1]]))
        return path[::-1]


def _log_shares(counts: Floats) -> Floats:
    """The logarithm of each row's shares; an empty row has none."""
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0.0)
    logs: Floats = np.log(shares, out=np.full_like(counts, -math.inf), where=shares > 0.0)
    return logs


def _columns(known: dict[str, int], column: InternedColumn) -> Ints:
    places = np.array([known.get(text, len(known)) for text in column.values], np.int64)
    found: Ints = places[column.codes]
    return found
