"""`examples/labels`: its templates, and a run of the whole on made-up sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, example_modules

from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "labels"

(run,) = example_modules(FOLDER, "run")


@pytest.mark.parametrize("name", ["plain", "sources", "student", "weak"])
def test_the_templates_check_clean_and_are_in_the_canonical_layout(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")
def test_sources_and_soft_labels_pay_on_made_up_sentences(tmp_path: Path) -> None:
    """A name of each type, and other words; the file has a column between the word and its label."""
    drawn, words = np.random.default_rng(0), {"loc": "LOC", "per": "PER", "org": "ORG", "misc": "MISC"}
    lines = []
    for _ in range(120):
        for word in drawn.choice([*words, "and", "the", "says"], 6):
            kind = words.get(word)
            lines.append(f"{word}{drawn.integers(3)} X {f'B-{kind}' if kind else 'O'}")
        lines.append("")
    file = tmp_path / "data.txt"
    file.write_text("\n".join(lines), encoding="utf-8")
    sentences = run.read(file)
    assert len(sentences) == 120 and len(sentences[0][0]) == 2
    result = run.run(sentences, sentences, sentences=40, seeds=2)
    sources, soft = result["tables"]["sources"], result["tables"]["soft"]
    assert sources["`source` and `covers`"]["mean"] > sources["each `O` at its word"]["mean"] + 5.0
    assert soft["gold and soft labels"]["mean"] > soft["gold alone"]["mean"]
