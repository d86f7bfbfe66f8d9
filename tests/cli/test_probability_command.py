"""`dcrfdsl probability`: what it prints is what Python says; digits; sentences and files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from model_cases import trained
from template_cases import CASES, Case

from dcrfdsl.cli import run
from dcrfdsl.cli.sentence_commands import probability_text
from dcrfdsl.model.event_probabilities import EventProbability

EVENTS = ["y[1] is P and y[2] is not Q", "gold", "y = predicted"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A model file and its data."""
    model, _ = trained(CASES["chain"])
    model.save(tmp_path / "m")
    rows = CASES["chain"].sentences
    (tmp_path / "t.txt").write_text("\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in rows))
    return str(tmp_path / "m"), str(tmp_path / "t.txt")


def test_it_prints_what_python_says(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    model, corpus = trained(CASES["chain"])
    wanted = model.events.probability(corpus.slice(2, 3), EVENTS)[0]
    assert run(["probability", *files, "-n", "3", *EVENTS, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sentence"] == 3
    for one, event in zip(answer["events"], wanted, strict=True):
        assert one["event"] == event.event and one["exact"] and one["converged"]
        assert one["probability"] == pytest.approx(event.value) and one["log"] == pytest.approx(event.log)
        assert one["log_not"] == pytest.approx(event.log_not)
    assert run(["probability", *files, "-n", "3", *EVENTS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[13:] for line in lines] == EVENTS
    assert [float(line[:12]) for line in lines] == pytest.approx([one.value for one in wanted], rel=1e-3)


def test_every_sentence(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    model, corpus = trained(CASES["chain"])
    assert run(["probability", *files, "--every", "gold"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [str(s + 1) for s in range(corpus.num_sentences)]
    wanted = [one.value for one in model.events.probability(corpus, "gold")]
    assert [float(row[1]) for row in rows] == pytest.approx(wanted, rel=1e-3)
    assert run(["probability", *files, "--every", "y[2] is P"]) == 1
    assert "no position 2: the sentence has 1 token (the one at " in capsys.readouterr().err


@pytest.mark.parametrize("options", [["-n", "2"], ["--every"]])
def test_a_sentence_without_a_labelling_has_its_place(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "data conll(word, y)\nlabel y in {P, Q}\nclique y: word\nforbid y is P\nforbid y is Q and word is b\n"
    trained(Case(text, [[("a", "Q")], [("a", "Q")]]))[0].save(tmp_path / "m")
    file = tmp_path / "t.txt"
    file.write_text("a Q\n\n\nb Q\n")
    assert run(["probability", str(tmp_path / "m"), str(file), "y[1] is Q", *options]) == 1
    assert f"in the sentence at {file}:4\n" in capsys.readouterr().err


def test_labels_known_beforehand(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probability", *files, "-n", "2", "--given", "gold", "y[1] is P"]) == 0
    values = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    gold = CASES["chain"].sentences[1][0][1]
    assert values == ["1", "1" if gold == "P" else "0"]


def test_mistakes_have_a_place(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probability", *files, "y[1] is Pi"]) == 1
    message = capsys.readouterr().err
    assert "error[no-such-state]: `Pi` is no state of `y`" in message and "event:1:9" in message and "^^" in message
    assert run(["probability", *files, "-n", "99", "predicted"]) == 1
    assert "no-such-sentence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("log", "log_not", "text"),
    [
        (-math.inf, 0.0, "0"),
        (0.0, -math.inf, "1"),
        (math.log(0.25), math.log(0.75), "0.25"),
        (-1e-12, math.log(1e-12), "1 - 1e-12"),
        (math.log(0.999), math.log(0.001), "0.999"),
        (-2302.5850929940457, 0.0, "1e-1000"),
        (0.0, -2302.5850929940457, "1 - 1e-1000"),
    ],
)
def test_digits(log: float, log_not: float, text: str) -> None:
    assert probability_text(EventProbability("", math.exp(log), log, log_not, True, True)) == text
