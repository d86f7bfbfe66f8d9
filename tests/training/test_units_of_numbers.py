"""Numbers as features, whatever their units: optima, gradients and certificates beside independent ones.

The reference knows nothing of the package's units: it whitens all weights by second moments that it takes from the data
itself, and minimises the same objective by SciPy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sampling import some
from scipy.optimize import minimize

from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.criteria.feature_moments import add_moments, moments_of_rows, number_features, weight_units
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.data import Corpus, corpus_from_rows, read_corpus
from dcrfdsl.features.feature_rows import FeatureRows
from dcrfdsl.inference.workers import Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.corners import WeightGroups
from dcrfdsl.optimizers.derived_objectives import ScaledObjective
from dcrfdsl.optimizers.weight_units import UnitBlock, WeightUnits
from dcrfdsl.semantics import stage_chain, stage_settings
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.training.parts.corpus_parts import open_parts
from dcrfdsl.training.pipeline import TrainingRequest, _begun, fit
from dcrfdsl.training.stage import Stage

Floats = NDArray[np.float64]
Row = Mapping[str, Sequence[object]]
CLOCK = "data jsonl(t: float, p: float, state)\nlabel state\nclique state: bias, t, p\nclique state[-1], state\n"
CHANNELS = (
    "data jsonl(ax: float, az: float, pressure: float, state)\nlabel state\n"
    "clique state: bias, ax, az, pressure\nclique state[-1], state\n"
)
PROVEN = ("auto", "lbfgs", "owlqn", "proximal")
OTHERS = ("cg", "quickprop", "sgd", "gpd")


def clock(count: int = 30, length: int = 15) -> list[Row]:
    """Three states that `t` tells, and seconds since 1970, which tell nothing."""
    draw, rows = np.random.default_rng(4), list[Row]()
    for n in range(count):
        states, now = list[str](), int(draw.integers(3))
        for _ in range(length):
            now = int(draw.integers(3)) if draw.random() < 0.2 else now
            states.append("abc"[now])
        t = [round(float("abc".index(state) + 0.3 * draw.normal()), 3) for state in states]
        rows.append({"t": t, "p": [1_700_000_000 + 86_400 * n + 60 * k for k in range(length)], "state": states})
    return rows


def channels(count: int = 30, length: int = 30, *, standard: bool = False) -> list[Row]:
    """Three states: acceleration tells one of them, and a pressure near 101,325 the other two."""
    draw, rows = np.random.default_rng(2), list[dict[str, list[object]]]()
    for _ in range(count):
        states, now = list[int](), 0
        for _ in range(length):
            now = int(draw.integers(3)) if draw.random() < 0.1 else now
            states.append(now)
        numbers = {
            "ax": [(state == 1) * 2.0 + draw.normal() for state in states],
            "az": [9.81 + 0.3 * draw.normal() for _ in states],
            "pressure": [101_325 + 80.0 * (state == 2) + 30.0 * draw.normal() for state in states],
        }
        rows.append({**numbers, "state": ["abc"[state] for state in states]})
    if standard:
        for name in ("ax", "az", "pressure"):
            every = np.concatenate([np.array(row[name], np.float64) for row in rows])
            for row in rows:
                row[name] = [(float(str(x)) - every.mean()) / every.std() for x in row[name]]
    return [{name: list(column) for name, column in row.items()} for row in rows]


def written(rows: Sequence[Row], folder: Path, resolved: Resolved) -> Corpus:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_corpus(path, resolved.require(unchecked=True).data)


def accuracy(model: TrainedModel, corpus: Corpus, rows: Sequence[Row]) -> float:
    gold = [state for row in rows for state in row["state"]]
    found = [model.states["state"][code] for code in model.predict(corpus).codes["state"]]
    return float(np.mean([one == other for one, other in zip(gold, found, strict=True)]))


def stage_of(resolved: Resolved, corpus: Corpus) -> tuple[Criterion, TrainingProblem]:
    spec = resolved.require(unchecked=True)
    model, problem = _begun(resolved, spec, corpus, TrainingRequest(), Workers(1))
    label = [entry.label for entry in stage_chain(spec, None)][-1]
    problem = replace(problem, stage=label, weights=model.weights)
    return Stage(model, problem, stage_settings(spec, label)).objective(), problem


def whitening(problem: TrainingProblem, precision: Floats) -> Floats:
    """A matrix [W, W] that makes the second moments of features, and the prior, about the identity."""
    clique, feature, assignment = problem.parameters.origins()
    tokens = int(problem.sentence_off[-1])
    moments = np.diag(precision.copy())
    for number in range(len(problem.parameters.cliques)):
        own = np.flatnonzero(clique == number)
        rows = problem.graph.templates[number].feature_set
        table = np.ones((tokens, 1))  # the bias first
        if rows >= 0:
            of_set = problem.rows[rows]
            table = np.zeros((tokens, 1 + int(of_set.feature.max()) + 1))
            table[:, 0] = 1.0
            at = np.repeat(np.arange(tokens), np.diff(of_set.row_off))
            table[at, 1 + of_set.feature] = of_set.value if len(of_set.value) else 1.0
        for state in np.unique(assignment[own]).tolist():
            mine = own[assignment[own] == state]
            some = table[:, 1 + feature[mine]]
            moments[np.ix_(mine, mine)] += some.T @ some / 8.0
    size = np.sqrt(np.diag(moments))
    return np.linalg.inv(np.linalg.cholesky(moments / np.outer(size, size))).T / size[:, None]


def least(objective: Criterion, problem: TrainingProblem) -> float:
    """The least value, by SciPy."""
    precision = np.zeros(objective.num_weights) if objective.penalty is None else objective.penalty.precision
    change = whitening(problem, np.maximum(precision, 1e-12))

    def at(point: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(change @ point)
        return value, change.T @ gradient

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 40}
    found = minimize(at, np.zeros(len(change)), jac=True, method="L-BFGS-B", options=options)
    return float(found.fun)


@pytest.mark.parametrize("optimizer", some([*PROVEN, *OTHERS], 2))
def test_seconds_since_1970_change_no_optimum(optimizer: str, tmp_path: Path) -> None:
    resolved = load_text(f"{CLOCK}train likelihood: optimizer = {optimizer}\n")
    rows = clock()
    corpus = written(rows, tmp_path, resolved)
    lowest = least(*stage_of(resolved, corpus))
    model = fit(resolved, corpus, unchecked=True)
    record = model.record
    assert accuracy(model, corpus, rows) > 0.9
    assert record.objective <= (1.0 + 1e-4 if optimizer in (*PROVEN, "cg") else 1.35) * lowest
    assert record.gap is not None and f"at most {record.gap:.2g} above" in record.end
    if optimizer in PROVEN:
        assert record.converged, record.reason
    if record.converged:
        assert record.objective - lowest <= record.gap <= record.objective


@pytest.mark.parametrize("prior", ["gaussian(variance = 10)", "gaussian(variance = 1000)", "none"])
def test_columns_far_from_zero_end_at_the_optimum(prior: str, tmp_path: Path) -> None:
    resolved = load_text(f"{CHANNELS}train likelihood: prior = {prior}\n")
    corpus = written(channels(), tmp_path, resolved)
    model = fit(resolved, corpus, unchecked=True)
    assert model.record.converged
    assert model.record.objective == pytest.approx(least(*stage_of(resolved, corpus)), rel=3e-5)


def test_without_a_prior_units_are_no_matter(tmp_path: Path) -> None:
    resolved = load_text(f"{CHANNELS}train likelihood: prior = none\n")
    found = []
    for standard in (False, True):
        rows = channels(standard=standard)
        corpus = written(rows, tmp_path, resolved)
        model = fit(resolved, corpus, unchecked=True)
        found.append((model.record.objective, accuracy(model, corpus, rows)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4)
    assert found[0][1] == pytest.approx(found[1][1], abs=2e-3) and found[0][1] > 0.93


def test_standard_numbers_and_indicators_have_no_units(tmp_path: Path) -> None:
    resolved = load_text(f"{CHANNELS}train likelihood\n")
    objective, _ = stage_of(resolved, written(channels(standard=True), tmp_path, resolved))
    assert objective.units is None


def test_a_number_after_features_that_never_fire_has_its_moments() -> None:
    resolved = load_text("data conll(word, x: float, y)\nlabel y\nclique y: word is c, word is d, word is e, x\n")
    corpus = corpus_from_rows([[("a", 1000.0, "A"), ("b", 3000.0, "B")]], resolved.require().data)
    objective, _ = stage_of(resolved, corpus)
    assert objective.units is not None and objective.units.size.tolist() == [2048.0] * 2


TRAININGS = {  # criteria and penalties that are trained in units
    "laplace": "likelihood: prior = laplace(scale = 1)",
    "elastic net": "likelihood: prior = elastic_net(l1 = 0.5, l2 = 0.1)",
    "groups": "likelihood: prior = group_lasso(strength = 0.2, groups = features)",
    "templates": "likelihood: prior = group_lasso(strength = 0.2)",
    "mce": "mce: prior = gaussian(variance = 100)",
    "marginal": "marginal",
    "pieces": "pwpl",
    "memm": "memm",
    "pseudo-likelihood": "pseudolikelihood",
    "kept": "likelihood: keep = 16",
}


@pytest.mark.long
@pytest.mark.parametrize("case", TRAININGS)
def test_every_criterion_finds_what_t_tells(case: str, tmp_path: Path) -> None:
    """With seconds since 1970 beside it no method is led astray, and none says that it converged against its bound."""
    rows = [{**row, "t": [float(str(t)) + 2.0 for t in row["t"]]} for row in clock()]  # `iis` takes no negative ones
    resolved = load_text(f"{CLOCK}train {TRAININGS[case]}\n")
    corpus = written(rows, tmp_path, resolved)
    model = fit(resolved, corpus, unchecked=True)
    record = model.record
    assert accuracy(model, corpus, rows) > 0.9, (record.reason, record.objective)
    if record.converged and record.gap is not None:
        assert record.gap <= record.objective


def test_iterative_scaling_divides_features_by_their_sizes(tmp_path: Path) -> None:
    """Slow as it is: by totals of 10¹⁰ no step would move a weight, and the objective would stay at 494."""
    rows = [{**row, "t": [float(str(t)) + 2.0 for t in row["t"]]} for row in clock()]
    resolved = load_text(f"{CLOCK}train likelihood: prior = none, optimizer = iis(max_iterations = 200)\n")
    record = fit(resolved, written(rows, tmp_path, resolved), unchecked=True).record
    assert not record.converged and record.objective < 250.0


STRUCTURES = {
    "chain": CLOCK,
    "pairs": CLOCK + "clique state[i], state[j] as same:\n    where index[j] - index[i] = 2\n    bias, p[i]\n",
    "latent": CLOCK + "latent z in 2\nclique z: bias, p\nclique z, state\n",
    "sentence label": "data jsonl(t: float, p: float, kind, state)\nlabel kind for sentence\nlabel state\n"
    "clique kind: bias, p\nclique kind, state\nclique state: bias, t, p\n",
    "edges": "data jsonl(t: float, p: float, state)\nlabel state\nclique state: bias, t\n"
    "clique state[-1], state: bias, p\n",
    "without bias": "data jsonl(t: float, p: float, state)\nlabel state\nclique state: t, p, p[-1]\n",
    "crosses": "data jsonl(t: float, p: float, w, state)\nlabel state\nclique state: bias, t, w & p, p\n",
}


@pytest.mark.parametrize("case", STRUCTURES)
def test_values_and_gradients_in_units(case: str, tmp_path: Path) -> None:
    rows: list[Row] = [
        {**row, "kind": ["k" if n % 2 else "l"] * 6, "w": list("xyxyxz")} for n, row in enumerate(clock(6, 6))
    ]
    resolved = load_text(f"{STRUCTURES[case]}infer exact\ntrain likelihood\n")
    objective, _ = stage_of(resolved, written(rows, tmp_path, resolved))
    units = objective.units
    assert units is not None
    draw = np.random.default_rng(1)
    for used in (units, units.sizes_alone()):
        scaled, point = ScaledObjective(objective, used), draw.normal(scale=0.3, size=objective.num_weights)
        weights = used.weights(point)
        np.testing.assert_allclose(used.point(weights), point, rtol=1e-5, atol=1e-5)
        value, gradient = scaled.value_and_gradient(point)
        assert value == objective.value_and_gradient(weights)[0]
        for k in range(objective.num_weights):
            step = np.zeros_like(point)
            step[k] = 1e-4
            ends = [scaled.value_and_gradient(point + sign * step)[0] for sign in (1.0, -1.0)]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4, abs=2e-5 * max(1.0, abs(value)))
        _, raw = objective.value_and_gradient(weights)
        known = objective.gap(raw)
        if known is not None:
            assert scaled.gap(gradient) == pytest.approx(known, rel=1e-6)


def test_moments_of_parts_are_those_of_the_whole() -> None:
    draw = np.random.default_rng(3)
    values = np.stack([1.7e9 + 300.0 * draw.normal(size=40), draw.normal(size=40) + 5.0, draw.normal(size=40)], axis=1)
    fires = draw.random(values.shape) < (1.0, 0.9, 0.3)

    def rows(first: int, last: int) -> FeatureRows:
        some = fires[first:last]
        off = np.append(0, np.cumsum(some.sum(axis=1))).astype(np.int64)
        return FeatureRows(off, np.nonzero(some)[1].astype(np.int32), values[first:last][some])

    dense = np.array([0, 1])
    whole = moments_of_rows(rows(0, 40), 3, dense)
    joined = add_moments(add_moments(moments_of_rows(rows(0, 7), 3, dense), moments_of_rows(rows(7, 7), 3, dense)),
                         moments_of_rows(rows(7, 40), 3, dense))  # fmt: skip
    full = np.where(fires, values, 0.0)[:, :2]
    for found in (whole, joined):
        assert found.rows == 40
        np.testing.assert_allclose(found.squares, (np.where(fires, values, 0.0) ** 2).sum(axis=0))
        np.testing.assert_allclose(found.means, full.mean(axis=0))
        np.testing.assert_allclose(found.products / 40, np.cov(full.T, bias=True), rtol=1e-6)


def test_sizes_lose_no_digit_and_blocks_keep_to_their_weights() -> None:
    draw = np.random.default_rng(0)
    weights, size = draw.normal(size=6), np.exp2([0.0, 31.0, 0.0, 31.0, -7.0, 0.0])
    plain = WeightUnits(size)
    np.testing.assert_array_equal(plain.weights(plain.point(weights)), weights)
    block = UnitBlock(np.array([[0, 1], [2, 3]]), np.array([[1.0, 5.0], [0.0, 3.0]]))
    units = WeightUnits(size, (block,))
    expected = weights * size
    for bias, number in ((0, 1), (2, 3)):
        expected[bias], expected[number] = weights[bias] + 5.0 * weights[number], 3.0 * weights[number]
    np.testing.assert_allclose(units.point(weights), expected)
    gradient = draw.normal(size=6)
    assert gradient @ weights == pytest.approx(units.gradient(gradient) @ units.point(weights))
    np.testing.assert_allclose(units.gradient_of_weights(units.gradient(gradient)), gradient)
    part = units.part(np.array([2, 3, 5]))
    np.testing.assert_array_equal(part.blocks[0].numbers, [[0, 1]])
    np.testing.assert_array_equal(part.size, size[[2, 3, 5]])
    kept = units.among(np.array([True, True, False, True, True, True]))
    np.testing.assert_array_equal(kept.blocks[0].numbers, [[0, 1]])
    groups = WeightGroups(np.array([0, 0, 1, 1, -1, 1]), np.ones(2))
    np.testing.assert_array_equal(units.sizes_alone(groups).size, np.exp2([31.0, 31.0, 31.0, 31.0, -7.0, 31.0]))


@pytest.mark.long
def test_numbers_in_parts_are_trained_as_in_memory(tmp_path: Path) -> None:
    resolved = load_text(f"{CLOCK}train likelihood\n")
    corpus = written(clock(), tmp_path, resolved)
    whole = fit(resolved, corpus, unchecked=True)
    for tokens in (100, 200):
        parts = open_parts(tmp_path / "data.jsonl", resolved, cache=tmp_path / "cache", part_tokens=tokens)
        model = fit(resolved, parts, unchecked=True)
        assert model.record.converged
        assert model.record.objective == pytest.approx(whole.record.objective, rel=1e-6)
        np.testing.assert_allclose(model.weights, whole.weights, atol=2e-3)


def test_features_that_are_no_numbers_have_no_moments(tmp_path: Path) -> None:
    resolved = load_text("data jsonl(w, state)\nlabel state\nclique state: bias, w, w[-1]\ntrain likelihood\n")
    rows: list[Row] = [{"w": ["a", "b"], "state": ["x", "y"]}, {"w": ["b"], "state": ["y"]}]
    objective, problem = stage_of(resolved, written(rows, tmp_path, resolved))
    assert problem.extractor is not None and number_features(problem.extractor) == {}
    assert weight_units(problem.graph, problem.parameters, {}, np.zeros(objective.num_weights)) is None
    squares = problem.curvature()
    clique, feature, _ = problem.parameters.origins()
    assert set(squares[feature < 0].tolist()) == {3.0} and set(squares[feature >= 0].tolist()) <= {1.0, 2.0}
    assert len(clique) == objective.num_weights
