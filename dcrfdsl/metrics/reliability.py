"""Reliability of probabilities: how often what has probability p is right.

    ECE = Σ_b n_b / n · |share right in b − mean probability in b|        over B bins ((b − 1)/B, b/B] of equal width

The expected calibration error of Naeini, Cooper & Hauskrecht (2015), as in Guo, Pleiss, Sun & Weinberger (2017); 0 lies
in the first bin. Bins without anything count nothing. Not here: which predictions are judged (`model`), drawing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..foundation import Floats, Ints, Mask


@dataclass(frozen=True, eq=False)
class Reliability:
    """Judged probabilities in B bins of equal width. Made by `TrainedModel.reliability`; those of two parts add up.

    counts: [B] int64: how many lie in each bin.
    mass: [B] float64: the sum of their probabilities.
    right: [B] int64: how many of them are right.
    squares: Σ (probability − 1 if right, else 0)² over all.

    >>> judged = model.reliability(corpus)
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
    """Probabilities [n] from 0 to 1, each with whether what it is of is right [n], in so many bins."""
    inner = np.linspace(0.0, 1.0, bins + 1)[1:-1]
    bin_of = np.searchsorted(inner, probabilities, side="left")
    return Reliability(
        np.bincount(bin_of, minlength=bins).astype(np.int64),
        np.bincount(bin_of, probabilities, minlength=bins).astype(np.float64),
        np.bincount(bin_of[right], minlength=bins).astype(np.int64),
        float(((probabilities - right) ** 2).sum()),
    )
