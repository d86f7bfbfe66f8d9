"""The likelihood with costs: random ones by enumeration on every structure, and as scores of the data under messages.

What single costs are worth on each structure stands among all criteria (`test_all_criteria`).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import reference
from criteria_cases import STRUCTURES, Enumerated
from criteria_twin import cost_of_states, likelihood, softmax_margin, wrong_segments
from numpy.typing import NDArray
from template_cases import Case
from test_all_criteria import NO, built, problem, weights_of
from training_cases import problem_of

from dcrfdsl.cli.inference_notes import training_notes
from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.calibration import probability_notes
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.tuning import tune

Floats = NDArray[np.float64]


def drawn_costs(name: str, kind: str, seed: int) -> tuple[str, Any]:
    """A cost as written, and what it is worth for every labelling."""
    draw = np.random.default_rng(seed)
    pairs = {
        pair: round(float(draw.choice([0.0, 0.3, 1.0, 4.0])) * (1 + seed / 100), 4)
        for pair in itertools.permutations(STRUCTURES[name, kind].states["y"], 2)
    }
    texts = ", ".join(f'"{gold} {predicted} {cost}"' for (gold, predicted), cost in pairs.items())
    if kind == "plain" or name == "missing":
        return f"cost(y, {texts})", lambda sentence: cost_of_states(sentence, pairs, 0.0)
    missed, false = draw.uniform(0.0, 4.0, 2).round(3).tolist()
    written = f"sum(segments(y, missed = {missed}, false = {false}), cost(y, {texts}), scale = 0.5)"
    return written, lambda s: 0.5 * (wrong_segments(s, missed, false) + cost_of_states(s, pairs, 0.0))


@pytest.mark.parametrize("name", [name for name, kind in STRUCTURES if kind == "plain"])
@pytest.mark.parametrize("kind", ["plain", "bio"])
def test_random_costs_equal_enumeration_and_are_bounds(name: str, kind: str) -> None:
    """At least the log loss, and at least what the best labelling costs and leads by."""
    case, own = problem(name, kind)
    for seed in range(4):
        text, cost = drawn_costs(name, kind, seed)
        objective, twin, weights = (
            built(case, f"likelihood: {NO}, cost = {text}"),
            softmax_margin(cost),
            weights_of(own),
        )
        value, gradient = objective.value_and_gradient(weights)
        assert value == pytest.approx(twin(own, weights), rel=1e-9)
        reference.assert_gradient(lambda w: twin(own, w), weights, gradient, 1e-6, directions=2)  # noqa: B023
        assert value >= likelihood(own, weights) - 1e-9
        assert value >= sum(best_cost(sentence, weights, cost(sentence)) for sentence in own.sentences) - 1e-9


def best_cost(sentence: Enumerated, weights: Floats, costs: Floats) -> float:
    scores = sentence.counts @ weights
    return float(costs[scores.argmax()] + scores.max() - reference.log_sum(scores[sentence.agrees]))


# costs are scores without weights -------------------------------------------------------------------------------------


TEXTS = {
    "second order": "clique y[-2], y[-1], y\n",
    "skip": "clique y[i], y[j] as again:\n    where word[i] = word[j]\n",
    "chain": "",
    "latent": "latent h in 2\nclique h, y: word\nclique h[-1], h\n",
}
HEAD = 'data conll(word, y, given: scores(y))\nlabel y in {A, B, C} with missing = "?", ambiguous = "|"\n'
WORDS = "clique y: bias, word\nclique y[-1], y\n"
COST = {("A", "B"): 2.0, ("A", "C"): 0.5, ("B", "A"): 3.0, ("C", "A"): 0.25}  # others 1
WRITTEN = 'cost(y, "A B 4", "A C 1", "B A 6", "C A 0.5", others = 2, scale = 0.5)'


def cost_of(cell: str, state: str) -> float:
    """By gold cell and state: nothing where nothing is known, the least of what a set of states costs."""
    if cell == "?":
        return 0.0
    return min(0.0 if gold == state else COST.get((gold, state), 1.0) for gold in cell.split("|"))


def drawn_rows(seed: int, cells: str) -> list[Any]:
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(6):
        each = [(str(draw.choice(list("pq"))), str(draw.choice(cells.split()))) for _ in range(draw.integers(1, 5))]
        rows.append([(word, cell, [cost_of(cell, state) for state in "ABC"]) for word, cell in each])
    return rows


@pytest.mark.parametrize("infer", ["exact", "trp", "bp", "trw", "mean_field", "ep", "pruned(threshold = 1e-300)"])
@pytest.mark.parametrize("name", TEXTS)
def test_costs_are_as_scores_that_the_data_gives(name: str, infer: str) -> None:
    """Under messages too, so Bethe's approximation is that of the scores with costs."""
    if infer.startswith("pruned") and name in ("skip", "latent"):
        pytest.skip("pruned inference needs a chain of labels")
    text = f"{HEAD}{WORDS}{TEXTS[name]}infer {infer}\n"
    rows = drawn_rows(len(name), "A B C" if infer.startswith("pruned") else "A B C A|B ?")
    one, other = (
        CRITERIA["likelihood"](*problem_of(Case(own, rows), f"likelihood: {NO}{costs}"))
        for own, costs in ((text, f", cost = {WRITTEN}"), (text + "clique y: offset(given)\n", ""))
    )
    weights = np.random.default_rng(1).normal(0.0, 0.5, one.num_weights)
    value, gradient = one.value_and_gradient(weights)
    expected, expected_gradient = other.value_and_gradient(weights)
    near = 5e-3 if infer == "trw" else 1e-6  # messages stop at a tolerance, and edges of `trw` before their best shares
    assert value == pytest.approx(expected, abs=near)
    np.testing.assert_allclose(gradient, expected_gradient, atol=10 * near)
    batches = one.batches(2)
    if infer == "exact":
        assert batches is not None
        batches.begin(weights)
        assert sum(batches.gradient(n)[0] for n in range(batches.count)) == pytest.approx(value)


