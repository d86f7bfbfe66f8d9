"""Feature lists, sentences and resources that the tests of `dcrfdsl.features` share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dcrfdsl import syntax as model
from dcrfdsl.data.corpus import BagColumn, Corpus, InternedColumn, NumericColumn
from dcrfdsl.data.weighted_bags import bag_column
from dcrfdsl.features import FeatureExtractor, Lexicon, Lexicons, feature, registered_features
from dcrfdsl.semantics import ModelSpec
from dcrfdsl.syntax import nodes as ex

COLUMNS = (
    model.Column(name="word", source="word"),
    model.Column(name="pos", source="pos"),
    model.Column(name="tags", source="tags", type=model.ColumnType(name="bag")),
    model.Column(name="temp", source="temp", type=model.ColumnType(name="float")),
    model.Column(name="more", source="more", type=model.ColumnType(name="float")),
    model.Column(name="pixels", source="pixels", type=model.ColumnType(name="vector", size=2)),
    model.Column(name="marks", source="marks", type=model.ColumnType(name="weighted_bag")),
    model.Column(name="y", source="y"),
)


def place(*offsets: int) -> ex.Place:
    return (
        ex.Here()
        if offsets in ((), (0,))
        else ex.At(offset=offsets[0])
        if len(offsets) == 1
        else ex.Several(offsets=offsets)
    )


def ref(name: str, *offsets: int) -> ex.Reference:
    return ex.Reference(name=name, place=place(*offsets))


def window(name: str, first: int, last: int) -> ex.Reference:
    return ex.Reference(name=name, place=ex.Window(first=first, last=last))


def call(function: str, term: ex.Term, *arguments: object, at: int = 0, **options: str) -> ex.Apply:
    values = [
        ex.Range(first=a[0], last=a[1]) if isinstance(a, tuple) else ex.Number(value=a) if isinstance(a, int) else a
        for a in arguments
    ]
    named = [ex.Argument(name=name, value=ref(value)) for name, value in options.items()]
    positional = [ex.Argument(value=value) for value in (term, *values)]
    return ex.Apply(function=function, arguments=(*positional, *named), place=place(at))


def cross(*factors: ex.Condition) -> ex.Cross:
    return ex.Cross(factors=factors)


def has(term: ex.Term, pattern: str, ignore_case: bool = False) -> ex.Has:
    return ex.Has(term=term, regex=ex.Regex(pattern=pattern, ignore_case=ignore_case))


def matches(term: ex.Term, pattern: str) -> ex.Matches:
    return ex.Matches(term=term, regex=ex.Regex(pattern=pattern))


def compares(left: ex.Quantity, sign: str, right: ex.Quantity | float) -> ex.Compares:
    return ex.Compares(left=left, sign=sign, right=ex.Number(value=right) if isinstance(right, int | float) else right)


def spec_of(
    *features: ex.Feature, pad: tuple[int, ...] = (), groups: tuple[model.FeatureGroup, ...] = (), gaps: bool = False
) -> ModelSpec:
    """A model with one clique; `pad`: the offsets of its other sites, with `edges = pad`; `gaps`: of its numbers."""
    sites = tuple(model.Site(variable="y", place=place(offset)) for offset in (*pad, 0))
    clique = model.CliqueSpec(sites=sites, edges="pad" if pad else "inside", features=features)
    lexicons = tuple(model.Lexicon(name=name, path="-") for name in LEXICONS)
    options = (ex.Argument(name="missing", value=ex.Text(value="?")),) if gaps else ()
    data = model.DataSpec(format="conll", columns=COLUMNS, options=options)
    return ModelSpec(data=data, groups=groups, cliques=(clique,), lexicons=lexicons, lets=LETS)


def corpus_of(sentences: list[dict[str, list]]) -> Corpus:
    columns: dict[str, InternedColumn | NumericColumn | BagColumn] = {}
    for column in COLUMNS[:-1]:
        cells = [cell for sentence in sentences for cell in sentence[column.name]]
        if column.type.name == "float":
            columns[column.name] = NumericColumn(np.array(cells, np.float64))
        elif column.type.name == "vector":
            columns[column.name] = NumericColumn(np.array(cells, np.float64).reshape(-1, 2))
        elif column.type.name == "weighted_bag":
            columns[column.name] = bag_column([list(cell.items()) for cell in cells])
        else:
            values = list(dict.fromkeys(cells))
            columns[column.name] = InternedColumn(np.array([values.index(cell) for cell in cells], np.int32), values)
    off = np.cumsum([0, *(len(sentence["word"]) for sentence in sentences)])
    return Corpus("test.txt", off, columns, np.arange(off[-1]) + 1)


def sentence(
    words: str, pos: str = "", tags: list[str] | None = None, temp: list[float] | None = None
) -> dict[str, list]:
    tokens = words.split()
    return {
        "word": tokens, "pos": pos.split() or ["N"] * len(tokens), "tags": tags or [""] * len(tokens),
        "temp": temp or [0.0] * len(tokens), "more": [1.0] * len(tokens), "pixels": [(0.0, 0.0)] * len(tokens),
        "marks": [{}] * len(tokens),
    }  # fmt: skip


# the words of the tests: cases, digits, several scripts, prefixes of one another, entries of lexicons
WORDS = [
    "a",
    "A",
    "ab",
    "aba",
    "New",
    "York",
    "new",
    "3",
    "3rd",
    "Éa",
    "ß",
    "日本",
    "x-y",
    "abababab" * 3,
    "I",
    "a New b",
]
TOKEN = st.fixed_dictionaries(
    {
        "word": st.sampled_from(WORDS), "pos": st.sampled_from(["N", "V", "New", "3"]),
        "tags": st.sampled_from(["", "p\u00a0q", "q p p", "p", "r  q"]), "temp": st.sampled_from([0.0, 1.0, -2.5, 3.0]),
        "more": st.sampled_from([0.0, 1.0, 3.0]), "pixels": st.tuples(*[st.sampled_from([0.0, 1.0, 0.5])] * 2),
        "marks": st.dictionaries(
            st.sampled_from(["a", "A", "ab", "b", "É"]), st.sampled_from([1.0, 1.0, 0.0, -1.0, 0.5, 4.0]), max_size=3
        ),
    }
)  # fmt: skip


def _sentences(token: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[list[dict[str, list]]]:
    tokens = st.lists(token, min_size=1, max_size=6)
    columns = tokens.map(lambda tokens: {key: [t[key] for t in tokens] for key in tokens[0]})
    return st.lists(columns, min_size=1, max_size=5)


SENTENCES = _sentences(TOKEN)
_NAN = float("nan")
SENTENCES_WITH_GAPS = _sentences(
    st.builds(
        lambda token, temp, more: token | {"temp": temp, "more": more},
        TOKEN, st.sampled_from([_NAN, _NAN, 0.0, 1.0, -2.5]), st.sampled_from([_NAN, 0.0, 1.0, 1.0]),
    )
)  # fmt: skip
LEXICONS = {
    "places": dict.fromkeys(["New York", "New", "York New York", "日本", "a a"], ""),
    "brill": {"a": "DT", "A": "DT", "New": "JJ", "3": "CD"},
}
LETS = (model.Let(name="two", value=ex.Number(value=2)), model.Let(name="noun", value=ex.Text(value="N")))


@feature
def vowels(word):
    return "".join(c for c in word if c in "aeiou") or None


@feature
def halves(word):
    return (word[: len(word) // 2], word[len(word) // 2 :])


@feature
def capital(word):
    return word[0].isupper()


@feature(name="size")
def _size(word, factor):
    return len(word) * factor - 2


@feature
def warm(temp):
    return temp > 0


REGISTERED = registered_features(globals())
KINDS = {"vowels": "value", "halves": "value", "capital": "test", "size": "number", "warm": "test"}


def resources() -> Lexicons:
    def lexicon(name: str, entries: dict[str, str]) -> Lexicon:
        return Lexicon(name, tuple(entries), tuple(entries.values()) if any(entries.values()) else None, "0")

    return Lexicons({name: lexicon(name, entries) for name, entries in LEXICONS.items()})


def learn(spec: ModelSpec, sentences: list[dict[str, list]]):
    return FeatureExtractor.learn(spec, corpus_of(sentences), resources=resources(), registered=REGISTERED)


def described(extractor: FeatureExtractor, rows, feature_set: int = 0) -> list[dict[str, float]]:
    """Rows as texts and values."""
    out = []
    for start, end in zip(rows.row_off, rows.row_off[1:], strict=False):
        texts = [extractor.describe(feature_set, int(one)) for one in rows.feature[start:end]]
        assert len(set(texts)) == len(texts)
        out.append(dict(zip(texts, rows.value[start:end] if len(rows.value) else [1.0] * len(texts), strict=True)))
    return out


# the law: rows are those of the twin --------------------------------------------------------------------------------

GROUP = model.FeatureGroup(
    name="q", features=(ref("word"), has(ref("word"), "[0-9]"), cross(ref("pos"), ref("pos", 1)))
)
RARE = model.FeatureGroup(name="rare", features=(call("lower", window("word", -1, 1)), ref("pos")), min_count=2)
RARE_MARKS = model.FeatureGroup(name="rare_marks", features=(ref("marks", 1),), min_count=2, outside="skip")
INNER = model.FeatureGroup(name="inner", features=(ref("q", -1), ref("rare", 1)), outside="skip")


_WARM = ex.Apply(function="warm", arguments=(ex.Argument(value=ref("temp")),))
GAPPY = model.FeatureGroup(name="gappy", features=(ref("temp"), compares(ref("temp", -1), "<", 1)))
GROUPS = (GROUP, RARE, RARE_MARKS, INNER, GAPPY)
GAPS: dict[str, tuple[ex.Feature, ...]] = {  # numbers, some of which are missing
    "alone": (ref("temp"), window("more", -1, 1), ref("pixels")),
    "crosses": (cross(ref("temp"), ref("more", 1)), cross(ref("temp", 1), ref("pos")), cross(ref("gappy"), ref("pos"))),
    "groups": (ref("gappy", -1, 1), ref("temp")),
    "tests": (
        ex.Is(term=window("temp", -1, 1), state="missing"),
        ex.Is(term=ref("temp", 1), state="missing", negated=True),
        ex.Not(inner=ex.Is(term=ref("more", -1), state="missing")),
        ex.And(
            parts=(ex.Is(term=ref("temp"), state="missing"), ex.Is(term=ref("more", 1), state="missing", negated=True))
        ),
        cross(ex.Is(term=ref("temp"), state="missing"), ref("pos"), ref("more")),
    ),
    "comparisons": (
        compares(ref("temp"), "<", 1),
        ex.Not(inner=compares(ref("temp", -1), ">=", 0)),
        compares(ref("temp"), "!=", ref("more")),
        compares(ref("temp"), "!=", 1),
        ex.Not(inner=compares(ex.Difference(left=ref("temp"), right=ref("temp", -1)), "<", 0)),
        compares(ex.Difference(left=ref("temp"), right=ref("more")), ">=", ref("temp", 1)),
    ),
    "equalities": (
        ex.Equals(left=ref("temp"), right=ref("more", -1)),
        ex.Equals(left=ref("temp"), right=ref("more"), negated=True),
        ex.Not(inner=ex.Equals(left=ref("temp"), right=ref("temp", 1))),
        ex.Not(inner=ex.Equals(left=ref("temp"), right=ref("more", 1), negated=True)),
    ),
    "bins": (
        call("bin", ref("temp"), -2, 1),
        cross(call("bin", ref("temp", -1), 0, 1), ref("pos")),
        ex.Equals(left=call("bin", ref("temp"), 0, 2), right=call("bin", ref("more", -1), 0, 2)),
        ex.Is(term=call("bin", ref("temp"), 0, 2), state="[0,2)", negated=True),
    ),
    "functions": (_WARM, cross(_WARM, ref("temp", 1))),
}

TEMPLATES: dict[str, tuple[ex.Feature, ...]] = {
    "identity": (ref("word"),),
    "window": (window("word", -2, 2), ref("pos", -3, 0, 3)),
    "lower": (call("lower", ref("word"), at=-1),),
    "prefix": (call("prefix", ref("word"), (1, 3)), call("prefix", ref("word", 1), 2)),
    "suffix": (call("suffix", ref("word"), (2, 4), at=-1),),
    "extract": (
        call("extract", ref("word"), ex.Regex(pattern=r"^\p{Lu}?.?")),
        call("extract", call("lower", ref("word", -1)), ex.Regex(pattern="[a-m][a-z]*")),
        call("extract", ref("word"), ex.Regex(pattern=r"é.*$"), at=1),
    ),
    "part": (
        call("part", ref("word"), 1),
        call("part", ref("word", -1), (1, 3)),
        call("part", call("lower", ref("word")), 2, at=1),
    ),
    "nested": (call("suffix", call("lower", ref("word", -1)), (1, 2), at=-1),),
    "shape": (call("shape", ref("word")), call("shape", ref("word"), short="yes", at=1)),
    "length": (call("length", ref("word")),),
    "chars": (call("chars", ref("word"), 2), call("chars", ref("word", -1), (1, 2))),
    "chars cross": (cross(call("chars", ref("word"), 2), call("prefix", ref("word", -1), (1, 2)), ref("pos")),),
    "bag": (
        ref("tags"),
        cross(ref("tags", -1), ref("pos")),
        ex.Is(term=ref("tags"), state="q"),
        call("prefix", ref("tags"), 1),
    ),
    "weighted bag": (
        window("marks", -1, 1),
        cross(ref("marks"), ref("pos", -1)),
        cross(ref("marks"), ref("marks", 1), ref("tags")),
        cross(ref("temp"), ref("marks"), call("chars", ref("word"), 1)),
        ref("rare_marks"),
    ),
    "functions of weighted bags": (
        call("lower", ref("marks", 1)),
        call("prefix", ref("marks"), (1, 2)),
        call("chars", call("lower", ref("marks")), 1, at=-1),
        call("brill", ref("marks")),
    ),
    "tests of weighted bags": (
        ex.Is(term=ref("marks", -1), state="a"),
        ex.Is(term=call("lower", ref("marks")), state="a", negated=True),
        has(ref("marks"), "b"),
        ex.And(parts=(matches(ref("marks"), "[a-z]"), ex.Not(inner=has(ref("marks", 1), "[A-Z]")))),
        ex.InLexicon(term=ref("marks"), lexicon="brill"),
        ex.InSet(term=ref("marks"), states=("ab", "b"), negated=True),
    ),
    "regex": (matches(window("word", -1, 1), "[A-Z][a-z]+"), has(ref("word"), "é", True), has(ref("word"), r"\w")),
    "is": (ex.Is(term=ref("pos", -1), state="N"), ex.Is(term=ref("pos", 1), state="N", negated=True)),
    "in": (ex.InSet(term=ref("word"), states=("a", "New")), ex.InSet(term=ref("word", 1), states=("a",), negated=True)),
    "lexicon": (
        ex.InLexicon(term=ref("word"), lexicon="places"),
        ex.InLexicon(term=ref("word", -1), lexicon="places", negated=True),
    ),
    "map": (
        call("brill", ref("word")),
        call("brill", ref("word"), at=-1),
        ex.Is(term=call("brill", ref("word")), state="DT", negated=True),
    ),
    "span": (
        ex.Apply(
            function="span",
            arguments=(ex.Argument(value=ref("word")), ex.Argument(value=ref("places"))),
            place=ex.Window(first=-1, last=1),
        ),
    ),
    "equals": (
        ex.Equals(left=ref("word"), right=ref("word", -1)),
        ex.Equals(left=ref("word"), right=ref("pos")),
        ex.Equals(left=call("brill", ref("word")), right=call("brill", ref("word", 1)), negated=True),
    ),
    "equals numbers": (
        ex.Equals(left=ref("temp"), right=ref("more", -1)),
        ex.Equals(left=ref("temp"), right=ref("more"), negated=True),
    ),
    "comparisons": (
        compares(call("length", ref("word")), ">", 2),
        compares(call("length", ref("word", 1)), ">=", 21),
        compares(ref("temp", -1), "<", 1),
        cross(compares(ref("temp"), "!=", ref("more")), ref("pos")),
        compares(ref("word"), "<=", 3),
        compares(window("word", -1, 1), "!=", 4),
        compares(call("extract", ref("word"), ex.Regex(pattern="[0-9]")), "=", 3),
        ex.Not(inner=compares(ref("word"), ">", 3)),
        compares(ref("index", 1), ">", 2),
    ),
    "differences": (
        compares(ex.Difference(left=ref("temp"), right=ref("temp", -1)), "<", 0),
        compares(ex.Difference(left=ref("temp"), right=ref("more")), ">=", ref("temp", 1)),
        compares(ex.Difference(left=ref("word", -1), right=ref("pos")), "!=", 1),
        ex.Not(inner=compares(ex.Difference(left=ref("index"), right=ref("index", -2)), "=", 2)),
        ex.Or(parts=(compares(ref("temp", 1), ">", ref("temp")), ref("last"))),
    ),
    "bins": (
        call("bin", ref("temp"), -2, 1),
        call("bin", ref("temp", -1), 0, 1, 3, at=1),
        cross(call("bin", call("length", ref("word")), 2, 20, 23), ref("pos", -1)),
        call("bin", ref("word"), 3, 4),
        ex.Equals(left=call("bin", ref("temp"), 0, 2), right=call("bin", ref("more", -1), 0, 2)),
        ex.Is(term=call("bin", ref("temp"), 0, 2), state="[0,2)"),
    ),
    "logic": (
        ex.Or(parts=(ref("first"), ex.Is(term=ref("pos", -1), state="N"))),
        ex.Not(inner=ex.Is(term=ref("pos", -1), state="N")),
        ex.And(
            parts=(ex.Not(inner=ref("last")), has(ref("word"), "a"), ex.Equals(left=ref("word", 1), right=ref("word")))
        ),
        ex.Or(parts=(has(ref("word"), "^a"), matches(ref("word"), "3"))),
    ),
    "positions": (ref("first"), ref("last", 1), ref("index"), cross(ref("index", -1), ref("pos"))),
    "numbers": (ref("temp"), ref("temp", -1), cross(ref("temp"), ref("more", 1)), cross(ref("temp", 1), ref("pos"))),
    "numbers ragged": (cross(ref("temp"), call("chars", ref("word"), 1)), cross(ref("tags"), ref("more"))),
    "vector": (ref("pixels"), ref("pixels", 1), cross(ref("pixels", -1), ref("pos"))),
    "cross": (
        cross(ref("word", -1), ref("word")),
        cross(ref("pos", -2), ref("pos", -1), ref("pos")),
        cross(ref("word"), ref("word")),
    ),
    "cross of windows": (cross(window("pos", -1, 1), ref("word", -1, 1)),),
    "test in a cross": (cross(has(ref("word", 1), "[0-9]"), ref("pos", -1)),),
    "long cross": (cross(ref("word", -2), ref("word", -1), ref("word"), ref("word", 1), ref("word", 2), ref("pos")),),
    "groups": (
        window("q", -1, 1),
        ref("rare"),
        ref("bias"),
        cross(ref("rare", -1), has(ref("word"), "a")),
        ref("word"),
    ),
    "skip": (ref("inner"), cross(ref("inner"), ref("word", 2))),
    "registered": (
        call("vowels", ref("word"), at=-1),
        call("halves", ref("word")),
        call("capital", ref("word"), at=1),
        ex.And(parts=(call("capital", ref("word")), has(ref("word"), "w"))),
        call("size", ref("word"), 3, at=-1),
        call("warm", ref("temp")),
    ),
}
