"""The likelihood with given scores of which some are -inf: value by enumeration, gradient by finite differences.

Sentences of 1 to 5 tokens; scores of one variable, of moves, and of two variables together.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

TEMPLATE = """data conll(word, s: scores(y), m: scores(y, y), b: scores(y, z), y, z)
label y in {A, B, C}
label z in {P, Q}
clique y as own: offset(s)
clique y[-1], y as moves with states = all: bias, offset(m)
clique y, z as both: offset(b)
clique z as words with states = all: word
"""
Y, Z = "ABC", "PQ"
LENGTHS = range(1, 6)
SIZES = {"s": (3,), "m": (3, 3), "b": (3, 2)}


def drawn(length: int, seed: int) -> tuple[list[str], list[int], list[int], dict[str, reference.Floats]]:
    """Words, gold labels and scores of a sentence; -inf is never the score of a gold label."""
    draw = np.random.default_rng([length, seed])
    y, z = draw.integers(0, 3, length).tolist(), draw.integers(0, 2, length).tolist()
    scores = {name: draw.normal(size=(length, *size)).round(3) for name, size in SIZES.items()}
    for table in scores.values():
        table[draw.random(table.shape) < 0.3] = -np.inf
    for t in range(length):
        scores["s"][t, y[t]] = scores["b"][t, y[t], z[t]] = 0.25
        scores["m"][t, y[t - 1], y[t]] = -0.5
    return draw.choice(list("uv"), length).tolist(), y, z, scores


def case(seed: int) -> Case:
    sentences = []
    for words, y, z, scores in (drawn(length, seed) for length in LENGTHS):
        cells = {name: [",".join(map(repr, row.ravel().tolist())) for row in table] for name, table in scores.items()}
        labels = [Y[one] for one in y], [Z[one] for one in z]
        sentences.append(list(zip(words, *cells.values(), *labels, strict=True)))
    return Case(f"{TEMPLATE}infer exact\n", sentences)


def joint(length: int, seed: int, model: TrainedModel, weights: reference.Floats) -> reference.Floats:
    """The score of each labelling, with an axis for each y, then for each z."""
    words, _, _, scores = drawn(length, seed)
    named = {row[:3]: weight for row, weight in zip(model.explanations.iter_weights(), weights, strict=True)}
    scopes, tables = [], []
    for t in range(length):
        own = np.array([named["words", f"word={words[t]}", (state,)] for state in Z])
        scopes += [(t,), (t, length + t), (length + t,)]
        tables += [scores["s"][t], scores["b"][t], own]
        if t:
            moves = [[named["moves", "bias", (a, b)] for b in Y] for a in Y]
            scopes.append((t - 1, t))
            tables.append(scores["m"][t] + np.array(moves))
    return reference.joint([3] * length + [2] * length, scopes, tables)


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_and_labels_with_impossible_scores(seed: int) -> None:
    one = case(seed)
    template = load_text(f"{one.text}train likelihood: prior = none, optimizer = lbfgs(max_iterations = 1)\n")
    model = fit(template, one.corpus())
    weights = np.random.default_rng(seed).normal(0.0, 0.8, model.num_weights)
    model = model.with_weights(weights, model.record)
    problem, settings = problem_of(one, "likelihood: prior = none")
    objective = CRITERIA[settings.criterion.method](problem, settings)
    value, gradient = objective.value_and_gradient(weights)
    loss = 0.0
    predicted, _ = model.marginals(one.corpus())
    codes, start = model.predict(one.corpus()).codes, 0
    for length in LENGTHS:
        _, y, z, _ = drawn(length, seed)
        total = joint(length, seed, model, weights)
        loss += reference.log_sum(total) - float(total[(*y, *z)])
        for t in range(length):
            assert np.allclose(predicted["y"][start + t], reference.marginal(total, [t]))
            assert np.allclose(predicted["z"][start + t], reference.marginal(total, [length + t]))
        best, _ = reference.best(total)
        assert codes["y"][start : start + length].tolist() == list(best[:length])
        assert codes["z"][start : start + length].tolist() == list(best[length:])
        start += length
    assert value == pytest.approx(loss, rel=1e-10)
    differences = reference.finite_difference(lambda at: objective.value_and_gradient(at)[0], weights)
    np.testing.assert_allclose(gradient, differences, atol=1e-6)
