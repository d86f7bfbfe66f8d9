"""Reliability of probabilities: how often what has probability p is right, and two functions that mend it.

    ECE = Σ_b n_b / n · |share right in b − mean probability in b|        over B bins ((b − 1)/B, b/B] of equal width

It is the expected calibration error of Naeini, Cooper & Hauskrecht (2015), as in Guo, Pleiss, Sun & Weinberger (2017);
0 lies in the first bin. Bins without anything count nothing.

Isotonic regression is the rising function that fits 0-1 outcomes best,

    min Σ (f(p_i) − right_i)²        over all f with f(p) ≤ f(q) for p ≤ q

solved exactly by pooling neighbours that fall (Ayer et al. 1955; for probabilities, Zadrozny & Elkan 2002). Between the
points where it was fitted f is linear, and constant outside of them. A temperature is one factor for all scores that
turns them into log probabilities as well as possible,

    τ = argmax_{τ > 0} Σ_i log p_τ(y_i | x_i),    p_τ(y | x) ∝ exp(τ g(y, x))

If no label is summed out, the sum is concave in τ, so it has one maximum in log τ. The search first encloses it in
steps, then uses Brent's method. Source: Platt, "Probabilistic outputs for support vector machines" (1999), without his
offset, which cancels here. Not here: which predictions are judged or fitted (`model`), p, drawing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from ..foundation import Floats, Ints, Mask, dataclass


@dataclass(frozen=True, eq=False)
class Reliability:
    """Judged probabilities in B bins of equal width, by `model.calibration.reliability`; those of two parts add up.

    counts: [B] int64: how many lie in each bin.
    mass: [B] float64: the sum of their probabilities.
    right: [B] int64: how many of them are right.
    squares: Σ (probability − 1 if right, else 0)² over all.

    >>> judged = model.calibration.reliability(corpus)
    >>> int(judged.counts.sum()), 0.0 <= judged.error <= 1.0
    (16, True)
    """

    counts: Ints
    mass: Floats
    right: Ints
    squares: float

    @property
    def total(self) -> int:
        """How many were judged."""
        return int(self.counts.sum())

    @property
    def edges(self) -> Floats:
        """The bounds of the bins, [B + 1] float64."""
        return np.linspace(0.0, 1.0, len(self.counts) + 1)

    @property
    def confidence(self) -> Floats:
        """The mean probability in each bin, [B] float64; NaN in an empty one."""
        return np.where(self.counts > 0, self.mass / np.maximum(self.counts, 1), np.nan)

    @property
    def accuracy(self) -> Floats:
        """The share that is right in each bin, [B] float64; NaN in an empty one."""
        return np.where(self.counts > 0, self.right / np.maximum(self.counts, 1), np.nan)

    @property
    def error(self) -> float:
        """The expected calibration error, 0 to 1; NaN if nothing was judged."""
        return float(np.abs(self.right - self.mass).sum() / self.total) if self.total else float("nan")

    @property
    def largest_error(self) -> float:
        """The largest distance of a bin from calibration, 0 to 1; NaN if nothing was judged."""
        return float(np.nanmax(np.abs(self.accuracy - self.confidence))) if self.total else float("nan")

    @property
    def brier(self) -> float:
        """The mean squared distance of probabilities from what came true, 0 to 1; NaN if nothing was judged."""
        return self.squares / self.total if self.total else float("nan")

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(
            self.counts + other.counts, self.mass + other.mass, self.right + other.right, self.squares + other.squares
        )


def reliability_of(probabilities: Floats, right: Mask, bins: int = 10) -> Reliability:
    """Probabilities [n] from 0 to 1, and whether each came true [n], in `bins` bins."""
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    bin_of = np.searchsorted(inner, probabilities, side="left")
    return Reliability(
        np.bincount(bin_of, minlength=bins).astype(np.int64),
        np.bincount(bin_of, probabilities, minlength=bins).astype(np.float64),
        np.bincount(bin_of[right], minlength=bins).astype(np.int64),
        float(((probabilities - right) ** 2).sum()),
    )


# isotonic regression --------------------------------------------------------------------------------------------------


def isotonic_fit(probabilities: Floats, right: Mask) -> tuple[Floats, Floats]:
    """The corners of f: probabilities, rising strictly, and its values there. At least one pair is given."""
    points, which = np.unique(probabilities, return_inverse=True)
    weights = np.bincount(which).astype(np.float64)
    blocks: list[tuple[float, float, int]] = []  # of neighbours: how many are right, how many there are, points
    for total, weight in zip(np.bincount(which, right).tolist(), weights.tolist(), strict=True):
        block = total, weight, 1
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:  # its share is not below
            before = blocks.pop()
            block = before[0] + block[0], before[1] + block[1], before[2] + block[2]
        blocks.append(block)
    fitted = np.repeat([total / weight for total, weight, _ in blocks], [num for _, _, num in blocks])
    corner = np.ones(len(points), np.bool_)  # the first and the last point of each block
    corner[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return points[corner], fitted[corner]


# a temperature --------------------------------------------------------------------------------------------------------


STEP = 2.0  # in log τ
MOST_STEPS = 14  # up to about 1e12 or 1e-12
LEVEL = 1e-12  # smaller relative differences of sums are no differences
TOLERANCE = 1e-6  # of log τ
GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0
CERTAIN = 1e-6  # nats that all labels together may lack: then only rounding decides between higher temperatures


def best_temperature(log_likelihood: Callable[[float], float]) -> float:
    """The τ > 0 of the highest log-likelihood; 0 or infinity if it rises, or is level, in that direction; infinity as
    well where some τ makes everything certain.
    """

    def loss(log_t: float) -> float:
        return -log_likelihood(math.exp(log_t))

    at, value = 0.0, loss(0.0)
    direction = STEP
    ahead, behind = loss(STEP), math.inf
    if _is_above(ahead, value):
        direction, ahead, behind = -STEP, loss(-STEP), ahead
    steps = 0
    while not _is_above(ahead, value):
        if direction > 0 and ahead < CERTAIN:
            return math.inf
        steps += 1
        if steps > MOST_STEPS:
            return math.inf if direction > 0 else 0.0
        at, behind, value = at + direction, value, ahead
        ahead = loss(at + direction)
    if not _is_above(behind, value):
        return 0.0 if direction > 0 else math.inf  # level on the side where the search began
    return math.exp(_minimum(loss, [(behind, at - direction), (value, at), (ahead, at + direction)]))


def _minimum(loss: Callable[[float], float], points: list[tuple[float, float]]) -> float:
    """Where `loss` is least, by three values and where they are; the one in the middle is no larger than the others.

    A step goes to the vertex of the parabola through the three least values, or is a golden section of the longer side
    where that leaves the bracket or is not below half of the step before the last. Source: Brent (1973), chapter 5.
    """
    (_, low), (_, high) = sorted(points, key=itemgetter(1))[::2]
    before = step = high - low
    while True:
        points = sorted(points)[:3]
        (value, best), (second_value, second), (third_value, third) = points
        if max(best - low, high - best) <= 2.0 * TOLERANCE:
            return best
        r, q = (best - second) * (value - third_value), (best - third) * (value - second_value)
        leap = 0.5 * ((best - third) * q - (best - second) * r) / (r - q) if r != q else math.inf
        if abs(leap) < 0.5 * abs(before) and low < best + leap < high:
            before, step = step, leap
        else:
            before = low - best if best - low > high - best else high - best
            step = GOLDEN * before
        if min(best + step - low, high - best - step) < 2.0 * TOLERANCE:
            step = math.copysign(TOLERANCE, low + high - 2.0 * best)
        at = best + (step if abs(step) >= TOLERANCE else math.copysign(TOLERANCE, step))
        points.append((loss(at), at))
        is_better = points[-1] < points[0]
        bound = best if is_better else at
        low, high = (low, bound) if is_better == (at < best) else (bound, high)


def _is_above(first: float, second: float) -> bool:
    return first > second + LEVEL * abs(second)
