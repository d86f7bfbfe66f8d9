"""Risks of whole sequences against their definitions: every labelling of short sentences, scored in texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import labellings_with_hidden, scores_of
from piece_twin import supervised
from risk_cases import risks_of, settings_of, shares_at_start
from template_cases import CASES, Case

from dcrfdsl.criteria.boosting_risk import build_boosting
from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.likelihood import build_likelihood
from dcrfdsl.criteria.risks import ExponentialRisk, build_marginal
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.inference import Workers
from dcrfdsl.inference.bound import chain_runs
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.implied_settings import decoding
from dcrfdsl.semantics.settings.infer_settings import AutoSettings, BpSettings, ExactSettings, TrpSettings
from dcrfdsl.semantics.settings.prior_settings import GaussianPrior
from dcrfdsl.semantics.settings.training_settings import (
    AdaboostSettings,
    ExponentialSettings,
    LikelihoodSettings,
    MarginalSettings,
)
from dcrfdsl.training.pipeline import fit

GRAPHS = ["independent", "chain", "padded chain", "second order", "factorial", "three chains", "skip chain", "segments",
          "forbidden moves", "a view that ties weights", "numbers", "seen transitions"]  # fmt: skip
HIDDEN = Case(
    'data conll(word, y)\nlabel y in {P, Q} with missing = "_"\nlatent h in 2\nclique y, h: bias, word\n'
    "clique y[-1], y\ninfer exact\n",
    [[("a", "P"), ("b", "_"), ("a", "Q")], [("b", "Q"), ("c", "P")], [("c", "_"), ("a", "P")]],
    None,
)


def expected_exponential(case: Case, weights: Any, weight: str | float) -> float:
    """Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) over all labellings."""
    total = 0.0
    for scores, right in scores_of(case, weights):
        wrong = np.isfinite(scores)
        wrong[right] = False
        share = 1.0 / max(1, wrong.sum()) if weight == "uniform" else float(weight) ** scores.ndim
        total += share * float(np.exp(scores[wrong] - scores[right]).sum())
    return total


def agrees_with_differences(objective: Any, weights: Any, **how: Any) -> None:
    _, gradient = objective.value_and_gradient(weights)
    numeric = reference.finite_difference(lambda w: objective.value_and_gradient(w)[0], weights, **how)
    np.testing.assert_allclose(gradient, numeric, atol=2e-6 * max(1.0, np.abs(gradient).max()))


@pytest.mark.long
@pytest.mark.parametrize("weight", ["uniform", 0.4])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_exponential_risk(name: str, weight: Any) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    objective = ExponentialRisk(given, settings_of(ExponentialSettings(weight=weight)))
    for scale in (0.0, 0.3, 1.0):
        value, _ = objective.value_and_gradient(scale * weights)
        assert value == pytest.approx(expected_exponential(case, scale * weights, weight), rel=1e-9)
    agrees_with_differences(objective, 0.5 * weights)


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain"])
def test_the_exponential_risk_where_little_can_be_wrong(name: str) -> None:
    """The value and the slope keep their digits where p(y*) = 1 − 1e-12, as a difference of Z and exp g* would not."""
    case = CASES[name]
    given, _ = supervised(case)
    objective = ExponentialRisk(given, settings_of(ExponentialSettings(weight=1.0)))
    weights = np.zeros(given.parameters.num_weights)
    for _ in range(60):  # downhill along the risk's own gradient, ever further
        value, gradient = objective.value_and_gradient(weights)
        if value < 1e-10 or not gradient.any():
            break
        weights = weights - gradient / np.abs(gradient).max()
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(expected_exponential(case, weights, 1.0), rel=1e-9)
    step = 1e-4 * gradient / np.linalg.norm(gradient)
    rise = expected_exponential(case, weights + step, 1.0) - expected_exponential(case, weights - step, 1.0)
    assert rise == pytest.approx(2.0 * float(step @ gradient), rel=1e-5)


def test_what_is_hidden_is_summed_out_of_the_exponential_risk() -> None:
    given, weights = supervised(HIDDEN)
    objective = ExponentialRisk(given, settings_of(ExponentialSettings(weight=0.5)))
    expected = 0.0
    for sentence, (labels, every) in zip(HIDDEN.sentences, labellings_with_hidden(HIDDEN, weights), strict=True):
        known = [t for t, (_, y) in enumerate(sentence) if y != "_"]
        right = [score for own, score in every if all(own["y"][t] == labels[t] for t in known)]
        wrong = [score for own, score in every if any(own["y"][t] != labels[t] for t in known)]
        ratio = reference.log_sum(np.array(wrong)) - reference.log_sum(np.array(right))
        expected += 0.5 ** len(sentence) * float(np.exp(ratio))
    assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-9)
    agrees_with_differences(objective, weights)


def expected_marginal(case: Case, weights: Any) -> float:
    """−Σ log p(y_v | x), each label by itself."""
    total = 0.0
    for scores, right in scores_of(case, weights):
        for v, state in enumerate(right):
            total -= float(np.log(reference.marginal(scores, (v,))[state]))
    return total


@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_marginal_risk(name: str, scale: float) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    objective = build_marginal(given, settings_of(MarginalSettings()))
    value, _ = objective.value_and_gradient(scale * weights)
    assert value == pytest.approx(expected_marginal(case, scale * weights), rel=1e-9)
    agrees_with_differences(objective, scale * weights)


@pytest.mark.parametrize(("own", "decode"), [("", "marginal"), ("decode = joint", "joint")])
def test_labels_are_decoded_one_by_one_after_the_marginal_risk(own: str, decode: str, tmp_path: Path) -> None:
    train = "train likelihood as first\ntrain marginal as second after first: seed = 1" + (f", {own}" if own else "")
    resolved = load_text(CASES["chain"].text + train + "\n")
    assert decoding(resolved.require(), "second") == decode and decoding(resolved.require(), "first") == "joint"
    model = fit(resolved, CASES["chain"].corpus(), threads=1)
    model.save(tmp_path / "a.model")
    again = TrainedModel.load(tmp_path / "a.model")
    assert decoding(again.spec, again.record.stage) == decode


@pytest.mark.parametrize("criterion", ["marginal", "exponential"])
def test_training_comes_to_the_least(criterion: str) -> None:
    """The same point by L-BFGS, OWL-QN and conjugate gradients; the risk is below that of the likelihood's model."""

    def trained(train: str) -> TrainedModel:
        prior = "    prior = gaussian(variance = 5)\n"
        return fit(load_text(CASES["chain"].text + f"infer exact\ntrain {train}:\n{prior}"), corpus, threads=1)

    corpus = CASES["chain"].corpus()
    found = {name: trained(f"{criterion}(optimizer = {name}(tolerance = 1e-7))") for name in ("lbfgs", "owlqn", "cg")}
    given, _ = supervised(CASES["chain"])
    own = MarginalSettings() if criterion == "marginal" else ExponentialSettings()
    objective = CRITERIA[criterion](given, settings_of(own, prior=GaussianPrior(variance=5.0)))
    for model in found.values():
        assert model.record.converged
        np.testing.assert_allclose(model.weights, found["lbfgs"].weights, atol=1e-3)
    least = objective.value_and_gradient(found["lbfgs"].weights)[0]
    assert least == pytest.approx(found["lbfgs"].record.objective, rel=1e-9)
    assert least < objective.value_and_gradient(trained("likelihood").weights)[0]


