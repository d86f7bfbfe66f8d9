"""Optimizers: they see an objective's value and gradient and nothing else. `OPTIMIZERS` is the table of those that run.

To add one: a settings class in `semantics.settings.optimizer_settings`, its lines in `semantics.settings.trainable`, a
file here with a function of the same signature, a line in the table. What a method needs beyond value and gradient is a
protocol in `objective`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..registry import Table
from .auto import minimise_auto
from .cg import minimise_cg
from .dual import minimise_bcfw, minimise_working_set
from .gpd import minimise_gpd
from .lbfgs import minimise_lbfgs
from .objective import Batches, BoostingRound, Iteration, Objective, Outcome, PartedObjective, SeparableObjective, Watch
from .owlqn import minimise_owlqn
from .quickprop import minimise_quickprop
from .separable import minimise_apart
from .sgd import minimise_sgd
from .special import best_temperature, minimise_iis
from .voters import Voters

__all__ = [
    "OPTIMIZERS", "Batches", "BoostingRound", "Iteration", "Objective", "Outcome", "PartedObjective",
    "SeparableObjective", "Voters", "Watch", "best_temperature", "minimise_apart",
]  # fmt: skip

OPTIMIZERS: Table[Callable[[Objective, Any, Any, Watch], Outcome]] = Table(
    "optimizer",
    {
        "auto": minimise_auto, "lbfgs": minimise_lbfgs, "owlqn": minimise_owlqn, "cg": minimise_cg,
        "sgd": minimise_sgd, "gpd": minimise_gpd, "quickprop": minimise_quickprop, "iis": minimise_iis,
        "working_set": minimise_working_set, "bcfw": minimise_bcfw,
    },
)  # fmt: skip
