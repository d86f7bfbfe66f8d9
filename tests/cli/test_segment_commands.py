"""What commands say of a `segment` statement, on a chain and beside another label. Not here: the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcrfdsl.cli import run

DATA = "the D O\nred A B-X\ncar N I-X\nstops V O\n\ncars N B-X\nstop V O\n"
CHAIN = """dcrf 1
data conll(word, pos, chunk)
label chunk in bio(X)
clique chunk[-1], chunk as chain
segment chunk up to 3 as spans: length, joined(word)
"""
BESIDE = CHAIN + "label pos\nclique pos, chunk as both\nclique pos: word\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text(DATA)
    Path("chain.dcrf").write_text(f"{CHAIN}train likelihood\n")
    Path("beside.dcrf").write_text(f"{BESIDE}infer exact\ntrain likelihood\n")
    return tmp_path


def test_check_says_what_segments_cost(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """States of the variable: X with 1 or 2 tokens that goes on, X with 1 to 3 that ends, and O."""
    assert run(["check", "beside.dcrf", "--data", "data.txt"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "spans 1 × 3 tokens" in shown and "segments 6 states of a token" in shown
    assert run(["check", "chain.dcrf"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "spans 1 × 3 tokens" in shown and "segments 6 states of a token" in shown


@pytest.mark.parametrize("name", ["chain", "beside"])
def test_unroll_draws_how_far_segments_have_come(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["unroll", f"{name}.dcrf", "data.txt"]) == 0
    shown = capsys.readouterr().out
    assert "segment of chunk[2]" in shown and "joined(word)=red car" in shown


def test_why_explains_labels_of_segments(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "chain.dcrf", "data.txt", "-o", "chain.model", "-q"]) == 0
    capsys.readouterr()
    assert run(["why", "chain.model", "data.txt", "--at", "2"]) == 0
    assert "spans" in capsys.readouterr().out


def test_training_in_parts_refuses_segments_in_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "beside.dcrf", "data.txt", "-o", "parted.model", "--memory", "2GB"]) != 0
    message = capsys.readouterr().err
    assert message.startswith("error[cannot-segment]") and "help:" in message and message.count("error") == 1
