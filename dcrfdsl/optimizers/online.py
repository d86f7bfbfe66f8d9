"""Steps after each sequence: stochastic gradient descent, and generalised probabilistic descent.

    λ ← λ − η_t (∂f_i/∂λ + ∂P_i/∂λ)        for the loss f_i of one sequence and its share P_i of the penalty
    sgd    η_t = η_0 / (1 + μ η_0 t),    μ = mean precision of the penalty / N
    gpd    η_t = η_0 (1 − t / T),        T = passes · N

Sequences come in a new random order in each pass. The penalty of a weight is divided evenly among the sequences in
which it can have a gradient (1/N each, if all of them have one), so that a step touches no other weights; the shares
add up to the whole. P_i is taken at the new point, which keeps long steps stable.

`sgd` is Bottou's crfsgd, where η_0 is tried on a sample. Without a penalty η is halved in HALF passes, since the loss
alone may have no curvature. Converged: a pass changed the objective, as summed during it, by no more than the
tolerance, relatively, and what is known of the distance from the least value agrees (`progress.is_near_least`). Where a
rate is given and two passes are enough for it, the gradient must have fallen, or the steps are too short. `gpd` has no
rule of convergence: its steps become 0.

Sources: Bottou, "Stochastic gradient descent tricks" (2012), §5; Juang & Katagiri, "Discriminative learning for minimum
error classification" (1992), before Quickprop in Suzuki 2006 §5.1. Not here: the losses of sequences.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..foundation import Floats, Ints, data_error, recalled
from ..kernels.optimization import dot, plain_steps
from ..semantics import GpdSettings, SgdSettings
from .objective import Batches, Iteration, Objective, Outcome, Watch
from .progress import is_near_least, norm_of
from .run_state import RunState, generator_from, generator_state

SAMPLE = 1000  # sequences for trying a rate
FIRST_RATE, RATE_FACTOR, MOST_RATES = 0.1, 2.0, 16  # of the search for a rate
NOT_FINITE = "the objective is not finite where the steps have led"
SAME = 0.9  # of the norm of a gradient: it has hardly fallen
LOOKED_AT = 50  # sequences whose gradients determine the first rate


def sequence_batches(objective: Objective) -> Batches:
    """The sequences of an objective as batches of one. DcrfError if it is not a sum over sequences."""
    batches = objective.batches(1)
    if batches is None:
        message = "the optimizer takes a step after each sequence, and the objective is not a sum over sequences"
        raise data_error("cannot-train", message, help="train by `lbfgs`")
    return batches


class Passes:
    """Passes over single sequences, which go on from what `state` has saved, if anything.

    weights [W]: the current point.   watch: is called after each pass.   values: the objective of each pass, summed
    meanwhile.
    """

    def __init__(self, objective: Objective, start: Floats, seed: int, watch: Watch, state: RunState):
        self.objective, self.batches, self.watch = objective, sequence_batches(objective), watch
        self.begun = time.perf_counter()
        self.generator = np.random.default_rng(seed)
        self.weights = start.copy()
        self.evaluations, self.steps = 0, 0
        self.values: list[float] = []
        self.is_stopped = False
        self._rate: float | None = None
        saved = state.take("passes")
        if saved is not None:
            self.weights = recalled(saved, "weights", len(start))
            self.values, self._rate = list(saved["values"]), saved["rate"]
            self.evaluations, self.steps = saved["evaluations"], saved["steps"]
            self.generator = generator_from(saved["generator"])
            self.begun -= saved["seconds"]
        state.keep("passes", self._remember)

    def _remember(self) -> dict[str, Any]:
        return {
            "weights": self.weights, "values": self.values, "rate": self._rate, "evaluations": self.evaluations,
            "steps": self.steps, "generator": generator_state(self.generator),
            "seconds": time.perf_counter() - self.begun,
        }  # fmt: skip

    @property
    def count(self) -> int:
        """How many passes are done."""
        return len(self.values)

    def rate(self, rate: float | None) -> float:
        """The given rate; if it is None, one that is found on a sample."""
        if rate is not None:
            return rate
        if self._rate is None:
            self._rate, passes = best_rate(self.batches, self.weights, self.generator)
            self.evaluations += passes
        return self._rate

    def run_pass(self, step_of: Callable[[int], float]) -> None:
        """One pass in random order; step n has the size `step_of(n)`."""
        batches, seen = self.batches, np.zeros_like(self.weights)
        order = self.generator.permutation(batches.count)
        batches.begin(self.weights)
        loss = _walk(batches, order, self.weights, lambda n: step_of(self.steps + n), seen)
        self.steps += batches.count
        pull = batches.precision * self.weights
        value = float(loss + 0.5 * dot(pull, self.weights))
        self.values.append(value)
        self.evaluations += 1
        seconds = time.perf_counter() - self.begun
        self.is_stopped = self.watch(Iteration(self.count, value, norm_of(seen + pull), seconds), self.weights)

    def has_hardly_moved(self, start: Floats) -> bool:
        """Whether the gradient is as large as at the start, nearly."""
        self.evaluations += 2
        before, now = (norm_of(self.objective.value_and_gradient(point)[1]) for point in (start, self.weights))
        return now >= SAME * before > 0.0

    def is_near_least(self) -> bool:
        """Whether nothing that is known of the distance from the least value speaks against convergence."""
        self.evaluations += 1
        value, gradient = self.objective.value_and_gradient(self.weights)
        return is_near_least(self.objective, gradient, value, self.values[0])

    def outcome(self, converged: bool, reason: str) -> Outcome:
        """The outcome of the passes, with the exact objective at the current point."""
        value, gradient = self.objective.value_and_gradient(self.weights)
        gap = self.objective.gap(gradient)
        seconds = time.perf_counter() - self.begun
        return Outcome(
            self.weights, value, self.count, self.evaluations + 1, converged, seconds, reason, False,
            norm_of(gradient), gap,
        )  # fmt: skip


def _walk(
    batches: Batches, order: Ints, weights: Floats, step_of: Callable[[int], float] | None, seen: Floats
) -> float:
    """The sum of the losses of sequences `order`, each after the steps on earlier ones; without `step_of` no steps."""
    total = 0.0
    for n, number in enumerate(order.tolist()):
        value, touched, gradient = batches.gradient(number)
        total += value
        if step_of is not None:
            plain_steps(touched, gradient, batches.share, step_of(n), weights, seen)
            batches.moved(number)
    return total


def best_rate(batches: Batches, start: Floats, generator: np.random.Generator) -> tuple[float, int]:
    """The constant step size after a pass with which the objective of a sample is lowest, and the number of passes over
    the sample that the search took.

    It begins at FIRST_RATE and is doubled while that helps, or halved until it does (Bottou's rule). If gradients are
    small, like those of a measure of the whole data, it begins higher in proportion.
    """
    sample = np.sort(generator.permutation(batches.count)[:SAMPLE])
    share = len(sample) / batches.count
    nothing = np.zeros_like(start)
    passes = 0

    def after(rate: float) -> float:
        nonlocal passes
        weights = start.copy()
        batches.begin(weights)
        with np.errstate(over="ignore", invalid="ignore"):
            _walk(batches, sample, weights, lambda n: rate, nothing)
            value = _walk(batches, sample, weights, None, nothing)
        passes += 2
        value += 0.5 * share * dot(batches.precision * weights, weights)
        return value if np.isfinite(value) else np.inf

    batches.begin(start.copy())
    before = _walk(batches, sample, start, None, nothing) + 0.5 * share * dot(batches.precision * start, start)
    gradients = (batches.gradient(number)[2] for number in sample[:LOOKED_AT].tolist())
    largest = max(float(np.abs(gradient).max(initial=0.0)) for gradient in gradients)
    first = FIRST_RATE / min(1.0, largest or 1.0)
    best, lowest = first, after(first)
    factor = RATE_FACTOR if lowest < before else 1.0 / RATE_FACTOR
    rate = first
    for _ in range(MOST_RATES):
        rate *= factor
        value = after(rate)
        if value < lowest:
            best, lowest = rate, value
        elif lowest < before:
            break
    return best, passes + 1


# stochastic gradient descent ------------------------------------------------------------------------------------------


HALF = 10  # passes


def minimise_sgd(objective: Objective, start: Floats, settings: SgdSettings, watch: Watch, state: RunState) -> Outcome:
    """Minimises from `start` [W]. Each pass counts as an iteration; the objective that it reports was summed during the
    pass, while the weights moved. Deterministic given its seed.
    """
    passes = Passes(objective, start, settings.seed, watch, state)
    rate, count = passes.rate(settings.rate), passes.batches.count
    curvature = float(passes.batches.precision.mean()) / count
    fall = rate * curvature if curvature > 0.0 else 1.0 / (HALF * count)
    while True:
        before, value = [np.inf, np.inf, *passes.values][-2:]
        if passes.is_stopped:
            return passes.outcome(False, "stopped on request")
        if passes.count and not np.isfinite(value):
            return passes.outcome(False, NOT_FINITE)
        if passes.count and abs(before - value) <= settings.tolerance * abs(value):
            if passes.count == 2 and settings.rate is not None and passes.has_hardly_moved(start):
                return passes.outcome(False, "the steps are too short: they change the objective by next to nothing")
            if passes.is_near_least():
                return passes.outcome(True, "a pass changed the objective by less than the tolerance")
        if passes.count >= settings.epochs:
            return passes.outcome(False, f"{settings.epochs} passes done")
        passes.run_pass(lambda t: rate / (1.0 + fall * t))


# generalised probabilistic descent ------------------------------------------------------------------------------------


def run_descent(passes: Passes, epochs: int, rate: float | None) -> None:
    """All passes, or those until `watch` stops them or the objective is no longer finite."""
    first, total = passes.rate(rate), epochs * passes.batches.count
    while passes.count < epochs and np.isfinite(passes.values).all() and not passes.is_stopped:
        passes.run_pass(lambda t: first * (1.0 - t / total))


def minimise_gpd(objective: Objective, start: Floats, settings: GpdSettings, watch: Watch, state: RunState) -> Outcome:
    """Descends from `start` [W]. Each pass counts as an iteration; the objective that it reports was summed during the
    pass, while the weights moved. There is no rule of convergence: the steps become 0. Deterministic given its seed.
    """
    passes = Passes(objective, start, settings.seed, watch, state)
    run_descent(passes, settings.epochs, settings.rate)
    if passes.is_stopped:
        return passes.outcome(False, "stopped on request")
    if not np.isfinite(passes.values).all():
        return passes.outcome(False, NOT_FINITE)
    return passes.outcome(False, f"the steps fell to 0 in {settings.epochs} passes")
