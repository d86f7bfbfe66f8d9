"""Optimizers: they see an objective and nothing else. `OPTIMIZERS` is the table of those that run.

To add one: a settings class in `semantics.settings.optimizer_settings`, a file here with a function of the same
signature, a line in the table. If a method needs more than value and gradient, a member of `objective.Objective`
provides it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

from .. import semantics
from ..foundation import Floats, Table, checked_kind
from .auto import minimise_auto
from .bcfw import minimise_bcfw
from .cg import minimise_cg
from .derived_objectives import minimise_in_units
from .iis import minimise_iis
from .lbfgs import minimise_lbfgs
from .objective import Objective, Outcome, Watch
from .online import minimise_gpd, minimise_sgd
from .owlqn import minimise_owlqn
from .proximal import minimise_proximal
from .quickprop import minimise_quickprop
from .run_state import RunState
from .working_set import minimise_working_set

FROM_ZERO = ("working_set", "bcfw", "counting")  # optimizers and solvers to which a start makes no difference

Settings = TypeVar("Settings", bound=semantics.OptimizerSettings)


class Optimizer(Generic[Settings]):
    """A method with its settings class. Calling it minimises an objective from a start [W].

    state: what it remembers for a snapshot; it goes on from what that has saved, if anything.   units: whether it runs
    in `Objective.units`, with their `blocks` where the penalty has no corners, or by `sizes` alone; `none` for those
    that no change of variables helps, since they have certificates of their own or no optimum.
    """

    def __init__(
        self,
        settings: type[Settings],
        minimise: Callable[[Objective, Floats, Settings, Watch, RunState], Outcome],
        units: Literal["blocks", "sizes", "none"] = "blocks",
    ):
        self.settings, self._minimise, self._units = settings, minimise, units

    def __call__(
        self,
        objective: Objective,
        start: Floats,
        settings: semantics.OptimizerSettings,
        watch: Watch,
        state: RunState | None = None,
    ) -> Outcome:
        checked, state, units = checked_kind(settings, self.settings), state or RunState(), objective.units
        if units is not None and (self._units == "sizes" or objective.l1 is not None or objective.groups is not None):
            units = units.sizes_alone(objective.groups)
        if units is None or self._units == "none" or objective.solver != "quasi_newton" or units.is_plain:
            return self._minimise(objective, start, checked, watch, state)
        return minimise_in_units(self._minimise, objective, units, start, checked, watch, state)


OPTIMIZERS: Table[Optimizer[Any]] = Table(
    "optimizer",
    {
        "auto": Optimizer(semantics.AutoOptimizer, minimise_auto),
        "lbfgs": Optimizer(semantics.LbfgsSettings, minimise_lbfgs),
        "owlqn": Optimizer(semantics.OwlqnSettings, minimise_owlqn, "sizes"),
        "proximal": Optimizer(semantics.ProximalSettings, minimise_proximal, "sizes"),
        "cg": Optimizer(semantics.CgSettings, minimise_cg),
        "sgd": Optimizer(semantics.SgdSettings, minimise_sgd, "sizes"),
        "gpd": Optimizer(semantics.GpdSettings, minimise_gpd, "sizes"),
        "quickprop": Optimizer(semantics.QuickpropSettings, minimise_quickprop, "sizes"),
        "iis": Optimizer(semantics.IisSettings, minimise_iis, "sizes"),
        "working_set": Optimizer(semantics.WorkingSetSettings, minimise_working_set, "none"),
        "bcfw": Optimizer(semantics.BcfwSettings, minimise_bcfw, "none"),
    },
)


def ignores_start(objective: Objective, settings: semantics.OptimizerSettings) -> bool:
    """Whether the optimizer of `settings` finds the optimum of this objective without use for a start."""
    return (objective.solver if settings.method == "auto" else settings.method) in FROM_ZERO
