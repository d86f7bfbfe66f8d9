"""Cliques of three variables in every order of their sites: tables lie in all orders of axes, answers are the same.

The probabilities of all labellings, each from the counts of its features and log Z, must sum to 1.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcrfdsl
from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.inference.workers import Workers
from dcrfdsl.semantics import stage_settings
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import TrainingRequest, _begun

LENGTHS = [2, pytest.param(3, marks=pytest.mark.long)]


def labelled(text: str, labels: tuple[tuple[str, str], ...]) -> Criterion:
    resolved = load_text(text)
    spec = resolved.require(unchecked=True)
    rows = [[(word, p, q) for word, (p, q) in zip("aba", labels, strict=False)]]
    corpus = dcrfdsl.corpus_from_rows(rows, spec.data)
    _, problem = _begun(resolved, spec, corpus, TrainingRequest(), Workers(1))
    return CRITERIA["likelihood"](problem, stage_settings(spec, None))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("sites", [*itertools.permutations(["p[-1]", "p", "q"])], ids="-".join)
def test_all_labellings_together_are_certain(sites: tuple[str, ...], length: int) -> None:
    text = f"""
data conll(word, p, q)
label p in {{P, Q, R}}
label q in {{X, Y}}
clique p with states = all: word
clique {", ".join(sites)} with states = all
clique q[-1], q with states = all
infer exact
train likelihood: prior = none
"""
    draw, total, mean = np.random.default_rng(4), 0.0, 0.0
    weights = None
    for labels in itertools.product(itertools.product("PQR", "XY"), repeat=length):
        criterion = labelled(text, labels)
        weights = draw.normal(size=criterion.num_weights) if weights is None else weights
        value, gradient = criterion.value_and_gradient(weights)
        total += np.exp(-value)
        mean = mean + np.exp(-value) * gradient  # Σ p(y) (E f − f(y))
    assert total == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