@pytest.mark.parametrize("name", ["chain", "padded chain", "segments", "independent"])
@pytest.mark.parametrize("settings", [TrpSettings(), BpSettings()], ids=lambda s: s.method)
def test_the_marginal_risk_by_messages_is_exact_on_trees(name: str, settings: Any) -> None:
    given, weights = supervised(CASES[name])
    exact, gradient = build_marginal(given, settings_of(MarginalSettings())).value_and_gradient(weights)
    by_messages = build_marginal(given, settings_of(MarginalSettings(), infer=settings))
    value, found = by_messages.value_and_gradient(weights)
    assert value == pytest.approx(exact, rel=1e-7)
    np.testing.assert_allclose(found, gradient, atol=2e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("name", ["factorial", "three chains", "second order", "skip chain"])
def test_the_marginal_risk_of_pseudo_marginals(name: str) -> None:
    """The gradient is the slope of what messages give, on loops; and near the exact risk."""
    given, weights = supervised(CASES[name])
    weights = 0.3 * weights
    objective = build_marginal(given, settings_of(MarginalSettings(), infer=TrpSettings(tolerance=1e-12)))
    value, gradient = objective.value_and_gradient(weights)
    assert objective.total_status.converged
    reference.assert_gradient(
        lambda w: objective.value_and_gradient(w)[0], weights, gradient, 5e-4 * np.abs(gradient).max()
    )
    assert value == pytest.approx(expected_marginal(CASES[name], weights), rel=0.05)


def test_the_marginal_risk_where_each_sentence_has_a_method_of_its_own() -> None:
    given, weights = supervised(CASES["skip chain"])
    exact, gradient = build_marginal(given, settings_of(MarginalSettings())).value_and_gradient(0.3 * weights)
    mixed = build_marginal(given, settings_of(MarginalSettings(), infer=AutoSettings()))
    assert mixed.inference_description == "exact"
    value, found = mixed.value_and_gradient(0.3 * weights)
    assert value == pytest.approx(exact, rel=1e-9)
    np.testing.assert_allclose(found, gradient, atol=2e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("infer", [ExactSettings(), TrpSettings()], ids=lambda s: s.method)
def test_the_marginal_risk_leaves_out_what_is_not_known(infer: Any) -> None:
    text = HIDDEN.text.replace("clique y[-1], y\n", "clique y[-1], y: word\n")
    case = Case(text, HIDDEN.sentences, None)
    given, weights = supervised(case)
    objective = build_marginal(given, settings_of(MarginalSettings(), infer=infer))
    expected = 0.0
    for sentence, (labels, every) in zip(case.sentences, labellings_with_hidden(case, weights), strict=True):
        log_z = reference.log_sum(np.array([score for _, score in every]))
        for t in [t for t, (_, y) in enumerate(sentence) if y != "_"]:
            same = np.array([score for own, score in every if own["y"][t] == labels[t]])
            expected -= reference.log_sum(same) - log_z
    if infer.method == "exact":
        assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-9)
        agrees_with_differences(objective, weights)
    else:
        assert objective.value_and_gradient(weights)[0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("clique", ["clique y[-1], y", "clique y[-1], y: word", "clique y[-2], y"])
def test_the_marginal_risk_of_extreme_potentials(clique: str) -> None:
    """States that no number could hold the potential of, beside others: everything is computed from logarithms."""
    text = f"data conll(word, y)\nlabel y in {{P, Q, R}}\nclique y with states = all: bias, word\n{clique}\n"
    case = Case(text, [[("a", "P"), ("b", "Q"), ("a", "P")], [("b", "Q")], [("a", "Q"), ("a", "P")]], None)
    given, weights = supervised(case)
    weights[:3] = 900.0, 900.0, -900.0  # the biases of P, Q, R
    objective = build_marginal(given, settings_of(MarginalSettings()))
    value, _ = objective.value_and_gradient(weights)
    assert value == pytest.approx(expected_marginal(case, weights), rel=1e-9)
    assert objective.total_status.redone > 0
    agrees_with_differences(objective, weights)


def test_a_probability_that_is_no_number_is_infinitely_bad() -> None:
    text = "data conll(word, y)\nlabel y in {P, Q}\nclique y with states = all: bias, word\nclique y[-1], y\n"
    given, weights = supervised(Case(text, [[("a", "P"), ("b", "Q"), ("a", "P")]], None))
    weights[:2] = 900.0, -900.0
    for infer in (ExactSettings(), TrpSettings()):
        objective = build_marginal(given, settings_of(MarginalSettings(), infer=infer))
        value, gradient = objective.value_and_gradient(weights)
        assert value == np.inf and np.isfinite(gradient).all()


@pytest.mark.long
@pytest.mark.parametrize("weight", [0.9, 1.0])
def test_training_from_a_huge_risk_comes_to_the_least(weight: float) -> None:
    """At zero it is the number of labellings, and the gradient there says nothing of how small it is in the end."""
    random = np.random.default_rng(0)
    words = [random.choice(list("abcd"), 50).tolist() for _ in range(4)]
    sentences = [[(w, "P" if (w in "ab") != (random.random() < 0.1) else "Q") for w in own] for own in words]
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\ninfer exact\ntrain likelihood as first\n"
    case, found = Case(text, sentences, None), []
    for name, place in (("zero", ""), ("first", " after first")):
        prior = f"    weight = {weight}\n    prior = gaussian(variance = 10)\n"
        train = f"train exponential as {name}_{name}{place}:\n{prior}    optimizer = lbfgs(tolerance = 1e-6)\n"
        found.append(fit(load_text(text + train), case.corpus(), threads=1).record)
    assert found[0].curve[0].objective > 1e3 * found[0].objective
    assert all(record.converged for record in found)
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-4)


def test_overflow_names_the_setting() -> None:
    sentence = [("a", "P" if t % 2 else "Q") for t in range(1200)]
    case = Case("data conll(word, y)\nlabel y in {P, Q}\nclique y: bias, word\nclique y[-1], y\n", [sentence], None)
    given, weights = supervised(case)
    nothing = np.zeros(len(weights))
    objective = ExponentialRisk(given, settings_of(ExponentialSettings(weight=1.0)))
    with pytest.raises(DcrfError, match=r"`weight = 1\.0`, more than training can begin with"):
        objective.start(nothing)
    assert objective.value_and_gradient(nothing)[0] == np.inf  # a point on the way is only not taken
    uniform = ExponentialRisk(given, settings_of(ExponentialSettings()))
    assert uniform.value_and_gradient(uniform.start(nothing))[0] == pytest.approx(1.0)


def test_wrong_labellings_are_summed_exactly_whatever_the_inference() -> None:
    given, weights = supervised(CASES["factorial"])
    asked, exact = (
        ExponentialRisk(given, settings_of(ExponentialSettings(), infer=infer)).value_and_gradient(weights)
        for infer in (TrpSettings(), ExactSettings())
    )
    assert asked[0] == exact[0] and np.array_equal(asked[1], exact[1])


@pytest.mark.parametrize("own", [ExponentialSettings(), MarginalSettings(), AdaboostSettings()], ids=lambda s: s.method)
@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_the_same_floats_for_any_number_of_threads(name: str, own: Any) -> None:
    given, weights = supervised(CASES[name])
    found = [
        CRITERIA[own.method](replace(given, workers=Workers(threads)), settings_of(own)).value_and_gradient(weights)
        for threads in (1, 3)
    ]
    assert found[0][0] == found[1][0] and np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("criterion", ["marginal", "exponential"])
def test_long_sequences_go_the_general_way(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, weights = supervised(CASES["chain"])
    own = settings_of(MarginalSettings() if criterion == "marginal" else ExponentialSettings())
    value, gradient = CRITERIA[criterion](given, own).value_and_gradient(weights)
    monkeypatch.setattr(chain_runs, "LONGEST", 2)
    again, other = CRITERIA[criterion](given, own).value_and_gradient(weights)
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other, gradient, atol=1e-10)


def test_the_penalty_is_added() -> None:
    given, weights = supervised(CASES["chain"])
    with_prior = ExponentialRisk(given, settings_of(ExponentialSettings(), prior=GaussianPrior(variance=2.0)))
    plain = ExponentialRisk(given, settings_of(ExponentialSettings()))
    assert with_prior.value_and_gradient(weights)[0] == pytest.approx(
        plain.value_and_gradient(weights)[0] + 0.25 * float(weights @ weights)
    )


# propositions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["chain", "factorial", "second order", "skip chain"])
def test_propositions_1_2_and_5(name: str, seed: int) -> None:
    """log 2 of the wrong sentences ≤ the logarithmic risk; log 2 of the wrong labels, each decoded by itself, ≤ the
    marginal risk; the rank risk ≤ the exponential risk. Of random models by enumeration beside our objectives.
    """
    case = CASES[name]
    given, _ = supervised(case)
    weights = np.random.default_rng(seed).normal(0.0, 1.5, given.parameters.num_weights)
    wrong_sentences = wrong_labels = 0
    for scores, right in scores_of(case, weights):
        wrong_sentences += reference.best(scores)[0] != tuple(right)
        wrong_labels += sum(reference.marginal(scores, (v,)).argmax() != state for v, state in enumerate(right))
    likelihood = settings_of(LikelihoodSettings())
    assert np.log(2.0) * wrong_sentences <= build_likelihood(given, likelihood).value_and_gradient(weights)[0]
    marginal = build_marginal(given, settings_of(MarginalSettings()))
    assert np.log(2.0) * wrong_labels <= marginal.value_and_gradient(weights)[0]
    boosting = build_boosting(given, settings_of(AdaboostSettings()))
    rank, _ = risks_of(case, weights, shares_at_start(case, "uniform"))
    assert wrong_sentences > 0 and wrong_labels > 0 and rank > 0.0  # else nothing was tested
    assert rank <= boosting.value_and_gradient(weights)[0]
