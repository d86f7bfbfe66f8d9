"""Small templates of every graph family, with data and an independent reading of their hard constraints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text


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
    joins: dict = field(default_factory=dict)
    views: dict = field(default_factory=dict)
    _kept: dict = field(init=False, default_factory=dict, repr=False, compare=False)

    def once(self, key, make):
        """What `make()` returns; made once for a key. What is kept must not be changed."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def resolved(self, *overrides):
        return self.once(overrides, lambda: load_text(self.text, overrides=overrides))

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


def at(table, column, t):
    """The value of a column, its boundary outside the sentence."""
    values = table[column]
    return values[t] if 0 <= t < len(values) else f"⟨{t if t < 0 else t - len(values) + 1:+d}⟩"


def repeated_words(table):
    """Joins each position to the next one with the same word, at least two on, unless the word is `c`."""
    words, pairs = table["word"], {}
    for i, word in enumerate(words):
        later = [j for j in range(i + 2, len(words)) if words[j] == word != "c"]
        if later:
            j = later[0]
            pairs[i, j] = [
                "bias",
                f"word[i-1]={at(table, 'word', i - 1)} & word[j-1]={at(table, 'word', j - 1)}",
                f"word[i]={word}",
            ]
    return pairs


def same_words(table):
    """Joins each position to every later one with the same word, at most two on."""
    words = table["word"]
    pairs = [(i, j) for i in range(len(words)) for j in range(i + 1, min(len(words), i + 3)) if words[i] == words[j]]
    return {pair: ["bias"] for pair in pairs}


def arcs(table):
    """Joins each word and its head, in either direction."""
    pairs = [(i, int(head) - 1) for i, head in enumerate(table["head"])]
    return {(i, j): [f"word[i]={table['word'][i]} & word[j]={table['word'][j]}"]
            for i, j in pairs if 0 <= j < len(table["word"]) and i != j}  # fmt: skip


def three_apart(table):
    """Sites around the joined positions: y[i-1] and y[j+1] exist, and y[j] is y[i] or later."""
    words = table["word"]
    pairs = {}
    for i in range(1, len(words)):
        for j in range(i + 1, len(words)):
            if words[i] == words[j] and j + 1 < len(words):
                pairs[i, j] = ["bias"]
                break
    return pairs


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
        "clique y[-3], z: bias, word\nclique y, z\n",
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
    "tied layers": Case(  # their ties have one table together
        "data conll(word, x, y, z)\nlabel x in {A, B, C}\nlabel y in {P1, P2, Q}\nlabel z in {R, S}\n"
        "view coarse = prefix(y, 1)\nclique x: word\nclique y: word\nclique z: bias\n"
        "clique x[-1], x\nclique y[-1], y\nclique z[-1], z: word\n"
        "clique y, x with states = all\nclique coarse, z with states = all\nclique z, x with edges = pad\n"
        "forbid x is C and y is Q\n",
        [
            [("a", "A", "P1", "R"), ("b", "B", "Q", "S"), ("c", "C", "P2", "R")],
            [("b", "C", "P1", "S"), ("a", "A", "Q", "S")],
            [("c", "B", "P2", "R")],
        ],
        lambda labelling, t: (labelling["x"][t], labelling["y"][t]) != ("C", "Q"),
        views={"coarse": ("y", {"P1": "P", "P2": "P", "Q": "Q"})},
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
    "skip chain": Case(
        "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\n"
        "clique y[i], y[j] as skip:\n    where word[i] = word[j] and word[i] is not c\n"
        "    with min_gap = 2, link = next\n    bias, word[i-1] & word[j-1], word[i]\ninfer exact\n",
        sentences("PQ", count=8, longest=6),
        joins={"skip": repeated_words},
    ),
    "all repeated words": Case(
        "data conll(word, y, z)\nlabel y\nlabel z\nclique y: word\nclique z: word\nclique y, z\n"
        "clique y[i], z[j] where word[i] = word[j] as all_pairs with link = all, max_gap = 2\ninfer exact\n",
        sentences("PQ", "RS", count=6, longest=4),
        joins={"all_pairs": same_words},
    ),
    "arcs": Case(
        "data conll(word, head, y)\nlabel y\nclique y: bias, word\n"
        "clique y[i], y[j] as arc:\n    where index[j] = head[i]\n    with order = any\n    word[i] & word[j]\n",
        [
            [("a", "2", "P"), ("b", "0", "Q"), ("c", "2", "P"), ("a", "3", "Q")],
            [("b", "0", "Q")],
            [("c", "3", "P"), ("b", "1", "Q"), ("a", "0", "P")],
        ],
        joins={"arc": arcs},
    ),
    "shifted sites of joined positions": Case(
        "data conll(word, y)\nlabel y\nclique y: bias, word\n"
        "clique y[i-1], y[i], y[j+1] where word[i] = word[j] as wide\n",
        sentences("PQ", count=8, longest=6),
        joins={"wide": three_apart},
    ),
    "a constraint across cliques": Case(
        "data conll(word, y, z)\nlabel y in {P, Q}\nlabel z in {R, S}\nclique y: word\nclique z: word\n"
        "clique y[-1], y\nforbid y[-2] is P and z is R\n",
        [
            [("a", "Q", "S"), ("b", "Q", "R"), ("c", "P", "R"), ("a", "P", "S")],
            [("b", "P", "S")],
            [("c", "P", "R"), ("a", "Q", "S"), ("b", "P", "S")],
        ],
        lambda labelling, t: t < 2 or (labelling["y"][t - 2], labelling["z"][t]) != ("P", "R"),
    ),
    "a condition across three positions": Case(
        "data conll(word, y)\nlabel y in {P, Q, R}\nclique y: bias, word\n"
        "require y is P when y[-1] is Q and y[-2] is not R\n",
        [
            [("a", "R"), ("b", "Q"), ("c", "P"), ("a", "P")],
            [("b", "Q")],
            [("c", "P"), ("a", "Q"), ("b", "P")],
        ],
        lambda labelling, t: (
            t < 2 or not (labelling["y"][t - 1] == "Q" and labelling["y"][t - 2] != "R") or labelling["y"][t] == "P"
        ),
    ),
    "a constraint short of the end": Case(
        "data conll(word, y)\nlabel y in {P, Q}\nclique y: bias, word\nclique y[-1], y\nforbid y[-1] is Q\n",
        [[("a", "P"), ("b", "P"), ("c", "Q")], [("b", "Q")], [("c", "P"), ("a", "P")]],
        lambda labelling, t: t < 1 or labelling["y"][t - 1] != "Q",
    ),
    "a view that ties weights": Case(
        "data conll(word, y, z)\nlabel y in {P1, P2, Q1}\nlabel z in {R, S}\nview coarse = prefix(y, 1)\n"
        "clique y: word\nclique z: bias\nclique coarse: bias, word[-1..1]\nclique coarse[-1], coarse: bias, word\n"
        "clique coarse, z with states = all: word\n",
        sentences(("P1", "P2", "Q1"), "RS", count=6),
        views={"coarse": ("y", {"P1": "P", "P2": "P", "Q1": "Q"})},
    ),
    "views by tests, padded": Case(
        "data conll(word, y)\nlabel y in {P, Q, R}\nview p = y is P\nview other = O if y in {P, Q} else y\n"
        "clique y: word\nclique p[-1], y with edges = pad: bias, word\nclique other, y[1]\n",
        sentences("PQR", count=6),
        views={
            "p": ("y", {"P": "yes", "Q": "no", "R": "no"}),
            "other": ("y", {"P": "O", "Q": "O", "R": "R"}),
        },
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
