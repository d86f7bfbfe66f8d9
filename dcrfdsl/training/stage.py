"""A training stage: its model, data, settings and observers; and one run of its optimizer.

    objective, first weights -> optimizer <-> watch (learning curve, dev scores, patience) -> outcome

The optimizer minimises at once, in independent parts, or in two runs: around a change of the objective, or around a cut
to the largest weights. Not here: the order of stages (`pipeline`), several runs of one stage (`restarts`), the
optimizers (`optimizers`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import optimizers
from ..criteria import CRITERIA, Criterion, TrainingProblem, weight_units
from ..data import Corpus
from ..foundation import Diagnostic, Floats, data_error, dataclass, give_back_memory, recalled
from ..model import TrainedModel
from ..semantics import InduceSettings, OptimizerSettings, TrainSettings
from .parts import PartedProblem
from .training_logs import TrainingLog

LOGGER = logging.getLogger("dcrfdsl.training")  # quiet unless a program sets it up

Minimise = Callable[
    [optimizers.Objective, Floats, OptimizerSettings, optimizers.Watch, optimizers.RunState], optimizers.Outcome
]  # an optimizer


@dataclass(frozen=True)
class Observers:
    """Callbacks of a training.

    on_iteration: called after each iteration.   should_stop: polled then; True ends training with the current weights.
    on_stage: called as each stage begins.   after_iteration: called last, with whether training is to stop.   log: is
    told of stages and iterations.   on_remark: is told of what takes very much memory or time, before it is built.
    """

    on_iteration: Callable[[optimizers.Iteration], None] | None = None
    should_stop: Callable[[], bool] | None = None
    on_stage: Callable[[str], None] | None = None
    after_iteration: Callable[[bool], None] | None = None
    log: TrainingLog | None = None
    on_remark: Callable[[Diagnostic], None] | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of training, ready to run.

    model: as earlier stages left it.   problem: the training data, and the weights that the stage begins with.
    dev: held-out data to score after each iteration.   earlier: the iteration from which its runs count on, if any.
    curve: every iteration so far, of all runs; it grows as they go.   continues: whether it begins with the weights of
    an earlier model, which may be near the optimum.
    """

    model: TrainedModel
    problem: TrainingProblem
    settings: TrainSettings
    dev: Corpus | None = None
    observers: Observers = field(default_factory=Observers)
    earlier: optimizers.Iteration | None = None
    curve: list[optimizers.Iteration] = field(default_factory=list)
    continues: bool = False

    @property
    def label(self) -> str:
        return self.problem.stage

    @property
    def last(self) -> optimizers.Iteration | None:
        """The latest iteration of any run."""
        return self.curve[-1] if self.curve else None

    @property
    def can_be_skipped(self) -> bool:
        """Whether its weights are all that later stages need of it: it adds no features."""
        return not isinstance(self.settings.criterion, InduceSettings) and not self.settings.clique_kernels

    def objective(self) -> Criterion:
        objective: Criterion
        if isinstance(self.problem, PartedProblem):
            objective = self.problem.summed(self.settings)
        else:
            objective = CRITERIA[self.settings.criterion.method](self.problem, self.settings)
        if type(objective).weights_of is Criterion.weights_of and not self.settings.clique_kernels:
            parameters, penalty = self.problem.parameters, objective.penalty
            precision = np.zeros(parameters.num_weights) if penalty is None else penalty.precision
            moments = self.problem.feature_moments()
            objective.units = weight_units(self.problem.graph, parameters, moments, precision)
            in_parts = isinstance(self.problem, PartedProblem)
            objective.curvature = None if in_parts or self.problem.counting else self.problem.curvature
            objective.seconds = 0.0 if in_parts else self.problem.seconds  # in parts, memory is short
        if self.continues:
            if optimizers.ignores_start(objective, self.settings.optimizer):
                message = f"stage `{self.label}` is solved without a start, so a model to start from changes nothing"
                remedy = "train without it, or run another stage first: `train … after …`"
                raise data_error("idle-start", message, help=remedy)
            objective.reference = objective.start(np.zeros(self.problem.parameters.num_weights)).copy()
        return objective

    def report(self, step: optimizers.Iteration) -> None:
        """Adds an iteration to the learning curve, and passes it on."""
        self.curve.append(step)
        if self.observers.on_iteration is not None:
            self.observers.on_iteration(step)

    def is_stopped(self) -> bool:
        return self.observers.should_stop is not None and self.observers.should_stop()

    def run(
        self, objective: Criterion, start: Floats, state: optimizers.RunState, number: int = 0
    ) -> optimizers.Outcome:
        """The optimum that the optimizer finds from the weights `start` on.

        state: it goes on from what this has saved, if anything.   number: of the restart; 0 for a single start.

        With `patience`, the first weights with the best dev score are kept, however training ends; but converged
        weights are kept if none scored better.
        """
        remembered = state.take("objective")
        if remembered is not None:
            objective.recall(remembered)
        state.keep("objective", objective.remembered)
        point = objective.start(start).copy()
        watch = _Watch(self, objective, number, state, len(point))
        give_back_memory()  # of reading and assembling the data
        outcome = minimise_objective(objective, point, self.settings.optimizer, watch, state, self.settings.keep)
        state.close()
        give_back_memory()  # of the optimizer
        outcome = watch.best_of(outcome)
        iterations, seconds = (0, 0.0) if self.earlier is None else (self.earlier.iteration, self.earlier.seconds)
        return replace(
            outcome,
            weights=objective.weights_of(outcome.weights),
            iterations=iterations + outcome.iterations,
            seconds=seconds + outcome.seconds,
        )


