"""Parquet: rows that are sentences and rows that are tokens, read batch by batch, and tagged."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dcrfdsl.data import Chunk, Corpus, TaggedOutput, read_corpus, repeated, stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def data_of(statement: str) -> DataSpec:
    data = load_text(f"data {statement}\n").spec.data
    assert data is not None
    return data


def stored(table: Any) -> io.BytesIO:
    out = io.BytesIO()
    parquet.write_table(table, out, row_group_size=2)
    return io.BytesIO(out.getvalue())


def sentences(corpus: Corpus) -> list[list[tuple[Any, ...]]]:
    columns = [
        [column.text(n) for n in range(corpus.num_tokens)] if hasattr(column, "text") else column.values.tolist()
        for column in corpus.columns.values()
    ]
    tokens = list(zip(*columns, strict=True))
    return [tokens[a:b] for a, b in pairwise(corpus.sentence_off.tolist())]


NAMES = {"info": {"features": {"ner_tags": {"feature": {"names": ["O", "B-X"], "_type": "ClassLabel"}}}}}
LISTS = pyarrow.table(
    {"id": ["a", "b", "c"], "tokens": [["x", "y"], [], ["z"]], "ner_tags": [[0, 1], [], [1]]}
).replace_schema_metadata({"huggingface": json.dumps(NAMES)})
ROWS = pyarrow.table({"s": [1, 1, 2, 2, 3], "w": list("abcde"), "h": [0.5, 1, 1.5, 2, 2.5]})
GOOD = {
    "lists, class names": ("parquet(w = tokens, y = ner_tags)", LISTS, [[("x", "O"), ("y", "B-X")], [("z", "B-X")]]),
    "rows": (
        'parquet(w, h: float, sentence = "s")', ROWS,
        [[("a", 0.5), ("b", 1.0)], [("c", 1.5), ("d", 2.0)], [("e", 2.5)]],
    ),
    "dictionaries": (
        "parquet(w)", pyarrow.table({"w": pyarrow.array([["x", "y"], ["x"]]).cast(
            pyarrow.list_(pyarrow.dictionary(pyarrow.int32(), pyarrow.string())))}), [[("x",), ("y",)], [("x",)]],
    ),
    "vectors": (
        "parquet(w, v: vector(2))", pyarrow.table({"w": [["x"]], "v": [[[1.0, 2.0]]]}), [[("x", [1.0, 2.0])]],
    ),
    "bags": ("parquet(w: bag)", pyarrow.table({"w": [[["a", "b"], ["c"]]]}), [[("a b",), ("c",)]]),
    "no labels": ("parquet(w, y)", pyarrow.table({"w": [["x"]]}), [[("x",)]]),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 50_000])
@pytest.mark.parametrize("name", GOOD)
def test_a_table_reads_as_these_sentences(name: str, size: int) -> None:
    statement, table, expected = GOOD[name]
    chunks = list(stream_corpus(stored(table), data_of(statement), tokens_per_chunk=size, optional=["y"]))
    assert [s for chunk in chunks for s in sentences(chunk.corpus)] == expected
    assert sum(chunk.block.rows.table.num_rows for chunk in chunks) == table.num_rows


def test_places_are_rows() -> None:
    (lists,) = stream_corpus(stored(LISTS), data_of("parquet(w = tokens)"))
    assert lists.corpus.token_line.tolist() == [1, 1, 3]
    rows = list(stream_corpus(stored(ROWS), data_of('parquet(w, sentence = "s")'), tokens_per_chunk=1))
    assert [chunk.corpus.token_line.tolist() for chunk in rows] == [[1, 2], [3, 4], [5]]


BAD: dict[str, tuple[str, Any, str, str | None, str]] = {
    # name: (data, table, slug, row, words)
    "no column": ("parquet(word)", LISTS, "missing-column", None, "the file has `id` `tokens` `ner_tags`"),
    "nothing tells sentences": ("parquet(w)", ROWS, "no-sentence", None, 'sentence = "NAME"'),
    "no sentence column": ('parquet(w, sentence = "z")', ROWS, "missing-column", None, "column `z` missing"),
    "two sentence columns": (
        'parquet(w, sentence = "s")', pyarrow.Table.from_arrays([[1], [1], ["a"]], ["s", "s", "w"]), "bad-header", None,
        "the file has 2 columns `s`, and one is to be read",
    ),
    "a near name with a blank": (
        "parquet(words)", pyarrow.table({"word s": [["a"]]}), "missing-column", None,
        'did you mean `words = column("word s")`?',
    ),
    "some are lists": (
        "parquet(id, tokens)", LISTS, "bad-sentence", None, "`id` is none, `tokens` is a list",
    ),
    "numbers": ('parquet(w = h, sentence = "s")', ROWS, "bad-value", "1", "found `0.5`, expected a text"),
    "no value": ("parquet(w)", pyarrow.table({"w": [["a"], ["b", None]]}), "bad-value", "2", "expected a text"),
    "no list": ("parquet(w)", pyarrow.table({"w": [["a"], None]}), "bad-sentence", "2", "no list in row 2"),
    "lengths": (
        "parquet(w, y)", pyarrow.table({"w": [["a"]], "y": [["b", "c"]]}), "bad-sentence", "1", "`w` has 1, `y` has 2",
    ),
    "not sorted": (
        'parquet(w, sentence = "s")', pyarrow.table({"s": [1, 2, 1], "w": list("abc")}), "split-sentence", "3",
        "sentence `1` comes again in row 3",
    ),
    "no sentence": (
        'parquet(w, sentence = "s")', pyarrow.table({"s": [1, None], "w": list("ab")}), "no-sentence", "2",
        "row 2 belongs to no sentence",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_one_message_with_its_row(name: str, tmp_path: Path) -> None:
    statement, table, slug, row, words = BAD[name]
    path = tmp_path / "data.parquet"
    path.write_bytes(stored(table).getvalue())
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, data_of(statement))
    (diagnostic,) = caught.value.diagnostics
    place = f"{path}:{row}" if row else str(path)
    assert (diagnostic.slug, diagnostic.location) == (slug, place) and words in str(caught.value)


@pytest.mark.parametrize("cut", [0, 1, 7, 40, 200])
def test_a_damaged_file_is_one_message(cut: int) -> None:
    whole = stored(LISTS).getvalue()
    for text in (whole[:cut], whole[:-cut] if cut else b"word,pos\n", whole[:4] + b"\0" * cut + whole[4 + cut :]):
        try:
            list(stream_corpus(io.BytesIO(text), data_of("parquet(w = tokens, y = ner_tags)")))
        except DcrfError as error:
            assert len(error.diagnostics) == 1
        else:
            assert text == whole


def test_a_pipe_is_refused() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(DcrfError) as caught:
        list(stream_corpus(Pipe(b"PAR1"), data_of("parquet(w)")))
    assert caught.value.diagnostics[0].slug == "bad-parquet"


# writing ------------------------------------------------------------------------------------------------------------


def tagged_table(chunks: list[Chunk], data: DataSpec, copies: int = 1) -> dict[str, list[Any]]:
    output, out, number = TaggedOutput(data), b"", 0
    for chunk in chunks:
        again = chunk if copies == 1 else repeated(chunk, [copies] * chunk.corpus.num_sentences)
        count = again.corpus.num_tokens
        remarks = {} if copies == 1 else {"p": [0.5] * again.corpus.num_sentences}
        out += output.write(again, {"y": [f"L{number + n}" for n in range(count)]}, remarks)
        number += count
    table = parquet.read_table(io.BytesIO(out + output.close()))
    told = (table.schema.metadata or {}).get(b"huggingface")
    assert told is None or b"predicted_y" in told
    found: dict[str, list[Any]] = table.to_pydict()
    return found


@pytest.mark.parametrize("size", [1, 50_000])
def test_predictions_are_a_column_of_lists(size: int) -> None:
    data = data_of("parquet(w = tokens)")
    found = tagged_table(list(stream_corpus(stored(LISTS), data, tokens_per_chunk=size)), data)
    assert found == {**LISTS.to_pydict(), "predicted_y": [["L0", "L1"], [], ["L2"]]}


@pytest.mark.parametrize("size", [1, 50_000])
def test_predictions_are_a_column_of_texts(size: int) -> None:
    data = data_of('parquet(w, sentence = "s")')
    chunks = list(stream_corpus(stored(ROWS), data, tokens_per_chunk=size))
    assert tagged_table(chunks, data) == {**ROWS.to_pydict(), "predicted_y": ["L0", "L1", "L2", "L3", "L4"]}
    assert tagged_table(chunks * 2, data)["w"] == list("abcde") * 2  # two files of the same columns


def test_copies_of_rows() -> None:
    (lists,) = stream_corpus(stored(LISTS), data_of("parquet(w = tokens)"))
    found = tagged_table([lists], lists.data, copies=2)
    assert found["id"] == ["a", "a", "b", "c", "c"] and found["predicted_p"] == [0.5, 0.5, None, 0.5, 0.5]
    assert found["predicted_y"] == [["L0", "L1"], ["L2", "L3"], [], ["L4"], ["L5"]]
    chunks = list(stream_corpus(stored(ROWS), data_of('parquet(w, sentence = "s")'), tokens_per_chunk=1))
    assert tagged_table(chunks, chunks[0].data, copies=2)["w"] == list("ababcdcdee")


def test_files_of_other_columns_are_not_one_file() -> None:
    data = data_of("parquet(w = tokens)")
    (chunk,) = stream_corpus(stored(LISTS), data)
    (other,) = stream_corpus(stored(LISTS.drop_columns(["id"])), data)
    with pytest.raises(DcrfError) as caught:
        tagged_table([chunk, other], data)
    assert caught.value.diagnostics[0].slug == "bad-header"
