"""L-BFGS: inexact objectives, its memory of pairs; Quickprop along creases. All methods: `test_every_method`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from optimizer_cases import MINIMUM, Quadratic

from dcrfdsl.optimizers.lbfgs import PairMemory
from dcrfdsl.optimizers.objective import Iteration, Objective
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.optimizers.run_state import RunState
from dcrfdsl.optimizers.stored_pairs import FEWEST, MANY, MOST, MOST_BYTES, pair_bytes, pairs_kept
from dcrfdsl.semantics.settings.optimizer_settings import AutoOptimizer, LbfgsSettings, QuickpropSettings

Floats = NDArray[np.float64]


def watch(step: Iteration, weights: Floats) -> bool:
    return False


def rough(weights: Floats) -> tuple[float, Floats]:
    """A value that rises in every direction that its gradient calls downhill."""
    return -float(weights @ weights), weights - MINIMUM


def test_an_inexact_objective_is_asked_to_be_more_exact() -> None:
    objective = Quadratic(1.0, 1e-12)
    outcome = OPTIMIZERS["lbfgs"](objective, np.zeros(40), LbfgsSettings(tolerance=1e-7), watch)
    assert outcome.converged
    assert objective.step < 1.0
    assert outcome.weights == pytest.approx(MINIMUM, abs=1e-4)


def test_an_objective_that_stays_inexact_is_said_to_stop_the_search() -> None:
    class Rough(Quadratic):
        def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
            return rough(weights)

    outcome = OPTIMIZERS["lbfgs"](Rough(0.0, 0.0), np.full(40, 5.0), LbfgsSettings(), watch)
    assert not outcome.converged
    assert outcome.stalled
    assert "lowers the objective" in outcome.reason


class Valley(Objective):
    """A bowl with its bottom of 0 at (1, …, 1), ten thousand times as steep in one direction as in another."""

    CURVATURE = np.geomspace(1.0, 1e4, 100)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        away = weights - 1.0
        return 0.5 * float(self.CURVATURE @ away**2), self.CURVATURE * away


def test_auto_keeps_more_pairs_where_an_evaluation_takes_long_and_needs_fewer_of_them() -> None:
    def ended(seconds: float, memory: int | None) -> int:
        settings = AutoOptimizer(tolerance=1e-8, memory=memory)
        outcome = OPTIMIZERS["auto"](Valley(seconds), np.zeros(100), settings, watch)
        assert outcome.converged
        assert outcome.weights == pytest.approx(1.0, abs=1e-4)
        return outcome.evaluations

    few, many = ended(0.0, None), ended(10.0, None)
    assert many < 0.9 * few
    assert few == ended(0.0, FEWEST) == ended(10.0, FEWEST)  # what is asked for holds
    assert many == ended(0.0, MOST)


def test_pairs_take_a_small_part_of_an_evaluation_and_of_the_memory() -> None:
    assert [pairs_kept(asked, 1000.0, 10) for asked in (1, 100)] == [1, 100]
    assert pairs_kept(None, 0.0, 10) == pairs_kept(None, 0.09, 10) == FEWEST
    assert [pairs_kept(None, seconds, 400_000) for seconds in (0.2, 0.3, 0.36, 0.48, 9.0)] == [33, 50, 60, 80, MOST]
    assert pairs_kept(None, 1e6, 2_000_000) == MOST_BYTES // (2_000_000 * pair_bytes(2_000_000))
    assert pairs_kept(None, 1e6, 10_000_000) == FEWEST


class Crease(Objective):
    """A bowl with its bottom of 0 at (1, …, 1), and creases wherever two neighbouring weights are equal."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        apart = np.diff(weights)
        gradient = weights - 1.0
        gradient[:-1] -= np.sign(apart)
        gradient[1:] += np.sign(apart)
        return float(0.5 * np.sum((weights - 1.0) ** 2) + np.abs(apart).sum()), gradient


def test_quickprop_goes_on_along_creases() -> None:
    start = np.linspace(-1.0, 0.3, 20)
    settings = QuickpropSettings(online=0, max_iterations=100)
    outcome = OPTIMIZERS["quickprop"](Crease(), start, settings, watch)
    assert outcome.objective < 0.01 * Crease().value_and_gradient(start)[0]


