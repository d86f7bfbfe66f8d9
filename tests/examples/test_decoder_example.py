"""`examples/decoder`: its templates, the scores that it simulates, a quick run, and the commands of its README."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, example_modules

from dcrfdsl import fit, load_template, read_corpus
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "decoder"
simulate, run = example_modules(FOLDER, "simulate", "run")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    simulate.simulate_into(folder := tmp_path_factory.mktemp("decoder"), 60)
    return folder


@pytest.mark.parametrize("name", ["argmax", "decoder"])
def test_templates_check_clean_and_are_in_the_canonical_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


def test_scores_are_drawn_by_their_seed_and_gold_labels_are_legal() -> None:
    first, again, other = (simulate.simulate(30, seed) for seed in (0, 0, 1))
    assert np.array_equal(first.logits, again.logits) and not np.array_equal(first.lengths, other.lengths)
    assert first.lengths.sum() == len(first.ner) == len(first.logits) and first.logits.shape[1] == len(simulate.STATES)
    for labels in np.split(first.ner, np.cumsum(first.lengths)[:-1]):
        text = " ".join(labels) + " "
        assert re.fullmatch(r"(O |S-\w+ |B-(\w+) (I-\2 )*E-\2 )+", text), text


def test_what_is_measured_agrees_with_labels_read_one_by_one(data: Path) -> None:
    model = fit(load_template(FOLDER / "argmax.dcrf"))
    assert model.states["ner"] == simulate.STATES
    corpus = read_corpus(data / "dev.npz", model.spec.data)
    archive = np.load(data / "dev.npz")
    best = np.array(simulate.STATES)[archive["logits"].argmax(axis=1)]
    legal = [
        re.fullmatch(r"(O |S-\w+ |B-(\w+) (I-\2 )*E-\2 )+", " ".join(labels) + " ") is not None
        for labels in np.split(best, np.cumsum(archive["lengths"])[:-1])
    ]
    found = run.measure(model, corpus)
    assert 0.0 < found["legal"] < 1.0 and found["legal"] == pytest.approx(np.mean(legal))


def test_a_quick_run_compares_the_decoders(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    files = ["--dev", str(data / "dev.npz"), "--test", str(data / "test.npz")]
    options = ["--quick", "--recall", "0.97", "--threads", "1", "--out", str(out)]
    assert run.main([*files, *options]) == 0
    decoders = json.loads(out.read_text())["decoders"]
    assert list(decoders) == ["token by token", "legal", "best F1", "recall 0.97"]
    assert all(one[data]["legal"] == 1.0 for one in list(decoders.values())[1:] for data in ("dev", "test"))
    assert decoders["token by token"]["dev"]["f1"] < decoders["legal"]["dev"]["f1"] <= decoders["best F1"]["dev"]["f1"]
    assert decoders["recall 0.97"]["dev"]["recall"] >= 0.97 > decoders["legal"]["dev"]["recall"]
    assert set(decoders["recall 0.97"]["prices"]) == {"enter", "longer"}
    assert "token by token" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--dev", "a.npz"], ["--dev", "none.npz", "--test", "none.npz"]])
def test_files_that_are_not_there_are_refused(options: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        run.main([*options, "--out", str(tmp_path / "out.json")])


def test_the_commands_of_the_readme_run(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in (*data.glob("*.npz"), *FOLDER.glob("*.dcrf")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"^\$ dcrfdsl (.*)$", readme, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command.partition(" >")[0].replace("--trials 169", "--trials 4").replace("0.99", "0.5"))
        assert dcrfdsl_command(words) == 0, command