def test_a_label_of_the_sentence_costs_once() -> None:
    text = "data conll(word, kind)\nlabel kind in {A, B} for sentence\nclique kind as k with states = all: bias\n"
    rows = [[("p", "A"), ("q", "A"), ("p", "A")]]
    case = Case(text + "infer exact\n", rows)
    problem, settings = problem_of(case, f'likelihood: {NO}, cost = cost(kind, "A B 2")')
    objective = CRITERIA["likelihood"](problem, settings)
    assert objective.value_and_gradient(np.zeros(objective.num_weights))[0] == pytest.approx(np.log(1 + np.exp(2.0)))


# what training makes of them ------------------------------------------------------------------------------------------

COIN = "data conll(word, y)\nlabel y in {A, O}\nclique y as one with states = all: bias\ninfer exact\n"


@pytest.mark.parametrize("cost", [0.0, 1.0, 5.0])
def test_a_cost_moves_the_share_from_which_a_label_is_found(cost: float) -> None:
    """With nothing but a share p of A the scores of the states differ by m where p σ(cost − m) = (1 − p) σ(m). So the
    share that is found, m > 0, falls from 1/2 to 1/3 at the largest cost.
    """
    for found in (30, 34, 40, 56):
        share, rows = found / 100, [[("w", "A" if n < found else "O")] for n in range(100)]
        text = f'{COIN}train likelihood: prior = none, cost = cost(y, "A O {cost}", others = 0)\n'
        model = fit(load_text(text), Case(text, rows).corpus(), threads=1)
        lead = {states[0]: value for _, _, states, value in model.explanations.iter_weights()}
        m = lead["A"] - lead["O"]
        sigmoid = [1 / (1 + np.exp(-x)) for x in (cost - m, m)]
        assert share * sigmoid[0] == pytest.approx((1 - share) * sigmoid[1], abs=1e-4)
        assert (m > 0) == (share > 0.5 / (0.5 + 1 / (1 + np.exp(-cost))))


