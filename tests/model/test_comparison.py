"""Comparisons of models: scores as `evaluate` has them, tests by hand, refusals, and the command."""

from __future__ import annotations

import csv
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from model_cases import trained
from scipy import stats
from sentence_cases import ALONE, CLIQUES, HEAD, LABEL, drawn_sentences
from template_cases import CASES, Case, sentences

import dcrfdsl
from dcrfdsl.cli import run
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.metrics import holm

WORDS = dcrfdsl.load_text("data conll(word, y)\nlabel y\nclique y: word\n").require().data
SEGMENTS = Case(
    "data conll(word, y)\nlabel y in bio\nclique y: bias, word\nclique y[-1], y\nevaluate segments(y), accuracy(y)\n",
    sentences(("B-X", "I-X", "B-Z", "O"), count=40, longest=8),
)


def pair(case, scale=1.0):
    first, corpus = trained(case, seed=1, scale=scale)
    return {"a": first, "b": trained(case, seed=2, scale=scale)[0]}, corpus


def legal(case):
    """The case with only sentences that are legal BIO."""
    kept = [
        s
        for s in case.sentences
        if all(not y.startswith("I") or (t and s[t - 1][1][1:] == y[1:]) for t, (_, y) in enumerate(s))
    ]
    return Case(case.text, kept)


@pytest.fixture(scope="module")
def chunkers():
    return pair(legal(SEGMENTS))


@pytest.mark.parametrize("name", ["chain", "factorial", "three chains", "skip chain"])
def test_scores_are_those_of_evaluate(name):
    models, corpus = pair(CASES[name])
    comparison = dcrfdsl.compare(models, corpus, draws=20, exchanges=20)
    by_name = {one.name: one for one in comparison.scores}
    for number, model in enumerate(models.values()):
        predicted = model.predict(corpus)
        for label in model.labels:
            gold = [corpus.columns[label].text(t) for t in range(corpus.num_tokens)]
            share = np.mean([one == other for one, other in zip(gold, predicted.texts(label), strict=True)])
            assert by_name[f"accuracy({label})"].values[number] == pytest.approx(share)
    assert ("joint_accuracy" in by_name) == (len(comparison.labels) > 1)


def test_tokens_right_in_all_labels_are_those_of_evaluate_with_a_label_of_the_sentence():
    text = HEAD + LABEL + "".join(CLIQUES[name] for name in ("words", "tie")) + ALONE + "evaluate joint_accuracy\n"
    models, corpus = pair(Case(text, drawn_sentences(0, True)), scale=2.0)
    (joint,) = (one for one in dcrfdsl.compare(models, corpus, draws=20).scores if one.name == "joint_accuracy")
    for model, value in zip(models.values(), joint.values, strict=True):
        assert value == model.evaluate(corpus)["joint_accuracy"]
        predicted, rows = model.predict(corpus), [row for own in drawn_sentences(0, True) for row in own]
        labelled = zip(predicted.texts("intent"), predicted.texts("y"), strict=True)
        assert 0.0 < value == pytest.approx(np.mean([row[1:] == two for row, two in zip(rows, labelled, strict=True)]))


def test_segments_are_those_of_evaluate(chunkers):
    models, corpus = chunkers
    by_name = {one.name: one for one in dcrfdsl.compare(models, corpus, draws=20, exchanges=20).scores}
    for number, model in enumerate(models.values()):
        scores = model.evaluate(corpus)
        assert by_name["segments(y)"].values[number] == pytest.approx(scores["segments(y).f1"])
        assert by_name["accuracy(y)"].values[number] == pytest.approx(scores["accuracy(y)"])
    assert {"segments(y).X", "segments(y).Z"} <= set(by_name)


def test_cases_are_counted_by_hand(chunkers):
    models, corpus = chunkers
    gold = [corpus.columns["y"].text(t) for t in range(corpus.num_tokens)]
    right = [[g == p for g, p in zip(gold, model.predict(corpus).texts("y"), strict=True)] for model in models.values()]
    comparison = dcrfdsl.compare(models, corpus, draws=5, exchanges=5)
    tokens, of_sentences = comparison.cases
    only = sum(a and not b for a, b in zip(*right, strict=True)), sum(b and not a for a, b in zip(*right, strict=True))
    assert (tokens.unit, tokens.only_first, tokens.only_other) == ("tokens(y)", *only)
    assert tokens.p_value == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)
    off = corpus.sentence_off
    whole = [[all(one[start:end]) for start, end in pairwise(off)] for one in right]
    assert of_sentences.only_first == sum(a and not b for a, b in zip(*whole, strict=True))
    codes = [model.predict(corpus).texts("y") for model in models.values()]
    differ = [s for s in range(corpus.num_sentences) if codes[0][off[s] : off[s + 1]] != codes[1][off[s] : off[s + 1]]]
    assert list(comparison.differing) == differ


