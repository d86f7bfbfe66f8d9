"""The perceptron: after each sequence whose best labelling is wrong, a step of 1 from its counts to the gold ones.

    λ ← λ + F(y*, x) − F(ŷ, x)

Its result is the mean of the weights after each sequence, which generalises better than the last ones; or all of them,
each with the number of sequences that it lasted. Converged: a pass changed no weight, because each labelling found is
right or has the same features as the gold one; this says nothing about the mean. Sources: Collins, "Discriminative
training methods for hidden Markov models" (2002), figure 2; the mean by a second vector: Daumé (2006). Not here:
labellings (the objective finds them).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ...foundation import Floats, Ints32
from ...semantics import AutoOptimizer
from ..objective import Iteration, Objective, Outcome, PerceptronSchedule, Watch, require_part
from ..online import NOT_FINITE, sequence_batches
from ..progress import norm_of
from ..voters import Voters

__all__ = ["minimise_perceptron"]


def minimise_perceptron(objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch) -> Outcome:
    """Trains from `start` [W] for as many passes as the objective says, fewer if one changes no weight.

    Each pass counts as an iteration; the reported value was summed during the pass, while the weights moved.
    """
    begun, batches = time.perf_counter(), sequence_batches(objective)
    schedule = require_part(objective.perceptron_schedule(), "the loss of a perceptron")
    generator = np.random.default_rng(schedule.seed)
    weights = start.copy()
    weighted = np.zeros_like(weights)  # Σ of the changes, each times the number of sequences before it
    steps: list[tuple[Ints32, Floats]] = []
    lasted = [0]  # sequences, of the start and after each step
    seen, passes = 0, 0
    reason, converged = f"{schedule.epochs} passes done", False
    batches.begin(weights)
    for passes in range(1, schedule.epochs + 1):
        total, moved, mistakes = 0.0, np.zeros_like(weights), 0
        for number in generator.permutation(batches.count).tolist():
            value, touched, gradient = batches.gradient(number)
            if gradient.any():
                mistakes += 1
                total += value
                weights[touched] -= gradient
                weighted[touched] -= seen * gradient
                moved[touched] += gradient
                batches.moved(number)
                if schedule.vote:
                    changed = np.flatnonzero(gradient)
                    steps.append((touched[changed], -gradient[changed]))
                    lasted.append(0)
            lasted[-1] += 1
            seen += 1
        result = weights - weighted / seen if schedule.average else weights
        stop = watch(Iteration(passes, total, norm_of(moved), time.perf_counter() - begun), result)
        if not mistakes:
            reason, converged = "a pass changed no weight", True
            break
        if stop:
            reason = "stopped on request"
            break
    value, gradient = objective.value_and_gradient(result)
    if not np.isfinite(value):
        reason, converged = NOT_FINITE, False
    seconds = time.perf_counter() - begun
    return Outcome(
        result.copy(),
        value,
        passes,
        passes + 1,
        converged,
        seconds,
        reason,
        gradient_norm=norm_of(gradient),
        voters=_voters(schedule, start, steps, lasted) if schedule.vote else None,
    )


def _voters(
    schedule: PerceptronSchedule, start: Floats, steps: Sequence[tuple[Ints32, Floats]], lasted: Sequence[int]
) -> Voters:
    voters = Voters.of(start, steps, lasted)
    return voters if schedule.voters is None else voters.longest(schedule.voters)
