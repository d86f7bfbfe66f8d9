"""Exported taggers of models with given scores label as the models do, with the same probabilities, -inf included."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from offset_cases import CASES

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import export_tagger
from dcrfdsl.export.standalone.tagger_model import Tagger
from dcrfdsl.export.standalone.tagger_tokens import TaggerError
from dcrfdsl.model.record import Calibration
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

NAMES = ("chain", "tested", "scaled", "moves", "factorial", "latent", "view", "bio", "rules", "memory", "once")


MARGINAL = {"latent": "decode marginal\n"}  # which its latent variable needs


def model_of(name: str, impossible: float = 0.0) -> tuple[TrainedModel, Any]:
    case, given = CASES[name], CASES[name].given(1)
    text, rows = case.with_offsets(given)
    resolved = load_text(
        f"{text}infer exact\n{MARGINAL.get(name, '')}train likelihood: optimizer = lbfgs(max_iterations = 1)\n"
    )
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    model = model.with_weights(np.random.default_rng(2).normal(0.0, 0.8, model.num_weights), model.record)
    if impossible:
        rows = case.with_offsets(case.given(1, impossible))[1]
    return model, corpus_from_rows(rows, resolved.require().data)


def sentences(name: str, impossible: float, form: str) -> list[dict[str, list[Any]]]:
    """The columns of each sentence, its scores as lists, texts or by name."""
    case, found = CASES[name], []
    for sentence, table in zip(case.sentences, case.given(1, impossible), strict=True):
        columns: dict[str, list[Any]] = {"word": [row[0] for row in sentence]}
        for column, numbers in table.items():
            names = [" ".join(one) for one in case.assignments(column)]
            shapes = {
                "lists": lambda row, n: row.tolist(),
                "texts": lambda row, n: ",".join(map(repr, row.tolist())),
                "names": lambda row, n: dict(zip(n, row.tolist(), strict=True)),
            }
            columns[column] = [shapes[form](row, names) for row in numbers]
        found.append(columns)
    return found


def exported(model: TrainedModel, folder: Path) -> Tagger:
    return Tagger(export_tagger(model, folder / "tagger.py").arrays)


@pytest.mark.parametrize("form", ["lists", "texts", "names"])
@pytest.mark.parametrize("name", NAMES)
def test_labels_and_probabilities_are_those_of_the_model(name: str, form: str, tmp_path: Path) -> None:
    for impossible, tau in ((0.0, 0.7), (0.2, 1.0)):
        model, corpus = model_of(name, impossible)
        if tau != 1.0:
            model = model.with_record(replace(model.record, calibration=Calibration(tau, 0.0, 0.0, 1)))
        tagger = exported(model, tmp_path)
        marginals, status = model.marginals(corpus)
        predicted = model.predict(corpus)
        for s, columns in enumerate(sentences(name, impossible, form)):
            if s in status.impossible:
                continue
            first = int(corpus.sentence_off[s])
            labels, probabilities = tagger.tag(columns), tagger.marginals(columns)
            for label in model.labels:
                of_label = labels[label] if len(model.labels) > 1 else labels
                assert list(of_label) == predicted.texts(label)[first : first + len(of_label)]
                wanted = marginals[label][first : first + len(of_label)]
                np.testing.assert_allclose(probabilities[label], wanted, atol=1e-9)


def test_lines_of_json_and_errors(tmp_path: Path) -> None:
    text, rows = CASES["bio"].with_offsets(CASES["bio"].given(1))
    resolved = load_text(text.replace("conll", "jsonl"))
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)
    tagger = exported(model, tmp_path)
    model.save(tmp_path / "a.model")
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "tagger.py")]) == 0
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in sentences("bio", 0.2, "lists")))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "tagger.py"), str(lines)], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == len(rows)
    assert run(["tag", str(tmp_path / "a.model"), str(lines), "-o", str(tmp_path / "out"), "-q"]) == 0
    assert "-Infinity" in lines.read_text() and '"-inf"' in done.stdout  # JSON has no infinity
    assert done.stdout == (tmp_path / "out").read_text()
    for bad in ([[0.0, 1.0]], [[0.0, 1.0, float("nan")]], [[0.0, 1.0, float("inf")]], [{"B-X": 1.0}]):
        with pytest.raises(TaggerError, match="column `s`"):
            tagger.tag({"word": ["a"], "s": bad})


def test_crfsuite_refuses_given_scores_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = model_of("chain")
    model.save(tmp_path / "a.model")
    assert run(["export", str(tmp_path / "a.model"), "-o", str(tmp_path / "x"), "--format", "crfsuite"]) == 1
    assert "CRFsuite has no scores from data, as `offset` adds them in `own`" in capsys.readouterr().err
