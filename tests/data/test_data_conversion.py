"""Data converted from one format to another: there and back is the same, and what is lost is said."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.cli.convert_command import convert_data
from dcrfdsl.data import (
    Corpus,
    Export,
    InternedColumn,
    corpus_from_rows,
    data_format,
    read_corpus,
    written_formats,
)
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec

HERE = [name for name in written_formats() if name != "parquet" or importlib.util.find_spec("pyarrow")]


def data_of(statement: str) -> DataSpec:
    data = load_text(f"data {statement}\n").spec.data
    assert data is not None
    return data


def sentences(corpus: Corpus, *names: str) -> list[list[tuple[Any, ...]]]:
    columns = []
    for name in names:
        column = corpus.columns[name]
        if isinstance(column, InternedColumn):
            columns.append([column.text(n) for n in range(corpus.num_tokens)])
        elif hasattr(column, "items"):
            columns.append([tuple(column.items(n)) for n in range(corpus.num_tokens)])
        else:
            columns.append([tuple(v) if isinstance(v, list) else v for v in column.values.tolist()])
    tokens = list(zip(*columns, strict=True))
    return [tokens[a:b] for a, b in pairwise(corpus.sentence_off.tolist())]


def emitted(statement: str, data: DataSpec, corpus: Corpus) -> bytes:
    """The corpus, read as `data` says, in the format of the statement."""
    make = data_format(data_of(statement).format).emitter
    assert make is not None
    emitter = make(Export(data_of(statement), {column.name: column.type for column in data.columns}))
    return emitter.write(corpus) + emitter.close()


def converted(path: Path, to: str, source: str | None = None) -> bytes:
    """What the command prints."""
    out = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(out):
        convert_data(str(path), to, source=source, quiet=True)
    raw = out.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue()


# there and back -----------------------------------------------------------------------------------------------------

STATEMENTS = {  # texts, in a format each; spans and attributes hold other things
    "conll": 'conll(word, tag, separator = "\\t")',
    "conllu": 'conllu(word = form, tag = misc("tag"))',
    "jsonl": "jsonl(word, tag)",
    "csv": 'csv(word = column("a, word"), tag)',
    "csv with sentences": 'csv(word, tag, sentence = "s", separator = ";")',
    "tsv": "tsv(word, tag)",
    "parquet": "parquet(word, tag)",
    "npz": "npz(word, tag)",
}
ANY_TEXTS = ("jsonl", "csv", "csv with sentences", "parquet", "npz")  # those that hold any text at all
TEXTS = [name for name in STATEMENTS if name.split()[0] in HERE]
plain = st.text(st.sampled_from('aé𝔘#"|=\\:,;'), min_size=1, max_size=4)
any_text = st.text(st.sampled_from('a,;" \t\né𝔘_'), max_size=4)


def corpora(cells: st.SearchStrategy[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    return st.lists(st.lists(st.tuples(cells, cells), min_size=1, max_size=3), min_size=1, max_size=3)


def there_and_back(given: list[list[tuple[str, str]]], first: str, second: str) -> None:
    rows = data_of("conll(word, tag)")
    start = emitted(STATEMENTS[first], rows, corpus_from_rows(given, rows))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a", "b", "c")]
        paths[0].write_bytes(start)
        paths[1].write_bytes(converted(paths[0], STATEMENTS[second], STATEMENTS[first]))
        assert sentences(read_corpus(paths[1], data_of(STATEMENTS[second])), "word", "tag") == given
        paths[2].write_bytes(converted(paths[1], STATEMENTS[first], STATEMENTS[second]))
        assert paths[2].read_bytes() == start or first == "parquet"
        assert sentences(read_corpus(paths[2], data_of(STATEMENTS[first])), "word", "tag") == given


@given(corpora(plain), st.sampled_from(TEXTS), st.sampled_from(TEXTS))
@settings(max_examples=40)
def test_texts_come_back_through_any_format(given: Any, first: str, second: str) -> None:
    there_and_back(given, first, second)


@given(corpora(any_text), st.sampled_from(ANY_TEXTS), st.sampled_from(ANY_TEXTS))
@settings(max_examples=30)
def test_formats_that_hold_any_text_read_back_what_they_wrote(given: Any, first: str, second: str) -> None:
    if {first, second} <= set(TEXTS):
        there_and_back(given, first, second)


@given(corpora(any_text), st.sampled_from(TEXTS))
@settings(max_examples=40)
def test_a_format_holds_a_text_or_says_that_it_does_not(given: Any, name: str) -> None:
    rows = data_of("conll(word, tag)")
    corpus = corpus_from_rows(given, rows)
    try:
        text = emitted(STATEMENTS[name], rows, corpus)
    except DcrfError as error:
        (problem,) = error.diagnostics
        assert problem.slug == "unwritable-cell" and problem.location is not None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        path.write_bytes(text)
        found = sentences(read_corpus(path, data_of(STATEMENTS[name])), "word", "tag")
    absent = [[("_" if w == "" else w, t) for w, t in s] for s in given]
    assert found == given or (name == "conllu" and found == absent)


TYPED = "word, h: float, n: int, v: vector(2), b: bag, w: weighted_bag"
TYPED_ROWS = [
    [("a", 0.1, 3, [1.0, 0.5], "x y", {"k": 1.0, "k:2": 0.25})],
    [("b", -2.0, -1, [0.0, 1e-9], "z", {}), ("c", 1e22, 0, [3.0, 4.0], "x", {"é": 1.0})],
]


@pytest.mark.parametrize("name", [n for n in ("jsonl", "csv", "tsv", "conll", "conllu", "parquet") if n in HERE])
def test_numbers_vectors_and_bags_come_back(name: str, tmp_path: Path) -> None:
    rows = data_of(f"jsonl({TYPED})")
    corpus = corpus_from_rows(TYPED_ROWS, rows)
    names = [column.name for column in rows.columns]
    if name == "conllu":
        columns = ", ".join(f'{one} = misc("{one}")' for one in names)
        (tmp_path / "data").write_bytes(emitted(f"conllu({columns})", rows, corpus))
        read = read_corpus(tmp_path / "data", data_of(f"conllu({columns})"))
        assert read.text_column("v").values == ["1.0,0.5", "0.0,1e-09", "3.0,4.0"]
        return
    more = ', separator = "\\t"' if name == "conll" else ""
    (tmp_path / "data").write_bytes(emitted(f"{name}({', '.join(names)}{more})", rows, corpus))
    read = read_corpus(tmp_path / "data", data_of(f"{name}({TYPED}{more})"))
    assert sentences(read, *names) == sentences(corpus, *names)
    if name != "conll":  # the file tells the types itself, as far as it has any
        (tmp_path / "again.jsonl").write_bytes(converted(tmp_path / "data", "jsonl", name))
        (tmp_path / "rows.jsonl").write_bytes(emitted(f"jsonl({TYPED})", rows, corpus))
        assert (tmp_path / "again.jsonl").read_text().count("\n") == 2
        if name in ("jsonl", "parquet"):
            assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "rows.jsonl").read_bytes()


marks = st.lists(st.lists(st.sampled_from(["O", "B-X", "B-Y-Z"]), min_size=1, max_size=5), min_size=1, max_size=3)


@given(marks, st.booleans())
@settings(max_examples=30)
def test_segments_come_back_through_spans(given: list[list[str]], inside: bool) -> None:
    if inside:
        given = [
            [f"I-{m[2:]}" if n and a == m != "O" else m for n, (a, m) in enumerate(zip(["", *s], s, strict=False))]
            for s in given
        ]
    rows = [[("😀w" * (n + 1), mark) for n, mark in enumerate(sentence)] for sentence in given]
    data = data_of("conll(word, ner)")
    with tempfile.TemporaryDirectory() as folder:
        path, back = Path(folder) / "a.jsonl", Path(folder) / "b.txt"
        path.write_bytes(emitted("spans(word = token, ner = spans)", data, corpus_from_rows(rows, data)))
        source = 'spans(word = token, ner = spans, tokenizer = "given")'
        back.write_bytes(converted(path, "conll", source))
        assert sentences(read_corpus(back, data), "word", "ner") == rows


def test_tasks_of_label_studio_are_read_again(tmp_path: Path) -> None:
    style = 'style = "label_studio"'
    (tmp_path / "a.txt").write_text("Ann B-P\nLee I-P\nran O\n")
    (tmp_path / "b.jsonl").write_bytes(
        converted(tmp_path / "a.txt", f"spans(w = token, y = spans, {style})", "conll(w, y)")
    )
    task = json.loads((tmp_path / "b.jsonl").read_text())
    assert set(task) == {"data", "annotations"} and task["data"]["text"] == "Ann Lee ran"
    value = {"start": 0, "end": 7, "text": "Ann Lee", "labels": ["P"]}
    assert task["annotations"] == [
        {"result": [{"from_name": "label", "to_name": "text", "type": "labels", "value": value}]}
    ]
    source = f'spans(w = token, y = spans, tokenizer = "given", {style})'
    assert converted(tmp_path / "b.jsonl", "conll(w, y)", source) == b"Ann B-P\nLee I-P\nran O\n\n"
    task["annotations"][0]["result"].insert(0, 5)
    (tmp_path / "b.jsonl").write_text(json.dumps(task))
    assert b'"label": ["B-P", "I-P", "O"]' in converted(tmp_path / "b.jsonl", "jsonl", "spans")


def test_attributes_of_crfsuite_come_back(tmp_path: Path) -> None:
    text = "B-é\tw=a b\tc\\:d\\\\:2.0\n_\tx:0.5\n\nB-é\t1\n\n"
    (tmp_path / "a.crfsuite").write_text(text, encoding="utf-8")
    convert_data(str(tmp_path / "a.crfsuite"), "jsonl", output=tmp_path / "b.jsonl", quiet=True)
    convert_data(str(tmp_path / "b.jsonl"), "crfsuite(label, attributes)", output=tmp_path / "c", quiet=True)
    assert (tmp_path / "c").read_text(encoding="utf-8") == text


# what is lost -------------------------------------------------------------------------------------------------------

UD = (
    "# sent_id = 1\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tvamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t_\t_\n"
    "1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n2\tnos\tnosotros\tPRON\t_\tCase=Acc|Number=Plur\t1\tobj\t_\tSpaceAfter=No\n\n"
)
SAID: dict[str, tuple[str, str, str, str | None, str]] = {
    # name: (file, its text, --to, --from, what is said)
    "lines of conllu": ("a.conllu", UD, "csv", None, "comments (1); ranges of multiword tokens (1); empty nodes (1)"),
    "columns of conllu": (
        "a.conllu", UD, "csv", 'conllu(form, n = feats("Number"))',
        "comments (1); ranges of multiword tokens (1); empty nodes (1); columns `lemma`, `upos`, `feats(Case)`, "
        "`feats(Mood)`, `head`, `deprel`, `misc`",
    ),
    "comments": ("a.txt", "# x\na B\n", "jsonl", 'conll(w, y, comment = "#")', "comments (1)"),
    "columns of csv": ("a.csv", "id,w\n1,a\n", "jsonl", "csv(w)", "columns `id`"),
    "keys": ("a.jsonl", '{"id": 1, "w": ["a"]}\n[]\n', "csv", None, "sentences without a token (1); columns `id`"),
    "columns that are not wanted": ("a.csv", "x,w\n1,a\n", "jsonl(w)", None, "columns `x`"),
    "columns of spans": (
        "a.txt", "Ann NNP B-P\n", "spans(w = token, y = spans)", "conll(w, pos, y)", "columns `pos`",
    ),
    "texts": (
        "a.jsonl", '{"text": "Ann  ran.", "label": [], "id": 3}\n', "conll", "spans",
        "white space, or characters of no token, in texts (1); columns `id`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_left_out_is_said(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, text, to, source, words = SAID[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    convert_data(str(tmp_path / file), to, source=source, output=tmp_path / "out")
    note = capsys.readouterr().err.splitlines()[-1]
    assert note.startswith(f"note: left out, as `{to.partition('(')[0]}` here has no place for it: ")
    assert note.partition("it: ")[2] == words


def test_marks_that_break_their_scheme_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Ann B-P\nran I-Q\n")
    convert_data(str(tmp_path / "a.txt"), "spans(w = token, y = spans)", source="conll(w, y)")
    out = capsys.readouterr()
    assert out.out == '{"text": "Ann ran", "tokens": [[0, 3], [4, 7]], "label": [[0, 3, "P"], [4, 7, "Q"]]}\n'
    assert out.err == "note: tokens whose `y` breaks its scheme, read as conlleval does (1)\n"


TEMPLATE = 'data csv(word, ner, sentence = "s")\nlabel ner in bioes\nclique ner: word\n'
CSV = "s,word,ner\n1,New,B-LOC\n1,York,E-LOC\n2,is,O\n"


def test_a_template_tells_the_format_and_the_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.dcrf").write_text(TEMPLATE)
    (tmp_path / "a.data").write_text(CSV)
    convert_data(str(tmp_path / "a.data"), "spans", template=str(tmp_path / "a.dcrf"))
    out = capsys.readouterr()
    assert out.out.splitlines()[0] == '{"text": "New York", "tokens": [[0, 3], [4, 8]], "label": [[0, 8, "LOC"]]}'
    assert out.err == "note: left out, as `spans` here has no place for it: columns `s`\n"


BAD: dict[str, tuple[str, str, str, str | None, str, str | None, str]] = {
    # name: (file, its text, --to, --from, slug, line, words)
    "white space": ("a.csv", "w,y\na b,c\n", "conll", None, "unwritable-cell", "2", "split the columns by TABs"),
    "an empty cell": ("a.csv", "w,y\n,c\n", "conllu", None, "unwritable-cell", "2", 'w = misc("w")'),
    "a separator": ("a.csv", 'w\n"a\tb"\n', "tsv", None, "unwritable-cell", "2", 'quote = "\\""'),
    "a comment": ("a.csv", "w\n#x\n", 'conll(w, comment = "#")', None, "unwritable-cell", "2", "line is a comment"),
    "no mark": ("a.csv", "w,y\na,NN\n", "spans(w = token, y = spans)", None, "not-a-segment", "2", "marks no segment"),
    "no columns": ("a.txt", "a b\n", "csv", None, "missing-column", None, "--from 'conll(word, pos)'"),
    "no ending": ("a", "a b\n", "csv", None, "unknown-format", None, "does not tell its format"),
    "no such format": ("a.csv", "w\na\n", "xlsx", None, "unknown-format", None, "is no output format"),
    "no such source": ("a.csv", "w\na\n", "csv", "exel", "unknown-format", None, "is no data format"),
    "no such column": ("a.csv", "w\na\n", "jsonl(word)", None, "missing-column", None, "the source lacks"),
    "no statement": ("a.csv", "w\na\n", "csv(w", None, "unclosed-bracket", None, "never closed"),
    "no segments": ("a.csv", "w\na\n", "spans", None, "missing-column", None, "'spans(word = token, ner = spans)'"),
    "an option": ("a.csv", "w\na\n", 'csv(w, quote = "x")', None, "bad-setting", None, "expected"),
    "no names": ("a.jsonl", '[["a", "b"]]\n', "csv", None, "missing-column", "1", "--from 'jsonl(word, pos)'"),
    "bad data": ("a.csv", "w,y\na\n", "jsonl", None, "column-count", "2", "line 2 has 1 cell"),
    "an id": ("a.csv", "id,form\n1-2,a\n", "conllu(id, form)", None, "unwritable-cell", "2", "a whole number"),
    "an id that is joined": (
        "a.csv", "w\n#1 a\n", 'conllu(w = joined("id form"))', None, "unwritable-cell", "2", "a whole number",
    ),
    "a mark at the beginning": (
        "a.jsonl", '{"w": ["\\ufeffa", "b"]}\n', "conll", None, "unwritable-cell", "1", "its byte order mark",
    ),
    "a mark before a label": (
        "a.jsonl", '{"y": ["\\ufeffa"]}\n', "crfsuite", None, "unwritable-cell", "1", "its byte order mark",
    ),
    **{
        f"a zero byte in {to}": (
            "a.jsonl", '{"w": ["a", "b\\u0000"], "y": ["c", "d"]}\n', to, None, "unwritable-cell", "1", "a zero byte",
        )
        for to in ("conll", 'conll(w, y, separator = "\\t")', "csv", "tsv", "conllu", "crfsuite")
    },
    "a zero byte in a label": (
        "a.jsonl", '{"y": ["\\u0000"]}\n', "crfsuite", None, "unwritable-cell", "1", "a zero byte",
    ),
    "a weight of a sentence": ("a.csv", "y\n@weight\n", "crfsuite", None, "unwritable-cell", "2", "gives a sentence"),
    "a blank label": ("a.csv", 'w,y\na,"  "\n', "crfsuite", None, "unwritable-cell", "2", "a blank one"),
    "one key": ("a.csv", "w,y\na,b\n", "jsonl(w = x, y = x)", None, "declared-twice", None, "`w` and `y` go there"),
    "one name": (
        "a.csv", "w,y\na,b\n", 'csv(w = column("x"), y = column("x"))', None, "declared-twice", None, "one place `x`",
    ),
    "the name of sentences": (
        "a.csv", "w,y\na,b\n", 'csv(w, y, sentence = "w")', None, "declared-twice", None, "the number of the sentence",
    ),
    "one column of conllu": (
        "a.csv", "w,y\na,b\n", 'conllu(w = joined("form upos"), y = upos)', None, "declared-twice", None, "`upos`",
    ),
    "one list of spans": (
        "a.csv", "w,y,z\na,O,O\n", 'spans(w = token, y = spans, z = spans("label"))', None, "declared-twice", None,
        "one place `spans(label)`",
    ),
    "spans in the place of the text": (
        "a.csv", "w,y\na,O\n", 'spans(w = token, y = spans("text"))', None, "declared-twice", None, "place `token`",
    ),
    "a bar in a key": (
        "a.csv", "w,y\na,b\n", 'conllu(w = form, y = misc("a|b"))', None, "unwritable-cell", None, 'y = misc("y")',
    ),
    "an equals sign in a key": (
        "a.csv", "w,y\na,b\n", 'conllu(w = form, y = feats("a=b"))', None, "unwritable-cell", None, "a key of FEATS",
    ),
    "the names again": ("a.jsonl", '{"w": ["w"], "y": ["y"]}\n', "csv", None, "unwritable-cell", "1", "row of names"),
    "the names again beside numbers": (
        "a.jsonl", '{"w": ["w"], "y": ["y"]}\n', 'csv(w, y, sentence = "s")', None, "unwritable-cell", "1", "of names",
    ),
    "names of the source": ("a.csv", "word,y\nword,y\n", "jsonl", None, "bad-header", "2", "repeats the names"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_converted_is_one_message_and_no_file(name: str, tmp_path: Path) -> None:
    file, text, to, source, slug, line, words = BAD[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(DcrfError) as caught:
        convert_data(str(tmp_path / file), to, source=source, output=tmp_path / "out", quiet=True)
    assert caught.value.diagnostics[0].slug == slug and words in str(caught.value)
    if line is not None:
        assert caught.value.diagnostics[0].location == f"{tmp_path / file}:{line}"
    assert not (tmp_path / "out").exists()


READ_AGAIN: dict[str, tuple[str, list[list[tuple[str, ...]]]]] = {
    # name: (a statement, tokens that it can write although they look odd)
    "a label like a weight": ("crfsuite(a, b: weighted_bag)", [[("@weight:2", ""), ("@weights", "")]]),
    "the name of the only column": ("csv(a)", [[("a",), ("b",)], [("a",)]]),
    "the name of the only column beside numbers": ('csv(a, sentence = "s")', [[("a",), ("b",)], [("a",)]]),
    "empty cells beside numbers": ('tsv(a, b, sentence = "s")', [[("", ""), ("x", "y")]]),
    "a mark inside": ("conll(a, b)", [[("x", "\ufeffy"), ("\ufeffx", "y")]]),
    "a mark in quotes": ("csv(a, b)", [[("\ufeffx", "y")]]),
    "whole numbers as ids": ("conllu(a = id, b = form)", [[("1", "#x"), ("2", "y")]]),
}


@pytest.mark.parametrize("name", READ_AGAIN)
def test_what_looks_odd_is_read_again(name: str, tmp_path: Path) -> None:
    statement, rows = READ_AGAIN[name]
    names = ("a", "b")[: len(rows[0][0])]
    source = data_of(f"jsonl({', '.join(names)})")
    (tmp_path / "out").write_bytes(emitted(statement, source, corpus_from_rows(rows, source)))
    read = read_corpus(tmp_path / "out", data_of(statement))
    found = sentences(read, *(names if "bag" not in statement else names[:1]))
    assert found == (rows if "bag" not in statement else [[row[:1] for row in sentence] for sentence in rows])


def test_the_source_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("w\na\n")
    with pytest.raises(DcrfError) as caught:
        convert_data(str(path), "jsonl", output=path)
    assert caught.value.diagnostics[0].slug == "output-is-input" and path.read_text() == "w\na\n"


def test_memory_is_bounded(tmp_path: Path) -> None:
    """The output begins before the input ends: chunks are written as they are read."""
    lines = "".join(f"w{n} T\n\n" for n in range(60_000))
    (tmp_path / "a.txt").write_text(lines)

    class Out(io.BytesIO):
        writes = 0

        def write(self, text: Any) -> int:
            self.writes += 1
            return len(text)

    out = Out()
    wrapped = io.TextIOWrapper(out)
    with contextlib.redirect_stdout(wrapped):
        convert_data(str(tmp_path / "a.txt"), "jsonl", source="conll(w, y)")
    assert out.writes > 1
