"""Smooth counts of errors ℓ(d) and their slopes, over arrays (Suzuki 2006 eq. 8)."""

from __future__ import annotations

import numpy as np

from ...foundation import Floats
from ...kernels.chain import LARGEST, LOGISTIC, SIGMOID, Smoothing
from ...semantics import LogisticSmoothing, MceSettings


def smoothing_of(settings: MceSettings) -> Smoothing:
    """The smoothing as kernels take it. β defaults to −α for a ratio d, which is 1 in a tie, and to 0 otherwise."""
    smoothing = settings.smoothing
    usual = -smoothing.alpha if settings.measure == "ratio" else 0.0
    kind = LOGISTIC if isinstance(smoothing, LogisticSmoothing) else SIGMOID
    return Smoothing(
        kind, smoothing.alpha, usual if smoothing.beta is None else smoothing.beta, settings.measure == "ratio"
    )


def smoothed(smoothing: Smoothing, d: Floats) -> tuple[Floats, Floats]:
    """ℓ(d) and ℓ'(d), elementwise; 0 where d is -inf."""
    inner = np.ones_like(d)
    if smoothing.of_ratio:
        d = inner = np.exp(np.minimum(d, LARGEST))
    z = smoothing.alpha * d + smoothing.beta
    small = np.exp(-np.abs(z))
    sigmoid = np.where(z >= 0.0, 1.0 / (1.0 + small), small / (1.0 + small))
    if smoothing.kind == SIGMOID:
        return sigmoid, inner * smoothing.alpha * small / (1.0 + small) ** 2
    return (np.maximum(z, 0.0) + np.log1p(small)) / smoothing.alpha, inner * sigmoid
