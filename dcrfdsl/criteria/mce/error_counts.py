"""The result of every way to count errors: Σ ℓ and its gradient, of judged spans and of false segments."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...foundation import Floats
from ...inference import RunStatus


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

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""

    @property
    def num_spans(self) -> int: ...

    def count(self, weights: Floats) -> ErrorCounts:
        """The smooth counts at weights [W]."""
