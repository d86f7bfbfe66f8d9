"""Objectives made of smooth counts of errors: their sum, or a measure of right and wrong segments, with derivatives.

Not here: the counts. To add a measure: write a settings class in `semantics.settings.loss_settings` and a class here,
and add a line to `MEASURES`. It takes TP, FP and FN of the whole training set, and returns its value and derivatives.
Source: Suzuki, McDermott & Isozaki 2006 §4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...foundation import Table
from ...semantics import MceSettings


class Counts(NamedTuple):
    """Smooth counts over the training set. spans: the number of judged spans; missed: Σ weight · ℓ of them (FN);
    false: Σ ℓ of the segments of the best wrong labellings that are not gold segments (FP).
    """

    spans: int
    missed: float
    false: float

    @property
    def true_positives(self) -> float:
        """TP."""
        return self.spans - self.missed


LEAST_FOUND = 1e-9  # TP below which a ratio only says that nothing is found; long steps can lead there


class Measured(NamedTuple):
    """A value to minimise, and its derivatives by ℓ of a judged span and by ℓ of a false segment."""

    value: float
    by_missed: float
    by_false: float


NOTHING_FOUND = Measured(math.inf, 0.0, 0.0)


class Measure(Protocol):
    @property
    def needs_false(self) -> bool:
        """Whether false segments count."""

    @property
    def is_ratio(self) -> bool:
        """Whether its derivatives depend on the counts."""

    def __call__(self, counts: Counts) -> Measured: ...


@dataclass(frozen=True)
class ErrorRate:
    """Σ ℓ (eq. 10 without its constant 1/N)."""

    needs_false: bool = False
    is_ratio: bool = False

    def __call__(self, counts: Counts) -> Measured:
        return Measured(counts.missed, 1.0, 0.0)


@dataclass(frozen=True)
class Fscore:
    """(γ² FN + FP) / ((γ² + 1) TP) (eq. 16)."""

    gamma: float
    needs_false: bool = True
    is_ratio: bool = True

    def __call__(self, counts: Counts) -> Measured:
        if counts.true_positives < LEAST_FOUND:
            return NOTHING_FOUND
        square = self.gamma**2
        above, below = square * counts.missed + counts.false, (square + 1.0) * counts.true_positives
        return Measured(above / below, square / below + (square + 1.0) * above / below**2, 1.0 / below)


@dataclass(frozen=True)
class Precision:
    """FP / TP."""

    needs_false: bool = True
    is_ratio: bool = True

    def __call__(self, counts: Counts) -> Measured:
        if counts.true_positives < LEAST_FOUND:
            return NOTHING_FOUND
        return Measured(
            counts.false / counts.true_positives, counts.false / counts.true_positives**2, 1.0 / counts.true_positives
        )


@dataclass(frozen=True)
class Recall:
    """FN / TP."""

    needs_false: bool = False
    is_ratio: bool = True

    def __call__(self, counts: Counts) -> Measured:
        if counts.true_positives < LEAST_FOUND:
            return NOTHING_FOUND
        true_positives = counts.true_positives
        return Measured(counts.missed / true_positives, 1.0 / true_positives + counts.missed / true_positives**2, 0.0)


MEASURES: Table[Callable[[MceSettings], Measure]] = Table(
    "measure of segments",
    {
        "fscore": lambda settings: Fscore(settings.gamma),
        "precision": lambda settings: Precision(),
        "recall": lambda settings: Recall(),
    },
)
