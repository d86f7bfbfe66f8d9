"""What an optimizer sees of a criterion, and what it reports. Optimizers never import criteria."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Iteration", "Objective", "Outcome", "Watch"]

Floats = NDArray[np.float64]


class Objective(Protocol):
    """A function to minimise."""

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient [W] at `weights` [W]; the gradient may be kept by the caller."""

    def sharpen(self) -> bool:
        """Computes values more exactly from now on; False if they are as exact as they get."""


class Iteration(NamedTuple):
    """One step of training. `seconds` is wall time since the first evaluation began; `dev` a score in 0–1, if any.

    `start` says which of several random starts it belongs to, from 1; 0 where there is one alone.
    """

    iteration: int
    objective: float
    gradient_norm: float
    seconds: float
    dev: float | None = None
    start: int = 0


Watch = Callable[[Iteration, Floats], bool]  # called after each iteration with the weights; True asks to stop


@dataclass(frozen=True)
class Outcome:
    """Where an optimizer ended. `reason` says in words why it stopped; `stalled`: no better point could be found."""

    weights: Floats
    objective: float
    iterations: int
    evaluations: int
    converged: bool
    seconds: float
    reason: str
    stalled: bool = False
