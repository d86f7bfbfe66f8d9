"""CSV and TSV: what is read, what is refused and where, and what `tag` adds. Python's csv module is the reference."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from dcrfdsl.data import Corpus, TaggedOutput, read_corpus, repeated, stream_corpus
from dcrfdsl.data.formats.delimited_rows import Dialect, RowTable
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec


def data_of(statement: str) -> DataSpec:
    data = load_text(f"data {statement}\n").spec.data
    assert data is not None
    return data


def sentences(corpus: Corpus) -> list[list[tuple[Any, ...]]]:
    columns = [
        [column.text(n) for n in range(corpus.num_tokens)] if hasattr(column, "text") else column.values.tolist()
        for column in corpus.columns.values()
    ]
    tokens = list(zip(*columns, strict=True))
    return [tokens[a:b] for a, b in pairwise(corpus.sentence_off.tolist())]


CSV = "csv(word, pos)"
THE_DOG = [[("the", "DT"), ("dog", "NN")]]
TWO = [[("the", "DT")], [("dog", "NN")]]
GOOD = {
    "plain": (CSV, "word,pos\nthe,DT\ndog,NN\n", THE_DOG),
    "no final newline": (CSV, "word,pos\nthe,DT\ndog,NN", THE_DOG),
    "windows, byte order mark": (CSV, "\ufeffword,pos\r\nthe,DT\r\ndog,NN\r\n", THE_DOG),
    "line ends of both kinds": (CSV, "word,pos\r\nthe,DT\ndog,NN\r\n", THE_DOG),
    "order, other columns": (CSV, "id,pos,note,word\n1,DT,,the\n2,NN,x,dog\n", THE_DOG),
    "blank row": (CSV, "\n\nword,pos\nthe,DT\n\n\ndog,NN\n\n", TWO),
    "row of separators": (CSV, "word,pos\nthe,DT\n,\ndog,NN\n", TWO),
    "row of white space": (CSV, "word,pos\nthe,DT\n \t\r\ndog,NN\n", TWO),
    "blank row behind the names": (CSV, "word,pos\n\nthe,DT\n\ndog,NN\n", TWO),
    "quotes": (CSV, '"word","pos"\n"the","DT"\n"dog",NN\n', THE_DOG),
    "separator, quote and line end in quotes": (
        CSV, 'word,pos\n"a,b","""q"""\n"x\n\ny","\r\n"\n', [[("a,b", '"q"'), ("x\n\ny", "\r\n")]],
    ),
    "quote mark as a token": (CSV, 'word,pos\n"""",PUNCT\n', [[('"', "PUNCT")]]),
    "empty cells": (CSV, 'word,pos\n,DT\n"",""\n', [[("", "DT"), ("", "")]]),
    "white space is kept": (CSV, "word,pos\n the , DT\n", [[(" the ", " DT")]]),
    "not ascii": (CSV, "word,pos\nağaç,𝔘\n", [[("ağaç", "𝔘")]]),
    "semicolon": ('csv(word, pos, separator = ";")', "word;pos\nthe;DT\ndog;NN\n", THE_DOG),
    "names with spaces": (
        'csv(word = column("Word form"), pos = POS)', "Word form,POS\nthe,DT\ndog,NN\n", THE_DOG,
    ),
    "sentence column": ('csv(word, pos, sentence = "s")', "s,word,pos\n1,the,DT\n2,dog,NN\n", TWO),
    "sentence column: empty cells": (
        'csv(word, pos, sentence = "Sentence #")', "Sentence #,word,pos\nSentence: 1,the,DT\n,dog,NN\n", THE_DOG,
    ),
    "sentence column: blank rows too": (
        'csv(word, pos, sentence = "s")', "s,word,pos\n1,the,DT\n\n1,dog,NN\n", TWO,
    ),
    "sentence column that is read": (
        'csv(s, word, sentence = "s")', "s,word\n1,a\n1,b\n2,c\n", [[("1", "a"), ("1", "b")], [("2", "c")]],
    ),
    "numbers": ("csv(w, h: float, v: vector(2))", 'w,h,v\na,1.5,"1,2"\n', [[("a", 1.5, [1.0, 2.0])]]),
    "tsv": ("tsv(word, pos)", "word\tpos\nthe\tDT\ndog\tNN\n", THE_DOG),
    "tsv: quotes are characters": ("tsv(word, pos)", 'word\tpos\n"\t``\nit"s\tX\n', [[('"', "``"), ('it"s', "X")]]),
    "tsv with quotes": ('tsv(word, pos, quote = "\\"")', 'word\tpos\n"a\tb"\tX\n', [[("a\tb", "X")]]),
    "csv without quotes": ('csv(word, pos, quote = "none")', 'word,pos\n",PUNCT\n', [[('"', "PUNCT")]]),
    "no labels": ("csv(word, y)", "word\nthe\n", [[("the",)]]),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 50_000])
