"""Thresholds of probabilities: for sets that hold the truth as often as promised, and for predictions taken unseen.

Split conformal sets: n held-out units have scores s_i, the larger the less likely the model finds the truth. A set
holds what scores at most q, the k-th smallest of them, k = ⌈(n + 1) c⌉. If one more unit is exchangeable with these,
its truth is in its set with probability k / (n + 1) ≥ c, less than c + 1 / (n + 1), where no scores are equal (Vovk,
Gammerman & Shafer 2005; Angelopoulos & Bates 2023).

Risk by coverage: of the first k predictions, the surest ones, some are wrong; the mean of this share over all k is the
area under the curve (Geifman, Uziel & El-Yaniv 2019). Equal probabilities come in random order, and the mean over all
orders counts. Not here: what is predicted and judged (`model`), drawing.
"""

from __future__ import annotations

import math

import numpy as np

from ..foundation import Floats, Mask, cached_property, dataclass

SHOWN = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)  # probabilities of a table
_ROUNDING = 1e-9  # of (n + 1) c, which may be a whole number


def least_count(cover: float) -> int:
    """The fewest units by which a share `cover` can be promised."""
    return math.ceil(cover / (1.0 - cover) - _ROUNDING)


def conformal_bound(scores: Floats, cover: float) -> float:
    """q of scores [n]; infinity where there are too few, or where the truth of that rank is impossible."""
    rank = math.ceil((len(scores) + 1) * cover - _ROUNDING)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else math.inf


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Judged predictions, the surest first. Made by `model.decisions.risk_coverage`; those of two parts add up.

    probabilities: [n] float64, falling.
    right: [n] bool, whether each is right.

    >>> curve = model.decisions.risk_coverage(corpus)["segments(part)"]
    >>> curve.area, curve.at(0.5)
    (0.0, (1.0, 1.0))
    """

    probabilities: Floats
    right: Mask

    @classmethod
    def of(cls, probabilities: Floats, right: Mask) -> RiskCoverage:
        """Of predictions in any order.

        probabilities, right: [n], as above.
        """
        order = np.argsort(-probabilities, kind="stable")
        return cls(probabilities[order], right[order])

    def __add__(self, other: RiskCoverage) -> RiskCoverage:
        sure = np.concatenate([self.probabilities, other.probabilities])
        return RiskCoverage.of(sure, np.concatenate([self.right, other.right]))

    @cached_property
    def risks(self) -> Floats:
        """The share of wrong ones among the first k, [n] float64 for k from 1 on."""
        _, tie = np.unique(-self.probabilities, return_inverse=True)
        wrong = np.bincount(tie, ~self.right) / np.bincount(tie)
        return np.cumsum(wrong[tie]) / np.arange(1, len(tie) + 1)

    @property
    def area(self) -> float:
        """The area under the curve, 0 at best; NaN if nothing was judged."""
        return float(self.risks.mean()) if len(self.risks) else float("nan")

    def at(self, least: float) -> tuple[float, float]:
        """The share of predictions with a probability of at least `least`, and what is right of it, NaN of none.

        least: from 0 to 1.
        """
        count = int((self.probabilities >= least).sum())
        return count / max(1, len(self.right)), float(self.right[:count].mean()) if count else float("nan")

    @property
    def table(self) -> list[tuple[float, float, float]]:
        """Probabilities with what `at` says of them."""
        return [(least, *self.at(least)) for least in SHOWN]


def best_cut(curve: RiskCoverage, target: float, gold: int | None = None) -> tuple[float, int, float]:
    """The most predictions with a precision of `target`, or the fewest with this recall, else the best that there are:
    the probability from which on they are taken, how many, and their share; 0, 0, NaN of none.

    gold: how many could be found, for recall.
    """
    if not len(curve.right) or gold == 0:
        return 0.0, 0, math.nan
    ends = np.flatnonzero(np.diff(curve.probabilities, append=-np.inf))  # of those with one probability
    shares = np.cumsum(curve.right)[ends] / (ends + 1 if gold is None else gold)
    good = np.flatnonzero(shares >= target)
    n = int(good[-1 if gold is None else 0]) if len(good) else int(np.argmax(shares))
    return float(curve.probabilities[ends[n]]), int(ends[n]) + 1, float(shares[n])