BIO = (
    "data conll(word, y)\nlabel y in bio(N)\nclique y: bias, word\nclique y[-1], y\ninfer exact\nevaluate segments(y)\n"
)


def noisy(seed: int) -> list[Any]:
    """Names that look nearly like any other word."""
    draw, rows = np.random.default_rng(seed), []
    for _ in range(80):
        labels = [str(draw.choice(["B-N", "O"], p=[0.5, 0.5])) for _ in range(draw.integers(2, 7))]
        rows.append([(str(draw.choice(list("pq"), p=[0.6, 0.4] if x != "O" else [0.5, 0.5])), x) for x in labels])
    return rows


def test_recall_rises_with_what_a_missed_segment_costs() -> None:
    case, recalls = Case(BIO, noisy(1)), []
    for missed in (0, 1, 10):
        text = f"{BIO}train likelihood: cost = segments(y, missed = {missed}, false = 0)\n"
        model = fit(load_text(text), case.corpus(), threads=1)
        recalls.append(float(model.evaluate(case.corpus())["segments(y).recall"]))
    assert recalls == sorted(recalls) and recalls[0] + 0.1 < recalls[-1]


def test_models_are_those_of_their_weights(tmp_path: Any) -> None:
    """Costs stay in training: labels, marginals and log-likelihood are those of the weights, in a file too."""
    text = f"{BIO}train likelihood: cost = sum(hamming, segments(y, missed = 3))\n"
    corpus = Case(BIO, noisy(2)).corpus()
    model = fit(load_text(text), corpus, threads=1)
    first = fit(load_text(f"{BIO}train likelihood\n"), corpus, threads=1)
    plain = first.with_weights(model.weights, first.record)
    model.save(tmp_path / "own.model")
    for one in (model, type(model).load(tmp_path / "own.model")):
        np.testing.assert_array_equal(one.predict(corpus).codes["y"], plain.predict(corpus).codes["y"])
        np.testing.assert_array_equal(one.marginals(corpus)[0]["y"], plain.marginals(corpus)[0]["y"])
        assert any("trained with costs" in note for note in probability_notes(one))
        assert any("on purpose" in note for note in training_notes(one))
    assert not list(probability_notes(plain)) and not list(training_notes(plain))


def test_the_scale_of_a_cost_is_tuned_and_a_later_stage_goes_on() -> None:
    text = f"{BIO}let c = 2 tune among(0, 4)\ntrain likelihood as first\n"
    text += "train likelihood as second after first: cost = segments(y, false = 0, scale = c)\n"
    corpus = Case(BIO, noisy(3)).corpus()
    found = tune(load_text(text), corpus, Case(BIO, noisy(4)).corpus(), best="segments(y).recall", threads=1)
    assert found.record.stage == "second"
    assert fit(load_text(text), corpus, stage="first", threads=1).record.objective < found.record.objective


@pytest.mark.parametrize(
    ("train", "slug"),
    [
        ("likelihood: cost = segments(y)", "cannot-sum-out"),
        ('likelihood: cost = cost(y, "B-N X 1")', "bad-argument"),
        ("likelihood: cost = segments(y), infer = exact(max_table = 8)", "too-wide"),
    ],
)
def test_costs_that_do_not_suit_the_data_are_refused(train: str, slug: str) -> None:
    text = 'data conll(word, y)\nlabel y with missing = "?"\nclique y: bias, word\nclique y[-1], y\ninfer exact\n'
    cell = "?" if slug == "cannot-sum-out" else "O"
    case = Case(text, [[("p", "B-N"), ("q", "I-N"), ("p", cell), ("q", "O")]])
    with pytest.raises(DcrfError) as refusal:
        fit(load_text(f"{text}train {train}\n"), case.corpus(), threads=1)
    assert refusal.value.diagnostics[0].slug == slug
