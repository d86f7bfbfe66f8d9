"""Small templates of every graph family, with data and an independent reading of their hard constraints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.spec.resolve import load_text


def free(labelling, t):
    return True


def iob2(name):
    def allowed(labelling, t):
        state, before = labelling[name][t], labelling[name][t - 1] if t else "O"
        return not state.startswith("I-") or before in ("B" + state[1:], state)

    return allowed


def never(name, first, second):
    return lambda labelling, t: t == 0 or (labelling[name][t - 1], labelling[name][t]) != (first, second)


@dataclass(frozen=True)
class Case:
    """`sentences`: rows of (columns…) as read from the data."""

    text: str
    sentences: list = field(default_factory=list)
    allowed: object = free

    def resolved(self, *overrides):
        return load_text(self.text, overrides=overrides)

    def corpus(self):
        return corpus_from_rows(self.sentences, self.resolved().require().data)


def sentences(*label_values, count=5, words="abc", longest=4, seed=0, numbers=False):
    """Random sentences: a word (and a number) a token, then a random value of each label."""
    generator = np.random.default_rng(seed)
    out = []
    for i in range(count):
        length = 1 if i == 0 else int(generator.integers(2, longest + 1))
        out.append(
            [
                (
                    words[generator.integers(len(words))],
                    *([f"{generator.normal():.3f}"] if numbers else []),
                    *(values[generator.integers(len(values))] for values in label_values),
                )
                for _ in range(length)
            ]
        )
    return out


CHAIN = """
data conll(word, y)
label y
clique y: bias, word[-1..1]
clique y[-1], y: bias, word
"""
CASES = {
    "independent": Case("data conll(word, y)\nlabel y\nclique y: bias, word\n", sentences("PQR")),
    "chain": Case(CHAIN, sentences("PQR")),
    "chain anchored at the left": Case(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y, y[1]: bias, word\n", sentences("PQ")
    ),
    "all states": Case(
        "data conll(word, y)\nlabel y\nclique y with states = all: word\n"
        "clique y[-1], y with states = all: bias, word\n",
        sentences("PQR"),
    ),
    "seen transitions": Case(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y with states = seen\n", sentences("PQRS", count=3)
    ),
    "padded chain": Case(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y with edges = pad: bias, word[-1..1]\n",
        sentences("PQ"),
    ),
    "padded second order": Case(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y[-2], y[-1], y with edges = pad\n", sentences("PQ")
    ),
    "second order": Case(
        "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-2], y[-1], y: bias, word\nclique y[-1], y\n",
        sentences("PQ", longest=5),
    ),
    "wide offsets": Case(
        "data conll(word, y, z)\nlabel y\nlabel z\nclique y: word\nclique z: word\n"
        "clique y[-2], z[1]: bias, word\nclique y, z\n",
        sentences("PQ", "RS", longest=4),
    ),
    "factorial": Case(
        "data conll(word, y, z)\nlabel y\nlabel z\nclique y: bias, word[-1..0]\nclique z: bias, word\n"
        "clique y[-1], y\nclique z[-1], z\nclique y, z: bias, word\n",
        sentences("PQR", "ST", longest=3),
    ),
    "three chains": Case(
        "data conll(word, x, y, z)\nlabel x\nlabel y\nlabel z\nclique x: word\nclique y: word\nclique z: word\n"
        "clique x[-1], x\nclique y[-1], y\nclique z[-1], z\nclique x, y\nclique y, z\nclique x, z\n",
        sentences("AB", "CD", "EF", longest=3),
    ),
    "four-site clique": Case(
        "data conll(word, y, z)\nlabel y\nlabel z\nclique y[-1], z[-1], y, z: bias, word\n",
        sentences("PQ", "RS", longest=3),
    ),
    "segments": Case(
        "data conll(word, y)\nlabel y in bio(X) with others = O\nclique y: bias, word\nclique y[-1], y\n",
        [
            [("a", "B-X"), ("b", "I-X"), ("a", "O")],
            [("b", "O")],
            [("c", "B-X"), ("a", "B-X"), ("b", "I-X"), ("c", "Z")],
        ],
        iob2("y"),
    ),
    "segments without a chain": Case(
        "data conll(word, y)\nlabel y in bio(X)\nclique y: bias, word\n",
        [[("a", "B-X"), ("b", "I-X"), ("a", "O")], [("b", "O")], [("c", "B-X"), ("a", "B-X"), ("b", "I-X")]],
        iob2("y"),
    ),
    "forbidden moves": Case(
        "data conll(word, y)\nlabel y in {P, Q, R}\nclique y: word\nclique y, y[1]\nforbid y[-1] is P and y is R\n",
        [[("a", "P"), ("b", "Q"), ("c", "R")], [("a", "R"), ("a", "P")], [("b", "Q")]],
        never("y", "P", "R"),
    ),
    "numbers": Case(
        "data conll(word, size:float, y)\nlabel y\nclique y: bias, size, word & size\nclique y[-1], y: size[-1]\n",
        sentences("PQ", numbers=True),
    ),
    "two cliques over the same sites": Case(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y as one\nclique y[-1], y as two: word\n",
        sentences("PQ"),
    ),
}
