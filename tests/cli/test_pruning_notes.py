"""What pruning left out, in words: counts that belong to each other, and warnings where the figures say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcrfdsl.cli import run
from dcrfdsl.cli.inference_notes import pruning_notes
from dcrfdsl.inference import PruningReport

TAGGER = """dcrf 1
data conllu(word = form, tag = joined("upos xpos"))
label tag
view upos = part(tag, 1)
view xpos = part(tag, 2)
clique tag: bias, word
clique upos[-1], upos as parts
clique xpos[-1], xpos as natives
infer pruned(by = xpos, threshold = 0.0003, keep = 2)
train likelihood
"""


def lines(**counts: float) -> list[str]:
    return list(pruning_notes(PruningReport(positions=10, possible=100, kept=30, **counts), 100))  # type: ignore[arg-type]


def test_sentences_are_counted_of_those_that_are_judged_and_of_all() -> None:
    assert not list(pruning_notes(PruningReport(), 100))
    said = lines(early=2, judged=67, lost=3.0)
    assert any("in 2 of 67 sentences whose gold labels are all states of the model, of 100" in one for one in said)
    assert any(one.startswith("note") and "at most 3 % of the probability" in one for one in said)
    assert any(one.endswith("in 2 of 100 sentences") for one in lines(early=2, judged=100))


def test_a_bound_that_says_nothing_and_gold_that_is_pruned_are_warnings() -> None:
    said = [one for one in lines(early=47, judged=67, lost=99.9) if one.startswith("warning")]
    assert len(said) == 2 and all("`threshold`" in one and "`keep`" in one for one in said)
    assert "in 47 of 67 sentences" in said[0] and "says nothing" in said[1]


@pytest.mark.parametrize("native, warned", [("_", True), ("N", False)])
def test_a_view_of_one_state_that_prunes_is_said(
    native: str, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(TAGGER)
    rows = [("a", "DET", "_"), ("b", "NOUN", native), ("c", "VERB", "_")]
    words = "".join(f"{n}\t{w}\t_\t{u}\t{x}\t_\t0\troot\t_\t_\n" for n, (w, u, x) in enumerate(rows, 1))
    (tmp_path / "t.conllu").write_text(f"{words}\n" * 3)
    for command in (["check", "t.dcrf", "--data", "t.conllu"], ["train", "t.dcrf", "t.conllu", "-o", "m"]):
        assert run(command) == 0
        said = capsys.readouterr().err
        assert ("warning[idle-guide]" in said) == warned, command
        assert not warned or ("t.dcrf:9:" in said and "`by = upos`, a view with 3 states" in said)
