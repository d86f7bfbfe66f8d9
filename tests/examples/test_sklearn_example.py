"""`examples/sklearn`: its templates, its sentences, the arithmetic of its test, and a quick run of the whole."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy.stats import ttest_1samp

from dcrfdsl.cli import run as dcrfdsl_command
from dcrfdsl.sklearn import SequenceTagger

FOLDER = ROOT / "examples" / "sklearn"

invented, run = example_modules(FOLDER, "invented", "run")


@pytest.mark.parametrize("name", ["chains", "coupled"])
def test_templates_check_clean_and_are_in_the_canonical_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


def test_sentences_are_drawn_by_their_seed() -> None:
    first, again, other = (invented.sentences(50, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert all(len(words) == len(tags) for words, tags in first)
    names = {word for words, tags in first for word, tag in zip(words, tags, strict=True) if tag[1] != "O"}
    assert names & {word for words, tags in first for word, tag in zip(words, tags, strict=True) if tag[1] == "O"}


def test_the_test_is_a_t_test_with_more_variance() -> None:
    differences = np.random.default_rng(0).normal(0.5, 1.0, 10).tolist()
    plain = ttest_1samp(differences, 0.0)
    statistic = abs(plain.statistic) * math.sqrt((1 / 10) / (1 / 10 + 1 / 4))
    assert run.corrected_p(differences, 5) == pytest.approx(2 * run.student.sf(statistic, 9))
    assert plain.pvalue < run.corrected_p(differences, 5)
    assert run.corrected_p([0.0, 0.0], 2) == 1.0


def test_own_data_are_read_as_the_template_declares(tmp_path: Path) -> None:
    lines = "\n\n".join(
        "\n".join(f"{word} {pos} {entity}" for word, (pos, entity) in zip(*sentence, strict=True))
        for sentence in invented.sentences(3, 0)
    )
    (tmp_path / "a.txt").write_text(lines + "\n")
    X, y = SequenceTagger(FOLDER / "coupled.dcrf").read(tmp_path / "a.txt")
    assert list(zip(X, y, strict=True)) == invented.sentences(3, 0)
    with pytest.raises(SystemExit, match="no such file"):
        run.main(["--data", str(tmp_path / "none.txt"), "--out", str(tmp_path / "out.json")])


@pytest.mark.long
def test_a_run_compares_the_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "QUICK_SENTENCES", 30)
    monkeypatch.setattr(run, "POINTS", 2)
    out = tmp_path / "result.json"
    assert run.main(["--quick", "--threads", "1", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and set(result["scores"]) == set(run.MODELS)
    assert all(len(own["joint_accuracy"]) == 3 for own in result["scores"].values())
    assert set(result["chosen"]["coupled"]) <= {0.1, 100}
    shown = capsys.readouterr().out
    assert "30 sentences, 3 folds, repeats: 1" in shown and "coupled" in shown and "both right" in shown
