"""Which labellings are wrong where labels are latent, missing or ambiguous: every criterion that compares with them."""

from __future__ import annotations

import numpy as np
import pytest
from hidden_cases import HIDDEN, Enumerated, enumerate_all
from mce_cases import smooth
from training_cases import objective_of

from dcrfdsl.semantics.settings.loss_settings import MceSettings


def parts(own: Enumerated, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores of right labellings and of wrong ones."""
    scores = own.features @ weights
    return scores[own.wrong == 0], scores[own.wrong > 0]


def log_sum(scores: np.ndarray) -> float:
    return float(np.logaddexp.reduce(scores, initial=-np.inf))


@pytest.mark.long
@pytest.mark.parametrize("scale", [0.8, 30.0])  # at large weights nearly all is on one labelling
@pytest.mark.parametrize("name", HIDDEN)
def test_the_exponential_risk_counts_labellings_that_contradict_what_is_known(name: str, scale: float) -> None:
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    objective = objective_of(case, "exponential", "train.infer=exact", "train.prior=none", "train.weight=0.5")
    labels = 2 if name == "factorial" else 1
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(0.0, scale, objective.num_weights)
        expected = 0.0
        for own, sentence in zip(every, case.sentences, strict=True):
            right, wrong = parts(own, weights)
            expected += 0.5 ** (labels * len(sentence)) * np.exp(log_sum(wrong) - log_sum(right))
        assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("psi", "mean"), [("1", False), ("1", True), ("inf", False)])
@pytest.mark.parametrize("name", HIDDEN)
def test_mce_compares_with_labellings_that_contradict_what_is_known(name: str, psi: str, mean: bool) -> None:
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    settings = ["train.infer=exact", "train.prior=none", "train.loss=sequence", f"train.psi={psi}"]
    objective = objective_of(case, "mce", *settings, *(["train.normalise=yes"] if mean else []))
    smoothing = MceSettings().smoothing
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(0.0, 0.8, objective.num_weights)
        expected = 0.0
        for own in every:
            right, wrong = parts(own, weights)
            if len(wrong):
                of = log_sum if psi == "1" else max
                shares = np.log(len(wrong) / len(right)) if mean else 0.0  # latent states are in both alike
                expected += smooth(smoothing, of(wrong) - shares - of(right))
        assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", HIDDEN)
def test_the_mean_of_mce_compares_like_with_like(name: str) -> None:
    """Without weights each labelling scores the same, known or not: d = 0."""
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    settings = ["train.infer=exact", "train.prior=none", "train.psi=1", "train.normalise=yes"]
    objective = objective_of(case, "mce", *settings)
    counted = sum(bool((own.wrong > 0).any()) for own in every)
    value, _ = objective.value_and_gradient(np.zeros(objective.num_weights))
    assert value == pytest.approx(counted * smooth(MceSettings().smoothing, 0.0))


@pytest.mark.parametrize("name", HIDDEN)
def test_the_perceptron_compares_with_the_best_that_agrees(name: str) -> None:
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    objective = objective_of(case, "perceptron", "train.infer=exact")
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(0.0, 0.8, objective.num_weights)
        expected = sum(float((own.features @ weights).max() - max(parts(own, weights)[0])) for own in every)
        assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", HIDDEN)
def test_the_perceptron_takes_no_step_where_the_labelling_found_is_right(name: str) -> None:
    """Whole weights: many labellings score the same, and those that are right are no mistakes."""
    case, every = HIDDEN[name], enumerate_all(HIDDEN[name])
    objective = objective_of(case, "perceptron", "train.infer=exact")
    batches = objective.batches(1)
    for seed in range(20):
        weights = np.random.default_rng(seed).integers(-1, 2, objective.num_weights).astype(float)
        batches.begin(weights)
        for number, own in enumerate(every):
            right, wrong = parts(own, weights)
            _, _, gradient = batches.gradient(number)
            if not len(wrong) or max(right) > max(wrong):
                assert not gradient.any()
