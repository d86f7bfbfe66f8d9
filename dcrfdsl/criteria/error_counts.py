"""Smooth counts of errors ℓ(d), and objectives made of them: their sum, or a measure of right and wrong segments.

To add a measure: write a settings class in `semantics.settings.loss_settings` and a function here, and add a line to
`MEASURES`. A measure takes TP, FP and FN of the whole training set, and gives its value and derivatives. Source:
Suzuki, McDermott & Isozaki 2006 eq. 8 and §4. Not here: what counts errors (`sequence_errors`, `span_errors`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..foundation import Floats, Table, dataclass
from ..inference import RunStatus
from ..kernels.chain import LARGEST, LOGISTIC, SIGMOID, Smoothing
from ..semantics import LogisticSmoothing, MceSettings


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


class ErrorCounts(NamedTuple):
    """missed: Σ weight · ℓ of the spans that are judged, with its gradient [W].   false: Σ ℓ of the false segments,
    with its gradient [W].
    """

    missed: float
    false: float
    gradient: Floats
    false_gradient: Floats


class Counter(Protocol):
    """Counts the errors of a data set at some weights."""

    approximate: bool
    num_spans: int

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""

    def count(self, weights: Floats) -> ErrorCounts:
        """The smooth counts at weights [W]."""


# measures -------------------------------------------------------------------------------------------------------------


LEAST_FOUND = 1e-9  # TP below which a ratio only says that nothing is found; long steps can lead there


class Measured(NamedTuple):
    """A value to minimise, and its derivatives by ℓ of a judged span and by ℓ of a false segment."""

    value: float
    by_missed: float
    by_false: float


@dataclass(frozen=True)
class Measure:
    """missed FN + false FP, divided by `found` TP unless that is 0.

    By default Σ ℓ (eq. 10 without its constant 1/N).
    """

    missed: float = 1.0
    false: float = 0.0
    found: float = 0.0

    def __call__(self, spans: int, missed: float, false: float) -> Measured:
        """Takes smooth counts over the training set: of the judged spans, Σ weight · ℓ of these (FN), and Σ ℓ of the
        segments of the best wrong labellings that are not gold segments (FP).
        """
        above = self.missed * missed + self.false * false
        if not self.found:
            return Measured(above, self.missed, self.false)
        if spans - missed < LEAST_FOUND:
            return Measured(math.inf, 0.0, 0.0)
        below = self.found * (spans - missed)
        return Measured(above / below, self.missed / below + self.found * above / below**2, self.false / below)


MEASURES: Table[Callable[[MceSettings], Measure]] = Table(
    "measure of segments",
    {
        "fscore": lambda settings: Measure(settings.gamma**2, 1.0, settings.gamma**2 + 1.0),  # eq. 16
        "precision": lambda settings: Measure(0.0, 1.0, 1.0),
        "recall": lambda settings: Measure(1.0, 0.0, 1.0),
    },
)