@pytest.mark.parametrize("name", GOOD)
def test_a_table_reads_as_these_sentences(name: str, size: int) -> None:
    """Whole, and in chunks of single sentences; every byte belongs to one chunk."""
    data, text, expected = GOOD[name]
    chunks = list(stream_corpus(io.BytesIO(text.encode()), data_of(data), tokens_per_chunk=size, optional=["y"]))
    assert [s for chunk in chunks if chunk.corpus.num_tokens for s in sentences(chunk.corpus)] == expected
    assert b"".join(chunk.block.bom + chunk.block.text for chunk in chunks) == text.encode()


BAD: dict[str, tuple[str, str | bytes, str, str, str]] = {
    # name: (data, text, slug, place behind the file's name, words of the message)
    "no names": (CSV, "the,DT\ndog,NN\n", "missing-column", ":1", "the first row holds the names"),
    "other case": (CSV, "Word,POS\nthe,DT\n", "missing-column", ":1", "did you mean `word = Word`?"),
    "name with a space": (
        "csv(Word)", "Word form\nx\n", "missing-column", ":1", 'did you mean `Word = column("Word form")`?',
    ),
    "space around a name": (CSV, "word, pos\nthe,DT\n", "missing-column", ":1", "the name is ' pos' there"),
    "other separator": (CSV, "word;pos\nthe;DT\n", "missing-column", ":1", 'declare `separator = ";"`'),
    "tabs": (CSV, "word\tpos\nthe\tDT\n", "missing-column", ":1", 'declare `separator = "\\t"`'),
    "a name twice": (CSV, "word,pos,word\na,b,c\n", "bad-header", ":1", "names 2 columns `word`"),
    "names again": (CSV, "word,pos\na,b\nword,pos\n", "bad-header", ":3", "repeats the names"),
    "too many cells": (CSV, "word,pos\na,b\n\n1,000,CD\n", "column-count", ":4", "line 4 has 3 cells"),
    "too few cells": (CSV, "word,pos\na\n", "column-count", ":2", "line 2 has 1 cell, and the first row names 2"),
    "rows behind a quoted line end": (CSV, 'word,pos\n"a\nb",X\nc\n', "column-count", ":4", "line 4 has 1 cell"),
    "quote inside": (CSV, 'word,pos\n5" disk,NN\n', "bad-quote", ":2:1", 'a quote inside the cell `5" disk`'),
    "quote not doubled": (CSV, 'word,pos\nx,"a"b"\n', "bad-quote", ":2:3", 'the quote that closes the cell `"a"`'),
    "text behind a quote": (CSV, 'word,pos\n"a"b,X\n', "bad-quote", ":2:1", "more text behind the quote"),
    "quote never closed": (CSV, 'word,pos\na,b\n"c,d\ne,f\n', "bad-quote", ":3:1", "in line 3 is never closed"),
    "old Mac": (CSV, "word,pos\rthe,DT\r", "bad-line-end", ":1:9", "a carriage return without a line feed"),
    "nul": (CSV, b"word,pos\na,b\n\0,d\n", "binary-file", ":3:1", "is a binary file"),
    "latin-1": (CSV, "word,pos\nça,b\n".encode("latin-1"), "not-utf8", ":2:1", "not UTF-8"),
    "utf-16": (CSV, "word,pos\n".encode("utf-16"), "not-utf8", ":1", "iconv -f UTF-16"),
    "no number": ("csv(w, h: float)", 'w,h\n"a\nb",1\nc,x\n', "bad-value", ":4", "found `x`, expected a number"),
    "no sentence column": (
        'csv(word, sentence = "id")', "word,pos\na,b\n", "missing-column", ":1", "column `id` missing",
    ),
    "rows not sorted": (
        'csv(word, sentence = "s")', "s,word\n1,a\n2,b\n1,c\n", "split-sentence", ":4", "sentence `1` comes again",
    ),
    "an option": ('csv(word, quote = "\'")', "word\na\n", "bad-setting", "", "`quote` of `csv`: expected"),
    "another option": ('csv(word, comment = "#")', "word\na\n", "unknown-setting", "", "no option `comment`"),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 50_000])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_one_message_with_its_place(name: str, size: int, tmp_path: Path) -> None:
    data, text, slug, place, words = BAD[name]
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DcrfError) as caught:
        list(stream_corpus(path, data_of(data), tokens_per_chunk=size))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.slug == slug and words in str(caught.value)
    assert diagnostic.location == (f"{path}{place}" if slug not in ("bad-setting", "unknown-setting") else None)


