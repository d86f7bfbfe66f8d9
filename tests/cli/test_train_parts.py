"""`dcrfdsl train` on data in parts: files and folders, what stays on disk, breaks, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.cli import run
from dcrfdsl.model.trained_model import TrainedModel

TEMPLATE = "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\ntrain likelihood\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y.dcrf").write_text(TEMPLATE)
    draw = np.random.default_rng(1)
    (tmp_path / "data").mkdir()
    for name in "ab":
        lines = []
        for _ in range(40):
            labels = draw.choice(list("PQ"), size=draw.integers(1, 8))
            lines += [f"{label if draw.random() < 0.7 else 'R'}{draw.integers(5)} {label}" for label in labels] + [""]
        (tmp_path / "data" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "all.txt").write_text("".join((tmp_path / "data" / f"{name}.txt").read_text() for name in "ab"))
    return tmp_path


def trained(*arguments: str) -> TrainedModel:
    assert run(["train", "y.dcrf", *arguments, "-o", "y.model", "--quiet"]) == 0
    return TrainedModel.load("y.model")


def test_files_and_folders_give_the_model_of_one_file(here: Path) -> None:
    one = trained("all.txt", "--memory", "3GB")
    for data in (["data"], ["data/a.txt", "data/b.txt"]):
        np.testing.assert_array_equal(trained(*data, "--memory", "3GB").weights, one.weights)
    assert trained("all.txt").record.objective == pytest.approx(one.record.objective, rel=1e-6)
    assert not (here / "y.model.parts").exists()


def test_a_cache_stays_and_is_used_again(here: Path) -> None:
    trained("data", "--cache", "kept")
    files = {path: path.stat().st_mtime_ns for path in (here / "kept").rglob("part-*")}
    assert len(files) == 2
    trained("data", "--cache", "kept", "--set", "train.prior=gaussian(variance=3)")
    assert {path: path.stat().st_mtime_ns for path in (here / "kept").rglob("part-*")} == files
    for path in files:
        path.write_bytes(path.read_bytes()[:-9])
    assert run(["train", "y.dcrf", "data", "-o", "y.model", "--cache", "kept"]) == 1


def test_a_full_disk_leaves_no_empty_cache(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("dcrfdsl.training.parts.corpus_parts.write_text", full)
    for is_there in (False, True):
        assert run(["train", "y.dcrf", "data", "-o", "y.model", "--cache", "kept"]) == 1
        assert not list(here.glob("kept/text-*"))
        assert (here / "kept").exists() == is_there  # with a file of somebody else
        (here / "kept").mkdir(exist_ok=True)
        (here / "kept" / "own").touch()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "all.txt"], "standard input"),
        (["all.txt", "none.txt"], "no file or folder `none.txt`"),
        (["all.txt", "--memory", "much"], "no amount of memory"),
        (["all.txt", "--memory", "110MB"], "of memory, and `--memory` allows"),
        (["all.txt", "--memory", "2GB", "--dev", "all.txt", "--tune"], "`--tune` trains many times"),
        (["all.txt", "--workers", "2", "--cluster", "tcp://127.0.0.1:1"], "leave one of them out"),
        (["all.txt", "--memory", "2GB", "--set", "train.optimizer=sgd"], "`sgd` steps after single sentences"),
    ],
)  # fmt: skip
def test_wrong_uses_are_refused_and_leave_nothing(
    arguments: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "y.dcrf", *arguments, "-o", "y.model"]) == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(here.glob("y.model*"))


@pytest.mark.long
def test_an_interrupt_before_training_leaves_no_parts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        assert list((here / "y.model.parts").rglob("part-*"))
        raise KeyboardInterrupt

    monkeypatch.setattr("dcrfdsl.cli.command_files.read_gold", interrupt)  # of the held-out data
    options = ["-o", "y.model", "--dev", "all.txt", "--quiet"]
    assert run(["train", "y.dcrf", "data", *options]) == 130
    assert not (here / "y.model.parts").exists() and not (here / "y.model").exists()


@pytest.mark.long
def test_a_killed_training_goes_on_from_its_parts(here: Path) -> None:
    undisturbed = trained("data", "--memory", "3GB")
    (here / "y.model").unlink()
    call = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "train", "y.dcrf", "data", "-o", "y.model"]
    options = ["--memory", "3GB", "--checkpoint", "0", "--json"]
    with subprocess.Popen([*call, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line).get("iteration") == 3:
                os.kill(process.pid, signal.SIGKILL)
                break
    time.sleep(0.1)
    assert (here / "y.model.parts").is_dir() and (here / "y.model.checkpoint").exists()
    resumed = trained("data", "--memory", "3GB", "--resume")
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)
    assert sorted(path.name for path in here.glob("y.model*")) == ["y.model"]
