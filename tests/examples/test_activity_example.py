"""`examples/activity`: the recordings that it simulates, its templates, and a quick run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, example_modules

from dcrfdsl import load_text
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "activity"
simulate, run = example_modules(FOLDER, "simulate", "run")


def test_recordings_are_drawn_by_their_seed_and_have_gaps() -> None:
    numbers, labels = simulate.recording(np.random.default_rng(0))
    again, _ = simulate.recording(np.random.default_rng(0))
    assert np.array_equal(numbers, again, equal_nan=True) and numbers.shape == (len(labels), 6)
    assert 0.1 < np.isnan(numbers).mean() < 0.3 and set(labels) <= set(simulate.ACTIVITIES)
    assert not np.isnan(run.filled(numbers)).any()
    ((prepared, _),) = run.by_hand([(numbers, labels)], [(numbers, labels)])
    assert np.allclose(prepared.mean(axis=0), 0) and np.allclose(prepared.std(axis=0), 1)


def test_templates_have_the_same_features(capsys: pytest.CaptureFixture[str]) -> None:
    texts = run.templates()
    by_hand, raw = (load_text(texts[name]).require() for name in ("by hand", "raw units"))
    assert by_hand.groups == raw.groups and by_hand.cliques == raw.cliques and "standardize(" in texts["standardize"]
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / "by_hand.dcrf")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.long
def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    assert run.main(["--quick", "--threads", "1", "--out", str(out)]) == 0
    assert list(json.loads(out.read_text())["models"]) == ["standardize", "by hand", "raw units"]
    assert "by hand" in capsys.readouterr().out
