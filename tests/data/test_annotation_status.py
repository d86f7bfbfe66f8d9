"""What annotation tools reject, skip or leave open is no gold: every style and format, with a count."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from dcrfdsl import check
from dcrfdsl.data import Corpus, TaggedOutput, read_corpus, stream_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec

DATA = "data spans(word = token, ner = spans)\nlabel ner in bio\nclique ner: word\n"


def data_of(text: str = DATA) -> DataSpec:
    data = load_text(text).spec.data
    assert data is not None
    return data


def read(*records: Any, data: DataSpec | None = None, **kwargs: Any) -> tuple[list[str], tuple[str, ...]]:
    """The tokens with their marks, and the notes of the reader."""
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    corpora = [chunk.corpus for chunk in stream_corpus(io.BytesIO(lines.encode()), data or data_of(), **kwargs)]
    notes = tuple(warning for corpus in corpora for warning in corpus.warnings)
    return [pair for corpus in corpora if corpus.num_tokens for pair in pairs(corpus)], notes


def pairs(corpus: Corpus, label: str = "ner") -> list[str]:
    word, mark = corpus.text_column("word"), corpus.text_column(label)
    return [f"{word.text(n)}/{mark.text(n)}" for n in range(corpus.num_tokens)]


def result(start: int, end: int, label: str, kind: str = "labels", name: str = "ner") -> dict[str, Any]:
    return {"from_name": name, "to_name": "text", "type": kind, "value": {"start": start, "end": end, kind: [label]}}


def task(*annotations: dict[str, Any], text: str = "Anna ran") -> dict[str, Any]:
    return {"data": {"text": text}, "annotations": list(annotations)}


def by(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"result": list(results), **fields}


PER, LONG = result(0, 4, "PER"), result(0, 8, "LOC")
GOLD = {"text": "Anna ran", "label": [[0, 4, "PER"]]}
ANNA, WRONG = ["Anna/B-PER", "ran/O"], ["Anna/B-LOC", "ran/I-LOC"]
# name: (a record between two that count, the marks that are read of it, the note)
STATUS: dict[str, tuple[Any, list[str], str]] = {
    "all cancelled": (task(by(LONG, was_cancelled=True)), [], "1 text is left out, as `was_cancelled` is `true`"),
    "first cancelled": (task(by(LONG, was_cancelled=True), by(PER, was_cancelled=False)), ANNA, ""),
    "null is not cancelled": (task(by(PER, was_cancelled=None)), ANNA, ""),
    "rejected by a reviewer": (task(by(LONG, last_action="rejected"), by(PER)), ANNA, ""),
    "not annotated": (task(), [], "1 text is left out, as nobody has annotated it"),
    "annotations null": ({"data": {"text": "a"}, "annotations": None}, [], "1 text is left out, as nobody has"),
    "truth is second": (task(by(LONG), by(PER, ground_truth=True)), ANNA, ""),
    "truth is cancelled": (task(by(LONG, ground_truth=True, was_cancelled=True), by(PER)), ANNA, ""),
    "annotators differ": (task(by(PER), by(LONG)), ANNA, "1 text is read with the first of several annotations that"),
    "truths differ": (task(by(), by(PER, ground_truth=True), by(LONG, ground_truth=True)), ANNA, "that differ"),
    "annotators agree": (task(by(PER), by(PER)), ANNA, ""),
    "hypertext": (task(by(result(0, 4, "PER", "hypertextlabels"))), ANNA, ""),
    "hypertext, paths": (
        task(by({"value": {"start": "/p[1]", "end": "/p[1]", "globalOffsets": {"start": 0, "end": 4},
                           "hypertextlabels": ["PER"]}})),
        ANNA, "",
    ),
    "other results": (task(by({"value": {"choices": ["x"]}}, {"from_id": "a", "type": "relation"}, PER)), ANNA, ""),
    "reject": ({**GOLD, "answer": "reject"}, [], "1 text is left out, as `answer` is `reject`"),
    "ignore": ({"text": "a b", "spans": [], "answer": "ignore"}, [], "as `answer` is `ignore`"),
    "accept": ({**GOLD, "answer": "accept"}, ANNA, ""),
    "null": ({**GOLD, "answer": None, "status": None, "was_cancelled": None}, ANNA, ""),
    "a list": ({**GOLD, "answer": ["reject"]}, ANNA, ""),
    "a pair": (["Anna ran", {"entities": [[0, 8, "X"]], "answer": "reject"}], [], "as `answer` is `reject`"),
    "a span": (
        {"text": "Anna ran", "spans": [{"start": 0, "end": 4, "label": "PER", "answer": "accept"},
                                       {"start": 5, "end": 8, "label": "V", "answer": "reject"}]},
        ANNA, "1 span is left out, as `answer` is `reject`",
    ),
    "discarded": ({**GOLD, "status": "Discarded"}, [], "as `status` is `discarded`"),
    "draft": ({**GOLD, "status": "draft"}, [], "as `status` is `draft`"),
    "submitted": ({**GOLD, "status": "submitted"}, ANNA, ""),
    "doccano": ({**GOLD, "id": 3, "annotation_approver": None, "comments": ["reject?"]}, ANNA, ""),
    "rejected, and no spans": ({"text": "Anna ran", "answer": "reject"}, [], "as `answer` is `reject`"),
}  # fmt: skip


@pytest.mark.parametrize("name", STATUS)
def test_annotations_that_somebody_rejected_are_no_gold(name: str) -> None:
    record, marks, words = STATUS[name]
    found, notes = read(GOLD, record, GOLD)
    assert found == [*ANNA, *marks, *ANNA]
    assert words in "".join(notes) and len(notes) == bool(words)
    assert all("line 2)" in note and note.startswith("<stream>: ") for note in notes)


def test_they_are_counted_over_the_whole_file() -> None:
    bad = {**GOLD, "answer": "reject"}
    found, notes = read(bad, *[GOLD, bad] * 30, tokens_per_chunk=4)
    assert found == ANNA * 30
    assert notes == ("<stream>: 31 texts are left out, as `answer` is `reject` (the first in line 1)",)


def test_texts_of_prodigy_that_are_doubtful_as_gold_are_counted() -> None:
    span = {"start": 0, "end": 4, "label": "PER"}
    first = {"text": "Anna ran", "_input_hash": -7, "spans": [span], "answer": "accept"}
    other = {**first, "spans": []}
    assert read(first, {**other, "answer": "reject"}, first, {**other, "_input_hash": 8})[1] == (
        "<stream>: 1 text is left out, as `answer` is `reject` (line 2)",
    )
    found, notes = read(first, first, other)
    assert found == [*ANNA, *ANNA, "Anna/O", "ran/O"]
    assert notes == (
        "<stream>: 1 text is annotated once more, with other spans than before (`_input_hash`), and read too (line 3)",
    )
    found, (note,) = read({**first, "_is_binary": True}, {**first, "_is_binary": False})
    assert found == ANNA * 2 and "1 text is read as if no span were missing" in note and "line 1" in note


def test_a_file_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**GOLD, "answer": "ignore"}) + "\n")
    (problem,) = check(load_text(DATA), read_corpus(path, data_of()))
    assert "holds no sentence" in problem.message
    assert problem.help == f"{path}: 1 text is left out, as `answer` is `ignore` (line 1)"


@pytest.mark.parametrize("name", STATUS)
def test_to_be_tagged_is_every_text(name: str) -> None:
    records = [STATUS[name][0], GOLD]
    lines = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    (chunk,) = stream_corpus(io.BytesIO(lines), data_of(), optional=["ner"], gold=False)
    assert chunk.corpus.num_sentences == 2 and list(chunk.corpus.columns) == ["word"] and not chunk.corpus.warnings
    output = TaggedOutput(chunk.data)
    out = output.write(chunk, {"ner": ["O"] * chunk.corpus.num_tokens}) + output.close()
    assert len(out.splitlines()) == 2


def test_a_text_that_is_left_out_is_written_as_it_was() -> None:
    bad = {**GOLD, "answer": "reject"}
    data = data_of(DATA.replace("ner = spans", 'ner = spans, predictions = "apart"'))
    chunk, last = stream_corpus(io.BytesIO(f"{json.dumps(bad)}\n{json.dumps(GOLD)}\n".encode()), data)
    output = TaggedOutput(data)
    out = output.write(chunk, {"ner": ["O", "B-X"]}) + output.write(last, {"ner": []}) + output.close()
    first, second = map(json.loads, out.decode().splitlines())
    assert first == bad and second == {**GOLD, "predicted": {"ner": [[5, 8, "X"]]}}


def test_a_status_of_sentences_of_json_lines_counts_too() -> None:
    data = data_of("data jsonl(word, ner)\nlabel ner\nclique ner: word\n")
    good, bad = {"word": ["a"], "ner": ["X"]}, {"word": ["b"], "ner": ["Y"], "answer": "reject"}
    found, notes = read(good, bad, good, data=data)
    assert found == ["a/X", "a/X"]
    assert notes == ("<stream>: 1 sentence is left out, as `answer` is `reject` (line 2)",)
    assert read(good, bad, data=data, gold=False)[0] == ["a/X", "b/Y"]
    chunk, _ = stream_corpus(io.BytesIO(f"{json.dumps(bad)}\n{json.dumps(good)}\n".encode()), data)
    out = TaggedOutput(data).write(chunk, {"ner": ["Z"]}).decode()
    assert [json.loads(line) for line in out.splitlines()] == [bad, {**good, "predicted": {"ner": ["Z"]}}]
    named = data_of("data jsonl(word, ner, status)\nlabel ner\nclique ner: word, status\n")
    assert read({**good, "status": ["draft"]}, data=named) == (["a/X"], ())


def test_a_status_of_rows_of_parquet_counts_too(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = {"word": [["a"], ["b"], ["c"]], "ner": [["X"], ["Y"], ["Z"]], "status": ["submitted", "discarded", None]}
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table(rows), path)
    corpus = read_corpus(path, data_of("data parquet(word, ner)\nlabel ner\nclique ner: word\n"))
    assert pairs(corpus) == ["a/X", "c/Z"]
    assert corpus.warnings == (f"{path}: 1 sentence is left out, as `status` is `discarded` (line 2)",)


HOSTILE: dict[str, Any] = {
    "annotations of numbers": {"data": {"text": "a"}, "annotations": [1]},
    "an annotation without results": {"data": {"text": "a"}, "annotations": [{"id": 1}]},
    "results of numbers": {"data": {"text": "a"}, "annotations": [{"result": 5}]},
    "labels that are no list": task(by({"value": {"start": 0, "end": 1, "labels": 3}})),
    "no labels": task(by({"value": {"start": 0, "end": 1, "labels": []}})),
    "offsets that are lists": task(by({"value": {"start": [], "end": {}, "labels": ["X"]}}), by(PER)),
    "no offsets": {"data": {"text": "a"}, "annotations": [by({"value": {"labels": ["X"]}})]},
    "text null": {"text": None, "label": []},
    "data null": {"data": None, "annotations": []},
    "a pair of texts": ["a", "b"],
    "behind the end": task(by(result(0, 99, "X"))),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_records_that_are_none_are_one_message_with_a_line(name: str) -> None:
    with pytest.raises(DcrfError) as caught:
        read(GOLD, HOSTILE[name])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.location == "<stream>:2"


def test_a_file_that_begins_without_spans_says_that_labels_are_not_read() -> None:
    lines = f'{{"text": "a"}}\n{json.dumps(GOLD)}\n'.encode()
    chunks = list(stream_corpus(io.BytesIO(lines), data_of(), optional=["ner"]))
    notes = [warning for chunk in chunks for warning in chunk.corpus.warnings]
    assert notes == ["<stream>: 1 text is read without labels, as the first one has none (line 2)"]


# one list for two labels ----------------------------------------------------------------------------------------------

NESTED = """data spans(word = token, outer = spans, inner = spans)
label outer in bio(ORG, PER) with others = O
label inner in bio(LOC) with others = O
clique outer, inner
"""
BANK = {"text": "Bank of England rose", "label": [[0, 15, "ORG"], [8, 15, "LOC"], [16, 20, "V"]]}


def test_two_labels_are_read_from_one_list_by_their_types_and_written_into_one() -> None:
    data = data_of(NESTED)
    (chunk,) = stream_corpus(io.BytesIO(json.dumps(BANK).encode()), data)
    outer, inner = ["B-ORG", "I-ORG", "I-ORG", "O"], ["O", "O", "B-LOC", "O"]
    assert [pair.partition("/")[2] for pair in pairs(chunk.corpus, "outer")] == outer
    assert [pair.partition("/")[2] for pair in pairs(chunk.corpus, "inner")] == inner
    output = TaggedOutput(data)
    out = json.loads(output.write(chunk, {"outer": outer, "inner": inner}) + output.close())
    assert out["label"] == [[0, 15, "ORG"], [8, 15, "LOC"]]


def test_types_that_overlap_in_one_label_are_an_error_that_says_how_to_part_them() -> None:
    with pytest.raises(DcrfError, match="share a token") as caught:
        read(BANK)
    assert "two labels, each with its types (`label place in bio(LOC) with others = O`)" in str(
        caught.value.diagnostics[0].help
    )


# entities with ids ----------------------------------------------------------------------------------------------------


def test_entities_that_stay_keep_their_ids_and_relations_of_others_go() -> None:
    entity = {"label": "PER", "start_offset": 0, "end_offset": 4}
    record = {
        "text": "Anna met Otto",
        "entities": [{"id": 7, **entity}, {"id": 8, "label": "PER", "start_offset": 9, "end_offset": 13}],
        "relations": [
            {"id": 1, "from_id": 7, "to_id": 8, "type": "knows"}, {"id": 2, "from_id": 7, "to_id": 7, "type": "is"},
        ],
    }  # fmt: skip
    (chunk,) = stream_corpus(io.BytesIO(json.dumps(record).encode()), data_of())
    output = TaggedOutput(chunk.data)
    same = json.loads(output.write(chunk, {"ner": ["B-PER", "O", "B-PER"]}))
    assert same == record and not list(output.notes())
    other = json.loads(output.write(chunk, {"ner": ["B-PER", "O", "B-LOC"]}))
    assert other["entities"] == [{"id": 7, **entity}, {"label": "LOC", "start_offset": 9, "end_offset": 13}]
    assert other["relations"] == record["relations"][1:]
    assert list(output.notes()) == ["1 relation left out, as they point at spans that are not predicted"]


def test_relations_of_prodigy_go_with_their_spans() -> None:
    anna, otto = {"start": 0, "end": 4, "label": "PER", "token_start": 0}, {"start": 9, "end": 13, "label": "PER"}
    relation = {"head": 0, "child": 2, "head_span": anna, "child_span": otto, "label": "knows"}
    record = {"text": "Anna met Otto", "spans": [anna, otto], "relations": [relation]}
    (chunk,) = stream_corpus(io.BytesIO(json.dumps(record).encode()), data_of())
    output = TaggedOutput(chunk.data)
    assert json.loads(output.write(chunk, {"ner": ["B-PER", "O", "B-PER"]})) == record
    changed = json.loads(output.write(chunk, {"ner": ["B-PER", "O", "O"]}))
    assert changed == {**record, "spans": [anna], "relations": []}


def test_a_span_that_was_rejected_and_is_predicted_is_no_longer_rejected() -> None:
    span = {"start": 0, "end": 4, "label": "PER", "answer": "reject"}
    chunk, _ = stream_corpus(io.BytesIO(json.dumps({"text": "Anna", "spans": [span]}).encode()), data_of())
    out = json.loads(TaggedOutput(chunk.data).write(chunk, {"ner": ["B-PER"]}))
    assert out["spans"] == [{"start": 0, "end": 4, "label": "PER"}]


def test_a_probability_stands_at_its_span() -> None:
    sure = {"ner": ["B-PER", "O"], "ner_segment_confidence": [0.75, None]}
    span = {"start": 0, "end": 4, "label": "PER", "probability": 0.75}
    expected: dict[str, tuple[Any, Any]] = {
        "triples": (GOLD, {**GOLD, "predicted": {"ner": [span]}}),
        "objects": (
            {"text": "Anna ran", "spans": [{**span, "probability": 0.1}]}, {"text": "Anna ran", "spans": [span]},
        ),
    }  # fmt: skip
    for record, tagged in expected.values():
        (chunk,) = stream_corpus(io.BytesIO(json.dumps(record).encode()), data_of())
        assert json.loads(TaggedOutput(chunk.data).write(chunk, sure)) == tagged
    (chunk,) = stream_corpus(io.BytesIO(json.dumps(task(by(PER))).encode()), data_of())
    studio = json.loads(TaggedOutput(chunk.data).write(chunk, sure))
    (found,) = studio["predictions"][0]["result"]
    assert found["score"] == 0.75 and "probability" not in found["value"]


def test_listed_states_part_types_and_tell_the_scheme() -> None:
    states = "{O, B-LOC, I-LOC, E-LOC, S-LOC} with others = O"
    data = data_of(f"data spans(word = token, ner = spans)\nlabel ner in {states}\nclique ner: word\n")
    found, _ = read({"text": "New York NY", "label": [[0, 11, "X"], [0, 8, "LOC"], [9, 11, "LOC"]]}, data=data)
    assert found == ["New/B-LOC", "York/E-LOC", "NY/S-LOC"]
