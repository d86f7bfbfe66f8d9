"""Minimises an objective by its optimizer: at once, in independent parts, or in two runs around a change or a cut.

Not here: the optimizers (`optimizers`), what happens after each iteration (`stage`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..criteria import Criterion
from ..foundation import Floats
from ..optimizers import (
    OPTIMIZERS,
    Iteration,
    KeptWeights,
    Outcome,
    RunState,
    Watch,
    largest_weights,
    minimise_parts,
    outcome_from,
    outcome_state,
)
from ..semantics import OptimizerSettings


def minimise_objective(
    objective: Criterion, point: Floats, settings: OptimizerSettings, watch: Watch, state: RunState,
    keep: int | None = None,
) -> Outcome:  # fmt: skip
    """Minimises an objective by the optimizer of `settings`, from `point` on, or from what `state` has saved.

    keep: how many weights are kept; the largest ones, which are then trained on.
    """
    minimise = OPTIMIZERS[settings.method]
    if keep is not None:
        return _of_the_largest(minimise, objective, point, settings, watch, keep, state)
    if objective.apart:
        return minimise_parts(minimise, objective, point, settings, watch, state)
    if objective.pause is None:
        return minimise(objective, point, settings, watch, state.below("optimizer"))
    return _in_two_parts(minimise, objective, point, settings, watch, objective.pause, state)


def _of_the_largest(
    minimise: Callable[..., Outcome], objective: Criterion, start: Floats, settings: OptimizerSettings, watch: Watch,
    keep: int, state: RunState,
) -> Outcome:  # fmt: skip
    """Minimises over all weights, then over the `keep` largest ones alone; both runs share one count of iterations."""
    is_stopped = False
    saved = state.take("before_cut")
    first = None if saved is None else outcome_from(saved, len(start))

    def earlier(step: Iteration, weights: Floats) -> bool:
        nonlocal is_stopped
        is_stopped = watch(step, weights)
        return is_stopped

    if first is None:
        first = minimise(objective, start, settings, earlier, state.below("optimizer"))
    kept = largest_weights(first.weights, keep)
    if int(np.count_nonzero(first.weights)) <= keep:
        return first
    rest, weights = KeptWeights(objective, kept, start), np.where(kept, first.weights, 0.0)
    if is_stopped:
        value, gradient = rest.value_and_gradient(weights)
        norm, reason = float(np.linalg.norm(gradient)), f"{first.reason}; {keep:,} of {len(kept):,} weights kept"
        return replace(
            first, weights=weights, objective=value, evaluations=first.evaluations + 1, gradient_norm=norm, gap=None,
            reason=reason,
        )  # fmt: skip

    def later(step: Iteration, weights: Floats) -> bool:
        seconds = first.seconds + step.seconds
        return watch(step._replace(iteration=first.iterations + step.iteration, seconds=seconds), weights)

    state.keep("before_cut", lambda: outcome_state(first))
    second = minimise(rest, weights, settings, later, state.below("optimizer"))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        evaluations=first.evaluations + second.evaluations,
        seconds=first.seconds + second.seconds,
        reason=f"{second.reason}; {keep:,} of {len(kept):,} weights kept",
    )


def _in_two_parts(
    minimise: Callable[..., Outcome],
    objective: Criterion,
    start: Floats,
    settings: OptimizerSettings,
    watch: Watch,
    pause: int,
    state: RunState,
) -> Outcome:
    """Minimises an objective that changes after `pause` iterations; both runs share one count of iterations."""
    limit, is_stopped = getattr(settings, "max_iterations", pause), False
    saved = state.take("before_pause")
    first = None if saved is None else outcome_from(saved, len(start))

    def earlier(step: Iteration, weights: Floats) -> bool:
        nonlocal is_stopped
        is_stopped = watch(step, weights)
        return is_stopped

    if first is None:
        short = settings.model_copy(update={"max_iterations": min(pause, limit)})
        first = minimise(objective, start, short, earlier, state.below("optimizer"))
    if is_stopped or first.iterations >= limit:
        # even if this run converged, training did not: its objective was to change
        return replace(first, converged=False, reason=f"{limit} iterations done") if first.converged else first
    objective.advance(first.weights)

    def later(step: Iteration, weights: Floats) -> bool:
        seconds = first.seconds + step.seconds
        return watch(step._replace(iteration=first.iterations + step.iteration, seconds=seconds), weights)

    rest = settings.model_copy(update={"max_iterations": limit - first.iterations})
    state.keep("before_pause", lambda: outcome_state(first))
    second = minimise(objective, first.weights, rest, later, state.below("optimizer"))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        evaluations=first.evaluations + second.evaluations,
        seconds=first.seconds + second.seconds,
    )
