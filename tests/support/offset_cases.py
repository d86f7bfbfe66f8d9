"""Templates with given scores, each written twice: with `offset`, and with the same scores as numeric features.

In the second one every score of a column is a column of numbers, and a feature whose weight is 1 for its own assignment
and 0 for all others. Not here: what is compared.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = tuple[Any, ...]
Key = tuple[str, str, tuple[str, ...]]


class OffsetCase(NamedTuple):
    """text: a template, whose `data` says `conll(word, …)`.   sentences: without the scores.   states: of variables and
    views.   scores: the variables of each column.   scale: what those of a column are multiplied by, if not by 1.
    """

    text: str
    sentences: Sequence[Sequence[Row]]
    states: Mapping[str, Sequence[str]]
    scores: Mapping[str, tuple[str, ...]]
    scale: Mapping[str, float] = {}

    def assignments(self, column: str) -> list[tuple[str, ...]]:
        return list(itertools.product(*(self.states[name] for name in self.scores[column])))

    def given(self, seed: int = 0, impossible: float = 0.0) -> list[dict[str, Floats]]:
        """Random scores of each sentence, [T, assignments] by column."""
        generator, drawn = np.random.default_rng(seed), []
        for sentence in self.sentences:
            table = {}
            for column in self.scores:
                numbers = generator.normal(0.0, 1.5, (len(sentence), len(self.assignments(column)))).round(3)
                numbers[generator.random(numbers.shape) < impossible] = -np.inf
                table[column] = numbers
            drawn.append(table)
        return drawn

    def with_offsets(self, given: Sequence[Mapping[str, Floats]]) -> tuple[str, list[list[Row]]]:
        """The template and its rows."""
        columns = "".join(f" {name}: scores({', '.join(of)})," for name, of in self.scores.items())
        rows = [
            [
                (
                    row[0],
                    *(" ".join(map(repr, table[name][t].tolist())).replace(" ", ",") for name in self.scores),
                    *row[1:],
                )
                for t, row in enumerate(sentence)
            ]
            for sentence, table in zip(self.sentences, given, strict=True)
        ]
        return self.text.replace("conll(word,", f"conll(word,{columns}"), rows

    def with_numbers(self, given: Sequence[Mapping[str, Floats]]) -> tuple[str, list[list[Row]]]:
        """The template and its rows, with a column of numbers for each score."""
        sizes = {name: len(self.assignments(name)) for name in self.scores}
        columns = "".join(f" {name}_{k}: float," for name in self.scores for k in range(sizes[name]))
        text = self.text.replace("conll(word,", f"conll(word,{columns}")

        def features(found: re.Match[str]) -> str:
            return ", ".join(f"{found[1]}_{k}{found[2] or ''}" for k in range(sizes[found[1]]))

        rows = [
            [
                (row[0], *(repr(x) for name in self.scores for x in table[name][t].tolist()), *row[1:])
                for t, row in enumerate(sentence)
            ]
            for sentence, table in zip(self.sentences, given, strict=True)
        ]
        return re.sub(r"offset\((\w+)(?:, scale = \w+)?\)( & [^,\n]+)?", features, text), rows

    def weight(self, key: Key) -> float | None:
        """The weight of a feature that stands for a score; None for any other."""
        found = re.match(r"(\w+)_(\d+)(\[0\])?( & |$)", key[1])
        if found is None or found[1] not in self.scores:
            return None
        is_own = self.assignments(found[1])[int(found[2])] == key[2]
        return self.scale.get(found[1], 1.0) * is_own


SPELLED = {"B": "B-X", "I": "I-X"}


def rows(*columns: Sequence[str], bio: bool = False) -> list[list[Row]]:
    spelled = [columns[0], [[SPELLED.get(y, y) if bio else y for y in one] for one in columns[1]], *columns[2:]]
    return [list(zip(*sentence, strict=True)) for sentence in zip(*spelled, strict=True)]


WORDS, Y, Z, BIO = (
    ["abac", "b", "cb", "aba"],
    ["PQQP", "Q", "PP", "QPP"],
    ["SRSR", "S", "RS", "RRS"],
    ["BIOB", "O", "BB", "BIO"],
)
MISSING = ["P?QP", "Q", "?P", "QP?"]
ONE = "data conll(word, y)\nlabel y in {P, Q}\nclique y as words: bias, word\nclique y[-1], y as moves\n"
TWO = (
    "data conll(word, y, z)\nlabel y in {P, Q}\nlabel z in {R, S}\nclique y as words: bias, word\n"
    "clique y[-1], y as moves\nclique z as other: bias, word\nclique z[-1], z\nclique y, z as both: bias\n"
)
OWN = "clique y as own with states = all: offset(s)\n"
STATES = {"y": ("P", "Q"), "z": ("R", "S")}
S = {"s": ("y",)}
CASES: dict[str, OffsetCase] = {
    "chain": OffsetCase(ONE + OWN, rows(WORDS, Y), STATES, S),
    "alone": OffsetCase(
        "data conll(word, y)\nlabel y in {P, Q}\nclique y with states = all: offset(s)\nclique y[-1], y: bias\n",
        rows(WORDS, Y), STATES, S,
    ),
    "tested": OffsetCase(
        ONE + "clique y as own with states = all: offset(s), offset(r) & word is a\n", rows(WORDS, Y), STATES,
        {"s": ("y",), "r": ("y",)},
    ),
    "scaled": OffsetCase(
        f"let w = 1.75\n{ONE}clique y as own with states = all: offset(s, scale = w), offset(r) & word is a\n",
        rows(WORDS, Y), STATES, {"s": ("y",), "r": ("y",)}, {"s": 1.75},
    ),
    "moves": OffsetCase(
        ONE + OWN + "clique y[-1], y as given with states = all: offset(m)\n", rows(WORDS, Y), STATES,
        {"s": ("y",), "m": ("y", "y")},
    ),
    "second order": OffsetCase(ONE + OWN + "clique y[-2], y[-1], y as wide\n", rows(WORDS, Y), STATES, S),
    "padded": OffsetCase(
        ONE.replace("y as moves", "y as moves with edges = pad") + OWN, rows(WORDS, Y), STATES, S
    ),
    "factorial": OffsetCase(
        TWO + OWN + "clique y, z as given with states = all: offset(m)\n", rows(WORDS, Y, Z), STATES,
        {"s": ("y",), "m": ("y", "z")},
    ),
    "skip": OffsetCase(
        ONE + OWN + "clique y[i], y[j] where word[i] = word[j] as again with min_gap = 2\n", rows(WORDS, Y), STATES, S
    ),
    "latent": OffsetCase(
        "data conll(word, y)\nlabel y in {P, Q}\nlatent h in 2\nclique y[-1], y as moves\nclique h[-1], h\n"
        "clique y, h as sense: bias, word\n" + OWN + "clique y, h as given with states = all: offset(m)\n",
        rows(WORDS, Y), {**STATES, "h": ("0", "1")}, {"s": ("y",), "m": ("y", "h")},
    ),
    "missing": OffsetCase(
        ONE.replace("{P, Q}", '{P, Q} with missing = "?"') + OWN, rows(WORDS, MISSING), STATES, S
    ),
    "memory": OffsetCase(
        ONE + OWN + "memory m in states(y) = y[-1] if y[-1] is not P else m[-1] initially P\nclique y, m as kept\n",
        rows(WORDS, Y), STATES, S,
    ),
    "rules": OffsetCase(
        ONE + OWN + "forbid y[-1] is P and y is Q when word is c\nrequire y is P when word[-1] is c\n",
        rows(WORDS, Y), STATES, S,
    ),
    "view": OffsetCase(
        "data conll(word, y)\nlabel y in {P, Q, R}\nview v = y is P\nclique y as words: bias, word\n"
        "clique y[-1], y as moves\nclique v as own with states = all: offset(s)\n",
        rows(WORDS, ["PQRP", "Q", "RP", "QPP"]), {"y": ("P", "Q", "R"), "v": ("yes", "no")}, {"s": ("v",)},
    ),
    "bio": OffsetCase(
        ONE.replace("{P, Q}", "bio(X)") + OWN, rows(WORDS, BIO, bio=True), {"y": ("B-X", "I-X", "O")}, S
    ),
    "segments": OffsetCase(
        ONE.replace("{P, Q}", "bio(X)") + OWN + "segment y up to 3 as spans: bias, length, joined(word)\n",
        rows(WORDS, BIO, bio=True), {"y": ("B-X", "I-X", "O")}, S,
    ),
    "once": OffsetCase(
        ONE.replace("{P, Q}", "bio(X)") + OWN + "once y\n", rows(WORDS, ["BIOO", "O", "OB", "BIO"], bio=True),
        {"y": ("B-X", "I-X", "O")}, S,
    ),
    "of the sentence": OffsetCase(
        "data conll(word, y, z)\nlabel y in {P, Q} for sentence\nlabel z in {R, S}\nclique y as words: bias\n"
        "clique z as other: bias, word\nclique z[-1], z\nclique y, z as both\n" + OWN,
        rows(WORDS, ["PPPP", "Q", "PP", "QQQ"], Z), STATES, S,
    ),
}  # fmt: skip
