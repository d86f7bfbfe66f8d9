"""`calibrate --cover`, `--recall`, `--precision`, `tag --sets`, `--accept`, `eval` and `compare --confidence`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from template_cases import Case
from test_calibrate_command import CASE, drawn, written

from dcrfdsl.cli import run
from dcrfdsl.cli.schema_command import json_schema
from dcrfdsl.model.trained_model import TrainedModel


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    model, dev, test = drawn()
    model.save(tmp_path / "m")
    (tmp_path / "dev.txt").write_text(written(dev))
    (tmp_path / "test.txt").write_text(written(test))
    monkeypatch.chdir(tmp_path)
    for of in ("tokens", "segments", "sentences"):
        assert run(["calibrate", "m", "dev.txt", "-o", of, "--cover", "0.6", "--of", of, "--precision", "z.P=0.3"]) == 0
    capsys.readouterr()
    return tmp_path


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert run(arguments) == 0
    return capsys.readouterr()


def test_what_is_found_is_what_python_finds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, _ = drawn()
    corpus = Case(CASE.text, dev).corpus()
    wanted = model.decisions.with_sets(corpus, 0.6, of="tokens", by_type=True)
    wanted = wanted.decisions.with_points(corpus, recall={"y.X": 0.1})
    command = ["calibrate", "m", "dev.txt", "--cover", "0.6", "--of", "tokens", "--by-type", "--recall", "y.X=0.1"]
    answer = json.loads(told([*command, "--json", "-o", "c"], capsys)[0])
    jsonschema.validate(answer, json_schema("calibrate"))
    assert [tuple(one.values()) for one in answer["thresholds"]] == [
        (one.use, one.of, one.label, one.type, one.target, pytest.approx(one.least), one.found, one.count)
        for one in wanted.record.thresholds
    ]
    assert "exchangeable" in answer["assumes"]
    assert TrainedModel.load("c").record.thresholds == wanted.record.thresholds
    said, shown = told(command, capsys)[0], told(["show", "c"], capsys)[1]
    for line in said.splitlines()[:-1]:
        assert line in shown
    assert said.startswith("y.X: sets of tokens hold from probability ") and "promised if sentences to come" in said


@pytest.mark.parametrize("of", ["tokens", "segments", "sentences"])
def test_sets_are_written_beside_the_labels(of: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = TrainedModel.load(of).sets(Case(CASE.text, drawn()[2]).corpus())
    out, err = told(["tag", of, "test.txt", "--sets"], capsys)
    assert "the sets hold all truths of a sentence with probability 0.6" in err
    sentences = [[line.split() for line in block.splitlines()] for block in out.strip("\n").split("\n\n")]
    records = [json.loads(line) for line in told(["tag", of, "test.txt", "--sets", "--json"], capsys)[0].splitlines()]
    for record in records:
        jsonschema.validate(record, json_schema("tag"))
    assert told(["tag", of, "test.txt", "--sets", "--jobs", "2"], capsys)[0] == out
    if of == "sentences":
        wanted = [one for own in sets for one in own.labellings]
        assert [record["labels"] for record in records] == [one.labels for one in wanted]
        assert [record["probability"] for record in records] == pytest.approx([one.probability for one in wanted])
        assert len(sentences) == len(records)
        return
    for rows, record, own in zip(sentences, records, sets, strict=True):
        if of == "tokens":
            cells = {label: [";".join(states) or "_" for states in own.tokens[label]] for label in ("y", "z")}
        else:
            begun = [[one for one in own.segments if one.first == t] for t in range(len(rows))]
            cells = {"y": [";".join(f"{one.type}:{one.last + 1}" for one in these) or "_" for these in begun]}
        assert record["sets"] == cells
        assert [row[5:] for row in rows] == list(map(list, zip(*cells.values(), strict=True)))


def test_accepted_labels_are_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(["calibrate", "tokens", "dev.txt", "-o", "c", "--precision", "z.P=0.3", "--recall", "y.X=0.1"], capsys)
    model, corpus = TrainedModel.load("c"), Case(CASE.text, drawn()[2]).corpus()
    assert [one.use for one in model.record.thresholds] == ["cover", "cover", "recall", "precision"]
    out = told(["tag", "c", "test.txt", "--accept", "--confidence"], capsys)[0]
    rows = [line.split() for line in out.splitlines() if line]
    records = [
        json.loads(line) for line in told(["tag", "c", "test.txt", "--accept", "--json"], capsys)[0].splitlines()
    ]
    words, expected = {True: "accept", False: "review", None: "_"}, []
    texts = model.predict(corpus).texts("z")
    for sure in model.calibration.confidences(corpus):
        y = ["_"] * len(sure.tokens["y"])
        for one in sure.segments:
            y[one.first : one.last + 1] = [words[model.decisions.accepts("y", one.type, one.probability)]] * (
                one.last + 1 - one.first
            )
        z = [words[model.decisions.accepts("z", texts[len(expected) + t], p)] for t, p in enumerate(sure.tokens["z"])]
        jsonschema.validate(records[0], json_schema("tag"))
        assert records.pop(0)["verdicts"] == {"y": y, "z": z}
        expected += list(zip(y, z, strict=True))
    assert [tuple(row[5:7]) for row in rows] == expected
    assert {word for pair in expected for word in pair} == {"accept", "review", "_"}


def test_risk_by_coverage_is_that_of_all_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, test = drawn()
    (folder / "all.txt").write_text(written([*dev, *test]))
    whole = model.decisions.risk_coverage(Case(CASE.text, [*dev, *test]).corpus())
    out = told(["eval", "m", "dev.txt", "test.txt", "--confidence"], capsys)[0]
    answer = json.loads(told(["eval", "m", "dev.txt", "test.txt", "--confidence", "--json"], capsys)[0])
    jsonschema.validate(answer, json_schema("eval"))
    assert set(answer["confidence"]) == {"tokens(y)", "tokens(z)", "segments(y)", "sentences"}
    for name, one in answer["confidence"].items():
        assert one["count"] == len(whole[name].right) and one["area"] == pytest.approx(whole[name].area)
        assert f"area under risk by coverage of {one['count']:,} {name}: {one['area']:.4f}" in out
        for row in one["at"]:
            share, right = whole[name].at(row["probability"])
            assert (row["automatic"], row["right"]) == (share, pytest.approx(right) if share else None)
    told(["calibrate", "m", "dev.txt", "-o", "c"], capsys)
    both = ["compare", "m", "c", "all.txt", "--confidence", "--draws", "9"]
    answer = json.loads(told([*both, "--json"], capsys)[0])
    jsonschema.validate(answer, json_schema("compare"))
    said = told(both, capsys)[0].splitlines()
    for name, areas in answer["areas"].items():
        assert areas[0] == pytest.approx(whole[name].area)
        assert [name, *(f"{area:.4f}" for area in areas)] in [line.split() for line in said]


REFUSED = {
    "error[no-promise]: the model has no sets with a promise": ["tag", "m", "test.txt", "--sets"],
    "error[no-promise]: the model has no operating point": ["tag", "m", "test.txt", "--accept"],
    "where `--given` was not in use": ["tag", "tokens", "test.txt", "--sets", "--given"],
    "where `--nbest` was not in use": ["tag", "tokens", "test.txt", "--accept", "--nbest", "2"],
    "where `--decode` was not in use": ["tag", "tokens", "test.txt", "--accept", "--decode", "marginal"],
    "where `--accept` was not in use": ["tag", "tokens", "test.txt", "--accept", "--sets"],
    "where `--pretty` was not in use": ["tag", "tokens", "test.txt", "--accept", "--pretty"],
    "`--method` has no effect": ["calibrate", "m", "dev.txt", "--cover", "0.5", "--method", "isotonic"],
    "`--by-type` has no effect": ["calibrate", "m", "dev.txt", "--by-type"],
    "takes 99 sentences with known labels; `dev.txt` has 12": ["calibrate", "m", "dev.txt", "--cover", "0.99"],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused(words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(REFUSED[words]) == 1
    assert words in capsys.readouterr().err


def test_a_share_is_a_number_and_a_new_calibration_says_what_it_drops(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["calibrate", "m", "dev.txt", "--precision", "z.P=much"]) == 2
    assert "so the new model has none" in told(["calibrate", "tokens", "dev.txt", "-o", "c"], capsys)[1]
    assert TrainedModel.load("c").record.thresholds == ()
