"""`check --data` says how often each class occurs, in words and as JSON; counted here from the lines of the data."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from dcrfdsl.cli import run

TEMPLATE = """data conll(word, chunk, pos)
label chunk in bio(NP, VP) with missing = "?"
label pos
clique chunk: bias, word
clique pos: bias
"""
CHUNKS = ["B-NP", "I-NP", "O", "?", "I-VP", "I-VP", "B-VP", "B-VP"]


def test_tokens_and_segments_of_each_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    rows = [f"w{t} {chunk} {'ABC'[t % 3]}\n" for t, chunk in enumerate(CHUNKS)]
    (tmp_path / "t.txt").write_text("".join(rows) + "\n" + "x B-NP A\n")
    assert run(["check", "t.dcrf", "--data", "t.txt", "--format", "json"]) == 0
    (classes,) = json.loads(capsys.readouterr().out)["classes"]
    tokens = Counter(chunk for chunk in [*CHUNKS, "B-NP"] if chunk != "?")
    chunk, pos = classes["labels"]["chunk"], classes["labels"]["pos"]
    assert {state: count for state, count in chunk["tokens"].items() if count} == tokens
    assert chunk["unlabelled"] == 1
    # the run of I-VP after the missing label may have begun there, so it is left out
    assert chunk["segments"] == {"NP": 2, "VP": 2} and pos["segments"] == {}
    assert pos["tokens"] == Counter(["ABC"[t % 3] for t in range(8)] + ["A"])
    assert run(["check", "t.dcrf", "--data", "t.txt"]) == 0
    shown = capsys.readouterr().out
    assert "`pos`      A 4, B 3, C 2" in shown and "1 unlabelled; segments: NP 2, VP 2" in shown


def test_without_data_nothing_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    assert run(["check", str(tmp_path / "t.dcrf"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == []
