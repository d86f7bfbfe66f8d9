"""Packed data and the chain kernels against the general path: the same numbers, sentence by sentence, weight by weight.
And the same bits from any number of threads.

The general path itself is held to enumeration in `test_criteria` and `test_inference`.
"""

from __future__ import annotations

import numpy as np
import pytest
from template_cases import CASES, Case

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.criteria.penalties import Penalty
from dcrfdsl.inference import METHODS, Binder, Decoded, Workers
from dcrfdsl.inference.base import Expectations
from dcrfdsl.inference.bound import chain_runs
from dcrfdsl.kernels.sequences.expectations import score_labellings
from dcrfdsl.semantics.settings.infer_settings import (
    AutoSettings,
    BpSettings,
    EpSettings,
    ExactSettings,
    GbpSettings,
    MeanFieldSettings,
    TrpSettings,
    TrwSettings,
)
from dcrfdsl.semantics.settings.method_settings import MethodSettings
from dcrfdsl.training.untrained_model import assemble


def long_sentences(states: str, count: int = 40, longest: int = 200) -> list:
    """Sentences of 1 to 200 words, some words frequent, most rare."""
    draw = np.random.default_rng(3)
    lengths = [1, 1, 2, 3, longest, *draw.integers(1, longest, count).tolist()]
    return [[(f"w{draw.zipf(1.3) % 200}", states[draw.integers(len(states))]) for _ in range(n)] for n in lengths]


def labels(count: int) -> str:
    return "".join(chr(ord("A") + n) for n in range(count))


def chain(text: str, states: str = "PQR") -> Case:
    return Case(f"data conll(word, y)\n{text}", long_sentences(states))


CHAINS = {
    "labels alone": chain("label y\nclique y[-1], y\n"),
    "no moves": chain("label y\nclique y: bias, word\n"),
    "features with few and many states": chain("label y\nclique y: bias, word, word[-1] & word\nclique y[-1], y\n"),
    "every state of every feature": chain("label y\nclique y with states = all: word[-1..1]\nclique y[-1], y\n"),
    "two cliques on a label": chain(
        "label y\nclique y as one: word\nclique y as two: bias, word[1]\nclique y[-1], y\n"
    ),
    "moves to the right": chain("label y\nclique y: word\nclique y, y[1]: bias\n"),
    "moves named backwards": chain("label y\nclique y: word\nclique y, y[-1]: bias\n"),
    "two cliques on moves": chain("label y\nclique y: word\nclique y[-1], y as one\nclique y, y[1] as two\n"),
    "borders": chain("label y\nclique y: word\nclique y[-1], y with edges = pad\n"),
    "hard moves": chain("label y in {P, Q, R}\nclique y: word\nclique y[-1], y\nforbid y[-1] is P and y is R\n", "Q"),
    "a hard state": chain("label y in {P, Q, R}\nclique y: word\nclique y[-1], y\nforbid y is R\n", "PQ"),
    "what a word forbids": chain(
        "label y in {P, Q, R}\nclique y: word\nclique y[-1], y\nforbid y is R and word is w1\n", "PQ"
    ),
    "moves by views": chain("label y in {P, Q, R}\nview p = y is P\nclique y: word\nclique p[-1], p\n"),
    "one state": chain("label y\nclique y: bias, word\nclique y[-1], y\n", "P"),
    "twenty-three states": chain("label y\nclique y: bias, word\nclique y[-1], y\n", labels(23)),
    "forty-five states": chain("label y\nclique y: bias, word[-1..1]\nclique y[-1], y\n", labels(45)),
    "segments": Case(
        "data conll(word, y)\nlabel y in bio(X, Y)\nclique y: bias, word\nclique y[-1], y\n",
        [[(word, "O") for word, _ in sentence] for sentence in long_sentences("O")],
    ),
}
OTHERS = [
    "second order", "wide offsets", "factorial", "three chains", "skip chain", "padded chain",
    "a condition across three positions", "numbers",
]  # fmt: skip


