"""Intervals and tests of scores, against scipy, enumeration and known cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from dcrfdsl.metrics.significance import bootstrap_interval, bootstrap_intervals, holm, mcnemar, randomisation_test


def share(counts):
    return np.divide(counts[..., 0], counts[..., 1], out=np.zeros(counts.shape[:-1]), where=counts[..., 1] > 0)


def f1(counts):
    right, both = counts[..., 0], counts[..., 1] + counts[..., 2]
    return np.divide(2.0 * right, both, out=np.zeros(counts.shape[:-1]), where=both > 0)


def tokens(seed, sentences=60, skill=0.8):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(3, 20, sentences)
    return np.stack([generator.binomial(lengths, skill), lengths], axis=1)


@pytest.mark.parametrize("pair", [(0, 0), (1, 0), (7, 2), (2, 7), (15, 25), (121, 59), (400, 400), (0, 60)])
def test_mcnemar_is_the_binomial_test(pair):
    expected = stats.binomtest(min(pair), sum(pair), 0.5).pvalue if sum(pair) else 1.0
    assert mcnemar(*pair) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(*pair) == mcnemar(*pair[::-1])


def test_mcnemar_of_a_published_table():
    """121 changed one way and 59 the other: χ² = 21.36 in McNemar's form; the exact p-value is that of 180 coins."""
    assert mcnemar(121, 59) == pytest.approx(4.4345e-06, rel=1e-4)


def test_bootstrap_agrees_with_scipy():
    counts = tokens(0)
    low, high = bootstrap_interval(counts, share, draws=20_000, seed=1)

    def statistic(right, length, axis):
        return right.sum(axis=axis) / length.sum(axis=axis)

    ours = np.array([low, high])
    theirs = stats.bootstrap(
        (counts[:, 0], counts[:, 1]), statistic, paired=True, vectorized=True, method="percentile", n_resamples=20_000,
        random_state=np.random.default_rng(2),
    ).confidence_interval  # fmt: skip
    assert ours == pytest.approx(np.array(theirs), abs=0.002)
    assert low < share(counts.sum(axis=0)) < high


def test_several_intervals_by_the_same_draws():
    """Each is what it would be alone."""
    pairs = [(tokens(3), share), (np.hstack([tokens(4), tokens(5)[:, :1]]), f1), (tokens(6), share)]
    together = bootstrap_intervals(pairs, level=0.8, draws=300, seed=7)
    assert together == [bootstrap_interval(*pair, level=0.8, draws=300, seed=7) for pair in pairs]
    assert bootstrap_intervals([]) == []


def test_bootstrap_is_reproducible():
    counts = tokens(3)
    assert bootstrap_interval(counts, share, seed=5) == bootstrap_interval(counts, share, seed=5)
    assert bootstrap_interval(counts, share, seed=5) != bootstrap_interval(counts, share, seed=6)


def test_a_wider_level_gives_a_wider_interval():
    counts = tokens(4)
    narrow, wide = (bootstrap_interval(counts, share, level=level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("seed", range(4))
def test_randomisation_approaches_the_exact_test(seed):
    """All 2⁸ exchanges of eight sentences."""
    generator = np.random.default_rng(seed)
    first, second = (generator.integers(0, 6, (8, 3)) for _ in range(2))
    observed, above = abs(f1(first.sum(axis=0)) - f1(second.sum(axis=0))), 0
    for exchange in itertools.product([False, True], repeat=8):
        mask = np.array(exchange)[:, None]
        one, other = np.where(mask, second, first), np.where(mask, first, second)
        above += abs(f1(one.sum(axis=0)) - f1(other.sum(axis=0))) >= observed - 1e-12
    assert randomisation_test(first, second, f1, draws=20_000) == pytest.approx(above / 2**8, abs=0.015)


def test_randomisation_agrees_with_scipy():
    first, second = tokens(1, skill=0.85), tokens(1, skill=0.82)

    def statistic(one, other, axis):
        return (one.sum(axis=axis) - other.sum(axis=axis)) / first[:, 1].sum()

    theirs = stats.permutation_test(
        (first[:, 0], second[:, 0]), statistic, permutation_type="samples", vectorized=True, n_resamples=9_999,
        random_state=np.random.default_rng(0),
    ).pvalue  # fmt: skip
    assert randomisation_test(first, second, share) == pytest.approx(theirs, abs=0.03)


def test_equal_systems_do_not_differ():
    counts = tokens(2)
    assert randomisation_test(counts, counts, share, draws=100) == 1.0


def test_nothing_to_count():
    nothing = np.zeros((0, 2))
    assert bootstrap_interval(nothing, share) == (0.0, 0.0)
    assert randomisation_test(nothing, nothing, share, draws=10) == 1.0


def test_holm_by_hand():
    """In order: 0.01 · 4, 0.03 · 3, then 0.04 · 2 = 0.08, which is raised to the 0.09 before it, and 0.5 · 1."""
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.4, 0.4, 0.4]) == [1.0, 1.0, 1.0]
    assert (holm([0.02]), holm([])) == ([0.02], [])
