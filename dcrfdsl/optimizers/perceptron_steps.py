"""The perceptron: after each sequence whose best labelling is wrong, a step of 1 from its counts to the gold ones.

    λ ← λ + F(y*, x) − F(ŷ, x)

Its result is the mean of the weights after each sequence, which generalises better than the last ones; or all of them,
each with the number of sequences that it lasted. Converged: a pass changed no weight, because each labelling found is
right or has the same features as the gold one; this says nothing about the mean. On data in parts each part takes a
pass of its own from the same weights, and the changes are mixed:

    λ ← λ + 1/P Σ_p (λ_p − λ),        λ_p: after a pass of the perceptron over part p that began at λ

So parts are independent within a pass, and the weights separate the data after finitely many passes if any weights do.
The mean is then that of the weights after each sequence, over all parts and passes. Sources: Collins, "Discriminative
training methods for hidden Markov models" (2002), figure 2; the mean by a second vector: Daumé (2006); parts: McDonald,
Hall & Mann, "Distributed training strategies for the structured perceptron" (2010), figure 3, with uniform mixing. Not
here: labellings (the objective finds them).
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..foundation import Floats, Ints, Ints32, check_offsets, check_within, recalled
from ..semantics import AutoOptimizer
from .objective import (
    Batches,
    Iteration,
    Objective,
    Outcome,
    PartedPasses,
    PassOfPart,
    PerceptronSchedule,
    Watch,
    require_part,
)
from .online import NOT_FINITE, sequence_batches
from .progress import norm_of
from .run_state import RunState, generator_from, generator_state
from .voters import Voters


def minimise_perceptron(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """Trains from `start` [W] for as many passes as the objective says, fewer if one changes no weight.

    Each pass counts as an iteration; the reported value was summed during the pass, while the weights moved.
    """
    batches = sequence_batches(objective)
    schedule = require_part(objective.schedule, "the loss of a perceptron")
    return _trained(
        objective, schedule, _SequenceWalk(start, schedule, batches, state.take("walk")), watch, state, "walk"
    )


def minimise_mixed_perceptron(
    objective: Objective, start: Floats, settings: AutoOptimizer, watch: Watch, state: RunState
) -> Outcome:
    """`minimise_perceptron` on data in parts, whose changes are mixed after each pass."""
    parted = require_part(objective.parted_passes(), "passes over parts")
    schedule = require_part(objective.schedule, "the loss of a perceptron")
    walk = _MixedWalk(start, parted, schedule.average, state.take("mixed"))
    return _trained(objective, schedule, walk, watch, state, "mixed")


def _trained(
    objective: Objective, schedule: PerceptronSchedule, walk: _Walk, watch: Watch, state: RunState, name: str
) -> Outcome:
    """The outcome of all passes.   name: of the layer that a snapshot has of the walk."""
    begun = time.perf_counter() - walk.seconds
    reason, converged, stop = f"{schedule.epochs} passes done", False, False

    def remember() -> dict[str, Any]:
        walk.seconds = time.perf_counter() - begun
        return walk.remember()

    state.keep(name, remember)
    while True:
        if walk.passes and not walk.mistakes:
            reason, converged = "a pass changed no weight", True
            break
        if stop:
            reason = "stopped on request"
            break
        if walk.passes == schedule.epochs:
            break
        with np.errstate(over="ignore", invalid="ignore"):  # the end says it
            total, norm = walk.one_pass()
            result = walk.result()
        objective.voters = walk.voters()
        stop = watch(Iteration(walk.passes, total, norm, time.perf_counter() - begun), result)
    with np.errstate(invalid="ignore"):
        result = walk.result()
    value, gradient = objective.value_and_gradient(result)
    if not np.isfinite(value):
        reason, converged = NOT_FINITE, False
    return Outcome(
        result.copy(), value, walk.passes, walk.passes + 1, converged, time.perf_counter() - begun, reason,
        gradient_norm=norm_of(gradient), voters=walk.voters(),
    )  # fmt: skip


def perceptron_pass(objective: Objective, start: Floats, seed: Sequence[int]) -> PassOfPart:
    """A pass over the sequences of one part from `start` [W], in the order that `seed` draws."""
    batches, weights, weighted = sequence_batches(objective), start.copy(), np.zeros_like(start)
    loss, mistakes = 0.0, 0
    batches.begin(weights)
    order = np.random.default_rng(seed).permutation(batches.count)
    for place, (value, touched, gradient) in enumerate(_steps(batches, order, weights)):
        if touched is not None:
            loss, mistakes = loss + value, mistakes + 1
            weighted[touched] -= (batches.count - place) * gradient  # it lasts from this sequence on
    return PassOfPart(weights - start, weighted, loss, mistakes, batches.count, 1)


def _steps(batches: Batches, order: Ints, weights: Floats) -> Iterator[tuple[float, Ints32 | None, Floats]]:
    """For each sequence its loss, the weights that its step has moved (None: it is labelled rightly) and the gradient
    in these; `weights` [W] moves.
    """
    for number in order.tolist():
        value, touched, gradient = batches.gradient(number)
        if not gradient.any():
            yield value, None, gradient
            continue
        weights[touched] -= gradient
        batches.moved(number)
        yield value, touched, gradient


class _Walk(ABC):
    """The path of the weights, which goes on from a snapshot if there is one.

    weights [W]: the current ones.   passes: how many are done.   mistakes: of the last pass.   seconds: spent
    before a snapshot.
    """

    weights: Floats
    passes: int = 0
    mistakes: int = 0
    seconds: float = 0.0

    @abstractmethod
    def one_pass(self) -> tuple[float, float]:
        """The loss of a pass, summed while the weights moved, and the norm of all steps."""

    @abstractmethod
    def result(self) -> Floats:
        """The mean of the weights so far, or the last ones [W]."""

    @abstractmethod
    def remember(self) -> dict[str, Any]:
        """For a snapshot."""

    def voters(self) -> Voters | None:
        """All weights on the way from the start, or those that lasted longest; None unless they vote."""
        return None


class _SequenceWalk(_Walk):
    """A step after each sequence. `saved`: what it remembered at the snapshot from which it goes on."""

    def __init__(self, start: Floats, schedule: PerceptronSchedule, batches: Batches, saved: Mapping[str, Any] | None):
        self._start, self._schedule, self._batches, self._seen = start, schedule, batches, 0
        self.generator = np.random.default_rng(schedule.seed)
        self.weights = start.copy()
        self._weighted = np.zeros_like(start)  # Σ of the changes, each times the number of sequences before it
        self._steps: list[tuple[Ints32, Floats]] = []  # changed weights and their changes, if all weights are kept
        self._lasted = [0]  # sequences, of the start and after each step
        if saved is not None:
            self.generator = generator_from(saved["generator"])
            self.weights, self._weighted = (recalled(saved, name, len(start)) for name in ("weights", "weighted"))
            self.passes, self._seen, self.mistakes, self.seconds = saved["counts"]
            self._recall_steps(saved, len(start))
        batches.begin(self.weights)

    def _recall_steps(self, saved: Mapping[str, Any], num_weights: int) -> None:
        count, size = saved["step_ends"].size, saved["changed"].size
        off = np.concatenate([np.zeros(1, np.int64), recalled(saved, "step_ends", count, dtype=np.int64)])
        check_offsets(off, size, "step_ends")
        changed, changes = recalled(saved, "changed", size, dtype=np.int32), recalled(saved, "changes", size)
        check_within(changed, 0, num_weights, "changed")
        self._lasted = recalled(saved, "lasted", count + 1, dtype=np.int64).tolist()
        self._steps = [(changed[a:b], changes[a:b]) for a, b in itertools.pairwise(off.tolist())]

    def remember(self) -> dict[str, Any]:
        steps = [(np.zeros(0, np.int32), np.zeros(0)), *self._steps]
        changed, changes = zip(*steps, strict=True)
        return {
            "generator": generator_state(self.generator), "weights": self.weights, "weighted": self._weighted,
            "counts": [self.passes, self._seen, self.mistakes, self.seconds],
            "lasted": np.array(self._lasted, np.int64),
            "step_ends": np.cumsum([len(touched) for touched in changed])[1:], "changed": np.concatenate(changed),
            "changes": np.concatenate(changes),
        }  # fmt: skip

    def one_pass(self) -> tuple[float, float]:
        total, moved, self.mistakes = 0.0, np.zeros_like(self.weights), 0
        order = self.generator.permutation(self._batches.count)
        for value, touched, gradient in _steps(self._batches, order, self.weights):
            if touched is not None:
                self.mistakes += 1
                total += value
                self._weighted[touched] -= self._seen * gradient
                moved[touched] += gradient
                if self._schedule.vote:
                    changed = np.flatnonzero(gradient)
                    self._steps.append((touched[changed], -gradient[changed]))
                    self._lasted.append(0)
            self._lasted[-1] += 1
            self._seen += 1
        self.passes += 1
        return total, norm_of(moved)

    def result(self) -> Floats:
        if not self._schedule.average or not self._seen:
            return self.weights
        mean: Floats = self.weights - self._weighted / self._seen
        return mean

    def voters(self) -> Voters | None:
        if not self._schedule.vote:
            return None
        voters = Voters.of(self._start, self._steps, self._lasted)
        return voters if self._schedule.voters is None else voters.longest(self._schedule.voters)


class _MixedWalk(_Walk):
    """A pass of each part from the same weights, and the mean of their changes."""

    def __init__(self, start: Floats, parted: PartedPasses, average: bool, saved: Mapping[str, Any] | None):
        self._parted, self._average, self._seen = parted, average, 0
        self.weights, self._summed = start.copy(), np.zeros_like(start)  # summed: over passes, parts and sequences
        if saved is not None:
            self.weights, self._summed = (recalled(saved, name, len(start)) for name in ("weights", "summed"))
            self._seen, self.passes, self.mistakes = saved["counts"]
            self.seconds = saved["seconds"]

    def remember(self) -> dict[str, Any]:
        counts = [self._seen, self.passes, self.mistakes]
        return {"weights": self.weights, "summed": self._summed, "counts": counts, "seconds": self.seconds}

    def one_pass(self) -> tuple[float, float]:
        done = self._parted.one_pass(self.weights, self.passes)
        self._summed += done.sequences * self.weights + done.weighted
        self.weights = self.weights + done.change / done.parts
        self._seen, self.passes, self.mistakes = self._seen + done.sequences, self.passes + 1, done.mistakes
        return done.loss, norm_of(done.change)

    def result(self) -> Floats:
        return self._summed / self._seen if self._average and self._seen else self.weights
