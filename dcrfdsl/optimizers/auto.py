"""The default optimizer: it runs the solver that the objective names. `SOLVERS` is the table of solvers.

The usual solver is `quasi_newton`. For a penalty with corners it is OWL-QN, where whole groups have corners
`proximal`, otherwise L-BFGS after a start on batches,
which provides a point and its curvature. To add a solver: a function here or in `special`, a line in the table, and for
what it needs of the objective a member in `objective`.

Converged: by the rule of the solver; the start on batches never converges. L-BFGS stops by the same rule as without the
start, at the same optimum. From the weights of an earlier model, from which long steps would lead away, one pass
without steps gives the curvature alone. It runs without the start if the objective has no batches: for few sentences,
and for labels that are latent or partly known, whose objective is not convex, so that another start could lead to
another optimum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..foundation import Floats, Table, give_back_memory, recalled
from ..semantics import AutoOptimizer, OwlqnSettings, ProximalSettings, WorkingSetSettings
from .batch_start import start_on_batches
from .dual import minimise_working_set
from .lbfgs import descend
from .objective import Objective, Outcome, Watch
from .owlqn import minimise_owlqn
from .progress import Progress
from .proximal import minimise_proximal
from .run_state import RunState
from .special import minimise_boosting, minimise_closed_form, minimise_mixed_perceptron, minimise_perceptron


def minimise_auto(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W] by the solver that the objective names."""
    return SOLVERS[objective.solver](objective, start, settings, watch, state)


def _quasi_newton(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]. Each pass over batches counts as an iteration and as an evaluation."""
    if objective.groups is not None:
        proximal_settings = ProximalSettings(tolerance=settings.tolerance, max_iterations=settings.max_iterations)
        return minimise_proximal(objective, start, proximal_settings, watch, state)
    if objective.l1 is not None:
        owlqn_settings = OwlqnSettings(tolerance=settings.tolerance, max_iterations=settings.max_iterations)
        return minimise_owlqn(objective, start, owlqn_settings, watch, state)
    progress = Progress(objective, start, settings, watch, state)
    descent = state.take("descent")
    metric = None
    if descent is not None and descent["metric"] is not None:
        metric = recalled(descent, "metric", len(start))
    if descent is None and settings.epochs > 0 and progress.norm > 0.0:
        prepare = _start if objective.reference is None else _curvature
        metric = prepare(progress, objective, settings, state)
        if metric is not None:
            np.reciprocal(metric, out=metric)
        if progress.reason:
            return progress.outcome()
    state.keep("descent", lambda: {"metric": metric})
    give_back_memory()  # of the batches
    descend(progress, settings.memory, metric, state)
    return progress.outcome()


def _start(progress: Progress, objective: Objective, settings: AutoOptimizer, state: RunState) -> Floats | None:
    """Moves `progress` to the end point of passes over batches, if that is lower; returns the curvature [W] there."""
    batches = objective.batches()
    if batches is None:
        return None
    origin, value, gradient = progress.weights, progress.value, progress.gradient
    stopped = False

    def after_pass(seen: float, norm: float, weights: Floats) -> bool:
        nonlocal stopped
        progress.evaluations += 1
        stopped = progress.report(seen, norm, weights)
        return stopped or progress.iterations >= progress.settings.max_iterations

    weights = origin.copy()
    curvature = start_on_batches(batches, weights, settings.epochs, settings.rate, settings.seed, after_pass, state)
    state.drop("batches")
    progress.weights = weights
    progress.evaluate_again()
    if not progress.value < value:
        progress.weights, progress.value, progress.gradient = origin, value, gradient
        progress.norm = progress.start_norm
        curvature = None
    if stopped:
        progress.reason = "stopped on request"
    return curvature


def _curvature(progress: Progress, objective: Objective, settings: AutoOptimizer, state: RunState) -> Floats | None:
    """The curvature [W] at the point of `progress`, by a pass over batches without steps; None without batches."""
    batches = objective.batches()
    if batches is None:
        return None
    progress.evaluations += 1
    return start_on_batches(batches, progress.weights.copy(), 1, 0.0, settings.seed, lambda *_: False, RunState())


def _working_set(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    dual_settings = WorkingSetSettings(max_iterations=settings.max_iterations)
    return minimise_working_set(objective, start, dual_settings, watch, state)


SOLVERS: Table[Callable[[Objective, Floats, AutoOptimizer, Watch, RunState], Outcome]] = Table(
    "solver",
    {
        "quasi_newton": _quasi_newton,
        "working_set": _working_set,
        "perceptron": minimise_perceptron,
        "mixed_perceptron": minimise_mixed_perceptron,
        "boosting": minimise_boosting,
        "counting": minimise_closed_form,
    },
)
