"""`dcrfdsl cv`: its tables are those of `cross_validate`, its file has every prediction, wrong use is one message."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from template_cases import sentences

import dcrfdsl
from dcrfdsl.cli import run
from dcrfdsl.training import CrossValidation

if sys.platform != "win32":
    from pseudo_terminal import COLOUR, run_on_terminal

Captured = pytest.CaptureFixture[str]
TEMPLATE = """data conll(word, y)
label y
clique y: bias, word
clique y[-1], y
train pseudolikelihood as start: prior = gaussian(variance = 1)
train likelihood as end after start: prior = gaussian(variance = 1)
evaluate accuracy(y), by_state(y), segments(y, runs)
"""
ROWS = sentences("PQR", count=12, seed=5)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DCRFDSL_THREADS", raising=False)
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    blocks = ["".join(f"{word} {y}\n" for word, y in row) for row in ROWS]
    (tmp_path / "d.txt").write_text("\n".join(blocks))
    return tmp_path


def validated(folds: int, seed: int = 0, stage: str | None = None) -> CrossValidation:
    resolved = dcrfdsl.load_template("t.dcrf")
    corpus = dcrfdsl.read_corpus("d.txt", resolved.require().data)
    return dcrfdsl.cross_validate(resolved, corpus, folds=folds, seed=seed, stage=stage, threads=1)


def test_the_table_has_mean_deviation_all_together_and_folds(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "3", "--seed", "2", "--threads", "1"]) == 0
    out, err = capsys.readouterr()
    found, name = validated(3, 2), "accuracy(y)"
    values = [found.mean[name], found.deviation[name], found.scores[name], *(fold.scores[name] for fold in found.folds)]
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["score", "mean", "sd", "together", "fold", "1", "fold", "2", "fold", "3"]
    assert rows[1] == [name, *(f"{100 * value:.2f}" for value in values)]
    assert [row[0] for row in rows[2:6]] == ["by_state(y).macro_f1", *["segments(y,"] * 3]
    assert out.endswith(f"3 folds of 12 sentences, {found.scores['tokens']} tokens; seed 2\n")
    assert [line.split(":")[0] for line in err.splitlines()] == [f"fold {n} of 3" for n in (1, 2, 3)]


def test_json_has_the_same_for_each_stage(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "2", "--stages", "--json", "--jobs", "2", "--by-label"]) == 0
    out, _ = capsys.readouterr()
    found = json.loads(out)
    assert (found["folds"], found["seed"], found["sentences"]) == (2, 0, 12)
    assert [one["stage"] for one in found["stages"]] == ["start", "end"]
    for one in found["stages"]:
        expected = validated(2, stage=one["stage"])
        assert one["scores"] == expected.scores and one["mean"] == expected.mean
        assert [fold["scores"] for fold in one["folds"]] == [fold.scores for fold in expected.folds]
        assert [fold["sentences"] for fold in one["folds"]] == [6, 6]
        assert one["tables"]["y"]["by_state"]["macro"]["f1"] == expected.scores["by_state(y).macro_f1"]


def test_stages_share_one_table(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "2", "--stage", "end", "--stage", "start", "-q"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:2] == ["stage", "accuracy(y)"] and [row[0] for row in rows[1:3]] == ["end", "start"]
    for row in rows[1:3]:
        found = validated(2, stage=row[0])
        expected = [f"{100 * share:.2f}" for share in (found.mean["accuracy(y)"], found.deviation["accuracy(y)"])]
        assert [row[1], row[3]] == expected and row[2] == "±"


def test_set_changes_the_stage_that_runs(here: Path, capsys: Captured) -> None:
    arguments = ["cv", "t.dcrf", "d.txt", "--folds", "2", "--stages", "--json", "-q", "--set"]
    assert run([*arguments, "train.prior=gaussian(variance = 0.01)"]) == 0
    weak = json.loads(capsys.readouterr().out)
    assert run([*arguments, "train.prior=gaussian(variance = 1)"]) == 0
    same = json.loads(capsys.readouterr().out)
    assert [one["scores"] for one in same["stages"]] == [validated(2, stage=s).scores for s in ("start", "end")]
    assert [one["mean"] for one in weak["stages"]] != [one["mean"] for one in same["stages"]]


def test_the_file_has_each_prediction_beside_its_gold(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "3", "-o", "o.txt", "-q"]) == 0
    read, written = (Path(name).read_text().splitlines() for name in ("d.txt", "o.txt"))
    tags = iter(validated(3).predictions["y"])
    assert written == [f"{line} {next(tags)}" if line else line for line in read]
    assert next(tags, None) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
def test_scores_are_printed_where_predictions_cannot_be_written(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "3", "-q"]) == 0
    scores = capsys.readouterr().out
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "3", "-q", "-o", "/dev/full"]) == 1
    out, err = capsys.readouterr()
    assert out == scores and err.startswith("error[disk-full]: ")


def test_tables_of_all_folds_follow(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "2", "--by-label", "--confusion", "-q"]) == 0
    out = capsys.readouterr().out
    table = validated(2).tables["y"]
    assert "\nby_state(y)" in out and "\nby_type(y)" in out and "\nconfusion(y)" in out
    matrix = out[out.index("\nconfusion(y)") :].splitlines()[2:]
    counts = [[int(cell.replace(".", "0")) for cell in line.split()[1:]] for line in matrix]
    assert counts == table.confusion.matrix.tolist()


def test_a_warning_of_all_folds_is_said_once(here: Path, capsys: Captured) -> None:
    assert run(["cv", "t.dcrf", "d.txt", "--folds", "2", "--set", "train.patience=3", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.count("warning: `patience` changes nothing without held-out data") == 1
    folds = [" ".join(fold["notes"]) for fold in json.loads(out)["stages"][0]["folds"]]
    assert [notes.count("`patience` changes nothing") for notes in folds] == [1, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_without_colours_shows_the_same_table(
    here: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["cv", "t.dcrf", "d.txt", "--folds", "2", "--by-label", "-q"]
    assert run(arguments) == 0
    expected = capsys.readouterr().out.splitlines()
    _, plain = run_on_terminal(arguments, monkeypatch, no_color="1")
    assert [line.rstrip() for line in plain.splitlines()] == expected
    _, coloured = run_on_terminal(arguments, monkeypatch)
    assert COLOUR in coloured


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_it_with_one_word(jobs: str, here: Path) -> None:
    (here / "t.dcrf").write_text(
        TEMPLATE.replace("prior = gaussian(variance = 1)\nev", "optimizer = sgd(epochs = 300)\nev")
    )
    command = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "cv", "t.dcrf", "d.txt"]
    process = subprocess.Popen(
        [*command, "--folds", "12", "--jobs", jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("fold 1 of 12")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if not line.startswith("fold ")] == ["interrupted"]


WRONG = {
    "stages twice": (["--stages", "--stage", "end"], "`--stages` runs all stages"),
    "predictions of several": (["--stages", "-o", "o.txt"], "`-o` writes the predictions of one stage"),
    "the data as output": (["-o", "d.txt"], "`d.txt` is an input of this command"),
    "no such stage": (["--stage", "last"], "last"),
    "too many folds": (["--folds", "13"], "there are 13 folds for 12 sentences"),
    "no such group": (["--group", "wod"], "did you mean `word`?"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_one_message(name: str, here: Path, capsys: Captured) -> None:
    options, message = WRONG[name]
    assert run(["cv", "t.dcrf", "d.txt", *options]) == 1
    out, err = capsys.readouterr()
    assert not out and err.count("error[") == 1 and message in err
    assert not Path("o.txt").exists()
