"""A file that is one JSON array is read as its records are, in any layout, and written as an array."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dcrfdsl.data import Corpus, TaggedOutput, read_corpus, repeated, stream_corpus
from dcrfdsl.data.column_blocks import Block
from dcrfdsl.data.formats.json_lines import ArrayLines
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec


def data_of() -> DataSpec:
    data = load_text("data spans(word = token, ner = spans)\nlabel ner in bio\nclique ner: word\n").spec.data
    assert data is not None
    return data


RECORDS = [
    {"text": 'a "b" [c] {d}', "label": [[0, 1, "X"]]},
    {"text": "", "label": []},
    {"text": "é 😀\n\\ ]", "label": [[2, 3, "Y"]], "n": 12345678901234567890, "e": [1.5e-3, None, True, -0.0]},
    {"text": "x", "label": []},
]
LAYOUTS = {
    "one line": json.dumps(RECORDS),
    "no spaces": json.dumps(RECORDS, separators=(",", ":"), ensure_ascii=False),
    "pretty": json.dumps(RECORDS, indent=2, ensure_ascii=False),
    "tabs": json.dumps(RECORDS, indent="\t"),
    "a record a line": "[\n" + ",\n".join(map(json.dumps, RECORDS)) + "\n]\n",
    "commas first": "["
    + json.dumps(RECORDS[0])
    + "".join(f"\r\n, {json.dumps(one)}" for one in RECORDS[1:])
    + "\r\n ]",
    "space around": "\ufeff \n\n" + json.dumps(RECORDS, indent=1) + "\n \n",
}


def chunks_of(text: str, size: int) -> tuple[list[Corpus], bytes]:
    """What is read at so many tokens a chunk, and the file with its own spans as predictions."""
    data, corpora = data_of(), []
    output = TaggedOutput(data)
    out = b""
    for chunk in stream_corpus(io.BytesIO(text.encode()), data, tokens_per_chunk=size):
        corpora.append(chunk.corpus)
        marks = chunk.corpus.columns.get("ner")
        texts = (
            [] if marks is None else [chunk.corpus.text_column("ner").text(n) for n in range(chunk.corpus.num_tokens)]
        )
        out += output.write(chunk, {"ner": texts})
    return corpora, out + output.close()


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_is_read_as_its_records_are_and_written_as_an_array(layout: str, size: int) -> None:
    text = LAYOUTS[layout]
    corpora, out = chunks_of(text, size)
    words = [c.text_column("word").text(n) for c in corpora if c.num_tokens for n in range(c.num_tokens)]
    marks = [c.text_column("ner").text(n) for c in corpora if c.num_tokens for n in range(c.num_tokens)]
    assert words == ["a", '"', "b", '"', "[", "c", "]", "{", "d", "}", "é", "😀", "\\", "]", "x"]
    assert [n for n, mark in enumerate(marks) if mark != "O"] == [0, 11]
    assert json.loads(out.decode("utf-8-sig")) == RECORDS
    lines = [int(line) for c in corpora for line in c.token_line[c.sentence_off[:-1]]]
    plain = text.removeprefix("\ufeff")
    where = [plain[: plain.index(start)].count("\n") + 1 for start in ('{"text"' if '{"text"' in plain else "{\n",)]
    assert lines[0] == where[0] and lines == sorted(lines)
    if layout == "a record a line":
        assert lines == [2, 4, 5]


def test_pairs_of_spacy_may_be_lines_or_an_array() -> None:
    pairs = [["a b", {"entities": [[0, 1, "X"]]}], ["c", {"entities": []}]]
    for text in (json.dumps(pairs), json.dumps(pairs, indent=2), "".join(f"{json.dumps(pair)}\n" for pair in pairs)):
        corpora, out = chunks_of(text, 100)
        assert [c.num_tokens for c in corpora] == [3]
        assert (json.loads(out) if text[1] != '"' else [json.loads(line) for line in out.splitlines()]) == pairs


def test_several_files_are_written_as_the_first_is() -> None:
    data, record = data_of(), {"text": "a", "label": []}
    sources = {"array": json.dumps([record]), "lines": json.dumps(record) + "\n"}
    for order in (("array", "lines", "array"), ("lines", "array")):
        output, out = TaggedOutput(data), b""
        for name in order:
            for chunk in stream_corpus(io.BytesIO(sources[name].encode()), data):
                out += output.write(chunk, {"ner": ["O"]})
        out += output.close()
        found = json.loads(out) if order[0] == "array" else [json.loads(line) for line in out.splitlines()]
        assert found == [record] * len(order)


def test_copies_of_records_are_records() -> None:
    (chunk,) = stream_corpus(io.BytesIO(b'[{"text": "a b", "label": []}, {"text": "c", "label": []}]'), data_of())
    output = TaggedOutput(chunk.data)
    copies = repeated(chunk, [2, 1])
    out = output.write(copies, {"ner": ["B-P", "O", "O", "B-P", "O"]}, {"rank": [1, 2, 1]}) + output.close()
    assert [(one["label"], one["predicted"]["rank"]) for one in json.loads(out)] == [
        ([[0, 1, "P"]], 1), ([[2, 3, "P"]], 2), ([], 1),
    ]  # fmt: skip


GOOD = '{"text": "ab", "label": []}'
BROKEN: dict[str, tuple[str, str, str]] = {
    # name: (file, place, words)
    "no comma": (f"[{GOOD}\n {GOOD}]", ":2:2", "expecting ',' or ']' at column 2"),
    "comma at the end": (f"[{GOOD},\n]", ":2:1", "expecting value at column 1"),
    "no end": (f"[\n{GOOD},\n{GOOD}\n", ":4:1", "there is no `]`"),
    "no end, one line": (f"[{GOOD}", f":1:{len(GOOD) + 2}", "there is no `]`"),
    "cut off in a text": (f'[\n{GOOD},\n  {{"text": "ab', ":3:12", "unterminated string"),
    "cut off in an object": (f'[\n{GOOD},\n{{"text": "é",', ":3:14", "expecting property name"),
    "text behind": (f"[{GOOD}]\n{GOOD}\n", ":2:1", "there is text behind the end of the array"),
    "two arrays": (f"[{GOOD}]\n\n[{GOOD}]\n", ":3:1", "there is text behind the end of the array"),
    "no value": (f"[{GOOD}, nul]", f":1:{len(GOOD) + 4}", "expecting value"),
    "key twice": ('[\n{"text": "a", "text": "b"}]', ":2", "the key `text` comes twice"),
    "a number": (f"[\n{GOOD},\n7]", ":3", "expected an object whose `text` is a text"),
    "bad span": ('[\n\n{"text": "ab",\n "label": [[0, 9, "X"]]}]', ":3", "is not inside the text"),
    "too deep": ("[" + "[" * 200_000, ":1:2", "nested too deeply"),
    "line end in a text": ('[{"text": "a\nb", "label": []}]', ":1:13", "invalid control character"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_array_is_one_message_with_line_and_column(name: str, tmp_path: Path) -> None:
    text, place, words = BROKEN[name]
    path = tmp_path / "a.json"
    path.write_bytes(text.encode())
    with pytest.raises(DcrfError) as caught:
        read_corpus(path, data_of())
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.location == f"{path}{place}" and words in str(caught.value)


def test_a_break_is_found_in_any_chunk() -> None:
    text = "[" + ", ".join([GOOD] * 500) + ", {]"
    with pytest.raises(DcrfError) as caught:
        for _ in stream_corpus(io.BytesIO(text.encode()), data_of(), tokens_per_chunk=7):
            pass
    assert caught.value.diagnostics[0].location == f"<stream>:1:{len(text)}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=3), json_values, max_size=3) | st.lists(json_values, max_size=3)),
    st.sampled_from([None, 0, 2]), st.booleans(), st.lists(st.integers(1, 30), min_size=1, max_size=5),
)  # fmt: skip
def test_records_are_cut_at_any_block_size(
    records: list[Any], indent: int | None, is_ascii: bool, sizes: list[int]
) -> None:
    """Fed as `blocks` does, whatever arrives at a time."""
    raw = json.dumps(records, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    if not is_ascii and b"\xed" in raw:
        raw = json.dumps(records, indent=indent).encode()
    array, rest, line, found, at, turn = ArrayLines("f"), b"", 1, [], 0, 0
    while at < len(raw):
        more = raw[at : at + sizes[turn % len(sizes)]]
        at, turn = at + len(more), turn + 1
        text = rest + more
        end = array.cut(text)
        if end:
            found += array.lined(Block(text[:end], line)).text.splitlines()
            line += text.count(b"\n", 0, end)
        rest = text[end:]
    if rest:
        found += array.lined(Block(rest, line)).text.split(b"\n")
    array.finish()
    assert [json.loads(one) for one in found if one] == records or not records
