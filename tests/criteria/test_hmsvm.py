"""Hidden Markov SVM: its primal against enumeration, both solvers against a general solver, known margins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import labellings_of
from model_cases import trained
from numpy.typing import NDArray
from optimizer_cases import least_primal
from scipy.optimize import minimize
from template_cases import CASES, Case
from training_cases import objective_of

from dcrfdsl.criteria.margin_objective import Hmsvm
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.objective import Iteration, Outcome
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.optimizer_settings import BcfwSettings, WorkingSetSettings
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
C = 0.7


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def hmsvm(case: Case, *overrides: str) -> Hmsvm:
    found = objective_of(case, "hmsvm", f"train.C={C}", *(f"train.{one}" for one in overrides))
    assert isinstance(found, Hmsvm)
    return found


def losses(gold: dict[str, list[str]], labels: dict[str, list[str]], kind: str) -> float:
    wrong = sum(a != b for name in gold for a, b in zip(gold[name], labels[name], strict=True))
    return float(wrong) if kind == "hamming" else float(wrong > 0)


def enumerated(case: Case, weights: Floats, kind: str, slack: str, weight: float = 1.0) -> float:
    """The primal by going through all labellings."""
    total = 0.5 * float(weights @ weights)
    for gold, every in labellings_of(case, weights):
        right = next(score for labels, score in every if labels == gold)
        short = [
            max(0.0, losses(gold, labels, kind) - 0.5 * (right - score)) for labels, score in every if labels != gold
        ]
        size = sum(map(len, gold.values()))
        total += C * (max(short, default=0.0) if slack == "sequence" else weight**size * sum(short))
    return total


EXACT = [name for name in CASES if name not in ("arcs",)]


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", EXACT)
def test_the_primal_counts_the_largest_violation_of_each_sentence(name: str, kind: str) -> None:
    model, _ = trained(CASES[name])
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}")
    value, gradient = objective.value_and_gradient(model.weights)
    assert value == pytest.approx(enumerated(CASES[name], model.weights, kind, "sequence"), rel=1e-9)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], model.weights, gradient, 1e-5)


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", ["chain", "padded chain", "a view that ties weights", "numbers"])
def test_with_a_slack_a_labelling_every_violation_counts(name: str, kind: str) -> None:
    weights = 0.3 * trained(CASES[name])[0].weights
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "slack=labelling", "most=100000", "weight=0.5")
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(enumerated(CASES[name], weights, kind, "labelling", 0.5), rel=1e-9)
    reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], weights, gradient, 1e-5)


# solvers ----------------------------------------------------------------------------------------------------------


def solve(objective: Hmsvm, settings: Any) -> Outcome:
    return OPTIMIZERS[settings.method](objective, np.zeros(objective.num_weights), settings, watch)


SOLVED = ["chain", "factorial", "second order", "skip chain", "segments"]


@pytest.mark.parametrize("kind", ["zero_one", "hamming"])
@pytest.mark.parametrize("name", SOLVED)
def test_both_solvers_reach_the_optimum_of_a_general_one(name: str, kind: str) -> None:
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "tolerance=1e-5")
    expected = least_primal(objective)
    found = solve(objective, WorkingSetSettings())
    assert found.converged and found.gap is not None
    assert found.objective == pytest.approx(expected, rel=2e-5)
    assert found.gap <= 1e-5 * found.objective
    objective = hmsvm(CASES[name], "infer=exact", f"loss={kind}", "tolerance=1e-2")
    other = solve(objective, BcfwSettings(max_iterations=5000))
    assert other.converged
    assert other.objective == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("name", ["chain", "factorial"])
def test_the_gap_is_what_primal_and_dual_differ_by(name: str) -> None:
    """The dual value cannot be above the optimum, and the primal not below it."""
    objective = hmsvm(CASES[name], "infer=exact", "tolerance=1e-6")
    best = solve(objective, WorkingSetSettings()).objective
    for passes in (2, 4, 6):
        for settings in (WorkingSetSettings(max_iterations=passes), BcfwSettings(max_iterations=passes)):
            early = solve(hmsvm(CASES[name], "infer=exact", "tolerance=1e-6"), settings)
            assert early.gap is not None
            assert early.objective == pytest.approx(objective.value_and_gradient(early.weights)[0], rel=1e-9)
            assert early.objective - early.gap <= best + 1e-9
            assert early.objective >= best * (1 - 1e-6)


@pytest.mark.long
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_with_a_slack_a_labelling_the_optimum_is_the_least_primal(weight: float) -> None:
    case = CASES["chain"]
    objective = hmsvm(case, "infer=exact", "slack=labelling", "most=100000", f"weight={weight}", "tolerance=1e-6")
    found = solve(objective, WorkingSetSettings())
    assert found.converged
    general = minimize(
        objective.value_and_gradient, found.weights + 0.01, jac=True, method="L-BFGS-B", options={"maxiter": 5000}
    )
    assert found.objective <= general.fun * (1 + 1e-6)
    other = solve(
        hmsvm(case, "infer=exact", "slack=labelling", "most=100000", f"weight={weight}", "tolerance=1e-2"),
        BcfwSettings(max_iterations=5000),
    )
    assert other.objective == pytest.approx(found.objective, rel=1e-2)


def learned(text: str, sentence: list[tuple[str, str]]) -> TrainedModel:
    case = Case(text, [sentence], None)
    return fit(case.resolved(), case.corpus(), threads=1)


def test_labellings_that_no_weight_tells_apart_each_cost_their_slack() -> None:
    """Two words the same, one `a` and one `b`: `b a` scores as `a b` does, whatever the weights, and costs 1 · C; of
    `a a` and `b b` the first falls short by 1 − λ and the second by 1 + λ, where λ is half the difference for the word:
    least at 0.
    """
    text = "data conll(word, y)\nlabel y in {a, b}\nclique y: word\ninfer exact\n"
    text += "train hmsvm: C = 3, slack = labelling\n"
    model = learned(text, [("w", "a"), ("w", "b")])
    assert model.record.converged
    assert model.record.objective == pytest.approx(9.0, rel=1e-3)


def test_labellings_with_the_same_features_are_cuts_of_their_own() -> None:
    """Three words the same, all `a`: three labellings each have one and two `b`."""
    text = "data conll(word, y)\nlabel y in {a, b}\nclique y with states = all: word\ninfer exact\n"
    text += "train hmsvm: C = 0.1, slack = labelling, tolerance = 1e-6\n"
    model = learned(text, [("w", "a")] * 3)
    # weights λ and −λ: ½ (λ² + λ²) + C (3 [1 − λ] + 3 [1 − 2 λ] + [1 − 3 λ]), each bracket at least 0
    grid = np.linspace(0.0, 2.0, 200_001)
    every = grid**2 + 0.1 * sum(n * np.maximum(0.0, 1.0 - k * grid) for n, k in ((3, 1), (3, 2), (1, 3)))
    assert model.record.objective == pytest.approx(float(every.min()), rel=1e-5)


# known margins ----------------------------------------------------------------------------------------------------

TWO = "data conll(word, y)\nlabel y\nclique y with states = {states}: word\n"


@pytest.mark.parametrize(("states", "expected"), [("all", 1.0), ("seen", 2.0)])
def test_on_separable_data_the_margin_is_the_known_one(states: str, expected: float) -> None:
    """One word a class: with both weights of a word they are ½ (difference) each way, with one alone it does it all.

    Margin 1 = ½ (λ_right − λ_wrong): λ = ±1 is the shortest; where the wrong weight is not there, λ_right = 2.
    """
    case = Case(TWO.format(states=states), [[("a", "P")], [("b", "Q")]], None)
    objective = objective_of(case, "hmsvm", "train.C=100", "train.infer=exact", "train.tolerance=1e-8")
    assert isinstance(objective, Hmsvm)
    found = solve(objective, WorkingSetSettings())
    np.testing.assert_allclose(np.abs(found.weights), expected, atol=1e-5)
    margins = [
        0.5 * (right - max(score for labels, score in every if labels != gold))
        for gold, every in labellings_of(case, found.weights)
        for right in [next(score for labels, score in every if labels == gold)]
    ]
    np.testing.assert_allclose(margins, 1.0, atol=1e-4)


def test_as_much_slack_as_c_is_worth_and_no_more() -> None:
    """One sentence, two classes, one weight each: min ½·2 λ² + C max(0, 1 − λ) is λ = min(1, C / 2)."""
    case = Case(TWO.format(states="all"), [[("a", "P")], [("b", "Q")]], None)
    objective = objective_of(case, "hmsvm", "train.C=0.5", "train.infer=exact", "train.tolerance=1e-8")
    assert isinstance(objective, Hmsvm)
    found = solve(objective, WorkingSetSettings())
    np.testing.assert_allclose(np.abs(found.weights), 0.25, atol=1e-6)


# training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("optimizer", ["working_set", "bcfw(max_iterations=5)"])
def test_training_is_the_same_for_any_number_of_threads(threads: int, optimizer: str) -> None:
    case = Case(CASES["chain"].text, CASES["chain"].sentences * 9, None)
    text = f"{case.text}\ntrain hmsvm: optimizer = {optimizer}\n"
    found = [
        fit(Case(text, case.sentences, None).resolved(), case.corpus(), threads=number).weights
        for number in (1, threads)
    ]
    np.testing.assert_array_equal(*found)


# observation kernels ----------------------------------------------------------------------------------------------

NUMBERS = """
data conll(a:float, b:float, y)
label y
clique y as seen with states = all: bias, {features}
clique y[-1], y
infer exact
train hmsvm: C = 20, loss = hamming, tolerance = 1e-7{kernel}
"""
GENERATOR = np.random.default_rng(5)
POINTS = [
    [(f"{a:.3f}", f"{b:.3f}", "P" if a * b + 0.1 * c > 0 else "Q") for a, b, c in GENERATOR.normal(size=(n, 3))]
    for n in (1, 2, 3, 1, 2, 1, 3, 2, 1, 1)
]


def model_with(features: str, kernel: str, sentences: Any = POINTS) -> Any:
    case = Case(NUMBERS.format(features=features, kernel=kernel), sentences, None)
    return fit(case.resolved(), case.corpus(), threads=1)


def same_answers(one: Any, other: Any) -> None:
    """Equal objectives, and equal probabilities of all labels of the training data."""
    case = Case(NUMBERS.format(features="a, b", kernel=""), POINTS, None)
    assert one.record.objective == pytest.approx(other.record.objective, rel=1e-6)
    left, right = (model.marginals(case.corpus())[0]["y"] for model in (one, other))
    np.testing.assert_allclose(left, right, atol=1e-3)


def test_a_linear_kernel_equals_the_explicit_model() -> None:
    same_answers(model_with("a, b", ", kernel.seen = linear"), model_with("a, b", ""))


@pytest.mark.long
def test_frank_wolfe_with_a_kernel_closes_in_on_the_same_optimum() -> None:
    found = model_with("a, b", ", kernel.seen = linear, optimizer = bcfw(max_iterations = 2000)").record
    best = model_with("a, b", "").record.objective
    assert found.gap is not None
    assert found.objective - found.gap <= best <= found.objective
    assert found.objective == pytest.approx(best, rel=0.02)


def test_a_square_of_products_equals_the_model_of_all_products() -> None:
    """(x·x')² is the product of a², b², and ab twice: as √2 ab."""
    squares = [
        [(f"{a}", f"{b}", y) for a, b, y in ((float(row[0]), float(row[1]), row[2]) for row in sentence)]
        for sentence in POINTS
    ]
    explicit = NUMBERS.replace("data conll(a:float, b:float, y)", "data conll(a:float, b:float, c:float, y)")
    text = explicit.format(features="a, b, c", kernel="")
    rows = [
        [(f"{float(a) ** 2!r}", f"{float(b) ** 2!r}", f"{2**0.5 * float(a) * float(b)!r}", y) for a, b, y in sentence]
        for sentence in squares
    ]
    case = Case(text, rows, None)
    expected = fit(case.resolved(), case.corpus(), threads=1)
    found = model_with("a, b", ", kernel.seen = poly(degree = 2, constant = 0)", squares)
    assert found.record.objective < 0.8 * 20 * sum(map(len, POINTS))
    assert found.record.objective == pytest.approx(expected.record.objective, rel=1e-6)
    assert found.predict(Case(NUMBERS.format(features="a, b", kernel=""), squares, None).corpus()).texts("y") == (
        expected.predict(case.corpus()).texts("y")
    )


def test_a_narrow_kernel_learns_what_no_linear_model_can() -> None:
    """The label is the sign of a product: no half-plane holds one class."""
    case = Case(NUMBERS.format(features="a, b", kernel=""), POINTS, None)
    gold = [row[-1] for sentence in POINTS for row in sentence]

    def errors(model: Any) -> int:
        return sum(a != b for a, b in zip(model.predict(case.corpus()).texts("y"), gold, strict=True))

    linear, narrow = (
        model_with("a, b", ""),
        model_with("a, b", ", C = 100, kernel.seen = rbf(gamma = 2)".replace(", C = 100", "")),
    )
    assert errors(narrow) == 0 < errors(linear)


def test_a_model_with_a_kernel_goes_to_a_file_and_back(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_with("a, b", ", kernel.seen = rbf(gamma = 1)")
    corpus = Case(NUMBERS.format(features="a, b", kernel=""), POINTS, None).corpus()
    model.save(tmp_path / "m.model")
    again = TrainedModel.load(tmp_path / "m.model")
    np.testing.assert_array_equal(again.marginals(corpus)[0]["y"], model.marginals(corpus)[0]["y"])
    whole = again.predict(corpus)
    monkeypatch.setattr("dcrfdsl.model.prediction.MOST_COMPARED", 40)  # a few positions at a time
    parts = again.predict(corpus)
    np.testing.assert_array_equal(parts.codes["y"], whole.codes["y"])
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-12)
    names = {text for _, text, _, _ in again.explanations.iter_weights()}
    assert "rbf(support 1)" in names and "bias" in names


def test_only_positions_that_support_are_kept() -> None:
    """Of two clusters far apart only their facing sides matter."""
    rows = [[(f"{x}", "0", "P" if x < 0 else "Q")] for x in (-4, -3, -2, -1, 1, 2, 3, 4)]
    model = model_with("a, b", ", kernel.seen = linear", rows)
    assert 0 < model.extractor.observation_kernels[0].size < len(rows)


def test_a_kernel_of_too_many_positions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcrfdsl.training.support_vectors.MOST_BYTES", 8 * 16**2)
    with pytest.raises(DcrfError, match=r"compares all pairs of 17 positions") as refused:
        model_with("a, b", ", kernel.seen = linear")
    assert refused.value.diagnostics[0].slug == "too-many-positions"


# what is hidden, and loops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["", ", kernel.seen = rbf(gamma = 0.5)"])
def test_labels_that_are_not_known_are_completed_by_the_best_ones(kernel: str) -> None:
    """At the optimum the completed labels are the best ones given what is known."""
    text = 'data conll(word, y)\nlabel y in {P, Q} with missing = "?"\nclique y as seen: bias, word\nclique y[-1], y\n'
    rows = [[("a", "P"), ("b", "?"), ("a", "P")], [("b", "Q"), ("b", "Q")], [("a", "?"), ("b", "Q")], [("a", "P")]]
    case = Case(text + f"infer exact\ntrain hmsvm: C = 10{kernel}\n", rows, None)
    model = fit(case.resolved(), case.corpus(), threads=1)
    assert model.record.converged
    found = model.predict(case.corpus()).texts("y")
    known = [row[1] for sentence in rows for row in sentence]
    assert all(a == b for a, b in zip(found, known, strict=True) if b != "?")
    assert found[1] == "Q" and found[5] == "P"


def test_a_latent_variable_trains() -> None:
    """`x` after `a` and `y` after `b`, one position on: two positions can only speak through the latent one."""
    text = "data conll(word, y)\nlabel y in {P, Q}\nlatent z in 2\n"
    text += "clique y, z\nclique z: word, word[-1]\nclique z[-1], z\n"
    rows = [[("a", "P"), ("m", "Q")], [("b", "Q"), ("m", "P")], [("a", "P"), ("m", "Q")], [("b", "Q")]]
    case = Case(text + "infer exact\ntrain hmsvm: C = 10, seed = 3\n", rows, None)
    model = fit(case.resolved(), case.corpus(), threads=1)
    assert model.record.converged and np.isfinite(model.record.objective)
    assert model.record.objective <= 10 * len(rows)


@pytest.mark.parametrize("loss", ["zero_one", "hamming"])
def test_on_loops_messages_find_labellings_and_say_what_that_is_worth(loss: str) -> None:
    case = CASES["factorial"]
    optimizer = "working_set(max_iterations = 200)"
    text = f"{case.text}\ninfer trp(tolerance = 1e-6)\ntrain hmsvm: C = {C}, loss = {loss}, optimizer = {optimizer}\n"
    model = fit(Case(text, case.sentences, None).resolved(), case.corpus(), threads=1)
    exact = solve(hmsvm(case, "infer=exact", f"loss={loss}"), WorkingSetSettings())
    assert model.record.objective == pytest.approx(exact.objective, rel=0.02)
    assert any("may miss the labelling" in note for note in model.record.notes)


def test_more_violations_than_are_listed_are_said() -> None:
    case = CASES["chain"]
    text = f"{case.text}\ninfer exact\ntrain hmsvm: slack = labelling, most = 2\n"
    model = fit(Case(text, case.sentences, None).resolved(), case.corpus(), threads=1)
    assert any("more labellings may violate" in note for note in model.record.notes)


# propositions of Altun & Hofmann 2003 -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["chain", "factorial", "second order", "skip chain"])
def test_slacks_bound_the_zero_one_and_the_rank_risk(name: str, seed: int) -> None:
    """Propositions 3 and 4 (the latter without its 1/n): Σ ξ_i ≥ wrong sentences; Σ w Σ_y ξ_iy ≥ Σ w · rank."""
    case = CASES[name]
    size = trained(case)[0].num_weights
    weights = np.random.default_rng(seed).normal(0.0, 2.0, size)
    half = 0.5 * float(weights @ weights)
    one = hmsvm(case, "infer=exact")
    each = hmsvm(case, "infer=exact", "slack=labelling", "most=100000", "weight=0.5")
    wrong = ranked = 0.0
    for gold, every in labellings_of(case, weights):
        right = next(score for labels, score in every if labels == gold)
        above = sum(score >= right for labels, score in every if labels != gold)
        wrong += above > 0
        ranked += 0.5 ** sum(map(len, gold.values())) * above
    assert (one.value_and_gradient(weights)[0] - half) / C >= wrong - 1e-9
    assert (each.value_and_gradient(weights)[0] - half) / C >= ranked - 1e-9
