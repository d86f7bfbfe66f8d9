"""Soft labels and labels of sources at every door: files, parts, folds, optimizers, model files, what is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl import Template, corpus_from_rows, cross_validate, fit, load, load_text, open_parts, read_corpus
from dcrfdsl.cli import run
from dcrfdsl.data import encode_known_labels
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.template import bio

SOFT = 'data conll(word, y)\nlabel y in bio(X) with soft = ":", missing = "?"\nclique y: bias, word\nclique y[-1], y\n'
SOURCES = """data conll(word, origin, y)
label y in bio(X, Z) with source = origin, covers = types("one: X", "two: Z")
clique y: bias, word
clique y[-1], y
"""
TRAIN = "train likelihood: prior = gaussian(variance = 10)\n"
SOFT_LINES = ["a B-X:0.7|O:0.3", "b I-X:0.6|O:0.4", "", "b O", "a B-X", "c O:0.9|B-X:0.1", "", "c ?", "a O", ""]
SOURCE_LINES = ["a one B-X", "b one O", "", "b two B-Z", "a two O", "c two O", "", "c one O", "a one B-X", ""]
KINDS = {"soft": (SOFT, SOFT_LINES), "sources": (SOURCES, SOURCE_LINES)}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    return KINDS[request.param]


def file_of(folder: Path, lines: list[str], times: int = 4) -> Path:
    path = folder / "train.txt"
    path.write_text("\n".join(lines * times), encoding="utf-8")
    return path


def test_parts_train_to_the_same_weights(kind: tuple[str, list[str]], tmp_path: Path) -> None:
    text, lines = kind
    resolved, path = load_text(text + TRAIN), file_of(tmp_path, lines)
    whole = fit(resolved, read_corpus(path, resolved.require().data))
    parts = open_parts([path], resolved, cache=tmp_path / "cache", part_tokens=9)
    model = fit(resolved, parts)
    assert len(parts.parts) > 1
    np.testing.assert_allclose(model.record.objective, whole.record.objective, rtol=1e-6)
    assert not model.record.notes


@pytest.mark.parametrize("optimizer", ["sgd(epochs = 60)", "owlqn", "cg"])
def test_other_optimizers_reach_the_same_optimum(kind: tuple[str, list[str]], optimizer: str) -> None:
    text, lines = kind
    rows = [[tuple(line.split()) for line in one.split("\n")] for one in "\n".join(lines).strip().split("\n\n")] * 4
    resolved = load_text(text + TRAIN)
    corpus = corpus_from_rows(rows, resolved.require().data)
    other = load_text(f"{text}train likelihood: prior = gaussian(variance = 10), optimizer = {optimizer}\n")
    best, found = fit(resolved, corpus).record.objective, fit(other, corpus).record.objective
    assert best - 1e-6 <= found <= best + 0.05 * abs(best)


def test_a_model_file_keeps_what_labels_say(kind: tuple[str, list[str]], tmp_path: Path) -> None:
    text, lines = kind
    resolved, path = load_text(text + TRAIN), file_of(tmp_path, lines)
    corpus = read_corpus(path, resolved.require().data)
    model = fit(resolved, corpus)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.spec == model.spec and again.evaluate(corpus) == model.evaluate(corpus)
    scores = cross_validate(resolved, corpus, folds=2)
    assert scores is not None


def test_commands_take_data_with_and_without_the_source(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    template, path = tmp_path / "t.dcrf", file_of(tmp_path, SOURCE_LINES)
    template.write_text(SOURCES + TRAIN, encoding="utf-8")
    model, test = str(tmp_path / "m"), tmp_path / "test.txt"
    test.write_text("a B-X\nb B-Z\nc O\n", encoding="utf-8")
    assert run(["train", str(template), str(path), "-o", model, "-q"]) == 0
    capfd.readouterr()
    assert run(["eval", model, str(test), "--json"]) == 0
    complete = json.loads(capfd.readouterr().out)
    assert run(["eval", model, str(path), "--json"]) == 0
    partly = json.loads(capfd.readouterr().out)
    found = [json.dumps(one) for one in (complete, partly)]
    assert '"ambiguous(y)": 0' in found[0] and '"ambiguous(y)": 16' in found[1]
    test.write_text("a\nb\n", encoding="utf-8")
    assert run(["tag", model, str(test)]) == 0


def test_an_exported_tagger_needs_no_source(tmp_path: Path) -> None:
    resolved, path = load_text(SOURCES + TRAIN), file_of(tmp_path, SOURCE_LINES)
    fit(resolved, read_corpus(path, resolved.require().data)).save(tmp_path / "model")
    assert run(["export", str(tmp_path / "model"), "-o", str(tmp_path / "tagger.py")]) == 0
    command = [sys.executable, str(tmp_path / "tagger.py")]
    done = subprocess.run(command, input=b"a\nb\n", capture_output=True, check=True)
    assert done.stdout.decode().split() == ["a", "B-X", "b", "B-Z"]


def test_what_is_free_stays_free_beside_a_teacher() -> None:
    head = 'data conll(word, p: scores(y), y)\nlabel y in {A, B} with missing = "_", soft = p\n'
    resolved = load_text(f"{head}clique y: bias, word\n{TRAIN}")
    corpus = corpus_from_rows([[("a", [0.9, 0.1], "_"), ("b", [0.5, 0.5], "B")]], resolved.require().data)
    model = fit(resolved, corpus)
    assert encode_known_labels(model.spec, model.states, corpus).codes.tolist() == [[-1, 1]]


def test_a_distribution_cannot_be_given() -> None:
    resolved = load_text(SOFT + TRAIN)
    corpus = corpus_from_rows([[("a", "B-X"), ("b", "O:0.5|I-X:0.5")]], resolved.require().data)
    model = fit(resolved, corpus)
    with pytest.raises(DcrfError, match="only states can be given"):
        encode_known_labels(model.spec, model.states, corpus)


def test_the_builder_says_the_same() -> None:
    m = Template()
    m.data("conll", "word", "origin", "y")
    m.label("y", bio("X", "Z"), source="origin", covers={"one": ["X"], "two": "Z", "gold": "all"})
    assert 'source = origin, covers = types("one: X", "two: Z", "gold: all")' in m.text()
