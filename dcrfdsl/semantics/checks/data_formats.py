"""The formats of the `data` statement: their columns and options.

The room `data`, which reads and writes them, has a table of the same names, and `reference/words.md` says what they
are. Not here: rules (`data_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from ...foundation import Table, dataclass
from ..schema import MISSING

JOINED = "joined"
JOINABLE = ("id", "upos", "xpos", "feats", "head", "deprel", "deps")  # columns of CoNLL-U whose values have no spaces


@dataclass(frozen=True)
class FormatOption:
    """`fits` tests a value, `expected` says in words which ones do. `default`: what holds where it is not written."""

    fits: Callable[[str], bool]
    expected: str
    meaning: str
    default: str = "none"


@dataclass(frozen=True)
class Format:
    """`sources` are the columns that a format names (None: any column of the file), `keyed` those with keys.

    `last` are the types of the last column, if the format has one for all features; the columns before it are texts, at
    most `before` of them. `synonyms` are words of other tools for its columns.
    """

    sources: tuple[str, ...] | None = None
    keyed: tuple[str, ...] = ()
    options: Mapping[str, FormatOption] = field(default_factory=dict)
    last: tuple[str, ...] = ()
    before: int | None = None
    synonyms: Mapping[str, str] = field(default_factory=dict)


def _among(meaning: str, *values: str) -> FormatOption:
    """An option with a few values, of which the first is the default."""
    *others, last = (f'`"{value}"`' for value in values)
    return FormatOption(values.__contains__, f"{', '.join(others)} or {last}", meaning, f'`"{values[0]}"`')


_COLUMNS = "what splits columns"
_SEPARATOR = FormatOption(
    lambda value: len(value) == 1 and value.isascii() and value not in "\n\r\0", 'one character, as `"\\t"`', _COLUMNS,
    "white space",
)  # fmt: skip
_COMMENT = FormatOption(
    lambda value: bool(value) and not value[0].isspace(), 'the start of a comment line, as `"#"`',
    "lines that begin so are comments; without it there are none, since `#` is a token of some corpora",
)  # fmt: skip
_MISSING = {
    MISSING: FormatOption(
        lambda value: not {"\n", "\r", "\0"}.intersection(value), 'a text, as `""` or `"?"`',
        "how a number that is not known is written in columns of numbers; `nan` and `null` are missing too. No feature "
        "of the number fires there, comparisons are false, and a number in a feature list brings `temp is missing`",
    )
}  # fmt: skip
_SENTENCE = FormatOption(bool, 'the name of a column, as `"sentence_id"`', "the column that tells sentences apart")
_LENGTHS = FormatOption(
    bool, 'the name of an array, as `"lengths"`', "the array of the number of tokens of each sentence", '`"lengths"`'
)
_SPLIT = FormatOption(
    lambda value: len(value) == 1 and value.isascii() and value not in '\n\r\0"', 'one character, as `";"`', _COLUMNS,
    '`","`',
)  # fmt: skip
_QUOTE = FormatOption(
    lambda value: value in ('"', "none"), '`"\\""` or `"none"`',
    "what encloses cells with separators, line ends or quotes in them", '`"\\""`',
)  # fmt: skip
_DECIMAL = FormatOption(
    lambda value: value in (",", "."), '`","` or `"."`', "the sign before the decimals of numbers, a point or a comma",
    '`"."`',
)  # fmt: skip
_CSV = {"sentence": _SENTENCE, "separator": _SPLIT, "quote": _QUOTE, "decimal": _DECIMAL, **_MISSING}
_TSV = {**_CSV, "separator": replace(_SPLIT, default='`"\\t"`'), "quote": replace(_QUOTE, default='`"none"`')}
_PREDICTIONS = (
    "where `tag` writes: in place of the gold labels, or beside them, in MISC of `conllu`, under the key `predicted` "
    "of `spans`"
)
_SPANS = {
    "tokenizer": _among(
        "how a text is cut: runs of letters, digits and `_` with any other character by itself (`words`), at white "
        "space, into characters, or as the list `tokens` of the line says (`given`)",
        "words", "whitespace", "characters", "given",
    ),
    "misaligned": _among(
        "what becomes of a span that cuts a token: an error, all of the token, or no span", "error", "widen", "skip"
    ),
    "overlapping": _among(
        "what becomes of spans that share a token: an error, or the longest one stays", "error", "longest"
    ),
    "offsets": _among("what offsets count: characters, or UTF-16 units as JavaScript does", "characters", "utf16"),
    "style": _among(
        "how spans are written where the file shows none", "doccano", "spacy", "prodigy", "label_studio"
    ),
    "predictions": _among(_PREDICTIONS, "own", "apart"),
}  # fmt: skip

FORMATS: Table[Format] = Table(
    "data format",
    {
        "conll": Format(options={"separator": _SEPARATOR, "comment": _COMMENT, **_MISSING}),
        "conllu": Format(
            sources=("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
            keyed=("feats", "misc", "joined"),
            options={"predictions": _among(_PREDICTIONS, "own", "misc"), **_MISSING},
            synonyms={
                "word": "form", "token": "form", "pos": "upos", "tag": "upos", "features": "feats",
                "relation": "deprel",
            },
        ),
        "jsonl": Format(options=_MISSING),
        "csv": Format(keyed=("column",), options=_CSV),
        "tsv": Format(keyed=("column",), options=_TSV),
        "spans": Format(
            sources=("token", "spans", "start", "end", "space"),
            keyed=("spans",),
            options=_SPANS,
            synonyms={"word": "token", "form": "token", "text": "token", "label": "spans", "entities": "spans"},
        ),
        "parquet": Format(keyed=("column",), options={"sentence": _SENTENCE, **_MISSING}),
        "npz": Format(keyed=("column",), options={"lengths": _LENGTHS, **_MISSING}),
        "fasta": Format(),
        "grmm": Format(last=("bag", "weighted_bag")),
        "crfsuite": Format(last=("weighted_bag",), before=1),
    },
    {
        "conll-u": "conllu", "ud": "conllu", "json": "jsonl", "iob": "conll", "crfpp": "conll", "conll2000": "conll",
        "conll2003": "conll", "excel": "csv",
    },
)  # fmt: skip