WARNED = {
    "quote marks as tokens": (CSV, 'word,pos\na,b\n",PUNCT\nc,d\n",PUNCT\n', ":3: a quoted cell begins with a separ"),
    "enclosed cells in tsv": ("tsv(word, pos)", 'word\tpos\n"a"\tb\n', ":2: a cell begins and ends with a quote"),
    "no end of a sentence": (CSV, "word,pos\n" + "a,b\n" * 6000, ":2: a sentence of 6,000 rows"),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_is_most_likely_meant_otherwise_is_said(name: str, tmp_path: Path) -> None:
    data, text, words = WARNED[name]
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8", newline="")
    (warning,) = read_corpus(path, data_of(data)).warnings
    assert warning.startswith(f"{path}{words}")


# writing ------------------------------------------------------------------------------------------------------------


def tagged_text(texts: list[str], data: DataSpec, predictions: dict[str, list[str]], size: int = 50_000) -> str:
    output, parts = TaggedOutput(data), []
    for text in texts:
        done = 0
        for chunk in stream_corpus(io.BytesIO(text.encode()), data, tokens_per_chunk=size, optional=["y"]):
            end = done + chunk.corpus.num_tokens
            columns = {name: values[done:end] for name, values in predictions.items()} if end > done else {}
            parts.append(output.write(chunk, columns))
            done = end
    return b"".join([*parts, output.close()]).decode()


Y = {"y": ["A", "B,C"]}
WRITTEN = {
    "a new column": (CSV, ["word,pos\nthe,DT\ndog,NN\n"], "word,pos,predicted_y\nthe,DT,A\ndog,NN,\"B,C\"\n"),
    "nothing else changes": (
        CSV, ['\ufeffpos,x,word\r\n"D""T", ,the\r\n\r\n,,\r\nNN,"\n",dog'],
        '\ufeffpos,x,word,predicted_y\r\n"D""T", ,the,A\r\n\r\n,,,\r\nNN,"\n",dog,"B,C"',
    ),
    "an earlier prediction": (
        CSV, ["predicted_y,word,pos\nold,the,DT\n,dog,NN\n"], "predicted_y,word,pos\nA,the,DT\n\"B,C\",dog,NN\n",
    ),
    "two files": (
        CSV, ["word,pos\nthe,DT\ndog,NN\n", "word,pos\nthe,DT\ndog,NN\n"],
        'word,pos,predicted_y\nthe,DT,A\ndog,NN,"B,C"\n\nthe,DT,A\ndog,NN,"B,C"\n',
    ),
    "tsv": (
        "tsv(word, pos)", ["word\tpos\nthe\tDT\n\ndog\tNN\n"],
        "word\tpos\tpredicted_y\nthe\tDT\tA\n\ndog\tNN\tB,C\n",
    ),
    "blank rows behind the names": (
        CSV, ["\nword,pos\n\nthe,DT\ndog,NN\n"], '\nword,pos,predicted_y\n\nthe,DT,A\ndog,NN,"B,C"\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 50_000])
@pytest.mark.parametrize("name", WRITTEN)
def test_predictions_are_a_column_more(name: str, size: int) -> None:
    data, texts, expected = WRITTEN[name]
    assert tagged_text(texts, data_of(data), Y, size) == expected


def test_files_of_other_columns_are_not_one_table() -> None:
    with pytest.raises(DcrfError) as caught:
        tagged_text(["word,pos\na,b\nc,d\n", "pos,word\na,b\nc,d\n"], data_of(CSV), Y)
    assert caught.value.diagnostics[0].slug == "bad-header"


def test_a_label_that_no_cell_can_hold_is_refused() -> None:
    with pytest.raises(DcrfError) as caught:
        tagged_text(["word\tpos\na\tb\n"], data_of("tsv(word, pos)"), {"y": ["x\ty"]})
    assert caught.value.diagnostics[0].slug == "unwritable-cell"


@pytest.mark.parametrize("statement", [CSV, 'csv(word, pos, sentence = "s")'])
def test_copies_of_a_sentence_are_sentences(statement: str) -> None:
    """Those of n-best lists: a blank row parts them, also where a column tells sentences apart."""
    text = 's,word,pos\n1,"a\n\nb",X\n1,c,Y\n\n2,d,Z\n\n'
    (chunk,) = stream_corpus(io.BytesIO(text.encode()), data_of(statement))
    copied = repeated(chunk, [2, 1])
    output = TaggedOutput(chunk.data)
    written = output.write(copied, {"y": list("PQRST")}, {"rank": [1, 2, 1]}).decode()
    again = list(stream_corpus(io.BytesIO(written.encode()), data_of(statement)))
    assert [s for c in again for s in sentences(c.corpus)] == [
        [("a\n\nb", "X"), ("c", "Y")], [("a\n\nb", "X"), ("c", "Y")], [("d", "Z")],
    ]  # fmt: skip
    rows = [row for row in csv.reader(io.StringIO(written, newline="")) if row]
    assert rows[0][3:] == ["predicted_y", "predicted_rank"]
    assert [row[3:] for row in rows[1:]] == [["P", "1"], ["Q", "1"], ["R", "2"], ["S", "2"], ["T", "1"]]


# laws: against Python's csv module ----------------------------------------------------------------------------------

cell = st.text(st.sampled_from('ab ,;"\n\té𝔘'), max_size=4)
table = st.lists(st.lists(st.tuples(cell, cell.map("x{}".format)), min_size=1, max_size=3), min_size=1, max_size=4)


@given(table, st.sampled_from(["\n", "\r\n"]), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.integers(1, 4))
@example([[('"', "x")]], "\n", csv.QUOTE_MINIMAL, 1)
def test_what_the_csv_module_writes_is_read(given: Any, end: str, quoting: Any, size: int) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=end, quoting=quoting)
    writer.writerow(["_word", "_pos"])
    for sentence in given:
        writer.writerows(sentence)
        out.write(end)
    data = data_of("csv(_word, _pos)")
    chunks = list(stream_corpus(io.BytesIO(out.getvalue().encode()), data, tokens_per_chunk=size))
    assert [s for chunk in chunks if chunk.corpus.num_tokens for s in sentences(chunk.corpus)] == given


@given(st.text(st.sampled_from('a",\n\r é'), max_size=14))
def test_rows_are_those_of_the_csv_module_or_have_a_stray_quote(text: str) -> None:
    table = RowTable(text.encode(), Dialect(",", quotes=True))
    assert b"".join(text.encode()[a:b] for a, b in pairwise([0, *table.row_end.tolist()])) == text.encode()
    if table.stray() is not None or table.bare_return() is not None or text.endswith("\r"):
        return
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    expected = [row or [""] for row in reader]
    assert [table.cells(row) for row in range(len(table))] == expected
    for number in range(3):
        rows = np.flatnonzero(table.widths > number)
        if len(rows):
            column = table.column(rows, number)
            assert [column.text(n) for n in range(len(rows))] == [expected[row][number] for row in rows]


@given(
    st.text(st.sampled_from('ws,pos"\n\r\t 1é'), max_size=60),
    st.sampled_from([CSV, 'csv(w, s, sentence = "s")', "tsv(w, s)", 'csv(w, quote = "none")']),
    st.booleans(),
)
def test_any_text_is_a_corpus_or_a_message(text: str, statement: str, named: bool) -> None:
    data = data_of(statement)
    mark = "\t" if data.format == "tsv" else ","
    whole = f"w{mark}s{mark}word{mark}pos\n{text}" if named else text
    try:
        chunks = list(stream_corpus(io.BytesIO(whole.encode()), data, tokens_per_chunk=1))
    except DcrfError as error:
        assert len(error.diagnostics) == 1
        return
    assert b"".join(chunk.block.text for chunk in chunks) == whole.encode()
    output, written, labels = TaggedOutput(data), b"", []
    for chunk in chunks:
        predicted = [f"L{n}" for n in range(chunk.corpus.num_tokens)]
        labels += predicted
        written += output.write(chunk, {"y": predicted})
    again = data.model_copy(update={"columns": (*data.columns, *data_of("csv(y = predicted_y)").columns)})
    read = [s for c in stream_corpus(io.BytesIO(written), again) for s in sentences(c.corpus)]
    assert [token[:-1] for s in read for token in s] == [
        t for c in chunks if c.corpus.num_tokens for s in sentences(c.corpus) for t in s
    ]
    assert [token[-1] for s in read for token in s] == labels
