"""`by` of pruned inference: labels that an earlier stage or a view prunes, against enumeration in two passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pruned_cases import (
    CASES,
    OBSERVED,
    SCALES,
    Twin,
    check_batches,
    likelihood,
    prediction,
    pruned_problem,
    sentences,
    weights_of,
)
from template_cases import Case

from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.inference import stage_guide
from dcrfdsl.semantics import inference_settings

VIEWED = """data conll(word, y)
label y
features words: word, word[-1]
view vowel = y in {a, e}
clique y: words
clique vowel[-1], vowel
clique y[-1], y
clique y[-2], y[-1], y with states = seen
"""
THROUGH = "vowel[-1], vowel"
VIEW_CASES = {
    "second order": Case(VIEWED, sentences("abe")),
    "constraints": Case(
        f'{VIEWED}require y is a when word is "p"\nforbid y[-1] is a and y is a\n',
        [*(s for s in sentences("bce", 6)), [("p", "a"), ("v", "c"), ("p", "a")]],
    ),
}
NOTHING = "threshold = 0, keep = 100"
SETTINGS = [(0.05, 100), (0.2, 2), (0.3, 1)]


def coarse_of(case: Case, scale: float, seed: int = 3) -> np.ndarray:
    return weights_of(likelihood(case, "exact"), scale, seed)


def assert_exact(case: Case, infer: str, scale: float, coarse: np.ndarray | None) -> None:
    exact, pruned = likelihood(case, "exact"), likelihood(case, infer, coarse)
    weights = weights_of(exact, scale)
    value, gradient = exact.value_and_gradient(weights)
    own_value, own_gradient = pruned.value_and_gradient(weights)
    assert own_value == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(own_gradient, gradient, rtol=1e-9, atol=1e-9 * max(1.0, scale))
    assert pruned.total_status.pruning.early == pruned.total_status.pruning.pruned == 0
    sums, best, scores = prediction(case, infer, weights, coarse=coarse)
    wanted, exact_best, exact_scores = prediction(case, "exact", weights)
    np.testing.assert_allclose(sums.log_z, wanted.log_z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.marginals, wanted.marginals, atol=1e-9)
    np.testing.assert_allclose(scores, exact_scores, rtol=1e-9, atol=1e-9)
    if scale:
        np.testing.assert_array_equal(best.labelling, exact_best.labelling)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("name", CASES)
def test_a_stage_that_prunes_nothing_is_exact(name: str, scale: float) -> None:
    assert_exact(CASES[name], f"pruned(by = coarse, {NOTHING})", scale, coarse_of(CASES[name], scale))


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("name", VIEW_CASES)
def test_a_view_that_prunes_nothing_is_exact(name: str, scale: float) -> None:
    assert_exact(VIEW_CASES[name], f"pruned(by = vowel, {NOTHING})", scale, None)


def assert_twin(case: Case, infer: str, pruning: tuple[float, int], through: str, coarse: np.ndarray | None) -> None:
    objective = likelihood(case, infer, coarse)
    weights = weights_of(objective, 1.5, seed=2)
    twins = [Twin(case, n, weights, through, coarse) for n in range(len(case.sentences))]
    sums, best, _ = prediction(case, infer, weights, coarse=coarse)
    pruned = 0
    for n, twin in enumerate(twins):
        _, alive, _ = twin.run(*pruning, early=False)
        log_z, _ = twin.beliefs(twin.top, alive)
        assert sums.log_z[n] == pytest.approx(log_z, abs=1e-9)
        assert best.score[n] == pytest.approx(max(twin.scores[-1][alive]), abs=1e-9)
        pruned += len(twin.all) - len(alive)
    assert pruned
    value, _ = objective.value_and_gradient(weights)
    runs = [twin.run(*pruning, early=True) for twin in twins]
    assert value == pytest.approx(sum(v for v, _, _ in runs) + 0.05 * float(weights @ weights), abs=1e-9)
    assert objective.total_status.pruning.early == sum(level >= 0 for _, _, level in runs) > 0


@pytest.mark.parametrize("threshold, keep", SETTINGS)
def test_two_passes_by_a_stage_equal_the_twin(threshold: float, keep: int) -> None:
    case = replace(CASES["third order"], sentences=[s[:4] for s in sentences("abc", 9, seed=5)])
    infer = f"pruned(by = coarse, threshold = {threshold}, keep = {keep})"
    assert_twin(case, infer, (threshold, keep), "", coarse_of(case, 1.0))


@pytest.mark.parametrize("threshold, keep", SETTINGS)
def test_two_passes_by_a_view_equal_the_twin(threshold: float, keep: int) -> None:
    case = replace(VIEW_CASES["second order"], sentences=[s[:4] for s in sentences("abe", 9, seed=5)])
    infer = f"pruned(by = vowel, threshold = {threshold}, keep = {keep})"
    assert_twin(case, infer, (threshold, keep), THROUGH, None)


@pytest.mark.parametrize("threshold, keep", SETTINGS)
@pytest.mark.parametrize("by", ["coarse", "vowel"])
def test_gradients_are_those_of_the_value(by: str, threshold: float, keep: int) -> None:
    for case in (VIEW_CASES["second order"], VIEW_CASES["constraints"]):
        coarse = coarse_of(case, 1.0) if by == "coarse" else None
        objective = likelihood(case, f"pruned(by = {by}, threshold = {threshold}, keep = {keep})", coarse)
        weights = weights_of(objective, 1.2, seed=4)
        _, gradient = objective.value_and_gradient(weights)
        generator = np.random.default_rng(0)
        for _ in range(4):
            step = generator.normal(size=len(weights))
            step *= 1e-6 / np.linalg.norm(step)
            above, below = (objective.value_and_gradient(weights + sign * step)[0] for sign in (1, -1))
            assert (above - below) / 2 == pytest.approx(
                float(gradient @ step), abs=2e-11 * max(1.0, abs(above)) + 1e-13
            )


def test_what_a_stage_leaves_has_a_labelling() -> None:
    """The likeliest labels of single positions break `forbid`; the stage's best labelling survives with them."""
    case = Case(OBSERVED, [[("p", "a"), ("q", "b"), ("v", "c")], [("q", "a"), ("q", "b"), ("v", "b")]])
    coarse, weights = coarse_of(case, 4.0), weights_of(likelihood(case, "exact"), 1.0)
    sums, best, scores = prediction(case, "pruned(by = coarse, threshold = 0.4, keep = 1)", weights, coarse=coarse)
    assert not sums.summary().impossible and not best.summary().impossible
    assert np.isfinite(scores).all() and not sums.summary().pruning.relaxed
    _, stage_best, _ = prediction(case, "exact", coarse)
    wanted, _, exact_scores = prediction(case, "exact", weights)
    assert (sums.log_z <= wanted.log_z + 1e-9).all() and (scores <= exact_scores + 1e-9).all()
    assert (best.labelling == stage_best.labelling).mean() > 0.5