class _BestScored(NamedTuple):
    """The weights with the best dev score of a run so far."""

    score: float
    iteration: int
    weights: Floats


class _Watch:
    """Called after each iteration of a run: scores the weights, reports them, and says whether the run is to end."""

    def __init__(self, stage: Stage, objective: Criterion, number: int, state: optimizers.RunState, size: int):
        self._stage, self._objective, self._number = stage, objective, number
        self._best: _BestScored | None = None
        self._score, self._is_impatient = 0.0, False
        saved = state.take("scores")
        if saved is not None:
            self._score = saved["score"]
            if saved["best"] is not None:
                best = dict(zip(_BestScored._fields, saved["best"], strict=True))
                self._best = _BestScored(**{**best, "weights": recalled(best, "weights", size)})
        state.keep("scores", self._remember)
        self._status = objective.status_so_far
        self._evaluate: Callable[[Floats, optimizers.Voters | None], float] | None = None
        if stage.dev is not None:
            workers, rule = stage.problem.workers, stage.settings.decode
            self._evaluate = stage.model.scores.evaluator(stage.dev, workers, rule, stage.label)

    def __call__(self, step: optimizers.Iteration, weights: Floats) -> bool:
        earlier = self._stage.earlier
        if earlier is not None:
            step = step._replace(iteration=earlier.iteration + step.iteration, seconds=earlier.seconds + step.seconds)
        if self._evaluate is not None:
            self._score = self._evaluate(self._objective.weights_of(weights), self._objective.voters)
            step = step._replace(dev=self._score, metric=self._stage.model.scores.first_metric)
            if self._best is None or self._score > self._best.score:
                self._best = _BestScored(self._score, step.iteration, weights.copy())
            patience = self._stage.settings.patience
            self._is_impatient = patience is not None and step.iteration - self._best.iteration >= patience
        step = step._replace(start=self._number) if self._number else step
        self._stage.report(step)
        LOGGER.debug("%s: iteration %d, objective %.6g", self._stage.label, step.iteration, step.objective)
        if self._stage.observers.log is not None:  # with how inference ended in it
            before, self._status = self._status, self._objective.status_so_far
            self._stage.observers.log.iteration(self._stage.label, step, self._status.since(before))
        is_stopped = self._stage.is_stopped()
        if self._stage.observers.after_iteration is not None:
            self._stage.observers.after_iteration(is_stopped)
        return self._is_impatient or is_stopped

    def _remember(self) -> dict[str, Any]:
        if self._is_impatient:
            raise optimizers.NotNow  # this run ends here
        return {"score": self._score, "best": None if self._best is None else list(self._best)}

    def best_of(self, outcome: optimizers.Outcome) -> optimizers.Outcome:
        """The outcome of the run, with the weights that patience keeps."""
        patience, best = self._stage.settings.patience, self._best
        if patience is None or best is None or (outcome.converged and self._score >= best.score):
            return outcome
        why = f"no better dev score for {patience} iterations" if self._is_impatient else outcome.reason
        path, reason = outcome.path[: best.iteration], f"{why}; weights of iteration {best.iteration} kept"
        if np.array_equal(best.weights, outcome.weights):
            return replace(outcome, path=path)
        value, gradient = self._objective.value_and_gradient(best.weights)
        return replace(
            outcome,
            weights=best.weights,
            objective=value,
            evaluations=outcome.evaluations + 1,
            converged=False,
            reason=reason,
            stalled=False,
            gradient_norm=float(np.linalg.norm(gradient)),
            gap=self._objective.gap(gradient),
            voters=None,  # they come from all iterations, later ones included
            path=path,
        )


