"""`examples/expected_f`: its template, and a quick run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "expected_f"
(expected_f,) = example_modules(FOLDER, "run")
NAMES = "Ana NP B-PER\nPaz NP I-PER\nvive VB O\nen IN O\nOslo NP B-LOC\n\nLima NP B-LOC\nes VB O\nvieja JJ O\n"


def test_the_template_checks_clean_and_is_in_the_canonical_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert dcrfdsl_command(["check", str(FOLDER / "segments.dcrf"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / "segments.dcrf")]) == 0


@pytest.mark.long
def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out.json"
    data.write_text("\n".join([NAMES] * 45))
    assert expected_f.main(["--train", str(data), "--test", str(data), "--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and len(result["rules"]) == 4
    assert all(one["f1"] == 1.0 for one in result["rules"].values())
    assert "fscore(segment, overall = 1.0)" in capsys.readouterr().out