def test_cliques_without_weight_are_left_out_of_the_stage() -> None:
    case = CASES["third order"]
    problem, settings = pruned_problem(case, "pruned(by = coarse)", np.zeros(coarse_of(case, 0.0).shape))
    single = problem.parameters.of_clique(0)
    problem.earlier["coarse"][single] = 1.0
    guide = problem.inference(settings).lists.__self__.guide
    assert [template.name for template in guide.graph.templates] == ["y"]


def test_bits_do_not_depend_on_threads() -> None:
    case = replace(CASES["third order"], sentences=sentences("abcd", 80))
    coarse, infer = coarse_of(case, 1.0), "pruned(by = coarse, threshold = 0.05, keep = 3)"
    answers = []
    for threads in (1, 2, 3):
        objective = likelihood(case, infer, coarse, threads)
        weights = weights_of(objective, 1.0)
        value, gradient = objective.value_and_gradient(weights)
        sums, best, _ = prediction(case, infer, weights, threads, coarse)
        answers.append((value, gradient.tobytes(), sums.log_z.tobytes(), best.labelling.tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_batches_have_the_lists_of_their_sentences() -> None:
    case = replace(CASES["third order"], sentences=sentences("abcd", 70))
    objective = likelihood(case, "pruned(by = coarse, threshold = 0.05, keep = 3)", coarse_of(case, 1.0))
    check_batches(objective, weights_of(objective, 0.7))


def test_weights_that_are_missing_are_an_error() -> None:
    problem, _ = pruned_problem(CASES["third order"], "pruned(by = coarse)", np.zeros(0))
    with pytest.raises(DcrfError, match="needs the weights of the stage `coarse`"):
        stage_guide(problem.spec, problem.graph, problem.parameters, inference_settings(problem.spec), {})
