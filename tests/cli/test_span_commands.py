"""Exports of annotation tools through commands: trained on, scored, tagged and written. Not here: the readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dcrfdsl
from dcrfdsl.cli import run

TEMPLATE = """dcrf 1
data spans(word = token, outer = spans, inner = spans)
label outer in bio(ORG, PER) with others = O
label inner in bio(LOC) with others = O
clique outer: bias, word[-1..1]
clique outer[-1], outer
clique inner: bias, word[-1..1]
clique inner[-1], inner
clique outer, inner
evaluate segments(outer), segments(inner)
"""
BANK = [(0, 15, "ORG", "Bank of England"), (8, 15, "LOC", "England")]
ANNA = [(0, 4, "PER", "Anna"), (10, 17, "LOC", "England")]


def task(text: str, spans: list[tuple[int, int, str, str]], **fields: Any) -> dict[str, Any]:
    values = [{"start": a, "end": b, "text": quote, "labels": [label]} for a, b, label, quote in spans]
    results = [{"from_name": "label", "to_name": "text", "type": "labels", "value": value} for value in values]
    return {"data": {"text": text}, "annotations": [{"result": results, **fields}]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.dcrf").write_text(TEMPLATE)
    tasks = [
        task("Bank of England rose", BANK, was_cancelled=False),
        task("Anna left England", ANNA),
        task("Bank of England rose", [], was_cancelled=True),
    ]
    Path("tasks.json").write_text(json.dumps(tasks, indent=2))
    assert run(["train", "t.dcrf", "tasks.json", "-o", "m", "-q"]) == 0
    return tmp_path


def test_nested_spans_of_an_export_are_learnt_scored_and_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "m", "tasks.json"]) == 0
    said = capsys.readouterr()
    assert "tasks.json: 1 text is left out, as `was_cancelled` is `true`" in said.err
    assert said.out.count("100.00") >= 2
    for jobs in ([], ["--jobs", "2"]):
        assert run(["tag", "m", "tasks.json", "-q", *jobs]) == 0
        tagged = json.loads(capsys.readouterr().out)
        values = [[result["value"] for result in one["predictions"][0]["result"]] for one in tagged]
        found = [[(v["start"], v["end"], v["labels"][0], v["text"]) for v in of_task] for of_task in values]
        assert found == [BANK, ANNA, BANK]
    assert run(["check", "t.dcrf", "--data", "tasks.json"]) == 0
    assert "1 text is left out" in capsys.readouterr().err


def test_the_advice_on_nested_spans_is_a_template_that_works(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.dcrf").write_text("data spans(word = token, ner = spans)\nlabel ner in bio\nclique ner: word\n")
    assert run(["train", "one.dcrf", "tasks.json", "-o", "one"]) == 1
    assert "two labels, each with its types (`label place in bio(LOC) with others = O`)" in capsys.readouterr().err


def test_confidence_is_a_number_on_each_span(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.jsonl").write_text(
        '{"text": "Anna left England", "spans": []}\n{"text": "England", "label": [[0, 7, "LOC"]]}\n'
    )
    model = dcrfdsl.load("m")
    assert run(["tag", "m", "new.jsonl", "--confidence", "-q"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    for record, text in ((first, "Anna left England"), (second, "England")):
        found = [span for label in ("outer", "inner") for span in record["predicted"][label]]
        expected = [(one.start, one.end, one.type, pytest.approx(one.probability)) for one in model.annotate(text)]
        assert sorted((one["start"], one["end"], one["label"], one["probability"]) for one in found) == expected
        assert all(isinstance(p, float) for p in record["predicted"]["outer_confidence"])
    assert run(["tag", "m", "tasks.json", "--confidence", "-q"]) == 0
    (bank, *_) = json.loads(capsys.readouterr().out)
    scores = [result["score"] for result in bank["predictions"][0]["result"]]
    assert scores == pytest.approx([one.probability for one in model.annotate("Bank of England rose")])


def test_relations_of_spans_that_go_are_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entities = [
        {"id": 4, "label": "PER", "start_offset": 0, "end_offset": 4},
        {"id": 5, "label": "PER", "start_offset": 10, "end_offset": 17},
    ]
    record = {"text": "Anna left England", "entities": entities, "relations": [{"id": 1, "from_id": 4, "to_id": 5}]}
    Path("d.jsonl").write_text(json.dumps(record) + "\n")
    assert run(["tag", "m", "d.jsonl"]) == 0
    said = capsys.readouterr()
    out = json.loads(said.out)
    assert out["entities"][0] == entities[0] and "id" not in out["entities"][1] and out["relations"] == []
    assert "note: 1 relation left out" in said.err


def test_an_array_is_converted_with_what_it_says_itself(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("min.json").write_text('[{"text": "a b",\n "label": [{"start": 0, "end": 1, "labels": ["X"]}]}]')
    assert run(["convert", "min.json", "--from", "spans", "--to", "conll", "-q"]) == 0
    assert capsys.readouterr().out == "a B-X\nb O\n\n"
    assert run(["convert", "tasks.json", "--template", "t.dcrf", "--to", "spans", "-q"]) == 0
    bank, anna = map(json.loads, capsys.readouterr().out.splitlines())
    assert bank["label"] == [list(span[:3]) for span in BANK] and anna["label"] == [list(span[:3]) for span in ANNA]


def test_cross_validation_leaves_out_the_same_texts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cv", "t.dcrf", "tasks.json", "--folds", "2", "-o", "cv.json", "-q"]) == 0
    written = json.loads(Path("cv.json").read_text())
    assert ["predicted" in one or "predictions" in one for one in written] == [True, True, False]
