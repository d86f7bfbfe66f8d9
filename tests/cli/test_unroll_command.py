"""`unroll` of a model: the graph of the template that it was trained from, on data that needs no labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcrfdsl.cli import run

Captured = pytest.CaptureFixture[str]
TEMPLATE = """data conll(word, tag)
label tag in {A, B}
clique tag: bias, word
clique tag[-1], tag as moves
clique tag[i], tag[j] where word[i] = word[j] as again with min_gap = 2: bias
train likelihood
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(TEMPLATE)
    (tmp_path / "t.txt").write_text("a A\nb B\n\na A\nb B\na A\nb B\n")
    (tmp_path / "bare.txt").write_text("a\nb\n\na\nb\na\nb\n")
    assert run(["train", "t.dcrf", "t.txt", "-o", "t.model", "-q"]) == 0
    return tmp_path


@pytest.mark.parametrize("sentence", ["1", "2"])
def test_a_model_has_the_graph_of_its_template(sentence: str, here: Path, capsys: Captured) -> None:
    drawn = []
    for arguments in (["t.dcrf", "t.txt"], ["t.model", "t.txt"], ["t.model", "bare.txt"]):
        assert run(["unroll", *arguments, "-n", sentence, "--format", "text"]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] == drawn[2].replace("bare.txt", "t.txt")
    assert f"sentence {sentence} of" in drawn[0] and ("again" in drawn[0]) == (sentence == "2")


def test_what_only_a_template_takes_is_refused(here: Path, capsys: Captured) -> None:
    assert run(["unroll", "t.model", "t.txt", "--set", "train.seed=1"]) == 2
    assert "--set changes a template" in capsys.readouterr().err
    assert run(["unroll", "t.model", "t.txt", "-n", "3"]) == 1
    assert "there is no number 3" in capsys.readouterr().err
