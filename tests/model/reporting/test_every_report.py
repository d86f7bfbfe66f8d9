"""A report on every graph family and every kind of model is a sound page, and stays small on much data."""

from __future__ import annotations

import numpy as np
import pytest
import template_cases
from fuzz.small_models import SMALL, train_small
from model_cases import trained
from report_cases import Page

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.tuning import tune

pytestmark = pytest.mark.long
TABLES = [table for table in vars(template_cases).values() if isinstance(table, dict)]
CASES = {name: case for table in TABLES for name, case in table.items() if isinstance(case, template_cases.Case)}
CHAIN = "data conll(word, y)\nlabel y{}\nclique y: bias, word\nclique y[-1], y\ninfer exact\n{}"


def page_of(model, corpus, folder, **choices):
    (path,) = model.report(corpus, folder / "report.html", draws=20, threads=1, **choices)
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_every_graph_family(name, tmp_path):
    model, corpus = trained(CASES[name])
    page = page_of(model, corpus, tmp_path)
    assert len(page.ids) == len(set(page.ids))
    assert all(f"Reliability of {label}" in page.text for label in model.labels)


@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_model(name, tmp_path):
    model, _ = train_small(name, tmp_path)
    page = page_of(model, corpus_from_rows(SMALL[name].sentences(), model.spec.data), tmp_path)
    assert model.record.stage in page.text and "Versions, hashes and seeds" in page.text
    for stage in model.record.before:
        assert f"Stage 1: {stage['stage']}" in page.text


def test_partly_known_gold_labels(tmp_path):
    resolved = load_text(CHAIN.format(' with missing = "?", ambiguous = "|"', "train likelihood\n"))
    rows = [[("a", "P"), ("b", "?"), ("c", "P|Q"), ("d", "Q")], [("a", "Q"), ("b", "R"), ("x", "R|Q")], [("c", "P")]]
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    model = model.with_weights(np.random.default_rng(1).normal(0, 2, model.num_weights), model.record)
    page = page_of(model, corpus, tmp_path)
    evaluation = model.scores.judged(corpus, model.predict(corpus))
    wrong = np.flatnonzero(evaluation.scored("y") & ~evaluation.right("y"))
    assert len(page.data["errors"]) == len(wrong)
    golds = {page.data["labels"][0]["texts"][error[3]] for error in page.data["errors"]}
    assert golds == {corpus.text_column("y").text(t) for t in wrong}


def test_a_search_of_constants_is_told(tmp_path):
    text = CHAIN.format("", "let v = 10 tune log(1, 100)\ntrain likelihood: prior = gaussian(variance = v)\n")
    resolved = load_text(text)
    corpus = corpus_from_rows([[("a", "P"), ("b", "Q")], [("b", "P"), ("c", "R")]] * 3, resolved.require().data)
    page = page_of(tune(resolved, corpus, dev=corpus, trials=3), corpus, tmp_path)
    assert "Search of constants" in page.text


def test_five_thousand_sentences_take_less_than_3_megabytes_a_page(tmp_path):
    """Even where most labels are wrong, which fills several pages."""
    resolved = load_text(CHAIN.format("", "train perceptron: epochs = 1\n"))
    generator = np.random.default_rng(0)
    words, states = [f"word{n}" for n in range(9000)], [f"STATE{n}" for n in range(12)]
    rows = [
        [(words[generator.integers(9000)], states[generator.integers(12)]) for _ in range(generator.integers(10, 40))]
        for _ in range(5000)
    ]
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus.slice(0, 300), threads=1)
    paths = model.report(corpus, tmp_path / "report.html", draws=100, errors=100_000)
    sizes = [path.stat().st_size for path in paths]
    assert len(sizes) > 1 and max(sizes) < 3_000_000
    listed = [Page(path.read_text(encoding="utf-8")).data["errors"] for path in paths]
    assert sum(map(len, listed)) == 100_000


def test_a_sentence_without_any_labelling(tmp_path):
    """Nothing is right there, nothing was predicted, and the notes say so."""
    text = CHAIN.format("", "forbid y is P and word is a\nforbid y is Q and word is a\ntrain perceptron: epochs = 1\n")
    resolved = load_text(text)
    corpus = corpus_from_rows([[("b", "P"), ("c", "Q")], [("c", "Q")]] * 2, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    gold = corpus_from_rows([[("b", "P"), ("a", "Q")], [("c", "Q")]], resolved.require().data)
    page = page_of(model, gold, tmp_path, sentences=[0])
    assert "No labelling is possible in 1 sentence" in page.text
    assert {error[4] for error in page.data["errors"] if page.data["sentences"][error[1]]["n"] == 1} == {-1}
    assert "nothing" in page.text
