"""`examples/labels/half_marked.py`: its template, what is taken off the data, the test, and a quick half_marked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy.stats import ttest_rel

from dcrfdsl import load_template, read_corpus
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "labels"
(half_marked,) = example_modules(FOLDER, "half_marked")

NAMES = (
    "Ana NP B-PER\nPaz NP I-PER\nvive VB O\nen IN O\nOslo NP B-LOC\nJa NP B-ORG\n\nLima NP B-LOC\nes VB O\nvieja JJ O\n"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").write_text("\n".join([NAMES] * 15))
    return tmp_path / "data"


def test_the_template_checks_clean_and_is_in_the_canonical_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert dcrfdsl_command(["check", str(FOLDER / "half_marked.dcrf"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", str(FOLDER / "half_marked.dcrf")]) == 0


def test_whole_entities_lose_their_marks(data: Path) -> None:
    corpus = read_corpus(data, load_template(FOLDER / "half_marked.dcrf").require().data)
    found, share = half_marked.versions(corpus, "ner", np.random.default_rng(0))
    tags = {name: [one.text_column("ner").text(n) for n in range(one.num_tokens)] for name, one in found.items()}
    assert share == pytest.approx(np.mean([tag != "O" for tag in tags["all"]]))
    spans = list(half_marked.entities(tags["all"], corpus.sentence_off))
    assert spans[:4] == [(0, 2), (4, 5), (5, 6), (6, 7)]
    kept = [tags["O"][first:last] == tags["all"][first:last] for first, last in spans]
    assert 0.3 < np.mean(kept) < 0.7
    assert all(keep or set(tags["O"][a:b]) == {"O"} for keep, (a, b) in zip(kept, spans, strict=True))
    assert tags["?"] == [tag if tag != "O" else "?" for tag in tags["O"]]


def test_the_p_of_a_paired_test() -> None:
    one, other = [0.5, 0.6, 0.7], [0.4, 0.55, 0.5]
    assert half_marked.paired_p(np.subtract(one, other)) == pytest.approx(ttest_rel(one, other).pvalue)
    assert half_marked.paired_p([0.1]) is half_marked.paired_p([0.1, 0.1]) is None


@pytest.mark.long
def test_a_quick_run(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    arguments = ["--train", str(data), "--test", str(data), "--sentences", "12", "--seeds", "2", "--out", str(out)]
    assert half_marked.main(arguments) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and {*result["runs"]} == {*half_marked.WAYS}
    assert all(len(runs) == 2 for runs in result["runs"].values())
    printed = capsys.readouterr().out
    assert all(way in printed for way in half_marked.WAYS.values())