def textbook_direction(gradient: Floats, moves: list[Floats], changes: list[Floats], metric: Floats | None) -> Floats:
    """The two loops of Nocedal & Wright, algorithm 7.4, from the mean of both first guesses where there are two."""
    q, alphas = gradient.copy(), []
    for s, y in zip(reversed(moves), reversed(changes), strict=True):
        alphas.append((s @ q) / (s @ y))
        q = q - alphas[-1] * y
    if moves:
        s, y = moves[-1], changes[-1]
        plain = (s @ y) / (y @ y)
        r = plain * q if metric is None else 0.5 * (plain * q + (s @ y) / (y @ (metric * y)) * metric * q)
    else:
        r = q if metric is None else metric * q
    for s, y, alpha in zip(moves, changes, reversed(alphas), strict=True):
        r = r + (alpha - (y @ r) / (s @ y)) * s
    return -r


@pytest.mark.parametrize("known", [False, True], ids=["plain", "with curvature"])
@pytest.mark.parametrize("pairs", [0, 1, 3, 4, 7, 11])
def test_directions_are_those_of_the_two_loops_over_the_newest_pairs(pairs: int, known: bool) -> None:
    size, num_weights = 4, 2000
    generator = np.random.default_rng(pairs)
    curvature = generator.uniform(0.5, 50.0, num_weights)
    memory = PairMemory(Quadratic(0.0, 0.0), num_weights, size, 1.0 / curvature if known else None, RunState())
    point, gradient = generator.normal(size=(2, num_weights))
    moves: list[Floats] = []
    changes: list[Floats] = []
    for _ in range(pairs):
        memory.direction(gradient)
        move = generator.normal(size=num_weights).astype(np.float32).astype(float)  # as they are remembered
        change = (curvature * move).astype(np.float32).astype(float)
        memory.add(point + move, point, gradient + change, gradient)
        point, gradient = point + move, gradient + change
        moves, changes = [*moves, move][-size:], [*changes, change][-size:]
    expected = textbook_direction(gradient, moves, changes, 1.0 / curvature if known else None)
    np.testing.assert_allclose(memory.direction(gradient), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def upper_halves(numbers: Floats) -> Floats:
    """Single precision rounded to 8 bits, by decimal arithmetic: the nearest multiple of 2⁻⁷ of the power of two."""
    single = numbers.astype(np.float32).astype(float)
    _, exponent = np.frexp(single)
    unit = np.ldexp(1.0, exponent - 8)
    return np.round(single / unit) * unit


@pytest.mark.parametrize("known", [False, True], ids=["plain", "with curvature"])
def test_many_weights_are_remembered_by_the_upper_halves_of_numbers(known: bool) -> None:
    size, num_weights = 3, MANY + 77
    generator = np.random.default_rng(5)
    curvature = generator.uniform(0.5, 50.0, num_weights)
    metric = 1.0 / curvature if known else None
    memory = PairMemory(Quadratic(0.0, 0.0), num_weights, size, metric, RunState())
    gradient = generator.normal(size=num_weights)
    moves, changes = list[Floats](), list[Floats]()
    for _ in range(5):
        memory.direction(gradient)
        move = generator.normal(size=num_weights) * np.exp(generator.normal(0.0, 9.0, num_weights))
        memory.add(move, np.zeros(num_weights), curvature * move, np.zeros(num_weights))
        moves, changes = [*moves, upper_halves(move)][-size:], [*changes, upper_halves(curvature * move)][-size:]
    expected = textbook_direction(gradient, moves, changes, metric)
    np.testing.assert_allclose(memory.direction(gradient), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert memory._moves.nbytes == 2 * size * num_weights
    singles = (memory._moves.astype(np.uint32) << 16).view(np.float32).astype(float)
    np.testing.assert_array_equal(singles[memory.pairs], moves)


def test_a_pair_whose_curvature_is_rounded_away_is_not_remembered() -> None:
    move, change = np.zeros(MANY), np.zeros(MANY)
    move[:2], change[:2] = (1.0, 1.0 + 2.0**-9), (1.0 + 2.0**-9 + 2.0**-12, -1.0)
    assert move @ change > 0.0 == upper_halves(move[:2]) @ upper_halves(change[:2])
    memory = PairMemory(Quadratic(0.0, 0.0), MANY, 3, None, RunState())
    memory.add(move, np.zeros(MANY), change, np.zeros(MANY))
    assert not memory.pairs


def test_a_pair_without_curvature_is_not_remembered() -> None:
    memory = PairMemory(Quadratic(0.0, 0.0), 3, 4, None, RunState())
    memory.add(np.array([1.0, 0.0, 0.0]), np.zeros(3), np.array([-1.0, 0.0, 0.0]), np.zeros(3))
    assert not memory.pairs