def minimise_objective(
    objective: Criterion, point: Floats, settings: OptimizerSettings, watch: optimizers.Watch,
    state: optimizers.RunState, keep: int | None = None,
) -> optimizers.Outcome:  # fmt: skip
    """Minimises an objective by the optimizer of `settings`, from `point` on, or from what `state` has saved.

    keep: how many weights are kept; the largest ones, which are then trained on.
    """
    minimise = optimizers.OPTIMIZERS[settings.method]
    if keep is not None:
        return _of_the_largest(minimise, objective, point, settings, watch, keep, state)
    if objective.apart:
        return optimizers.minimise_parts(minimise, objective, point, settings, watch, state)
    if objective.pause is None:
        return minimise(objective, point, settings, watch, state.below("optimizer"))
    return _in_two_parts(minimise, objective, point, settings, watch, objective.pause, state)


def _of_the_largest(
    minimise: Minimise, objective: Criterion, start: Floats, settings: OptimizerSettings, watch: optimizers.Watch,
    keep: int, state: optimizers.RunState,
) -> optimizers.Outcome:  # fmt: skip
    """Minimises over all weights, then over the `keep` largest ones alone; both runs share one count of iterations."""
    first, is_stopped = _first_run(minimise, objective, start, settings, watch, state, "before_cut")
    kept = optimizers.largest_weights(first.weights, keep)
    if int(np.count_nonzero(first.weights)) <= keep:
        return first
    rest, weights = optimizers.KeptWeights(objective, kept, start), np.where(kept, first.weights, 0.0)
    cut = f"{keep:,} of {len(kept):,} weights kept"
    if is_stopped:
        value, gradient = rest.value_and_gradient(weights)
        return replace(
            first, weights=weights, objective=value, evaluations=first.evaluations + 1,
            gradient_norm=float(np.linalg.norm(gradient)), gap=None, reason=f"{first.reason}; {cut}",
        )  # fmt: skip
    second = _second_run(minimise, rest, weights, settings, watch, state, "before_cut", first)
    return replace(second, reason=f"{second.reason}; {cut}")


def _in_two_parts(
    minimise: Minimise, objective: Criterion, start: Floats, settings: OptimizerSettings, watch: optimizers.Watch,
    pause: int, state: optimizers.RunState,
) -> optimizers.Outcome:  # fmt: skip
    """Minimises an objective that changes after `pause` iterations; both runs share one count of iterations."""
    limit = getattr(settings, "max_iterations", pause)
    short = settings.model_copy(update={"max_iterations": min(pause, limit)})
    first, is_stopped = _first_run(minimise, objective, start, short, watch, state, "before_pause")
    if is_stopped or first.iterations >= limit:
        # even if this run converged, training did not: its objective was to change
        return replace(first, converged=False, reason=f"{limit} iterations done") if first.converged else first
    objective.advance(first.weights)
    rest = settings.model_copy(update={"max_iterations": limit - first.iterations})
    return _second_run(minimise, objective, first.weights, rest, watch, state, "before_pause", first)


def _first_run(
    minimise: Minimise, objective: Criterion, start: Floats, settings: OptimizerSettings, watch: optimizers.Watch,
    state: optimizers.RunState, name: str,
) -> tuple[optimizers.Outcome, bool]:  # fmt: skip
    """The first of two runs, or what a checkpoint has of it under `name`; and whether it was asked to stop."""
    is_stopped = False

    def watched(step: optimizers.Iteration, weights: Floats) -> bool:
        nonlocal is_stopped
        is_stopped = watch(step, weights)
        return is_stopped

    saved = state.take(name)
    if saved is not None:
        return optimizers.outcome_from(saved, len(start)), False
    outcome = minimise(objective, start, settings, watched, state.below("optimizer"))
    return outcome, is_stopped


def _second_run(
    minimise: Minimise, objective: optimizers.Objective, start: Floats, settings: OptimizerSettings,
    watch: optimizers.Watch, state: optimizers.RunState, name: str, first: optimizers.Outcome,
) -> optimizers.Outcome:  # fmt: skip
    """The second of two runs, whose iterations, evaluations and seconds count on; a checkpoint has the first one."""

    def watched(step: optimizers.Iteration, weights: Floats) -> bool:
        seconds = first.seconds + step.seconds
        return watch(step._replace(iteration=first.iterations + step.iteration, seconds=seconds), weights)

    state.keep(name, lambda: optimizers.outcome_state(first))
    second = minimise(objective, start, settings, watched, state.below("optimizer"))
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        evaluations=first.evaluations + second.evaluations,
        seconds=first.seconds + second.seconds,
    )
