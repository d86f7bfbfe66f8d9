"""Optimizers: they see an objective's value and gradient and nothing else. `OPTIMIZERS` is the table of those that run.

To add one: a settings class in `spec.settings`, a file here with a function of the same signature, a line in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import Table
from .apart import minimise_apart
from .auto import minimise_auto
from .lbfgs import minimise_lbfgs
from .objective import Batches, Iteration, Objective, Outcome, PartedObjective, SeparableObjective, Watch

__all__ = [
    "OPTIMIZERS", "Batches", "Iteration", "Objective", "Outcome", "PartedObjective", "SeparableObjective", "Watch",
    "minimise_apart",
]  # fmt: skip

OPTIMIZERS: Table[Callable[[Objective, Any, Any, Watch], Outcome]] = Table(
    "optimizer", {"lbfgs": minimise_lbfgs, "auto": minimise_auto}
)
