"""How sure a score is, and a difference of scores: intervals and tests that draw or exchange whole sentences.

    bootstrap          draw S sentences with replacement, score them; the interval is that of the scores' quantiles
    randomisation      exchange both systems' counts of each sentence by chance; p = (1 + #{|d*| ≥ |d|}) / (1 + draws)
    McNemar            of b + c cases that one system alone gets right, b ~ Binomial(b + c, ½) if neither is better
    Holm               of m p-values in rising order, p'_i = max_{j ≤ i} min(1, (m − j + 1) p_j), for any dependence

A score is a function of sums of counts over sentences, such as right and all tokens. Sources: Efron & Tibshirani
(1993), chapter 13; Noreen (1989); McNemar (1947), exact; Holm (1979). Not here: what a metric counts (`tallies`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, data_error

Score = Callable[[Floats], Floats]  # from sums of counts [..., C] to [...]
AT_ONCE = 2**24  # numbers of drawn sentences in memory
CLOSE = 1e-12  # differences of scores that tie


class Interval(NamedTuple):
    """low, high: bounds of a score."""

    low: float
    high: float


def require_level(level: float) -> None:
    """Raises DcrfError unless this is a confidence between 0 and 1."""
    if not 0.0 < level < 1.0:
        message = f"the level of confidence is {level:g}"
        raise data_error("bad-level", message, help="give one between 0 and 1, as 0.95")


def bootstrap_interval(
    counts: NDArray[np.generic], score: Score, *, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> Interval:
    """The percentile interval of a score.

    counts [S, C]: of each sentence.   score: of their sums [..., C].   level: of confidence, in 0–1.   draws: of S
    sentences with replacement.   seed: of the draws; the same seed gives the same bounds.
    """
    return bootstrap_intervals([(counts, score)], level=level, draws=draws, seed=seed)[0]


def bootstrap_intervals(
    scores: Sequence[tuple[NDArray[np.generic], Score]], *, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> list[Interval]:
    """`bootstrap_interval` of several scores of the same sentences, by the same draws: much less work than one by one.

    scores: pairs of counts [S, C] and score, one S for all.   level, draws, seed: as `bootstrap_interval` takes them.
    """
    if not scores:
        return []
    drawn = _drawn_sums(np.concatenate([np.asarray(counts, np.float64) for counts, _ in scores], axis=1), draws, seed)
    intervals, first = [], 0
    for counts, score in scores:
        last = first + counts.shape[1]
        low, high = np.quantile(score(drawn[:, first:last]), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        intervals.append(Interval(float(low), float(high)))
        first = last
    return intervals


def _drawn_sums(counts: Floats, draws: int, seed: int) -> Floats:
    """Sums of counts over sentences drawn with replacement, [draws, C]."""
    generator, size = np.random.default_rng(seed), max(1, len(counts))
    sums, step = [np.zeros((0, counts.shape[1]))], max(1, AT_ONCE // size)
    for first in range(0, draws, step):
        number = min(step, draws - first)
        often = generator.multinomial(size, np.full(size, 1.0 / size), number) if len(counts) else np.zeros((number, 0))
        sums.append(often @ counts)
    return np.concatenate(sums)


def randomisation_test(
    first: NDArray[np.generic], second: NDArray[np.generic], score: Score, *, draws: int = 10_000, seed: int = 0
) -> float:
    """The two-sided p-value of a difference in score between two systems, by paired approximate randomisation.

    first, second [S, C]: the counts of either system on the same sentences.   score: of their sums [..., C].
    draws: of exchanges.   seed: of these.
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    generator, gap = np.random.default_rng(seed), one - other
    moves = np.flatnonzero(gap.any(axis=1))  # the exchange of equal counts changes nothing
    sums, step, above = (one.sum(axis=0), other.sum(axis=0)), max(1, AT_ONCE // max(1, len(moves))), 0
    observed = abs(score(sums[0]) - score(sums[1]))
    for start in range(0, draws, step):
        exchanged = generator.random((min(step, draws - start), len(moves))) < 0.5
        moved = exchanged @ gap[moves]
        drawn = np.abs(score(sums[0] - moved) - score(sums[1] + moved))
        above += int((drawn >= observed - CLOSE).sum())
    return (1 + above) / (1 + draws)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test. only_first, only_second: cases that one system alone has right."""
    total, fewer = only_first + only_second, min(only_first, only_second)
    if total == 0:
        return 1.0
    logs = np.cumsum(np.log(np.arange(1, total + 1)))  # of factorials
    factorial = np.concatenate([[0.0], logs])
    few = np.arange(fewer + 1)
    tail = float(np.exp(factorial[total] - factorial[few] - factorial[total - few] - total * np.log(2.0)).sum())
    return min(1.0, 2.0 * tail)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted by Holm's correction for all of them, in their order."""
    every = np.asarray(p_values, np.float64)
    order = np.argsort(every, kind="stable")
    every[order] = np.minimum(1.0, np.maximum.accumulate(every[order] * np.arange(len(every), 0, -1)))
    return list(map(float, every))
