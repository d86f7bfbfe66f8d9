"""Seven small models, each written twice by hand: as a template for the engine, and as a list of the firing features.

They are a chain, factorial chains, skip edges, latent variables, and a chain with missing labels, each with plain
states and with segment states. Two weigh whole segments: a chain, and one with another label beside it. Nothing here
reads a template: the clique instances and their features are spelled out for each sentence, and all labellings are
enumerated. Not here: the criteria (`criteria_twin`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = tuple[str, ...]  # the cells of a token: the word, then its labels
Key = tuple[str, str, tuple[str, ...]]  # the key of a weight: clique, feature, states of the sites
Labelling = Mapping[str, Sequence[str]]
MISSING = "_"
BIO = ("B-X", "I-X", "O")


class Instance(NamedTuple):
    """An instance of a clique: the variable and position of each site, and the features that fire there."""

    clique: str
    sites: tuple[tuple[str, int], ...]
    features: tuple[str, ...]

    def keys(self, labelling: Labelling) -> list[Key]:
        states = tuple(labelling[name][t] for name, t in self.sites)
        return [(self.clique, feature, states) for feature in self.features]


class Spans(NamedTuple):
    """All segments of the label y; each fires features of its tokens."""

    words: tuple[str, ...]

    def keys(self, labelling: Labelling) -> list[Key]:
        found = []
        for first, last, kind in runs_of(labelling["y"]):
            own = self.words[first : last + 1]
            features = [
                "bias",
                f"length of segment={len(own)}",
                f"joined(word)={' '.join(own)}",
                f"last(word)={own[-1]}",
            ]
            found += [("spans", feature, (kind,)) for feature in features]
        return found


def runs_of(states: Sequence[str]) -> list[tuple[int, int, str]]:
    """First and last position and type of each segment; of states without marks, each longest run is one."""
    if set(states) & set(BIO):
        return [(first, last, "X") for first, last in sorted(segments_of(states))]
    cuts = [t for t in range(len(states)) if t == 0 or states[t] != states[t - 1]]
    ends = [*cuts[1:], len(states)]
    return [(first, end - 1, states[first]) for first, end in zip(cuts, ends, strict=True)]


@dataclass(frozen=True)
class Structure:
    """A model. states: those of every variable, labels first.   instances: the clique instances of a list of words.

    limit: tokens of a segment of y, if those are weighed.
    """

    text: str
    sentences: list[list[Row]]
    states: Mapping[str, tuple[str, ...]]
    labels: tuple[str, ...]
    instances: Callable[[Sequence[str]], Iterator[Instance | Spans]]
    limit: int | None = None

    def known(self, sentence: Sequence[Row]) -> dict[str, list[str | None]]:
        """The cells of each label; None where the label is unknown."""
        return {
            name: [None if row[1 + m] == MISSING else row[1 + m] for row in sentence]
            for m, name in enumerate(self.labels)
        }

    def labellings(self, length: int) -> Iterator[dict[str, list[str]]]:
        """All labellings of the variables but those that break the scheme or have segments that are too long."""
        every = itertools.product(*(label_states for _ in range(length) for label_states in self.states.values()))
        for flat in every:
            labelling = {name: list(flat[m :: len(self.states)]) for m, name in enumerate(self.states)}
            if not all(is_legal(cells) for cells in labelling.values()):
                continue
            if self.limit is None or all(last - first < self.limit for first, last, _ in runs_of(labelling["y"])):
                yield labelling


def is_legal(states: Sequence[str]) -> bool:
    """Whether every I follows a B or an I."""
    return all(state != "I-X" or (t > 0 and states[t - 1] in ("B-X", "I-X")) for t, state in enumerate(states))


def segments_of(states: Sequence[str]) -> set[tuple[int, int]]:
    """First and last position of each segment."""
    segments = set()
    for t, state in enumerate(states):
        if state == "B-X":
            end = t
            while end + 1 < len(states) and states[end + 1] == "I-X":
                end += 1
            segments.add((t, end))
    return segments


class Enumerated:
    """Every labelling of a sentence. counts: [labellings, weights].   agrees: [labellings], with all known labels."""

    def __init__(self, structure: Structure, sentence: Sequence[Row], keys: Mapping[Key, int]):
        self.words = [row[0] for row in sentence]
        self.known = structure.known(sentence)
        self.instances = list(structure.instances(self.words))
        self.labellings = list(structure.labellings(len(sentence)))
        self.counts = np.zeros((len(self.labellings), len(keys)))
        for row, labelling in zip(self.counts, self.labellings, strict=True):
            for instance in self.instances:
                for key in instance.keys(labelling):
                    if key in keys:  # a pair that training does not show has no weight
                        row[keys[key]] += 1.0
        self.agrees = self.where(
            lambda labelling: all(
                gold is None or labelling[name][t] == gold
                for name, cells in self.known.items()
                for t, gold in enumerate(cells)
            )
        )

    def where(self, test: Callable[[Labelling], bool]) -> NDArray[np.bool_]:
        return np.array([test(labelling) for labelling in self.labellings])

    @property
    def num_labels(self) -> int:
        return sum(map(len, self.known.values()))

    def by_labels(self, scores: Floats) -> dict[tuple[tuple[str, ...], ...], list[float]]:
        """The scores of all labellings, grouped by the states of the labels alone."""
        scores_of: dict[tuple[tuple[str, ...], ...], list[float]] = {}
        for labelling, score in zip(self.labellings, scores.tolist(), strict=True):
            scores_of.setdefault(tuple(tuple(labelling[name]) for name in self.known), []).append(score)
        return scores_of


# the models -----------------------------------------------------------------------------------------------------------


def words_of(name: str, words: Sequence[str]) -> Iterator[Instance]:
    for t, word in enumerate(words):
        yield Instance(f"{name}_words", ((name, t),), ("bias", f"word={word}"))


def moves_of(name: str, words: Sequence[str]) -> Iterator[Instance]:
    for t in range(1, len(words)):
        yield Instance(f"{name}_moves", ((name, t - 1), (name, t)), ("bias",))


def chain(words: Sequence[str]) -> Iterator[Instance]:
    yield from words_of("y", words)
    yield from moves_of("y", words)


def factorial(words: Sequence[str]) -> Iterator[Instance]:
    yield from chain(words)
    yield from words_of("z", words)
    yield from moves_of("z", words)
    for t, word in enumerate(words):
        yield Instance("both", (("y", t), ("z", t)), ("bias", f"word={word}"))


def skip(words: Sequence[str]) -> Iterator[Instance]:
    """Joins each position to the next one with the same word, at least two positions on."""
    yield from chain(words)
    for i, word in enumerate(words):
        later = [j for j in range(i + 2, len(words)) if words[j] == word]
        if later:
            yield Instance("again", (("y", i), ("y", later[0])), ("bias",))


def latent(words: Sequence[str]) -> Iterator[Instance]:
    yield from moves_of("y", words)
    for t, word in enumerate(words):
        yield Instance("sense", (("y", t), ("h", t)), ("bias", f"word={word}"))
    yield from moves_of("h", words)


def spans(words: Sequence[str]) -> Iterator[Instance | Spans]:
    yield from chain(words)
    yield Spans(tuple(words))


def spans_beside(words: Sequence[str]) -> Iterator[Instance | Spans]:
    yield from factorial(words)
    yield Spans(tuple(words))


SPANS = "segment y up to 3 as spans: bias, length, joined(word), last(word)\n"
CHAIN = "clique y as y_words: bias, word\nclique y[-1], y as y_moves\n"
HEADS = {"plain": ("{P, Q}", ("P", "Q")), "bio": ("bio(X)", BIO)}
GOLD = {
    "plain": ["PQQP", "Q", "PP", "QPP"],
    "bio": ["BIOB", "O", "BB", "BIO"],
}
WORDS = ["abac", "b", "cb", "aba"]
SECOND = ["SRSR", "S", "RS", "RRS"]
UNKNOWN = {(0, 1), (2, 0), (3, 2)}  # (sentence, position) of each missing label


def sentences(kind: str, *more: list[str], unknown: bool = False) -> list[list[Row]]:
    spelled = {"B": "B-X", "I": "I-X"} if kind == "bio" else {}
    rows = []
    for s, (words, labels) in enumerate(zip(WORDS, GOLD[kind], strict=True)):
        cells = [MISSING if unknown and (s, t) in UNKNOWN else spelled.get(y, y) for t, y in enumerate(labels)]
        rows.append(list(zip(words, cells, *(cells_of_label[s] for cells_of_label in more), strict=True)))
    return rows


def structures() -> Iterator[tuple[tuple[str, str], Structure]]:
    for kind, (domain, states) in HEADS.items():
        y, end = f"label y in {domain}", "infer exact\n"
        one = f"data conll(word, y)\n{y}\n"
        yield ("chain", kind), Structure(one + CHAIN + end, sentences(kind), {"y": states}, ("y",), chain)
        text = f"data conll(word, y, z)\n{y}\nlabel z in {{R, S}}\n{CHAIN}{CHAIN.replace('y', 'z')}"
        text += "clique y, z as both: bias, word\n"
        yield (
            ("factorial", kind),
            Structure(text + end, sentences(kind, SECOND), {"y": states, "z": ("R", "S")}, ("y", "z"), factorial),
        )
        both = {"y": states, "z": ("R", "S")}
        yield (
            ("segments beside", kind),
            Structure(text + SPANS + end, sentences(kind, SECOND), both, ("y", "z"), spans_beside, 3),
        )
        text = one + CHAIN + SPANS + end
        yield ("segments", kind), Structure(text, sentences(kind), {"y": states}, ("y",), spans, 3)
        text = f"{one}{CHAIN}clique y[i], y[j] where word[i] = word[j] as again with min_gap = 2\n"
        yield ("skip", kind), Structure(text + end, sentences(kind), {"y": states}, ("y",), skip)
        text = f"{one}latent h in 2\nclique y[-1], y as y_moves\nclique h[-1], h as h_moves\n"
        text += "clique y, h as sense: bias, word\n"
        yield ("latent", kind), Structure(text + end, sentences(kind), {"y": states, "h": ("0", "1")}, ("y",), latent)
        text = f'data conll(word, y)\n{y} with missing = "{MISSING}"\n{CHAIN}'
        yield ("missing", kind), Structure(text + end, sentences(kind, unknown=True), {"y": states}, ("y",), chain)


STRUCTURES: Mapping[tuple[str, str], Structure] = dict(structures())
