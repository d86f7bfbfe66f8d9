"""Cliques that say nothing: no feature fires, no instance fits a sentence, no state can be chosen.

What says nothing changes nothing: the objective is that of the template without it.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_combinations import TRAIN, Rows

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

HEADER = "data conll(word, y, v)\nlabel y\n"
ROWS: Rows = [
    [("p", "a", "1"), ("q", "b", "0"), ("p", "b", "1")],
    [("q", "a", "0"), ("r", "b", "1")],
    [("r", "b", "0")],
]
PLAIN = HEADER + "clique y: bias, word\nclique y[-1], y\n"
NEVER = 'word is "zz"'
CRITERIA = {
    name: TRAIN[name] for name in ("likelihood", "perceptron", "mce", "hmsvm by blocks", "exponential", "marginal")
}


def trained(text: str, train: str, rows: Rows = ROWS, infer: str = "exact") -> TrainedModel:
    resolved = load_text(f"{text}infer {infer}\ntrain {train}\n")
    corpus = corpus_from_rows(rows, resolved.require().data)
    model = fit(resolved, corpus, threads=1)
    model.predict(corpus)
    return model


PLACES = {
    "last": PLAIN + f"clique y as none: {NEVER}\n",
    "first": HEADER + f"clique y as none: {NEVER}\n" + PLAIN.removeprefix(HEADER),
    "between": HEADER + f"clique y: bias, word\nclique y as none: {NEVER}\nclique y[-1], y\n",
    "several": HEADER + f"clique y as n: {NEVER}\nclique y: bias, word\nclique y as m: {NEVER}\nclique y[-1], y\n",
}


@pytest.mark.long
@pytest.mark.parametrize("train", CRITERIA)
@pytest.mark.parametrize("place", PLACES)
def test_features_that_never_fire_change_nothing(place: str, train: str) -> None:
    with_it, without = (trained(text, CRITERIA[train]) for text in (PLACES[place], PLAIN))
    assert with_it.record.objective == pytest.approx(without.record.objective, rel=1e-9)
    assert np.sort(with_it.weights) == pytest.approx(np.sort(without.weights), abs=1e-7)


ALONE = {
    "nothing else": HEADER + f"clique y as none: {NEVER}\nclique y[-1], y\n",
    "nothing at all": HEADER + f"clique y as none: {NEVER}\n",
    "between neighbours": HEADER + f"clique y: bias, word\nclique y[-1], y as none: {NEVER}\n",
    "everywhere": HEADER + f"clique y as n: {NEVER}\nclique y[-1], y as none: {NEVER}\n",
}


@pytest.mark.parametrize("train", CRITERIA)
@pytest.mark.parametrize("text", ALONE.values(), ids=ALONE)
def test_features_that_never_fire_may_be_alone(text: str, train: str) -> None:
    try:
        model = trained(text, CRITERIA[train])
    except DcrfError as error:
        assert error.diagnostics
        return
    assert np.isfinite(model.weights).all()


@pytest.mark.long
def test_a_vector_of_zeros_changes_nothing() -> None:
    """Its numbers are features that never fire."""
    rows = [[([0.0, 0.0], word, y) for word, y, _ in sentence] for sentence in ROWS]
    header = "data conll(pixels: vector(2), word, y)\nlabel y\n"
    plain = header + "clique y: bias, word\nclique y[-1], y\n"
    for train in CRITERIA.values():
        with_it, without = (trained(text, train, rows) for text in (plain + "clique y as p: pixels\n", plain))
        assert with_it.record.objective == pytest.approx(without.record.objective, rel=1e-9)


SMALL: dict[str, tuple[str, Rows]] = {
    "one token": (PLAIN, [[("p", "a", "1")], [("q", "b", "0")]]),
    "one sentence of one token": (PLAIN, [[("p", "a", "1")]]),
    "one state": (PLAIN, [[("p", "a", "1"), ("q", "a", "0")]]),
    "no instance of the clique": (PLAIN + "clique y[-5], y as far: bias, word\n", ROWS),
    "no instance of the only pair": (HEADER + "clique y: bias, word\nclique y[-9], y as far: word\n", ROWS),
    "an empty sentence": (PLAIN, [*ROWS, []]),
}


@pytest.mark.parametrize("train", CRITERIA)
@pytest.mark.parametrize("infer", ["exact", "trp"])
@pytest.mark.parametrize("case", SMALL)
def test_small_data(case: str, infer: str, train: str) -> None:
    text, rows = SMALL[case]
    try:
        model = trained(text, CRITERIA[train], rows, infer)
    except DcrfError as error:
        assert error.diagnostics
        return
    assert np.isfinite(model.weights).all()
