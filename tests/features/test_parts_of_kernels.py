"""Labelling with an observation kernel in parts: where not all positions can be compared at once."""

from __future__ import annotations

import numpy as np
import pytest

import dcrfdsl.model.prediction
from dcrfdsl import corpus_from_rows, fit, load_text

TEMPLATE = """dcrf 1
data jsonl(point: vector(2), name)
label name
clique name as place with states = all: bias, point
clique name[-1], name
infer exact
train hmsvm:
    kernel.place = rbf(gamma = 1)
"""
LENGTHS = (1, 5, 2, 1, 3, 1, 4)


def test_labels_do_not_depend_on_how_many_positions_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    template = load_text(TEMPLATE)
    data = template.require().data
    assert data is not None
    points = [random.normal(size=(length, 2)) for length in LENGTHS]
    rows = [{"point": point, "name": ["in" if ok else "out" for ok in (point**2).sum(1) < 1]} for point in points]
    corpus = corpus_from_rows(rows, data)
    model = fit(template, corpus, threads=1)
    expected = model.predict(corpus, threads=1)
    (observation_kernel,) = model.extractor.observation_kernels
    for most in range(
        1, observation_kernel.size * corpus.num_tokens, 7
    ):  # also fewer than a sentence or a position needs
        monkeypatch.setattr(dcrfdsl.model.prediction, "MOST_COMPARED", most)
        found = model.predict(corpus, threads=1)
        np.testing.assert_array_equal(found.codes["name"], expected.codes["name"])
        np.testing.assert_allclose(found.scores, expected.scores)