class Problem:
    """A case with its data bound plainly and packed."""

    def __init__(self, case: Case, settings: MethodSettings | None = None):
        self.settings = settings or ExactSettings()
        corpus = case.corpus()
        known = assemble(case.resolved().require(), corpus, {}, {})
        parameters, _ = known.learn_parameters()
        binder = Binder(known.graph, parameters, programs=METHODS[self.settings.method].programs)
        self.plain = binder.bind(known.rows, corpus.sentence_off, known.relations)
        self.packed = self.plain.packed()
        self.num_weights = parameters.num_weights

    def weights(self, scale: float) -> np.ndarray:
        return np.random.default_rng(1).normal(0, scale, self.num_weights)

    def method(self, data, *, special: bool):
        method = METHODS[self.settings.method].build(data, self.settings)
        if not special:
            method.chain = None
        return method

    def gradient(self, weights: np.ndarray, *, special: bool, threads: int = 1):
        """log Z of all sentences, and its gradient."""
        data = self.packed if special else self.plain
        nothing = np.zeros(self.num_weights)
        objective = Likelihood(data, self.method(data, special=special), nothing, Penalty(nothing), Workers(threads))
        value, gradient = objective.value_and_gradient(weights)
        return value, gradient, objective.total_status

    def answers(self, weights: np.ndarray, *, special: bool, constant: bool = False) -> dict:
        """log Z, marginals, the best labelling and its score of every sentence.   constant: at a model's weights."""
        method = self.method(self.plain, special=special)
        potentials = self.plain.potentials_at(weights, (weights,) if constant else ())
        count = self.plain.num_sequences
        out = Expectations.empty(self.plain, marginals=True)
        method.expectations(potentials, 0, count, out, np.zeros(0), np.zeros(len(self.plain.hard)))
        best = Decoded.empty(self.plain)
        method.decode(potentials, 0, count, best)
        marginals = out.marginals.reshape(-1, self.plain.graph.cards[0])
        marginals[marginals.sum(axis=1) == 0.0] = 1 / marginals.shape[1]  # the general path leaves out lone variables
        return {
            "log Z": out.log_z, "status": out.status, "marginals": marginals, "best score": best.score,
            "score of the best labelling": self.score(potentials, best.labelling), "decoded": best.status,
        }  # fmt: skip

    def score(self, potentials, labelling: np.ndarray) -> np.ndarray:
        """Σ log φ of a labelling of every sentence: of several that are best to rounding, any may be found."""
        d, score = self.plain, np.zeros(self.plain.num_sequences)
        score_labellings(0, d.num_sequences, d.problem, potentials, d.ragged(labelling), score)
        return score


@pytest.fixture(scope="module", params=CHAINS)
def problem(request: pytest.FixtureRequest) -> Problem:
    return Problem(CHAINS[request.param])


SCALES = [0.0, 1.0, 10.0]  # of weights; with the last one most marginals are 0 or 1 to the last digit


@pytest.mark.parametrize("scale", SCALES)
def test_a_chain_has_the_same_gradient(problem: Problem, scale: float) -> None:
    weights = problem.weights(scale)
    value, gradient, status = problem.gradient(weights, special=True)
    plain_value, plain_gradient, plain_status = problem.gradient(weights, special=False)
    assert value == pytest.approx(plain_value, rel=1e-12)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-10, atol=1e-10)
    assert status == plain_status


