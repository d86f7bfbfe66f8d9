"""Minimises a sum of objectives of disjoint weights: each alone, one after another.

Minimised jointly they would all take as many steps as the slowest. Converged: every part has converged, by the rule of
the method. Not here: any method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..foundation import Floats, recalled
from .objective import Iteration, Objective, Outcome, Watch
from .run_state import RunState, outcome_from, outcome_state

Minimise = Callable[[Objective, Floats, Any, Watch, RunState], Outcome]


def minimise_parts(
    minimise: Minimise, objective: Objective, start: Floats, settings: Any, watch: Watch, state: RunState
) -> Outcome:
    """Minimises every part by `minimise` from `start` [W]; the limits of the method hold for each part.

    Iterations are numbered over all parts, and `watch` sees the objective of all parts at their current points.
    """
    weights = start.copy()
    values, norms = np.zeros(len(objective.apart)), np.zeros(len(objective.apart))
    outcomes: list[Outcome] = []
    saved = state.take("parts")
    if saved is not None:
        weights = recalled(saved, "weights", len(start))
        values, norms = (recalled(saved, name, len(values)) for name in ("values", "norms"))
        own = [len(start[numbers]) for numbers, _ in objective.apart]
        outcomes = [outcome_from(one, size) for one, size in zip(saved["outcomes"], own, strict=False)]
    state.keep("parts", lambda: {
        "weights": weights, "values": values, "norms": norms, "outcomes": [outcome_state(one) for one in outcomes],
    })  # fmt: skip
    for number, (numbers, part) in enumerate(objective.apart):
        part.reference = None if objective.reference is None else objective.reference[numbers]
        part.units = None if objective.units is None else objective.units.part(numbers)
        if saved is None:
            values[number], gradient = part.value_and_gradient(weights[numbers])
            norms[number] = np.linalg.norm(gradient)
    asked_to_stop = False
    for number, (numbers, part) in list(enumerate(objective.apart))[len(outcomes) :]:
        done, spent = sum(o.iterations for o in outcomes), sum(o.seconds for o in outcomes)

        def watch_part(step: Iteration, part_weights: Floats, number: int = number,
                       numbers: Any = numbers, done: int = done,
                       spent: float = spent) -> bool:  # fmt: skip
            nonlocal asked_to_stop
            values[number], norms[number] = step.objective, step.gradient_norm or 0.0
            weights[numbers] = part_weights
            asked_to_stop = watch(
                step._replace(
                    iteration=done + step.iteration,
                    objective=float(values.sum()),
                    gradient_norm=float(np.linalg.norm(norms)),
                    seconds=spent + step.seconds,
                ),
                weights,
            )
            return asked_to_stop

        outcome = minimise(part, weights[numbers], settings, watch_part, state.below("part"))
        outcomes.append(outcome)
        weights[numbers] = outcome.weights
        values[number], norms[number] = outcome.objective, outcome.gradient_norm or 0.0
        if asked_to_stop:
            break
    return _joined(weights, values, norms, outcomes, len(objective.apart))


def _joined(weights: Floats, values: Floats, norms: Floats, outcomes: list[Outcome], parts: int) -> Outcome:
    """The outcome of all parts; the reason is that of the first part that did not converge, if there is one."""
    complete = len(outcomes) == parts
    worst = next((o for o in outcomes if not o.converged), outcomes[-1])
    gaps = [o.gap for o in outcomes]
    known = [gap for gap in gaps if gap is not None]
    iterations, evaluations, seconds = (
        sum(getattr(o, name) for o in outcomes) for name in ("iterations", "evaluations", "seconds")
    )
    return Outcome(
        weights, float(values.sum()), iterations, evaluations, complete and worst.converged, seconds, worst.reason,
        any(o.stalled for o in outcomes), float(np.linalg.norm(norms)),
        sum(known) if complete and len(known) == len(gaps) else None,
    )  # fmt: skip
