"""The formats of the `data` statement: their columns and options.

The room `data`, which reads and writes them, has a table of the same names, and `reference/words.md` says what they
are. Not here: rules (`data_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from ...foundation import Table, dataclass
from ...syntax import other_words
from ..schema import MISSING

JOINED = "joined"
JOINABLE = ("id", "upos", "xpos", "feats", "head", "deprel", "deps")  # columns of CoNLL-U whose values have no spaces


@dataclass(frozen=True)
class FormatOption:
    """`fits` tests a value, `expected` says in words which ones do."""

    fits: Callable[[str], bool]
    expected: str


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


def _among(*values: str) -> FormatOption:
    """An option with a few values, of which the first is the default."""
    *others, last = (f'`"{value}"`' for value in values)
    return FormatOption(values.__contains__, f"{', '.join(others)} or {last}")


_SEPARATOR = FormatOption(
    lambda value: len(value) == 1 and value.isascii() and value not in "\n\r\0", 'one character, as `"\\t"`'
)
_COMMENT = FormatOption(lambda value: bool(value) and not value[0].isspace(), 'the start of a comment line, as `"#"`')
_MISSING = {MISSING: FormatOption(lambda value: not {"\n", "\r", "\0"}.intersection(value), 'a text, as `""` or `"?"`')}
_SENTENCE = FormatOption(bool, 'the name of a column, as `"sentence_id"`')
_LENGTHS = FormatOption(bool, 'the name of an array, as `"lengths"`')
_CSV = {
    "sentence": _SENTENCE,
    "separator": FormatOption(
        lambda value: len(value) == 1 and value.isascii() and value not in '\n\r\0"', 'one character, as `";"`'
    ),
    "quote": FormatOption(lambda value: value in ('"', "none"), '`"\\""` or `"none"`'),
    "decimal": FormatOption(lambda value: value in (",", "."), '`","` or `"."`'),
    **_MISSING,
}
_SPANS = {
    "tokenizer": _among("words", "whitespace", "characters", "given"),
    "misaligned": _among("error", "widen", "skip"),
    "overlapping": _among("error", "longest"),
    "offsets": _among("characters", "utf16"),
    "style": _among("doccano", "spacy", "prodigy", "label_studio"),
    "predictions": _among("own", "apart"),
}

FORMATS: Table[Format] = Table(
    "data format",
    {
        "conll": Format(options={"separator": _SEPARATOR, "comment": _COMMENT, **_MISSING}),
        "conllu": Format(
            sources=("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
            keyed=("feats", "misc", "joined"),
            options={"predictions": _among("own", "misc"), **_MISSING},
            synonyms={
                "word": "form", "token": "form", "pos": "upos", "tag": "upos", "features": "feats",
                "relation": "deprel",
            },
        ),
        "jsonl": Format(options=_MISSING),
        "csv": Format(keyed=("column",), options=_CSV),
        "tsv": Format(keyed=("column",), options=_CSV),
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
    other_words("data format"),
)  # fmt: skip