def test_errors_are_told_apart_place_by_place():
    """Three models that say fixed labels: each clique's bias decides alone."""
    text = "data conll(word, y)\nlabel y in bio(P, Q)\nclique y: word\nevaluate segments(y)\n"
    gold = [[("a", "B-P"), ("b", "O"), ("c", "B-Q"), ("d", "I-Q"), ("b", "O")]] * 3
    said = {
        "right": {"a": "B-P", "b": "O", "c": "B-Q", "d": "I-Q"},
        "short": {"a": "O", "b": "O", "c": "B-Q", "d": "O"},  # misses P, cuts Q
        "wrong": {"a": "B-Q", "b": "B-P", "c": "B-Q", "d": "I-Q"},  # P is Q, and P where nothing is
    }
    models = {}
    for name, labels in said.items():
        rows = [[(word, labels[word]) for word, _ in sentence] for sentence in gold]
        models[name] = dcrfdsl.fit(dcrfdsl.load_text(text), dcrfdsl.corpus_from_rows(rows, WORDS))
    models = {"short": models["short"], "right": models["right"], "wrong": models["wrong"]}
    found = dcrfdsl.compare(models, dcrfdsl.corpus_from_rows(gold, WORDS), draws=5, exchanges=50)
    assert [tuple(one) for one in found.errors] == [
        ("y", "P", "spurious", (0, 0, 6)),
        ("y", "P", "missing", (3, 0, 0)),
        ("y", "P", "wrong type", (0, 0, 3)),
        ("y", "Q", "wrong border", (3, 0, 0)),
    ]
    assert [tuple(one) for one in found.error_differences] == [
        ("y", "P", "wrong", "no error", "spurious", 6),
        ("y", "P", "right", "missing", "no error", 3),
        ("y", "P", "wrong", "missing", "wrong type", 3),
        ("y", "Q", "right", "wrong border", "no error", 3),
        ("y", "Q", "wrong", "wrong border", "no error", 3),
    ]
    raw = [p for one in found.scores for p in one.p_values[1:]]
    assert [p for one in found.scores for p in one.adjusted[1:]] == holm(raw) != raw
    assert [one.adjusted for one in found.cases] == holm([one.p_value for one in found.cases])


def test_the_same_seed_gives_the_same_numbers(chunkers):
    models, corpus = chunkers
    one, again, other = (dcrfdsl.compare(models, corpus, draws=50, exchanges=50, seed=seed) for seed in (3, 3, 4))
    assert one == again
    assert one.scores != other.scores


def test_a_model_does_not_differ_from_itself(chunkers):
    models, corpus = chunkers
    comparison = dcrfdsl.compare({"a": models["a"], "again": models["a"]}, corpus, draws=20, exchanges=20)
    assert {one.p_values[1] for one in comparison.scores} == {1.0}
    assert not comparison.differing


def test_what_cannot_be_compared_is_refused(chunkers):
    models, corpus = chunkers
    refusals = {
        "nothing-to-compare": lambda: dcrfdsl.compare({"a": models["a"]}, corpus),
        "bad-level": lambda: dcrfdsl.compare(models, corpus, level=95),
        "other-sentences": lambda: dcrfdsl.compare(models, {"a": corpus, "b": corpus.slice(0, 2)}),
    }
    for slug, call in refusals.items():
        with pytest.raises(DcrfError) as caught:
            call()
        assert caught.value.diagnostics[0].slug == slug


def test_models_without_a_common_label_are_refused():
    one, corpus = trained(CASES["chain"])
    text = CASES["chain"].text.replace("y", "z")
    other, _ = trained(Case(text, CASES["chain"].sentences))
    with pytest.raises(DcrfError, match="no label in common"):
        dcrfdsl.compare({"a": one, "b": other}, {"a": corpus, "b": corpus})


def test_the_command(chunkers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models, corpus = chunkers
    for name, model in models.items():
        model.save(tmp_path / name)
    case = legal(SEGMENTS)
    (tmp_path / "t.txt").write_text("\n\n".join("\n".join(" ".join(row) for row in s) for s in case.sentences) + "\n")
    files = [str(tmp_path / name) for name in ("a", "b", "t.txt")]
    assert run(["compare", *files, "--json", "--draws", "30", "--seed", "2"]) == 0
    answer = json.loads(capsys.readouterr().out)
    comparison = dcrfdsl.compare(models, corpus, draws=30, seed=2)
    assert answer["models"] == ["a", "b"]
    assert [one["values"] for one in answer["scores"]] == [list(one.values) for one in comparison.scores]
    assert [one["p_values"] for one in answer["scores"]] == [list(one.p_values) for one in comparison.scores]
    assert answer["differing"] == [s + 1 for s in comparison.differing]
    assert run(["compare", *files, "--differences", "1", "--draws", "30"]) == 0
    shown = capsys.readouterr().out
    assert f"sentence {comparison.differing[0] + 1}," in shown and "p (McNemar)" in shown
    for one in comparison.errors[:3]:
        assert re.search(rf"^y +{one.type} +{one.error} +{one.counts[0]} +{one.counts[1]}$", shown, re.MULTILINE)
    assert answer["errors"][0]["counts"] == list(comparison.errors[0].counts)
    assert answer["error_differences"][0]["places"] == comparison.error_differences[0].places
    assert run(["compare", *files, "--format", "csv", "--draws", "30", "--seed", "2"]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert rows[0] == ["score", "a", "b", "p", "p (Holm)"] and rows[len(comparison.scores) + 1] == []
    assert [row[0] for row in rows[1 : len(comparison.scores) + 1]] == [one.name for one in comparison.scores]
    assert run(["compare", *files, "--format", "csv", "--json"]) == 1
    assert "idle-option" in capsys.readouterr().err
    assert run(["compare", files[0], files[2]]) == 1
    assert "nothing-to-compare" in capsys.readouterr().err
