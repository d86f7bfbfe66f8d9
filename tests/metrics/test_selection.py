"""Thresholds of sets and of predictions: the law of coverage, and everything else by hand or by trying all."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import betabinom, chisquare

from dcrfdsl.metrics.selection import RiskCoverage, best_cut, conformal_bound, least_count


@pytest.mark.parametrize("cover", [0.5, 0.8, 0.9, 0.95, 0.99, 2 / 3])
def test_the_bound_is_the_first_that_can_be_promised(cover: float) -> None:
    generator, fewest = np.random.default_rng(0), least_count(cover)
    assert conformal_bound(generator.normal(size=fewest - 1), cover) == math.inf
    for count in (fewest, fewest + 1, 3 * fewest, 500):
        scores = generator.normal(size=count)
        bound = conformal_bound(scores, cover)
        below = int((scores <= bound).sum())  # of n + 1 ranks a new score has each as likely
        assert below / (count + 1) >= cover - 1e-12 > (below - 1) / (count + 1) - 1e-12
    assert conformal_bound(np.array([0.1, math.inf, 0.3]), 0.75) == math.inf
    assert conformal_bound(np.array([0.3, 0.1, 0.2]), 0.5) == 0.2


@pytest.mark.parametrize(("count", "further", "cover"), [(99, 200, 0.9), (57, 30, 0.95), (40, 100, 0.7)])
def test_coverage_is_as_the_theory_has_it(count: int, further: int, cover: float) -> None:
    """Scores are in order of worst first, which matters to no exchangeable data."""
    generator, pool = np.random.default_rng(3), np.sort(np.random.default_rng(1).gumbel(size=count + further))[::-1]
    covered = np.empty(1000, np.int64)
    for n in range(len(covered)):
        scores = generator.permutation(pool)
        covered[n] = (scores[count:] <= conformal_bound(scores[:count], cover)).sum()
    rank = math.ceil((count + 1) * cover - 1e-9)
    law = betabinom(further, rank, count + 1 - rank)
    assert cover <= law.mean() / further < cover + 1 / (count + 1)
    assert covered.mean() / further == pytest.approx(law.mean() / further, abs=0.005)
    edges = np.unique(law.ppf(np.linspace(0, 1, 9)[1:-1]))  # bins that are about as likely
    edges = edges[edges < further]
    bins = np.searchsorted(edges, covered, side="left")
    shares = np.diff([0.0, *law.cdf(edges), 1.0])
    assert chisquare(np.bincount(bins, minlength=len(shares)), 1000 * shares).pvalue > 0.01


def test_the_area_is_the_mean_over_all_orders_of_equal_probabilities() -> None:
    generator = np.random.default_rng(5)
    for _ in range(20):
        sure = generator.choice([0.2, 0.5, 0.9], size=6)
        right = generator.random(6) < 0.6
        order = sorted(range(6), key=lambda n: -sure[n])
        groups = [list(group) for _, group in itertools.groupby(order, key=lambda n: sure[n])]
        areas = [
            np.mean(np.cumsum(~right[list(itertools.chain(*ranks))]) / np.arange(1, 7))
            for ranks in itertools.product(*map(itertools.permutations, groups))
        ]
        whole = RiskCoverage.of(sure, right)
        assert whole.area == pytest.approx(np.mean(areas))
        parts = RiskCoverage.of(sure[:2], right[:2]) + RiskCoverage.of(sure[2:], right[2:])
        assert parts.area == pytest.approx(whole.area)
        share, good = whole.at(0.5)
        assert share == (sure >= 0.5).mean() and (share == 0.0 or good == right[sure >= 0.5].mean())
    none = RiskCoverage.of(np.zeros(0), np.zeros(0, bool))
    assert math.isnan(none.area) and none.at(0.5)[0] == 0.0 and math.isnan(none.at(0.5)[1])


def test_a_cut_is_the_best_of_all() -> None:
    generator = np.random.default_rng(7)
    for _ in range(50):
        sure = generator.choice([0.1, 0.3, 0.5, 0.8], size=9)
        right, gold = generator.random(9) < sure, 12
        target = float(generator.choice([0.2, 0.5, 0.9]))
        curve = RiskCoverage.of(sure, right)
        every = {p: (int((sure >= p).sum()), right[sure >= p].sum()) for p in set(sure.tolist())}
        for of, shares in (
            (None, {p: r / n for p, (n, r) in every.items()}),
            (gold, {p: r / gold for p, (_, r) in every.items()}),
        ):
            good = [p for p, share in shares.items() if share >= target]
            wanted = (min if of is None else max)(good) if good else None
            least, taken, share = best_cut(curve, target, of)
            assert (least == wanted) if good else (share == max(shares.values()) < target)
            assert (taken, share) == (every[least][0], pytest.approx(shares[least]))
    assert best_cut(RiskCoverage.of(np.zeros(0), np.zeros(0, bool)), 0.5)[:2] == (0.0, 0)
