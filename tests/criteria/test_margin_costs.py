"""Margins with costs of any size: the optimum by a dual over all labellings, which is made and solved here."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from template_cases import Case

from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
Sentence = Sequence[tuple[str, ...]]
Labelling = tuple[tuple[str, ...], ...]  # of each token, the state of each label

NAMES = ("y", "z")
STATES = {"y": "AB", "z": "PQ"}
STAGE = "train hmsvm: C = {C}, slack = labelling, most = 1000, tolerance = 1e-7, loss = {loss}\n"


def text_of(labels: int, loss: str, C: float) -> str:
    names = NAMES[:labels]
    lines = [f"data conll(word, {', '.join(names)})"]
    lines += [f"label {name} in {{{', '.join(STATES[name])}}}" for name in names]
    lines += [f"clique {name} with states = all: bias, word" for name in names]
    lines += ["clique y[-1], y"] if labels == 1 else ["clique y, z"]
    return "\n".join([*lines, "infer exact", STAGE.format(C=C, loss=loss)])


def learned(sentences: Sequence[Sentence], labels: int, loss: str, C: float) -> TrainedModel:
    case = Case(text_of(labels, loss, C), [list(sentence) for sentence in sentences], None)
    return fit(case.resolved(), case.corpus(), threads=1)


def counts(sentence: Sentence, labelling: Labelling) -> Counter[tuple[str, tuple[str, ...]]]:
    """How often each weight counts in a labelling."""
    found: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for t, ((word, *_), states) in enumerate(zip(sentence, labelling, strict=True)):
        for state in states:
            found["bias", (state,)] += 1
            found[f"word={word}", (state,)] += 1
        if len(states) == 2:
            found["bias", states] += 1
        elif t:
            found["bias", (*labelling[t - 1], *states)] += 1
    return found


def margins(model: TrainedModel, sentences: Sequence[Sentence], labels: int, cost: float) -> list[tuple[float, Floats]]:
    """Loss and ½ [F(y*) − F(y)] of every wrong labelling of every sentence; `z` costs nothing."""
    number = {
        (feature, tuple(states)): n for n, (_, feature, states, _) in enumerate(model.explanations.iter_weights())
    }
    found = []
    for sentence in sentences:
        gold: Labelling = tuple(tuple(row[1:]) for row in sentence)
        tuples = list(itertools.product(*(STATES[name] for name in NAMES[:labels])))
        for labelling in itertools.product(tuples, repeat=len(sentence)):
            if labelling == gold:
                continue
            d = np.zeros(len(number))
            for sign, one in ((0.5, gold), (-0.5, labelling)):
                for key, times in counts(sentence, one).items():
                    d[number[key]] += sign * times
            wrong = sum(right[0] != here[0] for right, here in zip(gold, labelling, strict=True))
            found.append((cost * wrong, d))
    return found


def least(every: Sequence[tuple[float, Floats]], C: float) -> float:
    """The optimum of ½ ‖w‖² + C Σ max(0, ℓ − ⟨w, d⟩): by steps along single multipliers of its dual."""
    loss, d = np.array([loss for loss, _ in every]), np.array([row for _, row in every])
    gram, alpha = d @ d.T, np.zeros(len(loss))
    slope = loss.copy()
    for _ in range(20_000):
        for n in range(len(loss)):
            room = slope[n] / gram[n, n] if gram[n, n] > 0.0 else np.inf * slope[n] if slope[n] else 0.0
            step = min(max(alpha[n] + room, 0.0), C) - alpha[n]
            if step != 0.0:
                alpha[n] += step
                slope -= step * gram[n]
        w = alpha @ d
        primal = 0.5 * w @ w + C * np.maximum(0.0, loss - d @ w).sum()
        if primal - (alpha @ loss - 0.5 * w @ w) <= 1e-8 * primal:
            return float(primal)
    raise AssertionError("the dual of the test is not solved")


def drawn(generator: np.random.Generator, labels: int) -> list[Sentence]:
    """Two or three sentences of one to three tokens."""

    def token() -> tuple[str, ...]:
        return (str(generator.choice(list("abc"))), *(str(generator.choice(list(STATES[n]))) for n in NAMES[:labels]))

    return [[token() for _ in range(generator.integers(1, 5 - labels))] for _ in range(generator.integers(2, 4))]


@pytest.mark.parametrize("seed", range(8))
def test_a_slack_for_each_labelling_reaches_the_optimum_with_any_cost(seed: int) -> None:
    generator = np.random.default_rng(seed)
    labels = 1 + seed % 2
    sentences = drawn(generator, labels)
    cost = round(float(generator.choice([0.01, 0.3, 0.7, 0.99, 1.1, 1.3, 2.7, 30.1])) * (1.0 + seed / 100), 4)
    C = float(generator.choice([0.3, 1.0, 3.0]))
    model = learned(sentences, labels, f"cost(y, others = {cost})", C)
    every = margins(model, sentences, labels, cost)
    own = 0.5 * model.weights @ model.weights
    own += C * sum(max(0.0, loss - float(d @ model.weights)) for loss, d in every)
    assert model.record.objective == pytest.approx(own, rel=1e-9), "not the objective of its own weights"
    assert model.record.converged
    assert model.record.objective == pytest.approx(least(every, C), rel=1e-6)
