"""Data rooms: what readers make of texts, what they say of texts that are none, and what writers give back."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dcrfdsl.data import (
    Corpus,
    InternedColumn,
    NumericColumn,
    corpus_from_frame,
    corpus_from_rows,
    read_corpus,
    stream_corpus,
    tagged,
    written_formats,
)
from dcrfdsl.data.formats.format_interface import cut_at_blank_line
from dcrfdsl.data.label_columns import places
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.kernels.extraction.line_scan import ANY_SPACE, BLANK, COMMENT, Cells, intern_cells, lines_and_cells
from dcrfdsl.semantics import load_text
from dcrfdsl.semantics.checks.data_formats import FORMATS
from dcrfdsl.syntax import Column, ColumnType, DataSpec
from dcrfdsl.syntax.nodes import Argument, Text

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def spec(format: str, *columns: str | Column, **options: str) -> DataSpec:
    """`spec("conll", "word", "height: float", "case = feats/Case", comment="#")`"""
    return DataSpec(
        format=format,
        columns=tuple(column if isinstance(column, Column) else _column(column) for column in columns),
        options=tuple(Argument(name=name, value=Text(value=value)) for name, value in options.items()),
    )


def _column(text: str) -> Column:
    name, _, source = text.partition(" = ")
    name, _, typed = name.partition(": ")
    kind, _, size = typed.partition("/")
    source, _, key = source.partition("/")
    column_type = ColumnType(name=kind or "str", size=int(size) if size else None)  # type: ignore[arg-type]
    return Column(name=name, source=source or name, key=key or None, type=column_type)


def sentences(corpus: Corpus) -> list[list[tuple[Any, ...]]]:
    """The corpus as its tokens, column by column in the order of the corpus."""
    columns = [
        [column.text(n) for n in range(corpus.num_tokens)]
        if isinstance(column, InternedColumn)
        else column.values.tolist()
        for column in corpus.columns.values()
    ]
    tokens = list(zip(*columns, strict=True))
    off = corpus.sentence_off.tolist()
    return [tokens[a:b] for a, b in pairwise(off)]


def read(text: str | bytes, data: DataSpec, tmp_path: Path, **kwargs: Any) -> Corpus:
    path = tmp_path / "data.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_corpus(path, data, **kwargs)


WORD_POS = spec("conll", "word", "pos")
TABBED = spec("conll", "word", "pos", separator="\t")
THE_DOG = [[("the", "DT"), ("dog", "NN")]]
TWO = [[("the", "DT")], [("dog", "NN")]]
UD_LINE = "{id}\t{form}\t{form}\t{upos}\t_\t{feats}\t0\troot\t_\t{misc}\n"


def ud(id: str, form: str, upos: str = "X", feats: str = "_", misc: str = "_") -> str:
    return UD_LINE.format(id=id, form=form, upos=upos, feats=feats, misc=misc)


UD = spec("conllu", "word = form", "upos", "case = feats/Case")
JSON = spec("jsonl", "word", "pos")

GOOD = {
    "spaces": (WORD_POS, "the DT\ndog NN\n", THE_DOG),
    "runs of white space": (WORD_POS, " the \t DT \ndog\v\fNN\n", THE_DOG),
    "no final newline": (WORD_POS, "the DT\ndog NN", THE_DOG),
    "windows": (WORD_POS, "the DT\r\ndog NN\r\n\r\n", THE_DOG),
    "byte order mark": (WORD_POS, "\ufeffthe DT\ndog NN\n", THE_DOG),
    "blank line": (WORD_POS, "the DT\n\ndog NN\n", TWO),
    "line of white space": (WORD_POS, "the DT\n \t\r\ndog NN\n", TWO),
    "many blank lines": (WORD_POS, "\n\n\nthe DT\n\n\n\ndog NN\n\n\n", TWO),
    "hash is a token": (WORD_POS, "# #\n1 CD\n", [[("#", "#"), ("1", "CD")]]),
    "comments when asked": (spec("conll", "word", "pos", comment="#"), "# a b c\nthe DT\n#\ndog NN\n", THE_DOG),
    "long comment mark": (spec("conll", "word", "pos", comment="//"), "//\n/ SYM\n", [[("/", "SYM")]]),
    "no-break space is no white space": (
        WORD_POS,
        "10\u00a0000 CD\n\u3000 SP\n",
        [[("10\u00a0000", "CD"), ("\u3000", "SP")]],
    ),
    "not ascii": (WORD_POS, "ağaç NN\n𝔘 SYM\n", [[("ağaç", "NN"), ("𝔘", "SYM")]]),
    "tabs only": (TABBED, "New York\tNNP\r\n\tX\r\n", [[("New York", "NNP"), ("", "X")]]),
    "tabs only: blank line": (TABBED, "the\tDT\n \t \ndog\tNN\n", TWO),
    "comma": (spec("conll", "word", "pos", separator=","), "the,DT\ndog,NN", THE_DOG),
    "numbers": (spec("conll", "h: float", "n: int"), "1.5 2\n-1e3 -7\n", [[(1.5, 2.0), (-1000.0, -7.0)]]),
    "vector": (spec("conll", "w", "v: vector/2"), "a 1,2\nb 0.5,-1\n", [[("a", [1.0, 2.0]), ("b", [0.5, -1.0])]]),
    "bag": (spec("conll", "w: bag", "y", separator="\t"), "x y\tA\n", [[("x y", "A")]]),
    "conllu": (
        UD,
        "# text = x\n" + ud("1", "New York", "PROPN", "A=B|Case=Nom") + ud("2", "is", "AUX") + "\n" + ud("1", "!"),
        [[("New York", "PROPN", "Nom"), ("is", "AUX", "_")], [("!", "X", "_")]],
    ),
    "conllu: ranges and empty nodes": (
        UD,
        ud("1-2", "vámonos") + ud("1", "vamos") + ud("1.1", "?") + ud("2", "nos") + ud("0.1", "?"),
        [[("vamos", "X", "_"), ("nos", "X", "_")]],
    ),
    "conllu: values of a key stay together": (UD, ud("1", "a", feats="Case=Acc,Nom"), [[("a", "X", "Acc,Nom")]]),
    "conllu: other keys that end alike": (UD, ud("1", "a", feats="NoCase=Acc"), [[("a", "X", "_")]]),
    "conllu: windows": (UD, (ud("1", "a") + ud("2", "b")).replace("\n", "\r\n"), [[("a", "X", "_"), ("b", "X", "_")]]),
    "jsonl": (JSON, '{"word": ["the", "dog"], "pos": ["DT", "NN"], "id": 7}', THE_DOG),
    "jsonl: tokens": (JSON, '[{"word": "the", "pos": "DT"}, {"pos": "NN", "word": "dog"}]\n', THE_DOG),
    "jsonl: rows": (JSON, '[["the", "DT"], ["dog", "NN"]]\n', THE_DOG),
    "jsonl: lines": (JSON, '\n{"word": ["the"], "pos": ["DT"]}\r\n  \n[{"word": "dog", "pos": "NN"}]\n', TWO),
    "jsonl: no token": (JSON, '{"word": [], "pos": []}\n[]\n{"word": ["the"], "pos": ["DT"]}', TWO[:1]),
    "jsonl: white space in texts": (JSON, '{"word": ["a b\\n"], "pos": [""]}', [[("a b\n", "")]]),
    "jsonl: renamed": (spec("jsonl", "word = form"), '{"form": ["a"]}', [[("a",)]]),
    "jsonl: numbers": (
        spec("jsonl", "h: float", "n: int", "v: vector/2"),
        '{"h": [0.1, "2.5"], "n": [3, -4], "v": [[1, 2], [0.25, 1e3]]}',
        [[(0.1, 3.0, [1.0, 2.0]), (2.5, -4.0, [0.25, 1000.0])]],
    ),
    "jsonl: bag": (spec("jsonl", "w: bag"), '{"w": [["x", "y"], "z"]}', [[("x y",), ("z",)]]),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_text_reads_as_these_sentences(name: str, tmp_path: Path) -> None:
    data, text, expected = GOOD[name]
    assert sentences(read(text, data, tmp_path)) == expected


@pytest.mark.parametrize("name", GOOD)
def test_a_stream_of_single_sentences_is_the_same_text(name: str) -> None:
    data, text, expected = GOOD[name]
    chunks = list(stream_corpus(io.BytesIO(text.encode()), data, tokens_per_chunk=1))
    assert [sentence for chunk in chunks for sentence in sentences(chunk.corpus) if chunk.corpus.num_tokens] == expected
    assert b"".join(chunk.block.bom + chunk.block.text for chunk in chunks) == text.encode()


NUMBERS = spec("conll", "word", "height: float")
BAD: dict[str, tuple[DataSpec, bytes, str, str, str]] = {
    # name: (data, bytes, slug, place behind the file's name, words of the message)
    "too few": (WORD_POS, b"a B\n\nc D\ne\n", "column-count", ":4", "has 1 column, expected 2 (`word pos`)"),
    "too many": (WORD_POS, b"a B C\n", "column-count", ":1", "line 1 has 3 columns, expected 2"),
    "a comment": (WORD_POS, b"# a comment\n", "column-count", ":1", 'declare `comment = "#"`'),
    "spaces in a cell": (WORD_POS, b"New York\tNNP\n", "column-count", ":1", 'declare `separator = "\\t"`'),
    "no tabs": (TABBED, b"the DT\n", "column-count", ":1", "leave `separator` out"),
    "nul": (WORD_POS, b"a B\nc \0D\n", "binary-file", ":2:3", "is a binary file (byte 0x00 in line 2)"),
    "gzip": (WORD_POS, b"\x1f\x8b\x08\x01 x\n", "binary-file", ":1:2", "is a binary file"),
    "latin-1": (WORD_POS, "a B\n\nça D\n".encode("latin-1"), "not-utf8", ":3:1", "byte 1 of line 3 is 0xe7"),
    "utf-16": (WORD_POS, "a B\n".encode("utf-16"), "not-utf8", ":1", "iconv -f UTF-16"),
    "half a character": (WORD_POS, b"a B\xc3", "not-utf8", ":1:4", "is 0xc3, which is not UTF-8"),
    "no number": (NUMBERS, b"a 1\nb x\n", "bad-value", ":2", "column `height`: found `x`, expected a number"),
    "nan": (NUMBERS, b"a nan\n", "bad-value", ":1", "found `nan`, expected a finite number"),
    "no integer": (spec("conll", "n: int"), b"1\n\n1.5\n", "bad-value", ":3", "found `1.5`, expected a whole number"),
    "short vector": (spec("conll", "v: vector/3"), b"1,2\n", "bad-value", ":1", "found 2 numbers in `1,2`, expected 3"),
    "conllu columns": (UD, b"# x\n1\ta\n", "column-count", ":2", "line 2 has 2 columns, expected the 10"),
    "conllu spaces": (
        UD,
        ud("1", "a").replace("\t", " ").encode(),
        "column-count",
        ":1",
        "columns are split by one TAB",
    ),
    "conllu id": (UD, (ud("1", "a") + ud("x", "b")).encode(), "bad-id", ":2", "`x` is no token number"),
    "conllu empty": (UD, (ud("1", "a") + ud("2", "")).encode(), "empty-cell", ":2", "nothing in column `form`"),
    "json": (JSON, b'\n{"word": ["a"], pos: 1}\n', "bad-json", ":2:17", "not JSON"),
    "json text": (JSON, b"the DT\n", "bad-json", ":1:1", "one sentence a line"),
    "json scalar": (JSON, b"3\n", "bad-sentence", ":1", "found `3`, expected a sentence"),
    "json depth": (JSON, b"[" * 100_000, "bad-json", ":1", "nested too deeply"),
    "json digits": (JSON, b"[" + b"1" * 5000 + b"]", "bad-json", ":1", "a number of thousands of digits"),
    "json key": (JSON, b'{"word": ["a"]}\n', "missing-column", ":1", "column `pos` missing"),
    "json later key": (JSON, b'[["a", "b"]]\n{"word": ["a"]}\n', "missing-column", ":2", "column `pos` missing"),
    "json token key": (JSON, b'[{"word": "a", "pos": "b"}, {"word": "a"}]', "missing-column", ":1", "`pos` missing"),
    "json lengths": (JSON, b'{"word": ["a"], "pos": ["b", "c"]}', "bad-sentence", ":1", "`word` has 1, `pos` has 2"),
    "json number": (JSON, b'{"word": ["a", 3], "pos": ["b", "c"]}', "bad-value", ":1", "found `3`, expected a text"),
    "json text column": (JSON, b'{"word": "a", "pos": ["b"]}', "bad-sentence", ":1", "found `'a'`, expected a list"),
    "json null": (JSON, b"[null]", "bad-sentence", ":1", "found `null`, expected a token"),
    "json row": (JSON, b'[["a", "b"], ["c"]]', "column-count", ":1", "found a token of 1, expected 2 values"),
    "json mixture": (JSON, b'[["a", "b"], {"word": "c"}]', "bad-sentence", ":1", "expected a token"),
    "json bool": (spec("jsonl", "h: float"), b'{"h": [true]}', "bad-value", ":1", "found `true`, expected a number"),
    "json null text": (JSON, b'[["a", null]]', "bad-value", ":1", "found `null`, expected a text"),
    "json infinity": (spec("jsonl", "h: float"), b'{"h": [1e999]}', "bad-value", ":1", "expected a finite number"),
    "half a surrogate pair": (JSON, b'[["\\ud800", "b"]]', "bad-value", ":1", "half a surrogate pair"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_one_message_with_its_place(name: str, tmp_path: Path) -> None:
    data, text, slug, place, words = BAD[name]
    with pytest.raises(DcrfError) as caught:
        read(text, data, tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.slug, diagnostic.location) == (slug, f"{tmp_path / 'data.txt'}{place}")
    assert words in str(caught.value)


@pytest.mark.parametrize(("text", "encoding"), [("é D\n".encode("latin-1"), "ISO-8859-1"), (b"\xff\xfea\0", "UTF-16")])
def test_the_remedy_for_another_encoding_works_in_a_shell(
    text: bytes, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a 'b' $c.txt"
    path.write_bytes(text)
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, WORD_POS)
    command, _, target = (caught.value.diagnostics[0].help or "").partition(": ")[2].partition(" > ")
    assert shlex.split(command) == ["iconv", "-f", encoding, "-t", "UTF-8", str(path)] and target == "converted.txt"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    with pytest.raises(DcrfError) as caught:
        read_corpus("-", WORD_POS)
    assert (caught.value.diagnostics[0].help or "").endswith(f": … | iconv -f {encoding} -t UTF-8 | dcrfdsl …")


def test_a_line_that_holds_a_sentence_is_named_once() -> None:
    corpus = corpus_from_rows([[("a", "B"), ("c", "D")], [("e", "F")]], WORD_POS)
    assert [places(corpus, np.array(tokens)) for tokens in ([0], [0, 1], [0, 1, 2])] == [
        "line 1",
        "line 1",
        "lines 1, 2",
    ]


BAD_DECLARATIONS = {
    "format": (spec("conl", "word"), "did you mean `conll`?"),
    "option": (spec("conll", "word", seperator="\t"), "did you mean `separator`?"),
    "separator": (spec("conll", "word", separator="::"), "expected one character"),
    "comment": (spec("conll", "word", comment=""), "expected the start of a comment line"),
    "option of conllu": (spec("conllu", "form", comment="#"), "`conllu` has no option `comment`"),
    "conllu column": (spec("conllu", "word"), "did you mean `word = form`?"),
    "conllu key": (spec("conllu", "x = deps/Y"), "only `feats` and `misc` have keys"),
    "jsonl key": (spec("jsonl", "x = feats/Y"), "`jsonl` has no keys"),
}


@pytest.mark.parametrize("name", BAD_DECLARATIONS)
def test_a_declaration_that_no_reader_knows_is_refused(name: str, tmp_path: Path) -> None:
    data, words = BAD_DECLARATIONS[name]
    with pytest.raises(DcrfError) as caught:
        read("a\n", data, tmp_path)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["missing.txt", ".", "a\0b"])
def test_a_path_that_is_no_file_is_one_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(DcrfError) as caught:
        read_corpus(f"{tmp_path}/{name}", WORD_POS)
    assert caught.value.diagnostics[0].slug == "file-error"


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the DT\ndog NN\n")))
    corpus = read_corpus("-", WORD_POS)
    assert (corpus.file, sentences(corpus)) == ("<stdin>", THE_DOG)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"the DT\n")
    os.close(writing)
    with open(reading, "rb") as stream:
        assert sentences(next(stream_corpus(stream, WORD_POS)).corpus) == [[("the", "DT")]]


# labels that may be absent ------------------------------------------------------------------------------------------

THREE = {"conll": spec("conll", "pos", "word", "chunk"), "jsonl": spec("jsonl", "pos", "word", "chunk")}
LABELLED = {
    "conll": "DT the O\n\nNN dog B\n",
    "jsonl": '[["DT", "the", "O"]]\n{"pos": ["NN"], "word": ["dog"], "chunk": ["B"]}',
}
BARE = {"conll": "the\n\ndog\n", "jsonl": '{"word": ["the"]}\n["dog"]'}
HALF = {"conll": "DT the\n", "jsonl": '{"pos": ["DT"], "word": ["the"]}'}
MIXED = {"conll": "the\n\nNN dog B\n", "jsonl": '[["DT", "the", "O"]]\n{"word": ["dog"]}'}
TURNED = {"conll": "NN dog B\n\nthe\n", "jsonl": '["the"]\n[["NN", "dog", "B"]]'}
LABELS = ("pos", "chunk")


@pytest.mark.parametrize("format", THREE)
def test_a_file_has_all_labels_or_none(format: str, tmp_path: Path) -> None:
    data = THREE[format]
    full = read(LABELLED[format], data, tmp_path, optional=LABELS)
    assert sentences(full) == [[("DT", "the", "O")], [("NN", "dog", "B")]]
    bare = read(BARE[format], data, tmp_path, optional=LABELS)
    assert (list(bare.columns), sentences(bare)) == (["word"], [[("the",)], [("dog",)]])
    for text in (HALF[format], MIXED[format], TURNED[format]):
        with pytest.raises(DcrfError):
            read(text, data, tmp_path, optional=LABELS)


@pytest.mark.parametrize(
    ("format", "text", "required", "optional", "words"),
    [
        (
            "conll",
            BARE["conll"],
            LABELS,
            (),
            "columns `pos`, `chunk` missing: found 1 column, expected `pos word chunk`",
        ),
        ("conll", BARE["conll"], ("chunk",), LABELS, "column `chunk` missing"),
        ("jsonl", BARE["jsonl"], ("chunk",), LABELS, "`chunk` missing: this line has `word`"),
        ("jsonl", HALF["jsonl"], LABELS, (), "column `chunk` missing: this line has `pos` `word`"),
        ("conll", LABELLED["conll"], ("chunks",), (), "did you mean `chunk`?"),
    ],
)
def test_a_label_that_training_needs_is_named(
    format: str, text: str, required: Sequence[str], optional: Sequence[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(DcrfError) as caught:
        read(text, THREE[format], tmp_path, required=required, optional=optional)
    assert caught.value.diagnostics[0].slug == "missing-column"
    assert words in str(caught.value)


# what a corpus is -----------------------------------------------------------------------------------------------------


def test_values_are_distinct_and_in_order_of_appearance(tmp_path: Path) -> None:
    corpus = read("b X\na X\nb Y\n\nc X\n", WORD_POS, tmp_path)
    word = corpus.text_column("word")
    assert (list(word.values), word.codes.tolist()) == (["b", "a", "c"], [0, 1, 0, 2])
    assert word.codes.dtype == np.int32
    assert corpus.token_line.tolist() == [1, 2, 3, 5]
    assert corpus.sentence_off.tolist() == [0, 3, 4]


def test_a_number_column_is_an_array(tmp_path: Path) -> None:
    corpus = read("a 1,2,3\n", spec("conll", "w", "v: vector/3"), tmp_path)
    column = corpus.columns["v"]
    assert isinstance(column, NumericColumn)
    assert column.values.shape == (1, 3)
    assert column.values.dtype == np.float64


def test_a_repeated_key_is_said_once_and_its_first_value_counts(tmp_path: Path) -> None:
    text = ud("1", "a", feats="Case=Nom|Case=Acc") + ud("2", "b", feats="Case=Gen|Case=Acc")
    corpus = read(text, UD, tmp_path)
    assert sentences(corpus) == [[("a", "X", "Nom"), ("b", "X", "Gen")]]
    (warning,) = corpus.warnings
    assert "data.txt:1: `Case` comes more than once in `Case=Nom|Case=Acc`" in warning


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ('c = feats("Csae")', "the key `Csae` in FEATS, so `c` is `_` everywhere; did you mean `Case`? "
         "FEATS has `Case`, `Number`"),
        ('c = feats("case")', "did you mean `Case`?"),
        ('n = misc("Gloss")', "the key `Gloss` in MISC, so `n` is `_` everywhere; MISC has `SpaceAfter`"),
    ],
)  # fmt: skip
def test_a_key_that_no_token_has_is_said_with_those_that_are_there(column: str, says: str, tmp_path: Path) -> None:
    text = ud("1", "a", feats="Case=Nom", misc="SpaceAfter=No") + ud("2", "b", feats="Number=Sing")
    data = load_text(f"data conllu(form, upos, {column})\n").spec.data
    assert data is not None
    (warning,) = read(text, data, tmp_path).warnings
    assert says in warning
    assert not read(text, UD, tmp_path).warnings
    assert "MISC has no key at all" in read(ud("1", "a"), data_of_misc(), tmp_path).warnings[0]


def data_of_misc() -> DataSpec:
    data = load_text('data conllu(form, n = misc("Gloss"))\n').spec.data
    assert data is not None
    return data


def test_sentences_of_any_length_cross_the_blocks_of_a_file(tmp_path: Path) -> None:
    """More than one block of 2 MiB, cut in the middle of nothing: counted by another rule."""
    lengths = [1, 7, 200_000, 3, 150_000, 1]
    text = "\n".join("".join(f"w{n % 1000} T\n" for n in range(length)) for length in lengths)
    corpus = read(text, WORD_POS, tmp_path)
    assert corpus.lengths().tolist() == lengths
    assert len(corpus.text_column("word").values) == 1000
    assert corpus.text_column("word").text(8 + 199_999) == "w999"
    assert corpus.token_line[-1] == text.count("\n")


def test_a_block_of_many_distinct_cells_reads_back(tmp_path: Path) -> None:
    """More of them than a table of numbers begins with, the first and the last once more at the end."""
    words = [f"w{n}" for n in range(10_000)] + ["w0", "w9999"]
    corpus = read("".join(f"{word} T\n" for word in words), WORD_POS, tmp_path)
    assert [corpus.text_column("word").text(n) for n in range(len(words))] == words
    assert len(corpus.text_column("word").values) == 10_000


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("length", [1, 30_000])
def test_a_block_is_cut_after_its_last_blank_line(ending: str, length: int) -> None:
    """Also where the sentence after it is longer than the part of the block that is looked through first."""
    head, tail = f"a T{ending}{ending}b T{ending}{ending}", f"c T{ending}" * length
    assert cut_at_blank_line((head + tail).encode()) == len(head)


def test_a_stream_holds_a_bounded_part_of_the_file() -> None:
    chunks = [
        len(c.block.text) for c in stream_corpus(io.BytesIO(b"word TAG\n\n" * 50_000), WORD_POS, tokens_per_chunk=1000)
    ]
    assert len(chunks) > 20
    assert max(chunks) <= 2 * 1000 * 16


@pytest.mark.parametrize(
    ("file", "data", "num_sentences", "num_tokens", "distinct"),
    [
        ("conll2000/train.txt", spec("conll", "word", "pos", "chunk"), 8_936, 211_727, {"pos": 44, "chunk": 22}),
        ("conll2002/esp.train", spec("conll", "word", "pos", "ner"), 8_323, 264_715, {"ner": 9}),
        ("ud_english_ewt/en_ewt-ud-dev.conllu", UD, 2_001, 25_147, {"upos": 17}),
    ],
)
def test_real_data_have_their_published_counts(
    file: str, data: DataSpec, num_sentences: int, num_tokens: int, distinct: dict[str, int]
) -> None:
    if not (SHARED / file).exists():
        pytest.skip(f"{file} is not beside this repository")
    corpus = read_corpus(SHARED / file, data)
    assert (corpus.num_sentences, corpus.num_tokens) == (num_sentences, num_tokens)
    assert {name: len(corpus.text_column(name).values) for name in distinct} == distinct


# data in memory -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        [("the", "DT"), ("dog", "NN")],
        [["the", "DT"], ["dog", "NN"]],
        [{"word": "the", "pos": "DT"}, {"pos": "NN", "word": "dog"}],
        {"word": ["the", "dog"], "pos": np.array(["DT", "NN"])},
    ],
)
def test_rows_of_every_shape_are_the_same_corpus(sentence: Any) -> None:
    corpus = corpus_from_rows([sentence, [], sentence], WORD_POS)
    assert sentences(corpus) == THE_DOG * 2
    assert corpus.token_line.tolist() == [1, 1, 3, 3]


def test_rows_may_be_bare_words_and_numbers() -> None:
    data = spec("conll", "word", "h: float", "y")
    assert sentences(corpus_from_rows([[("a", np.float32(0.5))]], data, optional=["y"])) == [[("a", 0.5)]]
    assert sentences(corpus_from_rows([["a", "b"]], spec("conll", "word"))) == [[("a",), ("b",)]]


def test_rows_that_do_not_fit_name_their_sentence() -> None:
    with pytest.raises(DcrfError) as caught:
        corpus_from_rows([[("the", "DT")], [("dog",)]], WORD_POS)
    assert caught.value.diagnostics[0].location == "<rows>:2"


def test_a_frame_is_cut_where_the_sentence_changes() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sentence": [4, 4, 9], "word": ["a", "b", "c"], "h": [1, 2, 3], "more": [0, 0, 0]})
    corpus = corpus_from_frame(frame, spec("conll", "word", "h: int", "y"), optional=["y"])
    assert sentences(corpus) == [[("a", 1.0), ("b", 2.0)], [("c", 3.0)]]
    assert corpus.token_line.tolist() == [1, 2, 3]


BAD_FRAMES = {
    "split sentence": ({"sentence": [1, 2, 1], "word": ["a", "b", "c"]}, "sort the frame"),
    "no sentence": ({"word": ["a"], "n": [1]}, 'share: `sentence="NAME"` (it has `word` `n`)'),
    "other name": ({"word": ["a"], "sentences": [1]}, 'share: `sentence="sentences"`'),
    "row of no sentence": ({"sentence": [1, float("nan")], "word": ["a", "b"]}, "row 2 belongs to no sentence"),
    "no column": ({"sentence": [1], "w": ["a"]}, "column `word` missing"),
    "no text": ({"sentence": [1, 1], "word": ["a", None]}, "expected a text"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_frame_that_does_not_fit_is_one_message(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    columns, words = BAD_FRAMES[name]
    with pytest.raises(DcrfError) as caught:
        corpus_from_frame(pandas.DataFrame(columns, dtype=object), spec("conll", "word"))
    assert words in str(caught.value)


# writing --------------------------------------------------------------------------------------------------------------

CHUNK = {"chunk": ["B", "I"]}
WRITTEN: dict[str, tuple[DataSpec, str, dict[str, Any], str]] = {
    "spaces": (WORD_POS, "the DT\ndog NN\n\n", CHUNK, "the DT B\ndog NN I\n\n"),
    "tabs": (WORD_POS, "the\tDT\ndog\tNN \n", CHUNK, "the\tDT\tB\ndog\tNN\tI\n"),
    "ends": (WORD_POS, "\ufeff\r\nthe DT \r\n\r\ndog NN", CHUNK, "\ufeff\r\nthe DT B\r\n\r\ndog NN I"),
    "comments": (spec("conll", "w", "p", comment="#"), "# x\na b\n#\nc d\n# y", CHUNK, "# x\na b B\n#\nc d I\n# y"),
    "tabs only": (TABBED, "New York\t\r\nb\tc\n", CHUNK, "New York\t\tB\r\nb\tc\tI\n"),
    "order, numbers": (WORD_POS, "a b\nc d\n", {**CHUNK, "p": [0.5, 1 / 3]}, "a b B 0.5\nc d I 0.333333\n"),
    "no predictions": (WORD_POS, "the DT\n", {}, "the DT\n"),
    "conllu": (
        UD,
        "# x\n" + ud("1-2", "ab") + ud("1", "a") + ud("2", "b", misc="A=1|chunk=O|SpaceAfter=No") + ud("2.1", "c"),
        {"chunk": ["B|\\", "I"], "upos": ["X", "Y"]},
        "# x\n"
        + ud("1-2", "ab")
        + ud("1", "a", misc=r"chunk=B\p\\")
        + ud("2", "b", "Y", misc="A=1|chunk=I|SpaceAfter=No")
        + ud("2.1", "c"),
    ),
    "jsonl": (
        JSON,
        '\n{"id": 1.50, "word": ["ş"], "pos": ["x"]}\r\n{"word": [], "pos": []}\n[{"word": "b", "pos": "y"}]',
        {"chunk": ["B", "I"], "p": np.array([0.5, 1.0])},
        '\n{"id": 1.5, "word": ["ş"], "pos": ["x"], "predicted": {"chunk": ["B"], "p": [0.5]}}\r\n'
        '{"word": [], "pos": [], "predicted": {"chunk": [], "p": []}}\n'
        '[{"word": "b", "pos": "y", "predicted": {"chunk": "I", "p": 1.0}}]',
    ),
    "jsonl: rows": (JSON, '[["a", "b"], ["c", "d"]]', CHUNK, '[["a", "b", "B"], ["c", "d", "I"]]'),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_predictions_stand_beside_their_lines(name: str) -> None:
    data, text, predictions, expected = WRITTEN[name]
    written, done = b"", 0
    for chunk in stream_corpus(io.BytesIO(text.encode()), data):
        end = done + chunk.corpus.num_tokens
        written += tagged(chunk, {label: values[done:end] for label, values in predictions.items()})
        done = end
    assert written.decode() == expected


def test_the_last_comments_of_a_file_are_written_too() -> None:
    data = spec("conll", "w", comment="#")
    chunks = stream_corpus(io.BytesIO(b"a\n\n# end\n"), data, tokens_per_chunk=1)
    assert b"".join(tagged(c, {"y": ["Y"] * c.corpus.num_tokens}) for c in chunks) == b"a Y\n\n# end\n"


def test_data_are_converted_to_every_format_but_two() -> None:
    assert written_formats() == [name for name in FORMATS if name not in ("fasta", "grmm")]


# laws -----------------------------------------------------------------------------------------------------------------

cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\0"), min_size=1, max_size=5)
rows = st.lists(st.lists(st.tuples(cell, cell), min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.mark.long
@given(rows, st.sampled_from([" ", "\t", " \t"]), st.sampled_from(["\n", "\r\n"]), st.integers(1, 3))
def test_what_is_written_as_columns_is_read_again(given: Any, gap: str, end: str, chunk: int) -> None:
    text = (end + end).join(end.join(gap.join(token) for token in sentence) for sentence in given)
    chunks = list(stream_corpus(io.BytesIO(("x y" + end + end + text).encode()), WORD_POS, tokens_per_chunk=chunk))
    assert [sentence for c in chunks if c.corpus.num_tokens for sentence in sentences(c.corpus)] == [
        [("x", "y")],
        *given,
    ]


@pytest.mark.long
@given(
    st.lists(
        st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.text("ab")), max_size=3), min_size=1
    )
)
def test_what_is_written_as_json_is_read_again(given: Any) -> None:
    text = "".join(json.dumps({"word": [w for w, _ in s], "pos": [p for _, p in s]}) + "\n" for s in given)
    full = [sentence for sentence in given if sentence]
    if full:
        (chunk,) = stream_corpus(io.BytesIO(text.encode()), JSON)
        assert sentences(chunk.corpus) == full


ANYTHING = st.one_of(
    st.binary(max_size=60),
    st.text("ab #\t\n\r \u00a0é-1.2_=|", max_size=80).map(str.encode),
    st.lists(st.sampled_from([ud("1", "a"), ud("1-2", "b", feats="Case=|Case"), "\n", "#\t\n", "\t\n"])).map(
        lambda lines: "".join(lines).encode()
    ),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["word", "pos", "n"]), inner),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)  # fmt: skip
ANY_SPEC = st.sampled_from(
    [
        WORD_POS,
        TABBED,
        UD,
        JSON,
        spec("conll", "n: float", comment="#"),
        spec("jsonl", "word: bag", "n: vector/2", "pos: int"),
    ]
)


@pytest.mark.long
@given(ANYTHING, ANY_SPEC, st.sampled_from([(), ("pos",)]))
def test_any_bytes_are_a_corpus_or_a_message(text: bytes, data: DataSpec, optional: tuple[str, ...]) -> None:
    """And a corpus goes back to the bytes that it came from, but for what was written."""
    try:
        chunks = list(stream_corpus(io.BytesIO(text), data, tokens_per_chunk=1, optional=optional))
    except DcrfError as error:
        assert len(error.diagnostics) == 1
        return
    assert b"".join(tagged(chunk, {}) for chunk in chunks) == text
    for chunk in chunks:
        num_tokens = chunk.corpus.num_tokens
        assert all(
            len(column.codes) == num_tokens
            for column in chunk.corpus.columns.values()
            if isinstance(column, InternedColumn)
        )
        lines = chunk.block.text.decode().split("\n")
        written = tagged(chunk, {"y": ["Y"] * num_tokens})[len(chunk.block.bom) :].decode().split("\n")
        touched = {n for n, (old, new) in enumerate(zip(lines, written, strict=True)) if old != new}
        assert touched.issuperset((chunk.corpus.token_line - chunk.block.first_line).tolist())


@given(
    st.binary(max_size=60).map(lambda raw: raw.translate(bytes(b"ab \t\r\n#,"[n % 8] for n in range(256)))),
    st.booleans(),
)
def test_the_compiled_scanner_is_the_plain_one(text: bytes, tabs: bool) -> None:
    data = np.frombuffer(text, np.uint8)
    found = Cells(*lines_and_cells(data, 9 if tabs else ANY_SPACE, np.frombuffer(b"#", np.uint8)))
    cells, counts = [], []
    for line in text.removesuffix(b"\n").split(b"\n") if text else []:
        own = line.removesuffix(b"\r").split(b"\t") if tabs else line.split()
        own = own if line.strip() and not line.startswith(b"#") else []
        counts.append(COMMENT if line.startswith(b"#") else len(own) or BLANK)
        cells += own
    assert found.line_cells.tolist() == counts
    assert [text[a:b] for a, b in zip(found.start, found.end, strict=True)] == cells
    codes, first = intern_cells(data, found.start, found.end)
    distinct = list(dict.fromkeys(cells))
    assert codes.tolist() == [distinct.index(c) for c in cells]
    assert [cells[n] for n in first] == distinct


def test_importing_the_room_loads_no_engine() -> None:
    """The scanner is compiled code: it is loaded by the first file, not by the import."""
    script = (
        "import sys, dcrfdsl.data; print([m for m in ('numba', 'scipy', 'pandas', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
