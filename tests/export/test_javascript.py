"""Exported modules of JavaScript say what the model says, asked by Node; their page says it in a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from export_cases import STRUCTURES, UNSEEN, WORDS, drawn, sentence
from javascript_programs import asked, needs_node

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import export_tagger

pytestmark = needs_node
EXACT = 1e-9
MODELS = 4 * len(STRUCTURES)
SENTENCES = 30  # of each model: more than 1,000 of all


@pytest.mark.parametrize("models", [len(STRUCTURES), pytest.param(MODELS, marks=pytest.mark.long)])
def test_labels_and_probabilities_are_those_of_the_model(models: int, tmp_path: Path) -> None:
    """Every feature over every structure, on random sentences with words that training did not see."""
    questions, expected = [], []
    for seed in range(models):
        case, rng = drawn(seed, tmp_path), np.random.default_rng(seed)
        export_tagger(case.model, tmp_path / f"m{seed}.mjs")
        sentences = [sentence(rng, int(rng.integers(1, 12)), (*WORDS, *UNSEEN)) for _ in range(SENTENCES)]
        calls = [[method, one] for one in sentences for method in ("marginals", "tagged", "best")]
        questions.append((tmp_path / f"m{seed}.mjs", calls))
        data = case.model.spec.data
        assert data is not None
        corpus = corpus_from_rows(sentences, data, optional=case.model.labels)
        tables, status = case.model.marginals(corpus)
        prediction = case.model.predict(corpus)
        for s in range(SENTENCES):
            one = slice(*corpus.sentence_off[s : s + 2].tolist())
            labels = {name: list(prediction.texts(name)[one]) for name in case.model.labels}
            impossible = s in status.impossible
            expected.append((case, sentences[s], {name: tables[name][one] for name in labels}, labels, impossible))
    answers = asked(questions)
    assert len(answers) == 3 * len(expected) >= 3 * SENTENCES * models
    differing = 0
    for n, (case, tokens, tables, labels, impossible) in enumerate(expected):
        found, tagged, best = answers[3 * n : 3 * n + 3]
        assert "error" not in found, (found, case.text)
        for name, table in tables.items():
            rows = np.array(found["answer"][name], np.float64)
            np.testing.assert_allclose(rows, table, atol=EXACT, rtol=0, err_msg=case.text)
        if impossible:
            assert tagged["answer"] is None and "no labelling" in best["error"]
        elif tagged["answer"] != labels:  # two labellings that are equally good: rounding decides
            differing += 1
            if case.model.decode == "joint":
                (one,) = case.model.nbest(tokens, 1)
                assert best["answer"]["probability"] == pytest.approx(one.probability, rel=1e-9), case.text
            for name, states in tagged["answer"].items() if case.model.decode == "marginal" else ():
                chosen = [case.model.states[name].index(state) for state in states]
                taken = tables[name][np.arange(len(chosen)), chosen]
                np.testing.assert_allclose(taken, tables[name].max(axis=1), atol=EXACT, err_msg=case.text)
    assert differing <= len(expected) // 100