@pytest.mark.parametrize("scale", SCALES)
def test_a_chain_has_the_same_answers(problem: Problem, scale: float) -> None:
    weights = problem.weights(scale)
    special, plain = problem.answers(weights, special=True), problem.answers(weights, special=False)
    for name, values in plain.items():
        np.testing.assert_allclose(special[name], values, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("scale", SCALES)
def test_rows_of_a_models_weights_give_the_same_bits(
    problem: Problem, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = problem.weights(scale)
    lists = problem.answers(weights, special=True)
    monkeypatch.setattr(chain_runs, "MANY", 0)
    rows = problem.answers(weights, special=True, constant=True)
    for name, values in lists.items():
        np.testing.assert_array_equal(rows[name], values, err_msg=name)
    chain = problem.method(problem.plain, special=True).chain.chain
    kept = [tables for _, tables in chain._last.values() if tables is not None]
    assert all(len(tables.row) == len(problem.plain.bindings.run_off) - 1 for tables in kept)
    monkeypatch.setattr(chain_runs, "MOST_ROWS", -1)  # where they would be too large, lists are read
    other = problem.weights(scale).copy()
    np.testing.assert_array_equal(problem.answers(other, special=True, constant=True)["log Z"], lists["log Z"])


def test_a_chain_is_done_by_its_kernel(problem: Problem) -> None:
    count = problem.packed.num_sequences
    potentials, out = problem.packed.potentials(problem.weights(1.0)), Expectations.empty(problem.packed)
    runs = problem.method(problem.packed, special=True).chain
    assert runs is not None
    left = runs.expectations(
        potentials, 0, count, out.log_z, out.status, np.zeros(0), np.zeros(problem.packed.num_cells),
        np.zeros(len(problem.packed.hard)),
    )  # fmt: skip
    assert left == []


def test_two_threads_give_the_same_bits(problem: Problem) -> None:
    weights = problem.weights(1.0)
    one, two = (problem.gradient(weights, special=True, threads=threads) for threads in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("scale", [300.0, 3000.0])
def test_what_leaves_linear_space_is_left_to_the_general_path(name: str, scale: float) -> None:
    problem = Problem(CHAINS[name])
    weights = problem.weights(scale)
    value, gradient, _ = problem.gradient(weights, special=True)
    plain_value, plain_gradient, _ = problem.gradient(weights, special=False)
    assert value == pytest.approx(plain_value, rel=1e-10)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-8, atol=1e-8)


def test_sentences_without_a_labelling_are_told() -> None:
    case = CHAINS["a hard state"]
    problem = Problem(case)
    weights = np.zeros(problem.num_weights)
    hard = problem.plain.hard.copy()
    hard[1:] = -np.inf
    object.__setattr__(problem.plain, "hard", hard)
    special, plain = problem.answers(weights, special=True), problem.answers(weights, special=False)
    assert np.isneginf(special["log Z"]).all()
    np.testing.assert_array_equal(special["status"], plain["status"])
    np.testing.assert_array_equal(special["decoded"], plain["decoded"])


@pytest.mark.parametrize("name", OTHERS)
def test_models_that_are_no_chains_use_the_general_method(name: str) -> None:
    problem = Problem(CASES[name])
    runs = METHODS["exact"].build(problem.packed, ExactSettings()).chain
    assert runs is None or not runs.scatters


@pytest.mark.parametrize("settings", [ExactSettings(), TrpSettings()], ids=["exact", "trp"])
@pytest.mark.parametrize("name", CASES)
def test_packed_data_has_the_same_gradient(name: str, settings: ExactSettings | TrpSettings) -> None:
    problem = Problem(CASES[name], settings)
    weights = problem.weights(1.0)
    value, gradient, _ = problem.gradient(weights, special=True)
    plain_value, plain_gradient, _ = problem.gradient(weights, special=False)
    assert value == pytest.approx(plain_value, rel=1e-12)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in CASES if name != "numbers"])
def test_every_clique_on_sites_in_the_sentence_is_packed(name: str) -> None:
    problem = Problem(CASES[name])
    kinds, packed = problem.packed.kinds, problem.packed.rows.packed
    expected = (kinds.feature_set >= 0) & (kinds.inverse_off == -1)
    np.testing.assert_array_equal(packed.is_packed, expected)


# features that fire together ----------------------------------------------------------------------------------------

OVERLAPPING = chain(
    "label y\nclique y: bias, word, word[-1], word[-1] & word, prefix(word, 1..2), suffix(word, 1)\nclique y[-1], y\n",
    labels(23),
)


