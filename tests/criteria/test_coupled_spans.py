"""Errors on spans by max-marginals equal those by one constrained decoding for each way to be wrong, on data too long
to be enumerated; and what optimizers on batches rest upon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from template_cases import Case
from training_cases import objective_of, problem_of

from dcrfdsl.criteria.competing_labellings import (
    unpacked_data_excluding_gold,
    wrong_labelling_search,
)
from dcrfdsl.criteria.error_counts import smoothing_of
from dcrfdsl.criteria.judged_spans import judged_positions, judged_segments
from dcrfdsl.criteria.mce_objective import build_mce
from dcrfdsl.criteria.span_errors import ConstrainedCounter, ErrorBatches, SpanCounter
from dcrfdsl.inference import METHODS, run_decoding, score_sequences
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.loss_settings import MeasureLoss
from dcrfdsl.training.pipeline import fit

STATES = {"y": ["B-A", "I-A", "B-B", "I-B", "O"], "z": ["B-C", "I-C", "O"], "u": ["P", "Q"]}
LABELS = {"y": "label y in bio(A, B)\n", "z": "label z in bio(C)\n", "u": "label u in {P, Q}\n"}
CHAINS = {name: f"clique {name}: bias, word\nclique {name}[-1], {name}\n" for name in STATES}


def corpus_rows(names: str, seed: int, longest: int = 9) -> list[Any]:
    """Random legal labellings of sentences of 1 to `longest` words."""
    draw, sentences = np.random.default_rng(seed), []
    for n in range(8):
        labels: dict[str, list[str]] = {name: [] for name in names}
        length = 1 if n == 0 else int(draw.integers(2, longest + 1))
        for t in range(length):
            for name in names:
                before = labels[name][-1] if t else "O"
                legal = [s for s in STATES[name] if s[0] != "I" or (before != "O" and before[1:] == s[1:])]
                labels[name].append(legal[draw.integers(len(legal))])
        words = [str(word) for word in draw.choice(list("abc"), length)]
        sentences.append([(words[t], *(labels[name][t] for name in names)) for t in range(length)])
    return sentences


def case_of(names: str, *cliques: str, seed: int = 0) -> Case:
    header = f"data conll(word, {', '.join(names)})\n" + "".join(LABELS[name] for name in names)
    chains = "".join(CHAINS[name] for name in names)
    return Case(header + chains + "".join(f"{clique}\n" for clique in cliques), corpus_rows(names, seed))


CASES = {
    "two chains": case_of("yz", "clique y, z"),
    "three chains": case_of("yuz", "clique y, u", "clique u, z", seed=1),
    "second order": case_of("yz", "clique y[-2], y", "clique y, z", seed=2),
    "crossed": case_of("zu", "clique z[-1], u", "clique z, u: word", seed=3),
    "skip": case_of("zu", "clique z, u", "clique z[i], z[j] where word[i] = word[j] as skip with min_gap = 3", seed=4),
    "two that do not meet": case_of("zu", seed=5),
    "memory": Case(
        "data conll(word, y)\n" + LABELS["y"] + "memory seen = seen[-1] or y[-1] matches /B-A/\n"
        + CHAINS["y"] + "clique seen, y\n", corpus_rows("y", 6),
    ),
}  # fmt: skip


def losses_of(name: str) -> list[str]:
    names = [label for label in "yzu" if f"label {label} " in CASES[name].text]
    with_segments = [label for label in names if label != "u"]
    return [f"label({', '.join(names)})", f"fscore({', '.join(with_segments)})", f"balanced_accuracy({names[-1]})"]


PAIRS = [(name, loss) for name in CASES for loss in losses_of(name)]


def decoded_counter(problem: Any, settings: Any) -> ConstrainedCounter:
    """The counter by constrained decoding."""
    loss, inference = settings.criterion.loss, problem.inference(settings)
    variables = problem.labels_named(loss.labels)
    codes, off, states = problem.gold.codes, problem.sentence_off, problem.states
    is_measure = isinstance(loss, MeasureLoss)
    judged = [
        judged_segments(v, problem.graph.variables[v], codes[v], states[v], off, loss)
        if is_measure else judged_positions(v, codes[v], off, loss)
        for v in variables
    ]  # fmt: skip
    smoothing = smoothing_of(settings.criterion)
    return ConstrainedCounter(problem, judged, inference, smoothing, find_false=is_measure)


def best_scores_excluding_gold(problem: Any, weights: Any) -> Any:
    """The score of the best wrong labelling of each sentence, by the graph that excludes the right ones."""
    data = unpacked_data_excluding_gold(problem, range(problem.graph.num_labels))
    method, potentials = METHODS["exact"].build(data, ExactSettings()), data.potentials(weights)
    found = run_decoding(data, method, potentials, problem.workers).labelling
    return score_sequences(data, found, potentials, problem.workers)


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_max_marginals_count_what_constrained_decoding_counts(name: str, loss: str) -> None:
    problem, settings = problem_of(CASES[name], "mce", f"train.loss={loss}", "train.infer=exact")
    counter, decoded = build_mce(problem, settings).counter, decoded_counter(problem, settings)
    assert isinstance(counter, SpanCounter)
    for seed, scale in enumerate((0.5, 0.5, 2.0, 8.0)):
        weights = np.random.default_rng(seed).normal(0.0, scale, problem.parameters.num_weights)
        one, other = counter.count(weights), decoded.count(weights)
        assert one.missed == pytest.approx(other.missed, rel=1e-9, abs=1e-12)
        assert one.false == pytest.approx(other.false, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.false_gradient, other.false_gradient, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_the_best_wrong_labelling_is_that_of_the_graph_without_right_ones(name: str) -> None:
    problem, settings = problem_of(CASES[name], "hmsvm", "train.infer=exact")
    variables = list(range(problem.graph.num_labels))
    search, data = wrong_labelling_search(problem, problem.inference(settings), variables), None
    for seed, scale in enumerate((0.5, 3.0, 30.0)):
        weights = np.random.default_rng(seed).normal(0.0, scale, problem.parameters.num_weights)
        weights[: len(weights) // 2] += scale * problem.counts[: len(weights) // 2].clip(0, 1)
        found = search.best(weights)
        data = problem.bind_plain(programs=True)
        scores = score_sequences(data, np.ascontiguousarray(found.T).ravel(), data.potentials(weights), problem.workers)
        expected = best_scores_excluding_gold(problem, weights)
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-9)
        wrong = problem.gold.contradicts(found[: len(variables)], problem.graph.cards[: len(variables)])
        per_sentence = np.add.reduceat(wrong.sum(axis=0), problem.sentence_off[:-1])
        assert ((per_sentence > 0) == np.isfinite(expected)).all()


@pytest.mark.parametrize("loss", ["label(y, z)", "fscore(y)", "sequence"])
@pytest.mark.parametrize("name", ["two chains", "three chains"])
def test_batches_add_up_to_the_whole(name: str, loss: str) -> None:
    objective: Any = objective_of(CASES[name], "mce", f"train.loss={loss}", "train.infer=exact")
    weights = np.random.default_rng(7).normal(0.0, 0.7, objective.num_weights)
    value, gradient = objective.value_and_gradient(weights)
    batches = objective.batches(3)
    assert isinstance(batches, ErrorBatches)
    batches.begin(weights.copy())
    total, summed = 0.0, np.zeros_like(weights)
    for number in range(batches.count):
        own, touched, part = batches.gradient(number)
        total += own
        summed[touched] += part
    np.testing.assert_allclose(summed + objective.penalty.precision * weights, gradient, rtol=0, atol=1e-9)
    if loss != "fscore(y)":  # the batches of a ratio are those of its linear part
        penalty = objective.penalty.add(weights, np.zeros_like(weights))
        assert total + penalty == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("optimizer", ["sgd", "gpd", "quickprop"])
def test_optimizers_lower_the_errors_of_a_coupled_model(optimizer: str) -> None:
    case = replace(CASES["two chains"], text=CASES["two chains"].text + "train mce: loss = label(y, z)\n")
    model = fit(case.resolved("infer=exact", f"train.optimizer={optimizer}"), case.corpus(), threads=1)
    objective = objective_of(CASES["two chains"], "mce", "train.loss=label(y, z)", "train.infer=exact")
    start = objective.start(np.zeros(objective.num_weights))
    assert objective.value_and_gradient(model.weights)[0] < 0.95 * objective.value_and_gradient(start)[0]


def test_the_counts_are_the_same_floats_for_any_number_of_threads() -> None:
    weights, gradients = None, []
    for threads in (1, 2, 3):
        objective = objective_of(
            CASES["three chains"], "mce", "train.loss=fscore(y)", "train.infer=exact", threads=threads
        )
        weights = np.random.default_rng(3).normal(0.0, 1.0, objective.num_weights)
        gradients.append(objective.value_and_gradient(weights))
    for value, gradient in gradients[1:]:
        assert value == gradients[0][0]
        np.testing.assert_array_equal(gradient, gradients[0][1])
