"""What rounds of boosting leave out changes nothing: bounds that cannot be the least, sequences that a step leaves as
they are, and the way on which chains are computed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from piece_twin import supervised
from risk_cases import settings_of
from template_cases import CASES, Case, sentences

from dcrfdsl.criteria.boosting_risk import BoostingRisk, build_boosting
from dcrfdsl.optimizers.boosting_rounds import best_step, step_bounds
from dcrfdsl.semantics.settings.training_settings import AdaboostSettings

HEAD = "data conll(word, y)\nlabel y\n"
CHAINS = {
    "plain": Case(HEAD + "clique y: bias, word\nclique y[-1], y\n", sentences("PQR")),
    "turned": Case(HEAD + "clique y: word\nclique y, y[-1] as back\nclique y[-1], y\n", sentences("PQR")),
    "padded": Case(HEAD + "clique y: word\nclique y[-1], y with edges = pad\n", sentences("PQRST")),
}


def boosting_of(name: str, **own: Any) -> tuple[BoostingRisk, Any]:
    given, weights = supervised(CHAINS.get(name) or CASES[name])
    return build_boosting(given, settings_of(AdaboostSettings(**own))), weights


def assert_same_choice(ranges: Any, mass: Any, mean: Any, total: float, longest: float) -> None:
    """Equal to the last bit, the first one of several weights."""
    found = step_bounds(ranges, mass, mean, total, longest)
    best = int(found.left.argmin())
    weight, step, left = best_step(ranges, mass, mean, total, longest)
    assert left == found.left[best]
    assert (weight, step) == (best, found.step[best]) or left == 1.0  # nothing is promised


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain", "numbers", "segments"])
@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0, 12.0])
def test_the_chosen_bound_is_the_least_of_all_bounds(name: str, scale: float) -> None:
    objective, weights = boosting_of(name)
    risk, _ = objective.value_and_gradient(scale * weights)
    assert_same_choice(objective.ranges, *objective.shares, risk, 0.7)


@pytest.mark.parametrize("seed", range(60))
def test_the_chosen_bound_is_the_least_of_any_bounds(seed: int) -> None:
    """Groups of all kinds: one-sided, fixed, of no part or a tiny one, at either end; weights that are the same."""
    rng = np.random.default_rng(seed)
    many = rng.integers(0, 6, 40)
    if seed % 3 == 0:  # weights of the same groups
        many[20:] = many[:20]
    off = np.concatenate([[0], np.cumsum(many)])
    groups = int(off[-1])
    low = -rng.integers(0, 5, groups) + (0.0 if seed % 2 else rng.choice([0.0, 0.37, -2.5], groups))
    high = low + rng.integers(0, 7, groups) * (1.0 if seed % 2 else 0.61)
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)  # the known labelling differs by 0
    one_sided = rng.random(groups) < 0.3
    low[one_sided] = 0.0
    mass = rng.random(groups) * 10.0 ** rng.choice([0, -3, -12, -100, -300], groups) * (rng.random(groups) > 0.1)
    mass /= mass.sum() * (1.0 if seed % 2 else 3.0)
    where = rng.choice([0.0, 1e-14, 0.03, 0.5, 0.9, 1.0], groups) * rng.random(groups)
    mean = mass * (low + (high - low) * where)
    if seed % 3 == 0:
        half = int(off[20])
        for values in (low, high, mass, mean):
            values[half:] = values[:half]
    ranges = SimpleNamespace(off=off, low=low, high=high)
    for longest in (0.5, 8.0):
        assert_same_choice(ranges, mass, mean, 1.0, longest)


@pytest.mark.long
@pytest.mark.parametrize("name", ["turned", "padded", "forbidden moves", "factorial", "skip chain", "segments"])
@pytest.mark.parametrize("update", ["sequential", "steepest"])
def test_sums_kept_between_points_equal_sums_computed_anew(name: str, update: Any) -> None:
    """Weights move one by one, far and back, then all at once."""
    objective, weights = boosting_of(name, update=update)
    rng, at = np.random.default_rng(4), 0.3 * weights
    for turn in range(30):
        moved = rng.choice(len(at), 1 if turn % 10 else len(at) // 2)
        at = at.copy()
        at[moved] += rng.choice([-6.0, -0.4, 0.4, 6.0], len(moved)) if turn % 7 else 0.0
        value, gradient = objective.value_and_gradient(at)
        anew, _ = boosting_of(name, update=update)
        expected, expected_gradient = anew.value_and_gradient(at)
        assert value == pytest.approx(expected, rel=1e-13)
        np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-11, atol=1e-13 * expected)
        for own, other in zip(objective.shares, anew.shares, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-11, atol=1e-13 * expected)
        weight = int(moved[0])
        assert objective.mass(weight) == pytest.approx(anew.mass(weight), rel=1e-13)


@pytest.mark.parametrize("name", [*CHAINS, "forbidden moves"])
@pytest.mark.parametrize("scale", [0.0, 0.7, 5.0, 200.0])
def test_chains_and_programs_agree(name: str, scale: float) -> None:
    """Pair by pair; far out the kernel for chains gives up, and the programs answer in logarithms."""
    objective, weights = boosting_of(name)
    pairs, sequences = objective._of_all, np.arange(len(objective.log_weight))
    assert pairs._chain is not None
    found, expected = np.zeros((2, len(objective.ranges.slot)))
    pairs.update(scale * weights, sequences, found)
    log_z = pairs.out.log_z.copy()
    pairs._chain = None
    pairs.update(scale * weights, sequences, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(log_z, pairs.out.log_z, rtol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", ["plain", "chain", "factorial"])
def test_long_sequences_are_computed_block_by_block(name: str) -> None:
    objective, weights = boosting_of(name)
    found, expected = np.zeros((2, len(objective.ranges.slot)))
    sequences = np.arange(1, len(objective.log_weight))
    objective._of_all.update(weights, sequences, expected)
    data = objective._problem.bind_plain(programs=True)
    data.bank.whole, data.bank.block = 0, 30
    pairs = objective._expectations(data)
    pairs._chain = None
    assert pairs._method.in_blocks.all()
    pairs.update(weights, sequences, found)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(pairs.out.log_z, objective._of_all.out.log_z, rtol=1e-12)
