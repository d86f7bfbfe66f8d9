"""The likelihood × graph families: values and gradients against enumeration, finite differences and stored answers."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from helpers import SHARED
from model_cases import TINY, columns, gold_of, objective_of, tiny_model, trained, twin_of
from template_cases import CASES

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.infer_settings import ExactSettings, TrpSettings
from dcrfdsl.training.pipeline import fit


@pytest.mark.parametrize("name", CASES)
def test_the_likelihood_equals_enumeration(name):
    case = CASES[name]
    model, corpus = trained(case)
    twin = twin_of(model, case)
    tables = [columns(case, sentence) for sentence in case.sentences]
    expected = sum(twin.loss(table, gold_of(model, table)) for table in tables)
    value, _ = objective_of(model, corpus, ExactSettings()).value_and_gradient(model.weights)
    assert value == pytest.approx(expected, rel=1e-9)
    assert model.scores.log_likelihood(corpus) == pytest.approx(-expected, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_marginals_and_best_labellings_equal_enumeration(name):
    case = CASES[name]
    model, corpus = trained(case)
    twin = twin_of(model, case)
    from dataclasses import replace

    exact = model.spec.model_copy(
        update={"infer": model.spec.infer.model_copy(update={"name": "exact", "arguments": ()})}
    )
    model = replace(model, spec=exact)
    marginals, status = model.marginals(corpus)
    prediction = model.predict(corpus)
    assert status.converged and replace(status, redone=0).impossible == ()
    for number, sentence in enumerate(case.sentences):
        total = twin.joint(columns(case, sentence))
        best, _ = reference.best(total)
        start = corpus.sentence_off[number]
        for t in range(len(sentence)):
            for m, label in enumerate(model.states):
                own = reference.marginal(total, (t * len(model.states) + m,))
                np.testing.assert_allclose(marginals[label][start + t], own, atol=1e-9)
                assert prediction.codes[label][start + t] == best[t * len(model.states) + m]


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_equals_finite_differences(name):
    model, corpus = trained(CASES[name], scale=0.5)
    objective = objective_of(model, corpus, ExactSettings(), precision=0.3)
    _, gradient = objective.value_and_gradient(model.weights)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 2e-7)


@pytest.mark.parametrize("name", ["chain", "padded chain", "segments", "independent", "all states"])
def test_message_passing_gives_the_exact_likelihood_on_trees(name):
    model, corpus = trained(CASES[name])
    exact = objective_of(model, corpus, ExactSettings()).value_and_gradient(model.weights)
    messages = objective_of(model, corpus, TrpSettings(tolerance=1e-12)).value_and_gradient(model.weights)
    assert messages[0] == pytest.approx(exact[0], rel=1e-10)
    np.testing.assert_allclose(messages[1], exact[1], atol=1e-9)


@pytest.mark.parametrize("name", ["factorial", "three chains", "second order", "wide offsets"])
def test_the_bethe_gradient_is_its_derivative_at_a_fixed_point(name):
    model, corpus = trained(CASES[name], scale=0.4)
    objective = objective_of(model, corpus, TrpSettings(tolerance=1e-12, max_iterations=5000))
    _, gradient = objective.value_and_gradient(model.weights)
    assert objective.total_status.converged
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 1e-6)


@pytest.mark.parametrize("settings", [ExactSettings(), TrpSettings()], ids=["exact", "trp"])
def test_the_same_floats_for_any_number_of_threads(settings):
    model, corpus = trained(CASES["factorial"])
    one = objective_of(model, corpus, settings, threads=1).value_and_gradient(model.weights)
    for threads in (2, 3):
        many = objective_of(model, corpus, settings, threads=threads).value_and_gradient(model.weights)
        assert many[0] == one[0]
        assert np.array_equal(many[1], one[1])


def test_weights_beyond_the_range_of_doubles_are_computed_in_log_space():
    case = CASES["chain"]
    model, corpus = trained(case, scale=500.0)
    objective = objective_of(model, corpus, ExactSettings())
    value, gradient = objective.value_and_gradient(model.weights)
    twin = twin_of(model, case)
    tables = [columns(case, sentence) for sentence in case.sentences]
    assert value == pytest.approx(sum(twin.loss(table, gold_of(model, table)) for table in tables), rel=1e-9)
    assert objective.total_status.redone > 0
    assert np.isfinite(gradient).all()


GOOD_DATA = [[("a", "P"), ("b", "Q")], [("b", "P")]]


@pytest.mark.parametrize(
    ("declaration", "rows", "slug", "said"),
    [
        ("label y in {P, R}", GOOD_DATA, "unknown-label", "`Q`"),
        ("label y in bio(X)", [[("a", "O"), ("b", "I-X")]], "broken-scheme", "`I-X` after `O` (line 1)"),
        ("label y in bio(X)", [[("a", "I-X")]], "broken-scheme", "`I-X` at the start of a sentence (line 1)"),
        ("label y in bio", [[("a", "B-X"), ("b", "Q")]], "not-a-segment", "`Q`"),
        ("label y\nforbid y[-1] is P and y is Q", GOOD_DATA, "broken-constraint", "line 1"),
    ],
)
def test_gold_that_cannot_be_trained_on_is_one_clear_error(declaration, rows, slug, said):
    from dcrfdsl.data import corpus_from_rows

    resolved = load_text(f"data conll(word, y)\n{declaration}\nclique y: word\n")
    with pytest.raises(DcrfError) as caught:
        fit(resolved, corpus_from_rows(rows, resolved.require().data))
    assert [d.slug for d in caught.value.diagnostics] == [slug]
    assert said in caught.value.diagnostics[0].message


# stored answers of a factorial model with given weights -------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="the stored answers are not on this machine")
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize(
    ("settings", "digits"), [(ExactSettings(), 1e-8), (TrpSettings(tolerance=1e-13), 1e-6)], ids=["exact", "bp"]
)
def test_stored_answers_of_a_tiny_factorial_model(name, settings, digits):
    model, corpus, given, order, answers = tiny_model(name)
    objective = objective_of(model, corpus, settings)
    value, gradient = objective.value_and_gradient(model.weights)
    name_of_run = {"exact": "ml/JT", "trp": "ml/LoopyBPtight"}[settings.method]
    run = next(r for r in answers["results"] if r["run"] == name_of_run)
    assert -value == pytest.approx(run["log_likelihood_unpenalized"], abs=digits)
    # the stored gradient includes the prior on every weight, the stored value leaves it out on those of the biases
    variance = answers["gaussian_prior_variance"]
    expected = {key: g + given[key] / variance for key, g in zip(given, run["gradient_as_grmm"], strict=True)}
    found = {key: -g for key, g in zip(order, gradient, strict=True) if key in given}
    assert found == pytest.approx(expected, abs=digits)
    if settings.method == "exact":
        by_enumeration = dict(zip(given, run["gradient_unpenalized_brute"], strict=True))
        assert found == pytest.approx(by_enumeration, abs=digits)
