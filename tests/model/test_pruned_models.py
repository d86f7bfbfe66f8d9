"""What a model whose inference prunes says of all labellings: against enumeration, and where these sums do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from model_cases import columns, trained, twin_of
from template_cases import Case, sentences

from dcrfdsl import DcrfError
from dcrfdsl.cli import run
from dcrfdsl.model.predictor import ModelStructure

TEXT = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\ninfer pruned(threshold = 0.01, keep = 1)\n"
CASE = Case(TEXT, sentences("ABC"))


def enumerated(model, number):
    """The labellings of a sentence [n, T], and their probabilities."""
    every = twin_of(model, CASE).enumerate(columns(CASE, CASE.sentences[number]))
    scores = every.scores(model.weights)
    p = np.exp(scores - scores.max())
    return every.index, p / p.sum()


def test_likelihoods_and_clique_marginals_are_those_of_all_labellings():
    model, corpus = trained(CASE, scale=1.5)
    of_cliques, expected = model.events.clique_marginals(corpus), 0.0
    for number, (cliques, _) in zip(range(corpus.num_sentences), of_cliques, strict=True):
        labellings, p = enumerated(model, number)
        gold = [model.states["y"].index(y) for _, y in CASE.sentences[number]]
        expected += np.log(p[(labellings == gold).all(axis=1)].item())
        for one in cliques:
            places = labellings[:, [t for _, t in one.sites]]
            for states in np.ndindex(one.table.shape):
                assert one.table[states] == pytest.approx(p[(places == states).all(axis=1)].sum(), abs=1e-9)
    assert model.scores.log_likelihood(corpus) == pytest.approx(expected, rel=1e-9)


def test_where_these_sums_do_not_fit_it_is_said(tmp_path, monkeypatch, capsys):
    model, corpus = trained(CASE, scale=1.5)
    exact = model.scores.log_likelihood(corpus)
    monkeypatch.setattr(ModelStructure, "sums_fit", False)
    assert model.scores.log_likelihood(corpus) > exact
    with pytest.raises(DcrfError, match="cannot-prune"):
        next(model.events.clique_marginals(corpus))
    monkeypatch.chdir(tmp_path)
    lines = ("".join(f"{word} {y}\n" for word, y in sentence) for sentence in sentences("ABC", count=40))
    (tmp_path / "data").write_text("\n".join(lines))
    for metric, said in (("log_likelihood", True), ("accuracy(y)", False)):
        (tmp_path / "t.dcrf").write_text(f"{TEXT.replace('keep = 1', 'keep = 9')}evaluate {metric}\n")
        assert run(["train", "t.dcrf", "data", "-o", "m", "-q"]) == 0
        capsys.readouterr()
        assert run(["eval", "m", "data"]) == 0
        assert ("log likelihoods are too high" in capsys.readouterr().err) == said
    assert run(["calibrate", "m", "data"]) == 0
    assert "log likelihoods are too high" in capsys.readouterr().err
    for command in (["tag", "m", "data", "--marginals"], ["why", "m", "data", "--at", "1"]):
        assert run(command) == 0
        assert "single labels are those among the labellings that `pruned` leaves" in capsys.readouterr().err
