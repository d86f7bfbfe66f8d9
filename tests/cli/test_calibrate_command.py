"""`dcrfdsl calibrate` and `tag --confidence`: what they print is what Python says; the drawing; what is refused."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from model_cases import trained
from template_cases import Case, sentences

from dcrfdsl.cli import run
from dcrfdsl.cli.calibrate_command import WIDTH, _bars as bars
from dcrfdsl.metrics.reliability import reliability_of
from dcrfdsl.model.reporting.charts import charts_file, reliability_chart
from dcrfdsl.model.trained_model import TrainedModel

MARKS = ("B-X", "I-X", "B-Y", "O")
CASE = Case(
    "data conll(word, y, z)\nlabel y in {" + ", ".join(MARKS) + "}\nlabel z in {P, Q}\nclique y: bias, word\n"
    "clique y[-1], y\nclique y, z: word\n",
    sentences(MARKS, "PQ", count=16, longest=4),
)
OTHERS = sentences(MARKS, "PQ", count=10, longest=4, seed=7)


def written(rows) -> str:
    return "\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in rows) + "\n"


@functools.cache
def drawn() -> tuple[TrainedModel, list, list]:
    """A model, and held-out and test data whose labels come from a flatter one: it is too sure of itself."""
    model, corpus = trained(CASE, scale=2.0)
    flatter = model.with_weights(0.6 * model.weights, model.record)
    made = []
    for rows, data in ((CASE.sentences, corpus), (OTHERS, Case(CASE.text, OTHERS).corpus())):
        codes = flatter.sample(data, 1, seed=3).codes
        texts = [[model.states[label][code] for code in codes[label][0].tolist()] for label in model.labels]
        labels = iter(list(zip(*texts, strict=True)))
        made.append([[(row[0], *next(labels)) for row in sentence] for sentence in rows])
    return model, *made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model, dev, test = drawn()
    model.save(tmp_path / "m")
    (tmp_path / "dev.txt").write_text(written(dev))
    (tmp_path / "test.txt").write_text(written(test))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_calibration_that_makes_it_worse_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`dev.txt` wants a model less sure of itself; on labels that it gives itself it should be surer."""
    assert run(["tag", "m", "test.txt"]) == 0
    own = [line.split() for line in capsys.readouterr().out.splitlines()]
    Path("own.txt").write_text("\n".join(" ".join((words[0], *words[-2:])) if words else "" for words in own) + "\n")
    assert run(["calibrate", "m", "dev.txt", "--test", "own.txt"]) == 0
    said = capsys.readouterr()
    assert "all scores are multiplied by it" in said.out
    assert "warning: the probabilities of tokens and segments" in said.err and "fit worse after calibration" in said.err
    assert run(["calibrate", "m", "dev.txt", "--test", "dev.txt"]) == 0
    assert "worse" not in capsys.readouterr().err


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_errors_are_those_of_unseen_data(method: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, _ = drawn()
    corpus = Case(CASE.text, dev).corpus()
    assert run(["calibrate", "m", "dev.txt", "-o", "c", "--method", method, "--json", "--bins", "5"]) == 0
    answer = json.loads(capsys.readouterr().out)
    half = corpus.num_sentences // 2
    first, second = corpus.slice(0, half), corpus.slice(half, corpus.num_sentences)
    fitted = [model.calibration.calibrated(one, method=method) for one in (second, first)]
    assert list(answer["kinds"]) == ["tokens", "segments", "layers", "sentences"]
    for kind, found in answer["kinds"].items():
        before = model.calibration.reliability(corpus, of=kind, bins=5)
        after = fitted[0].calibration.reliability(first, of=kind, bins=5) + fitted[1].calibration.reliability(
            second, of=kind, bins=5
        )
        for name, wanted in (("before", before), ("after", after)):
            assert found[name]["error"] == pytest.approx(wanted.error) and found[name]["count"] == wanted.total
            assert found[name]["brier"] == pytest.approx(wanted.brier)
            assert [one["count"] for one in found[name]["bins"]] == wanted.counts.tolist()
    stored = TrainedModel.load("c").record.calibration
    assert stored == model.calibration.calibrated(corpus, method=method).record.calibration
    assert answer["method"] == method and answer["temperature"] == pytest.approx(stored.temperature)


def test_it_may_be_judged_on_other_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, test = drawn()
    corpus, other = (Case(CASE.text, rows).corpus() for rows in (dev, test))
    command = ["calibrate", "m", "dev.txt", "--method", "isotonic", "--test", "test.txt", "--diagram", "d.svg"]
    assert run([*command, "--of", "sentences"]) == 0
    printed = capsys.readouterr()
    before = model.calibration.reliability(other, of="sentences")
    after = model.calibration.calibrated(corpus, method="isotonic").calibration.reliability(other, of="sentences")
    row = next(line.split() for line in printed.out.splitlines() if line.startswith("sentences "))
    assert row == ["sentences", str(before.total), *(f"{one:.4f}" for one in (before.error, after.error))] + [
        f"{one:.4f}" for one in (before.brier, after.brier)
    ]
    assert "on `test.txt`" in printed.out and "wrote d.svg" in printed.err and not (folder / "c").exists()
    for line in (*bars(before), *bars(after)):
        assert line in printed.out
    root = ElementTree.parse("d.svg").getroot()
    texts = [one.text for one in root.iter() if one.text]
    assert f"sentences, after: ECE {after.error:.4f}, {after.total} judged" in texts
    bars_drawn = [one for one in root.iter() if one.tag.endswith("rect")]
    assert len(bars_drawn) == (before.counts > 0).sum() + (after.counts > 0).sum()
    assert "light-dark(" in next(one.text for one in root.iter() if one.tag.endswith("style"))


def test_bars_are_as_long_as_the_share_that_is_right() -> None:
    judged = reliability_of(np.array([0.05, 0.65, 0.65, 0.65, 0.65]), np.array([0, 1, 1, 1, 0], bool), 10)
    heading, low, high = bars(judged)
    assert heading.split() == ["probability", "count", "says", "is"]
    assert low.split()[:6] == ["0.0", "-", "0.1", "1", "0.050", "0.000"] and low.split()[6] == ".." + "|" + "." * 38
    assert high.split()[3:6] == ["4", "0.650", "0.750"]
    bar = high.split()[6]
    assert bar.count("#") == round(0.75 * WIDTH) and bar.index("|") == round(0.65 * WIDTH)


def test_a_drawing_is_xml_whatever_its_heading() -> None:
    empty = reliability_of(np.zeros(0), np.zeros(0, bool), 10)
    full = reliability_of(np.linspace(0, 1, 50), np.linspace(0, 1, 50) > 0.4, 10)
    charts = [(name, reliability_chart(name, of)) for name, of in (("<a & b>", empty), ("full", full))]
    root = ElementTree.fromstring(charts_file(charts))
    assert len([one for one in root.iter() if one.tag.endswith("rect")]) == 10
    assert "<a & b>" in [one.text for one in root.iter()]


def test_confidence_stands_beside_what_is_predicted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, _ = drawn()
    corpus = Case(CASE.text, dev).corpus()
    assert run(["calibrate", "m", "dev.txt", "-o", "c", "--method", "isotonic", "-q"]) == 0
    capsys.readouterr()
    for file, judge in (("m", model), ("c", model.calibration.calibrated(corpus, method="isotonic"))):
        every = judge.calibration.confidences(corpus)
        assert run(["tag", file, "dev.txt", "--confidence", "--json"]) == 0
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        for record, sure in zip(records, every, strict=True):
            assert record["probability"] == pytest.approx(sure.sentence)
            assert record["layers"] == pytest.approx(dict(sure.layers))
            assert record["tokens"]["z"] == pytest.approx(sure.tokens["z"])
            spans = [(one["first"] - 1, one["last"] - 1, one["type"]) for one in record["segments"]]
            assert spans == [(one.first, one.last, one.type) for one in sure.segments]
        assert run(["tag", file, "dev.txt", "--confidence"]) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
        assert {len(row) for row in rows} == {3 + 2 + 3 + 3}  # ours, two labels, y twice and z, three of the sentence
        tokens = np.concatenate([sure.tokens["y"] for sure in every])
        assert [row[5] for row in rows] == [f"{p:.4f}" for p in tokens.tolist()]
        inside = [row[6] != "_" for row in rows]
        assert inside == [row[3] != "O" for row in rows] and any(inside)
        assert [float(row[8]) for row in rows] == pytest.approx(
            np.repeat([sure.sentence for sure in every], corpus.lengths()), rel=1e-5
        )


def test_confidence_is_that_given_the_labels_of_the_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tag", "m", "dev.txt", "--confidence", "--given", "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert json.loads(line)["probability"] == pytest.approx(1.0)


REFUSED = {
    "too little": (["calibrate", "m", "one.txt", "--method", "isotonic"], "one sentence, and none is left"),
    "overwritten data": (["calibrate", "m", "dev.txt", "-o", "dev.txt"], "is an input of this command"),
    "drawn over the model": (["calibrate", "m", "dev.txt", "--diagram", "m"], "is an input of this command"),
    "two labellings": (["tag", "m", "dev.txt", "--confidence", "--nbest", "2"], "leave out one"),
    "unlabelled": (["calibrate", "m", "words.txt"], "`y`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "one.txt").write_text(written(drawn()[1][1:2]))
    (folder / "words.txt").write_text("a\nb\n")
    arguments, words = REFUSED[name]
    assert run(arguments) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--method", "platt"], ["--of", "words"], ["--bins", "0"]])
def test_wrong_usage(option: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", "m", "dev.txt", *option]) == 2


def test_half_of_the_data_may_be_too_little_for_a_temperature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dev, _ = drawn()
    corpus = Case(CASE.text, dev).corpus()
    best = model.predict(corpus)
    rows = [
        [(row[0], best.texts("y")[start + t], best.texts("z")[start + t]) for t, row in enumerate(sentence)]
        for sentence, start in zip(dev, corpus.sentence_off.tolist(), strict=False)
    ]  # what is predicted: no temperature is high enough
    (folder / "mixed.txt").write_text(written([*rows[:8], *dev[:8]]))
    assert run(["calibrate", "m", "mixed.txt"]) == 1
    message = capsys.readouterr().err
    assert "error[cannot-calibrate]: half of the data is too little" in message and "--test DATA" in message
