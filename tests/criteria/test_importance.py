"""`importance`: sentences count by factors, as if they stood in the data as often; tokens by factors of their own."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from criteria_cases import STRUCTURES
from criteria_rows import ROWS
from numpy.typing import NDArray
from template_cases import Case
from training_cases import problem_of

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.importance import NumberColumns
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model import TrainedModel
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.training_settings import SentenceImportance
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
FAMILIES = ("chain", "factorial", "skip", "latent", "missing")
UNWEIGHED = ("hmm", "induce")  # no sums over sentences


def built(case: Case, train: str, factors: list[float] | None = None, threads: int = 1) -> Any:
    """The objective of a stage, with factors of its sentences."""
    problem, settings = problem_of(case, train, threads=threads)
    if factors is not None:
        token = np.repeat(factors, np.diff(problem.sentence_off))
        problem = replace(problem, numbers=NumberColumns(columns={"trust": token}))
        settings = settings.model_copy(update={"importance": SentenceImportance(columns=("trust",))})
    return CRITERIA[settings.criterion.method](problem, settings)


def is_refused(case: Case, train: str) -> bool:
    return any(d.severity == "error" for d in check(load_text(f"{case.text}\ntrain {train}\n")))


def rows() -> list[Any]:
    return [
        pytest.param(family, row, id=f"{family}: {row}", marks=() if family == "chain" else pytest.mark.long)
        for family in FAMILIES
        for row in ROWS
        if row.split(",")[0].split("(")[0] not in UNWEIGHED and "measure" not in row
    ]


@pytest.mark.long
@pytest.mark.parametrize(("family", "row"), rows())
def test_whole_factors_are_repeated_sentences(family: str, row: str) -> None:
    """Value and gradient; a factor of 0 leaves a sentence out."""
    train = ROWS[row].train
    structure = STRUCTURES[family, ROWS[row].kind]
    once = list(structure.sentences)
    times = [1 + n % 3 for n in range(len(once))]
    of = [n for turn in range(3) for n in range(len(once)) if times[n] > turn]
    case = Case(structure.text, [once[n] for n in of], None)
    if is_refused(case, train) or any(word in train for word in ("fscore", "precision", "recall", "balanced")):
        pytest.skip("not a sum over sentences of this structure")
    try:
        expected = built(case, train)
    except DcrfError:
        pytest.skip("not on these labels")
    weights = np.random.default_rng(1).normal(0.0, 0.7, expected.num_weights)
    value, gradient = expected.value_and_gradient(weights)
    first = [float(times[n]) if i < len(once) else 0.0 for i, n in enumerate(of)]  # all on the first copy
    uneven = [times[n] * (0.25 if times[n] > 1 else 1.0) for n in of]
    uneven = [
        times[n] - 0.25 * times[n] * (times[n] - 1) if i < len(once) and times[n] > 1 else share
        for i, (n, share) in enumerate(zip(of, uneven, strict=True))
    ]
    for factors in (first, uneven):
        own_value, own_gradient = built(case, train, factors).value_and_gradient(weights)
        assert own_value == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert own_gradient == pytest.approx(gradient, rel=1e-8, abs=1e-9)


SMALL = """data conll(word, y, trust: float)
label y
clique y: bias, word
clique y[-1], y
"""
TOKENS = [
    [("a", "P", 2.0), ("b", "Q", 0.5), ("a", "Q", 0.0)],
    [("c", "R", 1.0), ("b", "Q", 3.0)],
    [("a", "P", 1.5), ("c", "R", 0.25), ("b", "P", 1.0), ("a", "Q", 2.0)],
    [("b", "Q", 1.0)],
]


def of_tokens(train: str, sentences: list[Any], text: str = SMALL) -> tuple[Any, Any]:
    """The problem with the column `trust`, and the objective."""
    problem, settings = problem_of(Case(text, sentences, None), train)
    column = np.array([row[-1] for sentence in sentences for row in sentence])
    problem = replace(problem, numbers=NumberColumns("data", np.arange(len(column)), {"trust": column}))
    return problem, CRITERIA[settings.criterion.method](problem, settings)


def scores(problem: Any, weights: Floats, first: int, last: int) -> tuple[Floats, Floats]:
    """Log potentials of a chain of three states at tokens `first` to `last` - 1, [T, K] and [K, K]."""
    (words, moves), rows = problem.parameters.cliques, problem.rows[0]
    start, table = problem.parameters.bias_start(1), np.zeros(9)
    table[moves.bias] = weights[start : start + len(moves.bias)]
    local = np.zeros((last - first, 3))
    local[:, words.bias] = weights[: len(words.bias)]
    begin = problem.parameters.entry_start(0)
    for t in range(first, last):
        for feature in rows.feature[rows.row_off[t] : rows.row_off[t + 1]]:
            run = slice(words.run_off[feature], words.run_off[feature + 1])
            local[t - first, words.entry[run]] += weights[begin + np.arange(len(words.entry))[run]]
    return local, table.reshape(3, 3)


def twin(criterion: str, problem: Any, weights: Floats, factor: Floats) -> float:
    """Σ_t c_t −log p_t by enumeration, p_t the marginal or the conditional probability of a label."""
    off, gold, total = problem.sentence_off, problem.gold.codes[0], 0.0
    for first, last in itertools.pairwise(off.tolist()):
        local, move = scores(problem, weights, first, last)
        known = gold[first:last]

        def score(y: Any, local: Floats = local, move: Floats = move) -> float:
            return sum(local[t, s] for t, s in enumerate(y)) + sum(move[a, b] for a, b in itertools.pairwise(y))

        every = list(itertools.product(range(3), repeat=last - first))
        mass = np.exp([score(y) for y in every])
        for t in range(last - first):
            if criterion == "marginal":
                right = sum(m for y, m in zip(every, mass, strict=True) if y[t] == known[t])
                p = right / mass.sum()
            else:
                others = [np.exp(score([*known[:t], s, *known[t + 1 :]])) for s in range(3)]
                p = others[known[t]] / sum(others)
            total -= factor[first + t] * np.log(p)
    return total


@pytest.mark.parametrize("criterion", ["marginal", "pseudolikelihood"])
@pytest.mark.parametrize("asked", ["tokens(trust)", 'states(y, "P 2", "R 0", others = 0.5)'])
def test_factors_of_tokens_equal_enumeration(criterion: str, asked: str) -> None:
    problem, objective = of_tokens(f"{criterion}: prior = none, importance = {asked}", TOKENS)
    factor = np.array([row[-1] for sentence in TOKENS for row in sentence])
    if asked.startswith("states"):
        factor = np.array([{"P": 2.0, "R": 0.0}.get(row[1], 0.5) for sentence in TOKENS for row in sentence])
    weights = np.random.default_rng(3).normal(0.0, 0.8, objective.num_weights)
    value, gradient = objective.value_and_gradient(weights)
    assert value == pytest.approx(twin(criterion, problem, weights, factor), rel=1e-9)
    step = 1e-6
    for k in range(len(weights)):
        unit = np.zeros(len(weights))
        unit[k] = step
        ends = [twin(criterion, problem, weights + side * unit, factor) for side in (1, -1)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("train", ["marginal", "pseudolikelihood", "pwpl", "memm", "mce(loss = label(y))"])
def test_equal_factors_of_tokens_scale_the_objective(train: str) -> None:
    doubled = [[(*row[:-1], 2.0) for row in sentence] for sentence in TOKENS]
    _, once = of_tokens(f"{train}: prior = none", TOKENS)
    _, twice = of_tokens(f"{train}: prior = none, importance = tokens(trust)", doubled)
    weights = np.random.default_rng(4).normal(0.0, 0.8, once.num_weights)
    (value, gradient), (own, own_gradient) = once.value_and_gradient(weights), twice.value_and_gradient(weights)
    assert own == pytest.approx(2.0 * value, rel=1e-9)
    assert own_gradient == pytest.approx(2.0 * gradient, rel=1e-8, abs=1e-10)


@pytest.mark.long
def test_approximate_marginals_take_factors_of_tokens() -> None:
    """On chains messages are exact."""
    of = [
        f"marginal: prior = none, importance = tokens(trust), infer = {m}" for m in ("exact", "bp(tolerance = 1e-10)")
    ]
    exact, approximate = (of_tokens(train, TOKENS)[1] for train in of)
    weights = np.random.default_rng(5).normal(0.0, 0.8, exact.num_weights)
    (value, gradient), (own, own_gradient) = (o.value_and_gradient(weights) for o in (exact, approximate))
    assert own == pytest.approx(value, rel=1e-7)
    assert own_gradient == pytest.approx(gradient, abs=1e-5)


def test_batches_sum_to_the_weighted_likelihood() -> None:
    sentences = [[(*row[:-1], float(n)) for row in sentence] for n, sentence in enumerate(TOKENS)]
    _, objective = of_tokens("likelihood: importance = trust", sentences)
    weights = np.random.default_rng(6).normal(0.0, 0.8, objective.num_weights)
    batches = objective.batches(1)
    batches.begin(weights.copy())
    total, gradient = 0.0, batches.precision * weights
    for number in range(batches.count):
        value, touched, part = batches.gradient(number)
        total += value
        gradient[touched] += part
    value, whole = objective.value_and_gradient(weights)
    assert total + 0.5 * float(batches.precision @ weights**2) == pytest.approx(value, rel=1e-9)
    assert gradient == pytest.approx(whole, abs=1e-9)


LOOPS = SMALL + "clique y[-2], y\n"


@pytest.mark.long
@pytest.mark.parametrize("method", ["trp", "bp", "mean_field", "trw", "auto", "exact", "pruned(threshold = 1e-12)"])
def test_every_inference_method_takes_factors(method: str) -> None:
    """The likelihood and its gradient are the sums of those of each sentence by itself, times its factor."""
    text, count = (SMALL if method.startswith("pruned") else LOOPS), len(TOKENS)
    if method in ("trp", "bp", "mean_field", "trw"):
        method += "(tolerance = 1e-9)"
    train = f"likelihood: prior = none, importance = trust, infer = {method}"
    column = np.array([0.5, 2.0, 0.5, 3.0])

    def objective(factors: Floats) -> Any:
        return of_tokens(train, [[(*row[:-1], f) for row in s] for s, f in zip(TOKENS, factors, strict=True)], text)[1]

    whole = objective(column)
    weights = np.random.default_rng(7).normal(0.0, 0.5, whole.num_weights)
    alone = [objective(np.eye(count)[n]).value_and_gradient(weights) for n in range(count)]
    value, gradient = whole.value_and_gradient(weights)
    assert value == pytest.approx(sum(c * v for c, (v, _) in zip(column, alone, strict=True)), rel=1e-6)
    assert gradient == pytest.approx(sum(c * g for c, (_, g) in zip(column, alone, strict=True)), abs=1e-5)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([1.0, 2.0], "on the first token"), ([-1.0, -1.0], "0 or more"),
        ([0.0, 0.0], "nothing to train on"),
    ],
)  # fmt: skip
def test_bad_numbers_are_refused_with_their_line(numbers: list[float], words: str) -> None:
    sentences = [[("a", "P", numbers[0]), ("b", "Q", numbers[1])]]
    with pytest.raises(DcrfError, match=words):
        of_tokens("likelihood: importance = trust", sentences)


def trained(sentences: list[Any], train: str, threads: int = 1) -> TrainedModel:
    spec = load_text(f"{SMALL}train {train}\n").require()
    return fit(spec, corpus_from_rows(sentences, spec.data), threads=threads)


@pytest.mark.parametrize("train", ["likelihood", "marginal", "pseudolikelihood", "hmsvm"])
def test_a_model_of_factors_is_the_model_of_repeated_sentences(train: str) -> None:
    """Its weights by name, as more frequent features come first; the same bits for any number of threads."""
    times = [2, 1, 3, 1]
    repeated = [[(*row[:-1], 1.0) for row in s] for s, n in zip(TOKENS, times, strict=True) for _ in range(n)]
    weighted = [[(*row[:-1], float(n)) for row in s] for s, n in zip(TOKENS, times, strict=True)]
    of_repeats, (one, two, three) = (
        trained(repeated, train),
        [trained(weighted, f"{train}: importance = trust", threads) for threads in (1, 2, 3)],
    )
    expected = {(c, f, s): w for c, f, s, w in of_repeats.explanations.iter_weights()}
    found = {(c, f, s): w for c, f, s, w in one.explanations.iter_weights()}
    assert found.keys() == expected.keys()
    assert [found[key] for key in expected] == pytest.approx(list(expected.values()), abs=2e-3)
    assert np.array_equal(one.weights, two.weights) and np.array_equal(one.weights, three.weights)
