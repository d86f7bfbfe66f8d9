"""Optimizers: they see an objective's value and gradient and nothing else. `OPTIMIZERS` is the table of those that run.

To add one: a settings class in `spec.settings`, a file here with a function of the same signature, a line in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import Table
from .lbfgs import minimise_lbfgs
from .objective import Iteration, Objective, Outcome, Watch

__all__ = ["OPTIMIZERS", "Iteration", "Objective", "Outcome", "Watch"]

OPTIMIZERS: Table[Callable[[Objective, Any, Any, Watch], Outcome]] = Table(
    "optimizer", {"lbfgs": minimise_lbfgs, "auto": minimise_lbfgs}
)