def gradient_of(data, settings: MethodSettings, weights: np.ndarray) -> np.ndarray:
    """Expected counts of the features, weight by weight."""
    method, potentials = METHODS[settings.method].build(data, settings), data.potentials(weights)
    out = Expectations.empty(data)
    cells = np.zeros(data.num_cells)
    method.expectations(potentials, 0, data.num_sequences, out, cells, np.zeros(len(data.hard)))
    data.open_bundles(cells)
    cell_of = data.cell_of_weight()
    return np.where(cell_of >= 0, cells[cell_of], 0.0)


@pytest.mark.parametrize("settings", [ExactSettings(), TrpSettings()], ids=["exact", "trp"])
def test_bundled_features_have_the_same_gradient(settings: MethodSettings) -> None:
    problem = Problem(OVERLAPPING, settings)
    weights = problem.weights(1.0)
    single, bundled = (problem.plain.packed(bundled=flag) for flag in (False, True))
    assert len(bundled.rows.packed.bundle_row) > 10
    assert len(bundled.rows.packed.dense) < 0.8 * len(single.rows.packed.dense)
    expected = gradient_of(single, settings, weights)
    np.testing.assert_allclose(gradient_of(bundled, settings, weights), expected, rtol=1e-10, atol=1e-10)


def test_sums_of_bundles_follow_weights_that_change() -> None:
    problem = Problem(OVERLAPPING)
    before, after = problem.weights(1.0), problem.weights(0.5)
    data = problem.plain.packed(bundled=True)
    cells, cell_of = data.potentials(before).weights, data.cell_of_weight()
    cells[cell_of[cell_of >= 0]] = after[cell_of >= 0]
    data.sum_bundles(cells)
    np.testing.assert_array_equal(cells, data.potentials(after).weights)


# threads --------------------------------------------------------------------------------------------------------------

EVERY_METHOD = [  # that training can use
    ExactSettings(), TrpSettings(), AutoSettings(), BpSettings(schedule="random"), BpSettings(schedule="flood"),
    BpSettings(schedule="residual"), MeanFieldSettings(), TrwSettings(), GbpSettings(), EpSettings(),
]  # fmt: skip
TWO_LABELS = Case(
    "data conll(word, x, y)\nlabel x\nlabel y\nclique x: word\nclique y: word\nclique x, y\nclique x[-1], x\n"
    "clique y[-1], y\n",
    [[(word, state, "UV"[len(word) % 2]) for word, state in sentence[:12]] for sentence in long_sentences("PQR")],
)


def everything(problem: Problem, weights: np.ndarray, threads: int) -> list:
    """Objective, gradient, log Z, marginals and labelling by so many threads."""
    settings, data, workers = problem.settings, problem.packed, Workers(threads)
    nothing, build = np.zeros(problem.num_weights), METHODS[settings.method].build
    value, gradient = Likelihood(data, build(data, settings), nothing, Penalty(nothing), workers).value_and_gradient(
        weights
    )
    method, potentials = build(data, settings), data.potentials(weights)
    out, best = Expectations.empty(data, marginals=True), Decoded.empty(data)

    def infer(first: int, last: int) -> None:
        method.expectations(potentials, first, last, out, np.zeros(0), np.zeros(len(data.hard)))
        method.decode(potentials, first, last, best)

    workers.map(infer, data.chunks(5))
    return [value, gradient, out.log_z, out.marginals, best.labelling]


@pytest.mark.parametrize("settings", EVERY_METHOD, ids=lambda own: f"{own.method} {getattr(own, 'schedule', '')}")
def test_any_number_of_threads_gives_the_same_bits(settings: MethodSettings) -> None:
    problem = Problem(TWO_LABELS, settings)
    weights = problem.weights(0.5)
    one = everything(problem, weights, 1)
    for threads in (2, 3):
        for own, other in zip(one, everything(problem, weights, threads), strict=True):
            np.testing.assert_array_equal(own, other)
