"""The optimizer that is taken where none is named: OWL-QN for a penalty with corners, the steps that a criterion
brings with it (`OWN_STEPS`), else a start on batches, then L-BFGS with what it found.

Converged: by the rule of the optimizer that is taken; passes on batches never are. L-BFGS stops by the same rule as
alone, at the same optimum. Where the objective has no batches (few sentences; labels
that are latent or partly known, whose objective is not convex, so that another way may end elsewhere) it is L-BFGS
alone.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arrays import Floats
from ..semantics import AutoOptimizer, OwlqnSettings, WorkingSetSettings
from .batch_start import start_on_batches
from .dual import minimise_working_set
from .lbfgs import descend
from .objective import (
    BoostedObjective,
    CountedObjective,
    MarginObjective,
    MistakeObjective,
    Objective,
    Outcome,
    PartedObjective,
    Watch,
)
from .owlqn import has_corners, minimise_owlqn
from .progress import Progress
from .special import minimise_boosting, minimise_counted, minimise_perceptron

__all__ = ["minimise_auto"]


def _working_set(objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch) -> Outcome:
    own = WorkingSetSettings(max_iterations=settings.max_iterations)
    return minimise_working_set(objective, start, own, watch)


# Of criteria that come with steps of their own.
OWN_STEPS: tuple[tuple[type, Callable[..., Outcome]], ...] = (
    (CountedObjective, lambda objective, start, settings, watch: minimise_counted(objective, watch)),
    (BoostedObjective, lambda objective, start, settings, watch: minimise_boosting(objective, start, watch)),
    (MistakeObjective, lambda objective, start, settings, watch: minimise_perceptron(objective, start, watch)),
    (MarginObjective, _working_set),
)


def minimise_auto(objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch) -> Outcome:
    """Minimises from `start` [W]. A pass of the start counts as an iteration, and as an evaluation."""
    for kind, minimise in OWN_STEPS:
        if isinstance(objective, kind):
            return minimise(objective, start, settings, watch)
    if has_corners(objective):
        own = OwlqnSettings(tolerance=settings.tolerance, max_iterations=settings.max_iterations)
        return minimise_owlqn(objective, start, own, watch)
    progress = Progress(objective, start, settings, watch)
    curvature = None
    if isinstance(objective, PartedObjective) and settings.epochs > 0 and progress.norm > 0.0:
        curvature = _start(progress, objective, settings)
        if progress.reason:
            return progress.outcome()
    descend(progress, settings.memory, curvature)
    return progress.outcome()


def _start(progress: Progress, objective: PartedObjective, settings: AutoOptimizer) -> Floats | None:
    """Moves `progress` to where batches lead, if there are any and that is lower; returns the curvature there."""
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
    curvature = start_on_batches(batches, weights, settings.epochs, settings.rate, settings.seed, after_pass)
    progress.weights = weights
    progress.evaluate_again()
    if not progress.value < value:
        progress.weights, progress.value, progress.gradient = origin, value, gradient
        progress.norm = progress.start_norm
        curvature = None
    if stopped:
        progress.reason = "stopped on request"
    return curvature
