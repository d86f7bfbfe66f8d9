"""Pruned inference against exact inference where nothing is pruned, and against a slow twin where something is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pruned_cases import (
    CASES,
    NOTHING_PRUNED,
    OBSERVED,
    SCALES,
    Twin,
    check_batches,
    likelihood,
    prediction,
    sentences,
    weights_of,
)
from template_cases import Case
from training_cases import objective_of, problem_of

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.inference import Workers, pruning_loss, run_decoding, run_inference
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("name", CASES)
def test_nothing_pruned_is_exact(name: str, scale: float) -> None:
    case = CASES[name]
    exact, pruned = likelihood(case, "exact"), likelihood(case, NOTHING_PRUNED)
    weights = weights_of(exact, scale)
    value, gradient = exact.value_and_gradient(weights)
    own_value, own_gradient = pruned.value_and_gradient(weights)
    assert own_value == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(own_gradient, gradient, rtol=1e-9, atol=1e-9 * max(1.0, scale))
    assert pruned.total_status.approximate and pruned.total_status.pruning.pruned == 0
    assert pruned.total_status.pruning.early == 0
    assert not exact.total_status.pruning.positions
    sums, best, scores = prediction(case, NOTHING_PRUNED, weights)
    wanted, exact_best, exact_scores = prediction(case, "exact", weights)
    np.testing.assert_allclose(sums.log_z, wanted.log_z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.marginals, wanted.marginals, atol=1e-9)
    np.testing.assert_allclose(scores, exact_scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(best.score, exact_best.score, rtol=1e-9, atol=1e-9)
    if scale:
        np.testing.assert_array_equal(best.labelling, exact_best.labelling)


SETTINGS = [(0.05, 100), (0.2, 3), (0.02, 2), (0.3, 1)]


@pytest.mark.parametrize("threshold, keep", SETTINGS)
def test_pruned_sums_equal_the_twin(threshold: float, keep: int) -> None:
    case = replace(CASES["third order"], sentences=[s[:4] for s in sentences("abc", 9, seed=5)])
    infer = f"pruned(threshold = {threshold}, keep = {keep})"
    objective = likelihood(case, infer)
    weights = weights_of(objective, 1.5, seed=2)
    twins = [Twin(case, n, weights) for n in range(len(case.sentences))]
    sums, best, scores = prediction(case, infer, weights)
    for n, twin in enumerate(twins):
        _, alive, _ = twin.run(threshold, keep, early=False)
        log_z, _ = twin.beliefs(twin.top, alive)
        assert sums.log_z[n] == pytest.approx(log_z, abs=1e-9)
        top = max(alive, key=lambda m: twin.scores[-1][m])
        assert best.score[n] == pytest.approx(twin.scores[-1][top], abs=1e-9)
        assert scores[n] == pytest.approx(twin.scores[-1][top], abs=1e-9)
    value, _ = objective.value_and_gradient(weights)
    runs = [twin.run(threshold, keep, early=True) for twin in twins]
    assert value == pytest.approx(sum(v for v, _, _ in runs) + 0.05 * float(weights @ weights), abs=1e-9)
    assert objective.total_status.pruning.early == sum(level >= 0 for _, _, level in runs) > 0


@pytest.mark.parametrize("threshold, keep", SETTINGS)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_value(name: str, threshold: float, keep: int) -> None:
    objective = likelihood(CASES[name], f"pruned(threshold = {threshold}, keep = {keep})")
    weights = weights_of(objective, 1.2, seed=4)
    _, gradient = objective.value_and_gradient(weights)
    generator = np.random.default_rng(0)
    for _ in range(6):
        step = generator.normal(size=len(weights))
        step *= 1e-6 / np.linalg.norm(step)
        above, below = (objective.value_and_gradient(weights + sign * step)[0] for sign in (1, -1))
        assert (above - below) / 2 == pytest.approx(float(gradient @ step), abs=2e-11 * max(1.0, abs(above)) + 1e-13)


@pytest.mark.long
def test_early_updates_reach_every_level() -> None:
    case = replace(CASES["third order"], sentences=[s[:5] for s in sentences("abc", 6, seed=9) if len(s) > 3])
    objective = likelihood(case, "pruned(threshold = 0.1, keep = 100)")
    levels = set()
    for seed in range(6):
        weights = weights_of(objective, 0.8, seed)
        runs = [Twin(case, n, weights).run(0.1, 100, early=True) for n in range(len(case.sentences))]
        value, _ = objective.value_and_gradient(weights)
        assert value == pytest.approx(sum(v for v, _, _ in runs) + 0.05 * float(weights @ weights), abs=1e-9)
        levels |= {level for _, _, level in runs}
    assert levels >= {0, 1, 2}


def test_the_threshold_is_steered_to_a_mean_number_of_labels() -> None:
    case = CASES["third order"]
    weights = weights_of(likelihood(case, "exact"), 0.3)
    free, _, _ = prediction(case, NOTHING_PRUNED, weights)
    steered, _, _ = prediction(case, "pruned(threshold = 0, keep = 100, states = 2)", weights)
    report, whole = steered.summary().pruning, free.summary().pruning
    assert whole.kept == whole.possible == 4 * whole.positions
    assert report.positions < report.kept <= 2 * report.positions
    assert (steered.log_z <= free.log_z + 1e-12).all()


def test_a_sentence_that_pruning_leaves_no_labelling_is_pruned_less() -> None:
    """The likeliest label by itself is `O` three times in a row, which a constraint forbids."""
    case = CASES["segments"]
    problem, _ = problem_of(replace(case, text=f"{case.text}infer exact\n"), "likelihood")
    weights = np.zeros(problem.parameters.num_weights)
    outside = problem.states[0].index("O")
    clique = problem.parameters.cliques[0]
    weights[problem.parameters.entry_start(0) + np.flatnonzero(clique.entry == outside)] = 12.0
    sums, best, scores = prediction(case, "pruned(threshold = 0.1, keep = 1)", weights)
    wanted, _, exact_scores = prediction(case, "exact", weights)
    assert not sums.summary().impossible and not best.summary().impossible
    assert np.isfinite(scores).all() and (scores <= exact_scores + 1e-9).all()
    assert (sums.log_z <= wanted.log_z + 1e-9).all()
    assert best.summary().pruning.relaxed > 0 and sums.summary().pruning.relaxed > 0


def test_an_impossible_sentence_is_impossible_after_pruning_too() -> None:
    """Two sentences of one word `p`, which requires `a`, become one, in which `a` may not follow `a`."""
    case = Case(OBSERVED, [[("p", "a")], [("p", "a")], [("q", "b"), ("v", "c"), ("q", "a")]])
    for infer in ("pruned(keep = 1)", NOTHING_PRUNED):
        problem, settings = problem_of(replace(case, text=f"{case.text}infer {infer}\n"), "likelihood")
        problem = replace(problem, sentence_off=np.array([0, 2, 5]))
        method = problem.inference(settings).build(problem.bind_plain(programs=False, thin=True))
        potentials = method.data.potentials(np.ones(problem.parameters.num_weights))
        sums = run_inference(method.data, replace(method, gold=np.zeros(0, np.int32)), potentials, Workers(1))
        best = run_decoding(method.data, method, potentials, Workers(1))
        assert sums.summary().impossible == best.summary().impossible == (0,)
        assert np.isneginf(sums.log_z[0]) and (best.labelling[:2] < 0).all() and (best.labelling[2:] >= 0).all()


def test_bits_do_not_depend_on_threads() -> None:
    case = replace(CASES["third order"], sentences=sentences("abcd", 80))
    text = replace(case, text=f"{case.text}infer pruned(threshold = 0.02, keep = 3)\n")
    answers = []
    for threads in (1, 2, 3):
        objective = objective_of(text, "likelihood", threads=threads)
        weights = weights_of(objective, 1.0)
        value, gradient = objective.value_and_gradient(weights)
        sums, best, _ = prediction(case, "pruned(threshold = 0.02, keep = 3)", weights, threads)
        answers.append(
            (value, gradient.tobytes(), sums.log_z.tobytes(), sums.marginals.tobytes(), best.labelling.tobytes())
        )
    assert answers[0] == answers[1] == answers[2]


def test_batches_add_up_to_the_whole() -> None:
    case = replace(CASES["third order"], sentences=sentences("abcd", 20))
    objective = likelihood(case, NOTHING_PRUNED)
    check_batches(objective, weights_of(objective, 0.7))


REFUSED = {
    "two labels": ("data conll(word, y, z)\nlabel y in {a, b}\nlabel z in {a, b}\nclique y: word\nclique y, z\n", 3),
    "padded": ("data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y with edges = pad\n", 2),
    "features on pairs": ("data conll(word, y)\nlabel y\nclique y[-1], y: word\n", 2),
    "five labels": ("data conll(word, y)\nlabel y\nclique y: word\nclique y[-4], y with states = seen\n", 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_graphs_are_refused(name: str) -> None:
    text, columns = REFUSED[name]
    case = Case(text, [[("w", "a", "b")[:columns], ("v", "b", "a")[:columns]]])
    with pytest.raises(DcrfError, match="pruned"):
        likelihood(case, "pruned")


DICTIONARY = """data conll(word, y)
label y
features words: word, word[-1]
clique y: words
clique y[-1], y
require y in {a, b} when word in {"a", "b"}
require y in {c, d} when word in {"c", "d"}
require y in {e, f, g} when word in {"e", "u"}
"""
LISTS = {
    "first order": DICTIONARY,
    "second order": f"{DICTIONARY}clique y[-2], y[-1], y with states = seen\n",
    "views": f"{DICTIONARY}view early = y in {{a, c, e}}\nclique early[-2], y\nforbid y[-1] is a and y is c\n",
}


def dictionary_sentences(count: int) -> list[list[tuple[str, str]]]:
    generator = np.random.default_rng(7)
    words = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "efg", "u": "efg"}
    out = []
    for n in range(count):
        sentence: list[tuple[str, str]] = []
        for word in generator.choice(list(words), size=1 + n % 4):
            label = generator.choice(list(words[word]))
            if not (sentence and sentence[-1][1] == "a" and label == "c"):
                sentence.append((str(word), str(label)))
        out.append(sentence)
    return out


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("name", LISTS)
def test_candidates_are_exact(name: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(LISTS[name], dictionary_sentences(8))
    answers = []
    for cost in (-np.inf, np.inf):  # always lists of candidates, never
        monkeypatch.setattr("dcrfdsl.inference.bound.lattice_runs.POSITION_SECONDS", cost)
        objective = likelihood(case, "exact")
        assert (objective.method.candidates is not None) == (cost < 0.0)
        weights = weights_of(objective, scale)
        answers.append((objective.value_and_gradient(weights), prediction(case, "exact", weights)))
    ((value, gradient), own), ((exact_value, exact_gradient), exact) = answers
    assert value == pytest.approx(exact_value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(gradient, exact_gradient, rtol=1e-9, atol=1e-9 * max(1.0, scale))
    for mine, theirs in ((own[0].log_z, exact[0].log_z), (own[0].marginals, exact[0].marginals), (own[2], exact[2])):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    if scale:
        np.testing.assert_array_equal(own[1].labelling, exact[1].labelling)


def test_candidates_equal_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcrfdsl.inference.bound.lattice_runs.POSITION_SECONDS", -np.inf)
    case = Case(LISTS["second order"], dictionary_sentences(4))
    weights = weights_of(likelihood(case, "exact"), 1.0)
    sums, best, _ = prediction(case, "exact", weights)
    allowed = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "efg", "u": "efg"}
    problem, _ = problem_of(replace(case, text=f"{case.text}infer exact\n"), "likelihood")
    states = problem.states[0]
    for n, sentence in enumerate(case.sentences):
        twin = Twin(case, n, weights)
        scores = [
            score
            for labelling, score in zip(twin.all, twin.scores[-1], strict=True)
            if all(states[y] in allowed[word] for y, (word, _) in zip(labelling, sentence, strict=True))
        ]
        assert sums.log_z[n] == pytest.approx(np.logaddexp.reduce(scores), abs=1e-9)
        assert best.score[n] == pytest.approx(max(scores), abs=1e-9)


@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("name", ["third order", "gaps and views", "segments", "observations"])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_bound_on_lost_mass_is_true(name: str, scale: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcrfdsl.inference.methods.pruned_method.MOST_LIKELY", most)
    case = CASES[name]
    weights = weights_of(likelihood(case, "exact"), scale, seed=most)
    exact, _, _ = prediction(case, "exact", weights)
    for infer in ("pruned(threshold = 0.1, keep = 2)", "pruned(threshold = 0.01, keep = 3)", NOTHING_PRUNED):
        problem, settings = problem_of(replace(case, text=f"{case.text}infer {infer}\n"), "likelihood")
        data = problem.bind_plain(programs=False, thin=True)
        method = replace(problem.inference(settings).build(data), gold=np.zeros(0, np.int32))
        potentials = data.potentials(weights)
        sums = run_inference(data, method, potentials, Workers(1))
        bound = np.zeros(data.num_sequences)
        method.lost_mass(potentials, 0, data.num_sequences, sums.log_z, bound)
        lost = 1.0 - np.exp(sums.log_z - exact.log_z)
        assert (bound >= lost - 1e-9).all() and (bound <= 1.0).all()
        if most == 5 and infer == NOTHING_PRUNED and name == "third order":
            np.testing.assert_allclose(bound, 0.0, atol=1e-9)  # no stars: the bound is the sum itself
        assert name != "third order" or scale > 2.0 or infer == NOTHING_PRUNED or lost.max() > 1e-3


def test_losses_on_gold_data_are_reported() -> None:
    """Sentences with an unknown label are not judged."""
    case = CASES["third order"]
    infer = "pruned(threshold = 0.1, keep = 2)"
    problem, settings = problem_of(replace(case, text=f"{case.text}infer {infer}\n"), "likelihood")
    data = problem.bind_plain(programs=False, thin=True)
    method = problem.inference(settings).build(data)
    weights = np.random.default_rng(3).normal(size=problem.parameters.num_weights)
    gold = problem.labelling.copy()
    whole = pruning_loss(data, method, data.potentials(weights), gold, Workers(2))
    assert whole.judged == len(case.sentences) and 0 < whole.early < whole.judged
    gold[data.labelling_off[2]] = -1
    gold[data.labelling_off[3]] = -2
    part = pruning_loss(data, method, data.potentials(weights), gold, Workers(1))
    assert part.judged == whole.judged - 2 and part.early <= whole.early
    assert part.lost == whole.lost and 0.0 < part.lost <= len(case.sentences)
    assert part.kept == whole.kept < whole.possible


def test_thousands_of_states_need_no_table_of_all_triples() -> None:
    """Weights for every pair of a view are counted without the tables of other cliques, here of 31 GB."""
    text = """
data conll(word, y)
label y
view part = part(y, 1)
clique y: bias
clique part[-1], part
clique y[-1], y with states = seen
clique y[-2], y[-1], y with states = seen
infer pruned(keep = 2)
train likelihood: optimizer = sgd(epochs = 1)
"""
    rows = [[(f"w{n}", f"{'ABC'[n % 3]} {n}") for n in range(start, start + 4)] for start in range(0, 1600, 4)]
    template = load_text(text)
    model = fit(template, corpus_from_rows(rows, template.require().data), threads=1)
    assert len(model.states["y"]) == 1600
    assert np.isfinite(model.weights).all()
