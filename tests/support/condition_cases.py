"""Random conditions, each as its text and as an obvious function of a labelling and a sentence.

The meaning is implemented independently here, on texts: look up the value, compare it. A value outside the sequence
fails every test, negated or not. States as numbers, tables and codes do not occur here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from dcrfdsl.data import Corpus
from dcrfdsl.data.corpus import InternedColumn
from dcrfdsl.features.values.distinct_values import CorpusValues
from dcrfdsl.features.values.lexicons import Lexicon, Lexicons
from dcrfdsl.semantics.schema.model_spec import ModelSpec

STATES: Mapping[str, tuple[str, ...]] = {"y": ("A", "B", "C"), "z": ("no", "yes", "A")}
WORDS = ("A", "B", "no", "rome", "Anna", "x")
TOWNS = {"rome", "A"}
KIND = {"Anna": "A", "rome": "yes", "B": "B"}
HEAD = """data conll(w, v, y, z)
lexicon towns = "towns.txt"
lexicon kind = "kind.txt"
label y in {A, B, C}
label z in {no, yes, A}
view big = yes if y is A else B
let why = B
"""
VIEWS: Mapping[str, tuple[str, tuple[str, ...]]] = {"big": ("y", ("yes", "B", "B"))}
LEXICONS = Lexicons(
    {
        "towns": Lexicon("towns", tuple(TOWNS), None, ""),
        "kind": Lexicon("kind", tuple(KIND), tuple(KIND.values()), ""),
    }
)


@dataclass(frozen=True)
class Reading:
    """A sentence (its columns), and the states of variables at some of its positions."""

    columns: Mapping[str, Sequence[str]]
    states: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return len(self.columns["w"])


class Outside:
    """The value of anything outside the sentence."""


@dataclass(frozen=True)
class Term:
    """A term; `value(reading, t)` is its value at anchor t, None if it has none there."""

    text: str
    offset: int
    value: Callable[[Reading, int], object]
    variable: str | None = None

    def at(self, reading: Reading, t: int) -> object:
        return self.value(reading, t + self.offset) if 0 <= t + self.offset < reading.length else Outside


@dataclass(frozen=True)
class Meant:
    """A condition: its text, its meaning, and the variables that it reads with their offsets."""

    text: str
    holds: Callable[[Reading, int], bool]
    sites: frozenset[tuple[str, int]] = frozenset()


def place(offset: int) -> str:
    return f"[{offset}]" if offset else ""


def variable(name: str, offset: int) -> Term:
    if name == "big":
        return Term(f"big{place(offset)}", offset, lambda r, t: {"A": "yes"}.get(r.states["y", t], "B"), "y")
    return Term(f"{name}{place(offset)}", offset, lambda r, t: r.states[name, t], name)


OBSERVED: Mapping[str, Callable[[Reading, int], object]] = {
    "w": lambda r, t: r.columns["w"][t],
    "v": lambda r, t: r.columns["v"][t],
    "lower(w)": lambda r, t: r.columns["w"][t].lower(),
    "prefix(v, 1)": lambda r, t: r.columns["v"][t][:1],
    "kind(w)": lambda r, t: KIND.get(r.columns["w"][t]),
    "kind(prefix(v, 1))": lambda r, t: KIND.get(r.columns["v"][t][:1]),
    "index": lambda r, t: str(t + 1),
}


def observed(name: str, offset: int) -> Term:
    return Term(name + place(offset), offset, OBSERVED[name])


def tested(term: Term, words: str, passes: Callable[[str], object], negated: bool) -> Meant:
    def holds(reading: Reading, t: int) -> bool:
        value = term.at(reading, t)
        if value is Outside:
            return False
        return (isinstance(value, str) and bool(passes(value))) != negated

    sites = {(term.variable, term.offset)} if term.variable else set()
    return Meant(f"{term.text} {words}", holds, frozenset(sites))  # type: ignore[arg-type]


PATTERNS = ("[AB]", "y.*|x", "A|no|rome")


@st.composite
def tests(draw: st.DrawFn, terms: st.SearchStrategy[Term]) -> Meant:
    term, negated = draw(terms), draw(st.booleans())
    kind = draw(st.sampled_from(["is", "in", "matches", "has", "towns"]))
    state, several = draw(st.sampled_from(WORDS)), draw(st.sets(st.sampled_from(WORDS), min_size=1, max_size=3))
    pattern, no = draw(st.sampled_from(PATTERNS)), "not " if negated else ""
    if kind == "is":
        return tested(term, f"is {no}{state}", lambda text: text == state, negated)
    if kind == "matches":
        return tested(term, f"matches /{pattern}/", lambda text: re.fullmatch(pattern, text), False)
    if kind == "has":
        return tested(term, f"has /{pattern}/", lambda text: re.search(pattern, text), False)
    if kind == "towns" and term.variable is None:
        return tested(term, f"{no}in towns", lambda text: text in TOWNS, negated)
    return tested(term, f"{no}in {{{', '.join(sorted(several))}}}", lambda text: text in several, negated)


@st.composite
def comparisons(draw: st.DrawFn, left: st.SearchStrategy[Term], right: st.SearchStrategy[Term]) -> Meant:
    a, b, negated = draw(left), draw(right), draw(st.booleans())

    def holds(reading: Reading, t: int) -> bool:
        first, second = a.at(reading, t), b.at(reading, t)
        return Outside not in (first, second) and (first is not None and first == second) != negated

    sites = frozenset((term.variable, term.offset) for term in (a, b) if term.variable)
    return Meant(f"{a.text} {'!=' if negated else '='} {b.text}", holds, sites)  # type: ignore[arg-type]


def conditions(names: Sequence[str], offsets: st.SearchStrategy[int]) -> st.SearchStrategy[Meant]:
    """Combinations by `and`, `or` and `not` of tests of `names` at `offsets`, tests of the data, and comparisons."""
    labels = st.builds(variable, st.sampled_from(names), offsets)
    data = st.builds(observed, st.sampled_from(sorted(OBSERVED)), st.integers(-2, 2))
    words = st.builds(lambda word: Term(word[0], 0, lambda r, t: word[1]), st.sampled_from([("B", "B"), ("why", "B")]))
    ends = st.builds(end, st.sampled_from(["first", "last"]), st.integers(-1, 1))
    alone = st.builds(standing_alone, st.sampled_from([name for name in names if name != "y"]), offsets)
    parts = st.one_of(
        tests(labels), tests(data), alone, ends, comparisons(labels, labels), comparisons(labels, data),
        comparisons(data, labels), comparisons(labels, words), comparisons(data, data),
    )  # fmt: skip
    return st.recursive(
        parts, lambda inner: st.one_of(inner.map(negation), joined("and", inner), joined("or", inner)), max_leaves=4
    )


def standing_alone(name: str, offset: int) -> Meant:
    meant = tested(variable(name, offset), "is yes", lambda text: text == "yes", False)
    return Meant(name + place(offset), meant.holds, meant.sites)


def end(name: str, offset: int) -> Meant:
    def holds(reading: Reading, t: int) -> bool:
        wanted = 0 if name == "first" else reading.length - 1
        return t + offset == wanted

    return Meant(name + place(offset), holds)


def negation(inner: Meant) -> Meant:
    return Meant(f"not ({inner.text})", lambda r, t: not inner.holds(r, t), inner.sites)


def joined(word: str, inner: st.SearchStrategy[Meant]) -> st.SearchStrategy[Meant]:
    every = {"and": all, "or": any}[word]

    def join(parts: list[Meant]) -> Meant:
        sites = frozenset().union(*(part.sites for part in parts))
        text = f" {word} ".join(f"({part.text})" for part in parts)
        return Meant(text, lambda r, t: every(part.holds(r, t) for part in parts), sites)

    return st.lists(inner, min_size=2, max_size=3).map(join)


# data -----------------------------------------------------------------------------------------------------------

sentences = st.lists(
    st.lists(st.tuples(*(st.sampled_from(WORDS),) * 2), min_size=1, max_size=4), min_size=1, max_size=3
)


def columns_of(sentence: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {"w": [w for w, _ in sentence], "v": [v for _, v in sentence]}


def corpus_values(spec: ModelSpec, sentences: Sequence[Sequence[tuple[str, str]]]) -> CorpusValues:
    """The sentences as the engine reads them."""
    off = np.cumsum([0, *(len(sentence) for sentence in sentences)])
    columns = {}
    for n, name in enumerate("wv"):
        texts = [token[n] for sentence in sentences for token in sentence]
        values = tuple(dict.fromkeys(texts))
        columns[name] = InternedColumn(np.array([values.index(text) for text in texts], np.int32), values)
    return CorpusValues(spec, Corpus("", off, columns, np.arange(1, off[-1] + 1)), LEXICONS, {}, {})
