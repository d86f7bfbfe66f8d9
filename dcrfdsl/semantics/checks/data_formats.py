"""The formats of the `data` statement: their columns and options, and what the reference says of them.

The room `data`, which reads and writes them, has a table of the same names. Not here: rules (`data_rules`).
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
    most `before` of them. `synonyms` are words of other tools for its columns. `example`: lines of a template that use
    it. `written_out`: lines with the options that the example leaves out.
    """

    summary: str
    example: str
    written_out: str = ""
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
        "conll": Format(
            "A token a line, columns split by white space, and a blank line after each sentence.",
            'data conll(word, pos, chunk, separator = "\\t", comment = "#")\nlabel chunk\nclique chunk: word',
            'data conll(temp: float, y, separator = ",", comment = "#", missing = "?")\nlabel y\nclique y: temp',
            options={"separator": _SEPARATOR, "comment": _COMMENT, **_MISSING},
        ),
        "conllu": Format(
            'CoNLL-U, with columns by name. `feats("Case")` reads one key of FEATS, `misc("ner")` one of MISC: the '
            "first value counts, repeats are warned of once, and an absent key reads `_`, an ordinary state. "
            '`joined("upos feats")` reads several columns as one value with spaces between. `tag` writes predictions '
            "where the labels come from, into columns and keys, and what has no place there into MISC.",
            'data conllu(word = form, upos, case = feats("Case"))\nlabel upos\nclique upos: word\n'
            "clique upos[-1], upos",
            'data conllu(word = form, head: int, upos, predictions = "misc", missing = "_")\nlabel upos\n'
            "clique upos: word, head",
            sources=("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
            keyed=("feats", "misc", "joined"),
            options={"predictions": _among(_PREDICTIONS, "own", "misc"), **_MISSING},
            synonyms={
                "word": "form", "token": "form", "pos": "upos", "tag": "upos", "features": "feats",
                "relation": "deprel",
            },
        ),
        "jsonl": Format(
            'A sentence a line: `{"word": ["The", "dog"]}`, or a list of tokens `[{"word": "The"}, …]`.',
            "data jsonl(word, chunk)\nlabel chunk\nclique chunk: word",
            'data jsonl(temp: float, y, missing = "")\nlabel y\nclique y: temp',
            options=_MISSING,
        ),
        "csv": Format(
            'A token a row below a row of names, by which columns are found; others are left alone. `column("Word '
            'form")` is the column of that name, where it is no plain word. Quotes enclose cells as in RFC 4180. A '
            "blank row, or one of separators alone, ends a sentence; so does a new value in the column `sentence`, "
            "where an empty cell continues the sentence above. `tag` adds columns `predicted_NAME`.",
            'data csv(word = column("Word form"), pos, chunk, sentence = "sentence_id")\nlabel chunk\n'
            "clique chunk: word",
            'data csv(temp: float, y, sentence = "id", separator = ";", quote = "none", decimal = ",", missing = "")\n'
            "label y\nclique y: temp",
            keyed=("column",),
            options=_CSV,
        ),
        "tsv": Format(
            "Like `csv`, split by TABs and without quotes, because a quote mark is a token of many corpora. Files of "
            'spreadsheets, which enclose cells, need `quote = "\\""`.',
            "data tsv(word, pos, chunk)\nlabel chunk\nclique chunk: word",
            'data tsv(temp: float, y, sentence = "id", separator = "|", quote = "\\"", decimal = ",", missing = "NA")\n'
            "label y\nclique y: temp",
            keyed=("column",),
            options=_TSV,
        ),
        "spans": Format(
            "Running texts with labelled spans of characters, as JSON lines: "
            '`{"text": "Ann ran", "label": [[0, 3, "PER"]]}`, and as spaCy, Prodigy and Label Studio write them. A '
            "text is one sequence. The source `token` is the token, `spans` the mark of its segment, in the scheme of "
            "the label; `start` and `end` are its offsets, and `space` says `yes` or `no` to white space before it. "
            '`spans("KEY")` reads the list under that key. `tag` writes spans.',
            'data spans(word = token, ner = spans, tokenizer = "words")\nlabel ner in bio(PER, LOC)\n'
            "clique ner: word",
            'data spans(word = token, ner = spans("labels"), tokenizer = "whitespace", misaligned = "widen",\n'
            '           overlapping = "longest", offsets = "utf16", style = "spacy", predictions = "apart")\n'
            "label ner in bio(PER, LOC)\nclique ner: word",
            sources=("token", "spans", "start", "end", "space"),
            keyed=("spans",),
            options=_SPANS,
            synonyms={"word": "token", "form": "token", "text": "token", "label": "spans", "entities": "spans"},
        ),
        "parquet": Format(
            "Apache Parquet, with the package `pyarrow`, the extra `parquet`. Where the columns are "
            "lists, a row is a sentence; else a row is a token, and `sentence` names the column that tells sentences "
            "apart. Class numbers that the file names are read as names. `tag` writes Parquet, with columns "
            "`predicted_NAME`.",
            "data parquet(word = tokens, ner = ner_tags)\nlabel ner\nclique ner: word",
            'data parquet(temp: float, y, sentence = "id", missing = "")\nlabel y\nclique y: temp',
            keyed=("column",),
            options={"sentence": _SENTENCE, **_MISSING},
        ),
        "npz": Format(
            "An archive of NumPy's arrays, as `numpy.savez` writes it, with an array of texts or numbers for each "
            "column: of all tokens in turn, [N] or [N, K], or of sentences that are padded to one length, [S, T] or "
            "[S, T, K]. `lengths` [S] has the number of tokens of each sentence. `tag` writes an archive of `lengths` "
            "and texts `predicted_NAME`.",
            "data npz(logits: scores(tag), tag)\nlabel tag in bio(PER, LOC)\nclique tag: offset(logits)",
            'data npz(temp: float, y, lengths = "tokens", missing = "")\nlabel y\nclique y: temp',
            keyed=("column",),
            options={"lengths": _LENGTHS, **_MISSING},
        ),
        "fasta": Format(
            "A sequence below a line `>name`, as of amino acids or DNA: a character a token. The columns are the lines "
            "of a record in turn, the sequence and then labels, a character each. Without labels, as in data to be "
            "tagged, a sequence may have several lines. `tag` adds lines to the record.",
            "data fasta(aa, topology)\nlabel topology in {i, M, o}\nclique topology: aa[-3..3]\n"
            "clique topology[-1], topology",
        ),
        "grmm": Format(
            "A token a line: labels, `----`, then features, split at blanks, and a blank line after each sentence. "
            "The last column has all features, the others a label each. A line without `----` has no labels, as in "
            "data to be tagged. `tag` writes labels in their places.",
            "data grmm(pos, chunk, marks: bag)\nlabel pos\nlabel chunk\nclique pos: marks\nclique chunk: marks\n"
            "clique pos, chunk",
            last=("bag", "weighted_bag"),
        ),
        "crfsuite": Format(
            "A token a line: its label, then attributes `name` or `name:weight`, split at TABs, and a blank line "
            "after each sentence. A colon in a name is written `\\:`, a backslash `\\\\`. A line to be tagged has "
            "some label, too, such as `_`; `tag` replaces it.",
            "data crfsuite(y, attributes: weighted_bag)\nlabel y\nclique y: attributes\nclique y[-1], y",
            last=("weighted_bag",),
            before=1,
        ),
    },
    {
        "conll-u": "conllu", "ud": "conllu", "json": "jsonl", "iob": "conll", "crfpp": "conll", "conll2000": "conll",
        "conll2003": "conll", "excel": "csv",
    },
)  # fmt: skip
