"""Made-up data of Lafferty, McCallum and Pereira (2001), Sections 5.1 and 5.2: sequences of (symbol, state).

Not here: models and training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sentences = list[list[tuple[str, str]]]

# 5.1: the automaton of Figure 1

PATHS = {"rib": "123", "rob": "453"}
WORD_SYMBOLS = "ribo"
NOISE = 1 / 32  # of each symbol that is not the state's own


def noisy_words(generator: np.random.Generator, count: int, share: float) -> Sentences:
    """share: the probability of `rib`."""
    sentences = []
    for _ in range(count):
        word = "rib" if generator.random() < share else "rob"
        sentence = []
        for symbol, state in zip(word, PATHS[word], strict=True):
            others = WORD_SYMBOLS.replace(symbol, "")
            drawn = generator.random() / NOISE  # below 3: one of the three others
            sentence.append((others[int(drawn)] if drawn < len(others) else symbol, state))
        sentences.append(sentence)
    return sentences


def best_path(symbols: str, share: float) -> str:
    """The states that the best of all taggers gives to a word; it knows the automaton and `share`.

    Only the second symbol tells the words apart: the commoner word is the better guess unless that is the other's.
    """
    common, rare = ("rib", "rob") if share >= 0.5 else ("rob", "rib")
    return PATHS[rare if symbols[1] == rare[1] else common]


def least_error(share: float) -> float:
    """The probability that `best_path` is wrong.

    The rarer word shows any but its own second symbol, or the commoner one shows that of the rarer.
    """
    rare = min(share, 1.0 - share)
    return rare * 3.0 * NOISE + (1.0 - rare) * NOISE


# 5.2: mixtures of first and second order

LABELS = "abcde"
SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOVES, EMISSIONS = 2, 3  # at most so many in a row are not zero
SUPPORTS: Mapping[str, str] = {
    "separate": "p₁ and every row of p₂ draw what is not zero apart",
    "shared": "the rows of p₂ have the non-zero entries of the row of p₁ that they are mixed with",
}


class MixedOrder(NamedTuple):
    """p(y' | y, y'') = α p₂ + (1 − α) p₁, and symbols alike, given the label and the symbol before.

    A first label is any with the same probability; where there is no history for p₂, it is p₁.

    moves1     [L, L]     y_{t-1}, y_t
    moves2     [L, L, L]  y_{t-2}, y_{t-1}, y_t
    symbols1   [L, S]     y_t, x_t
    symbols2   [S, L, S]  x_{t-1}, y_t, x_t
    """

    moves1: Floats
    moves2: Floats
    symbols1: Floats
    symbols2: Floats

    @staticmethod
    def drawn(generator: np.random.Generator, supports: str) -> MixedOrder:
        """supports: a key of `SUPPORTS`."""
        moves1, moves2 = _tables(generator, len(LABELS), len(LABELS), MOVES, supports)
        symbols1, symbols2 = _tables(generator, len(SYMBOLS), len(SYMBOLS), EMISSIONS, supports)
        return MixedOrder(moves1, moves2, symbols1, symbols2)

    def sequences(self, generator: np.random.Generator, alpha: float, count: int, length: int) -> Sentences:
        states, symbols = np.zeros((2, length, count), np.int64)
        for t in range(length):
            moves = np.full((count, len(LABELS)), 1.0 / len(LABELS))
            if t > 0:
                moves = self.moves1[states[t - 1]]
            if t > 1:
                moves = alpha * self.moves2[states[t - 2], states[t - 1]] + (1.0 - alpha) * moves
            states[t] = _draws(generator, moves)
            emitted = self.symbols1[states[t]]
            if t > 0:
                emitted = alpha * self.symbols2[symbols[t - 1], states[t]] + (1.0 - alpha) * emitted
            symbols[t] = _draws(generator, emitted)
        return [
            [(SYMBOLS[x], LABELS[y]) for x, y in zip(*pair, strict=True)]
            for pair in zip(symbols.T.tolist(), states.T.tolist(), strict=True)
        ]


def _tables(
    generator: np.random.Generator, histories: int, values: int, filled: int, supports: str
) -> tuple[Floats, Floats]:
    """Rows given a label [L, values], and given a history and a label [histories, L, values]."""
    own = [generator.choice(values, filled, replace=False) for _ in LABELS]
    first, second = np.zeros((len(LABELS), values)), np.zeros((histories, len(LABELS), values))
    for y in range(len(LABELS)):
        first[y, own[y]] = generator.dirichlet(np.ones(filled))
        for history in range(histories):
            chosen = own[y] if supports == "shared" else generator.choice(values, filled, replace=False)
            second[history, y, chosen] = generator.dirichlet(np.ones(filled))
    return first, second


def _draws(generator: np.random.Generator, rows: Floats) -> Ints:
    """A value of each row [N, K]."""
    below = np.cumsum(rows, axis=1)
    found: Ints = (below < generator.random((len(rows), 1)) * below[:, -1:]).sum(axis=1)
    return found
