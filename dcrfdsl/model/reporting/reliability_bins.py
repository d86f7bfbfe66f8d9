"""Reliability: of the labels given with a probability of about p, is the share p right?

    ECE = Σ_b n_b / N · |accuracy_b − confidence_b|,    b one of the bins of equal width

Sources: Murphy & Winkler (1977) for the diagram, Naeini et al. (2015) for the error. Not here: its picture (`charts`),
what a temperature does to it (`model.calibration`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Mask

__all__ = ["Reliability", "reliability"]

BINS = 10


class Reliability(NamedTuple):
    """edges: of the bins, [B + 1].   counts: of labels in each, [B].   confidence, accuracy: their mean probability
    and the share of right ones, [B], NaN in an empty bin.   error: the expected calibration error.
    """

    edges: Floats
    counts: Ints
    confidence: Floats
    accuracy: Floats
    error: float


def reliability(probabilities: Floats, right: Mask, bins: int = BINS) -> Reliability:
    """probabilities: of the labels given, [N].   right: whether they are, [N].   bins: how many, of equal width."""
    place = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    filled = counts > 0
    sums = [np.bincount(place, weights=of, minlength=bins) for of in (probabilities, right.astype(np.float64))]
    confidence, accuracy = (np.divide(one, counts, out=np.full(bins, np.nan), where=filled) for one in sums)
    gap = np.abs(accuracy - confidence)[filled] @ counts[filled]
    return Reliability(
        np.linspace(0.0, 1.0, bins + 1), counts, confidence, accuracy, float(gap) / max(1, len(probabilities))
    )
