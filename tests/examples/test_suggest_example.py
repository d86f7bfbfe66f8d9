"""`examples/suggest`: its template, and a run of the whole on made-up sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "suggest"
NAMES = "Ada N B-PER\nin P O\nBath N B-LOC\n\nwho P O\nknows V O\nBob N B-PER\nLee N I-PER\n\nit P O\nrains V O\n\n"

(run,) = example_modules(FOLDER, "run")


def test_the_template_checks_clean_and_is_in_the_canonical_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert dcrfdsl_command(["check", str(FOLDER / "entities.dcrf"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / "entities.dcrf")]) == 0


@pytest.mark.long
def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out.json"
    data.write_text(NAMES * 10)
    sizes = ["--pool", "24", "--step", "2", "--seeds", "2"]
    assert run.main(["--train", str(data), "--test", str(data), *sizes, "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and {*result["runs"]} == {*run.WAYS} and len(result["full"]) == 2
    for runs in result["runs"].values():
        assert all(2 <= one["sentences"] <= 24 and one["sentences"] % 2 == 0 for one in runs)
    printed = capsys.readouterr().out
    assert all(way in printed for way in run.WAYS)
