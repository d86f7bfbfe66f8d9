"""`fit`: the pipeline from a specification and data to a trained model, as one function that reads top to bottom.

    data -> assembly (states, gold, features, graph) -> weights -> wiring -> criterion <-> optimizer -> model

Not here: any of the steps. This file says in which order they come.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..criteria import CRITERIA, Criterion, Supervision, settled_decoding
from ..data import Corpus, raise_if_any
from ..errors import DcrfError, Diagnostic, in_a_line, warn_of
from ..features import RegisteredFeature
from ..inference import Workers
from ..metrics import nothing_measured
from ..model import InductionRound, TrainedModel, TrainingRecord, no_labelling
from ..optimizers import OPTIMIZERS, Iteration, Outcome, SeparableObjective, Watch, minimise_apart
from ..semantics import (
    AutoOptimizer,
    InduceSettings,
    MethodSettings,
    ModelSpec,
    Resolved,
    TrainSettings,
    plain,
    stage_chain,
    stage_settings,
)
from .checking import Template, approved, as_resolved, require_arguments
from .diagnostics import exact_instead, idle_patience, notes_on
from .induction import induce_round, require_known_labels
from .problem import assemble
from .support_vectors import supporting, with_supports

__all__ = ["Iteration", "fit", "with_probabilities", "with_remarks"]

LATENT_DEVIATION = 0.01  # of the weights that touch a latent variable at the start


def fit(
    model: Template,
    corpus: Corpus,
    *,
    stage: str | None = None,
    dev: Corpus | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    on_stage: Callable[[str], None] | None = None,
    unchecked: bool = False,
) -> TrainedModel:
    """Trains a model on gold data.

    model: a resolved template, its path, a `Model`, or a specification (paths in it are then relative to the working
    directory).
    stage: the training stage to run with its `after` chain; by default the last one.
    dev: held-out data that is scored after each iteration, and calibrates probabilities where the criterion gives none.
    threads: default `DCRFDSL_THREADS`, else all cores.   on_iteration: called after each iteration.
    should_stop: polled then; True ends training with the weights at hand.   on_stage: told each stage that begins.

    unchecked: leave out the checker, for whoever has asked it already.

    Deterministic: the same data, settings and seed give the same weights for any number of threads. Raises DcrfError
    with all that the checker finds wrong with the model, or where the data does not fit it. What the checker warns of
    is a `DcrfWarning` each, and a note in the record.
    """
    resolved = Resolved(model) if unchecked and isinstance(model, ModelSpec) else as_resolved(model)
    require_arguments(corpus, stage, dev, registered, on_iteration, should_stop)
    if corpus.num_tokens == 0:
        raise DcrfError(
            Diagnostic("empty-data", "there is nothing to train on: the data has no token", location=corpus.file)
        )
    remarks: Sequence[Diagnostic] = () if unchecked else approved(resolved, corpus, stage=stage, registered=registered)
    warn_of(remarks, depth=2)
    spec = resolved.require(unchecked=True)
    chain = [(entry.label, stage_settings(spec, entry.label)) for entry in stage_chain(spec, stage)]

    problem = assemble(spec, corpus, resolved.directories, registered or {})
    graph, extractor, gold, off = problem.graph, problem.extractor, problem.gold, corpus.sentence_off
    parameters, counts = problem.learn_parameters()

    workers = Workers(threads)
    supervision = Supervision(
        spec, graph, parameters, problem.rows, problem.relations, off, gold, counts, workers,
        states=tuple(problem.states[name] for name in graph.variables), extractor=extractor,
    )  # fmt: skip
    weights = np.zeros(parameters.num_weights)
    trained = TrainedModel(
        spec, problem.states, extractor, _known_values(spec, corpus), graph, parameters, weights, TrainingRecord()
    )
    if dev is not None:
        idle = nothing_measured(spec, dev, trained.states, trained.known_values.__getitem__)
        warn_of([] if unchecked else idle, depth=2)
        remarks = (*remarks, *idle)
    for label, settings in chain:
        settings = settings.model_copy(update={"decode": settled_decoding(spec, graph, label)})
        curve: list[Iteration] = []
        if on_stage is not None:
            on_stage(label)
        report = functools.partial(_kept, curve, on_iteration)
        begun = replace(supervision, stage=label, weights=trained.weights)
        rounds: Sequence[InductionRound] = ()
        if isinstance(settings.criterion, InduceSettings):
            trained, begun, rounds = _induced(trained, begun, settings, settings.criterion, report, should_stop)
            supervision = begun
        if settings.clique_kernels:
            trained, begun = with_supports(trained, begun, settings)
        before = curve[-1] if curve else None
        objective = CRITERIA[settings.criterion.method](begun, settings)
        raise_if_any(no_labelling(corpus, objective.contradictions()))
        outcome = _best_of_starts(
            trained,
            _starts(trained, settings),
            label,
            settings,
            objective,
            dev,
            workers,
            report,
            should_stop,
            before,
        )
        record = TrainingRecord.of(
            label,
            settings,
            outcome,
            corpus,
            objective.words,
            [*notes_on(objective, outcome), *idle_patience(settings, dev), *exact_instead(spec, settings, objective)],
            trained.record,
            curve,
            rounds,
        )
        trained = trained.with_weights(outcome.weights, record, outcome.voters)
        if settings.clique_kernels:
            trained = supporting(trained)
    trained = with_remarks(trained, remarks)
    return trained if dev is None else with_probabilities(trained, dev, threads)


def with_remarks(trained: TrainedModel, remarks: Sequence[Diagnostic]) -> TrainedModel:
    """The model with what the checker has warned of among the notes of its record, the first ones."""
    if not remarks:
        return trained
    record = replace(trained.record, notes=(*map(in_a_line, remarks), *trained.record.notes))
    return trained.with_weights(trained.weights, record, trained.voters)


def with_probabilities(trained: TrainedModel, dev: Corpus, threads: int | None = None) -> TrainedModel:
    """The model with its probabilities calibrated on held-out data, if its criterion asks for that; once."""
    if not trained.is_margin or trained.record.calibration is not None:
        return trained
    try:
        return trained.calibrated(dev, threads=threads)
    except DcrfError as error:
        notes = (*trained.record.notes, *(diagnostic.message for diagnostic in error.diagnostics))
        return trained.with_weights(trained.weights, replace(trained.record, notes=notes), trained.voters)


def _starts(trained: TrainedModel, settings: TrainSettings) -> tuple[int, Iterator[Floats]]:
    """How often a stage begins, and the weights that it begins with, one a restart, drawn as they are asked for.

    Those at hand, but where a latent variable is in the model and nothing has been trained yet: at zero its states
    cannot be told apart and the gradient keeps them equal, so the weights that touch it are drawn from N(0, 0.01²).
    """
    graph = trained.graph
    touching = [
        trained.parameters.of_clique(number)
        for number, template in enumerate(graph.templates[: len(trained.spec.cliques)])
        if not set(template.variables).isdisjoint(graph.latents)
    ]
    if not touching or trained.record.stage:
        return 1, iter([trained.weights])
    return settings.restarts, _drawn(trained.weights, np.concatenate(touching), settings)


def _drawn(weights: Floats, some: NDArray[np.int64], settings: TrainSettings) -> Iterator[Floats]:
    """The weights with `some` of them drawn, as often as there are restarts."""
    generator = np.random.default_rng(settings.seed)
    for _ in range(settings.restarts):
        start = weights.copy()
        start[some] = generator.normal(0.0, LATENT_DEVIATION, len(some))
        yield start


def _best_of_starts(
    trained: TrainedModel,
    starts: tuple[int, Iterator[Floats]],
    stage: str,
    settings: TrainSettings,
    objective: Criterion,
    dev: Corpus | None,
    workers: Workers,
    on_iteration: Callable[[Iteration], None] | None,
    should_stop: Callable[[], bool] | None,
    before: Iteration | None,
) -> Outcome:
    """The outcome with the best training objective; what was begun after `should_stop` said so does not run."""
    best: Outcome | None = None
    count, each = starts
    for number, start in enumerate(each, 1):
        report = on_iteration
        if on_iteration is not None and count > 1:
            report = functools.partial(_numbered, on_iteration, number)
        outcome = _run_stage(trained, start, stage, settings, objective, dev, workers, report, should_stop, before)
        if best is None or outcome.objective < best.objective:
            best = outcome
        if should_stop is not None and should_stop():
            break
    assert best is not None
    return best


def _induced(
    trained: TrainedModel,
    given: Supervision,
    settings: TrainSettings,
    own: InduceSettings,
    report: Callable[[Iteration], None],
    should_stop: Callable[[], bool] | None,
) -> tuple[TrainedModel, Supervision, list[InductionRound]]:
    """The model and the problem with the features that rounds of induction add; a few iterations come before each."""
    require_known_labels(given)
    extractor, rounds, last = trained.extractor, [], None
    limits: dict[str, int] = {"max_iterations": own.iterations}
    for _ in range(own.rounds):
        optimizer = settings.optimizer.model_copy(update=limits)
        short = settings.model_copy(update={"optimizer": optimizer, "patience": None})
        seen: list[Iteration] = []
        keep = functools.partial(_kept, seen, report)
        objective = CRITERIA[own.method](given, short)
        outcome = _run_stage(
            trained, given.weights, given.stage, short, objective, None, given.workers, keep, should_stop, last
        )
        given = replace(given, weights=outcome.weights)
        if should_stop is not None and should_stop():
            break
        last = seen[-1] if seen else last
        given, extractor, done = induce_round(given, extractor, settings)
        if not done.weights:
            break
        rounds.append(done)
        if isinstance(optimizer, AutoOptimizer):
            limits["epochs"] = 0  # long steps on batches would lead away from where the last round came to
    grown = TrainedModel(
        trained.spec, trained.states, extractor, trained.known_values, trained.graph, given.parameters, given.weights,
        trained.record,
    )  # fmt: skip
    return grown, given, rounds


def _moved_on(before: Iteration | None, step: Iteration) -> Iteration:
    """A step counted from an earlier one on."""
    if before is None:
        return step
    return step._replace(iteration=before.iteration + step.iteration, seconds=before.seconds + step.seconds)


def _kept(curve: list[Iteration], on_iteration: Callable[[Iteration], None] | None, step: Iteration) -> None:
    """Adds an iteration to the learning curve, and passes it on."""
    curve.append(step)
    if on_iteration is not None:
        on_iteration(step)


def _numbered(on_iteration: Callable[[Iteration], None], start: int, step: Iteration) -> None:
    on_iteration(step._replace(start=start))


def _run_stage(
    trained: TrainedModel,
    start: Floats,
    stage: str,
    settings: TrainSettings,
    objective: Criterion,
    dev: Corpus | None,
    workers: Workers,
    on_iteration: Callable[[Iteration], None] | None,
    should_stop: Callable[[], bool] | None,
    before: Iteration | None = None,
) -> Outcome:
    """One stage from the weights `start`; its iterations are counted from `before` on.

    With `patience` the weights of the best dev score are kept, however training ends: the first such ones, but those
    that it converged to if none were better.
    """
    best: tuple[float, int, Floats] | None = None
    last, impatient = 0.0, False
    evaluator = trained.evaluator(dev, workers, settings.decode, stage) if dev is not None else None

    def watch(step: Iteration, weights: Floats) -> bool:
        nonlocal best, last, impatient
        step = _moved_on(before, step)
        if evaluator is not None:
            score = evaluator(objective.weights_of(weights))
            step, last = step._replace(dev=score), score
            if best is None or score > best[0]:
                best = (score, step.iteration, weights.copy())
            impatient = settings.patience is not None and step.iteration - best[1] >= settings.patience
        if on_iteration is not None:
            on_iteration(step)
        return impatient or (should_stop is not None and should_stop())

    minimise = OPTIMIZERS[settings.optimizer.method]
    point = objective.start(start).copy()
    if isinstance(objective, SeparableObjective):
        outcome = minimise_apart(minimise, objective, point, settings.optimizer, watch)
    elif objective.pause is None:
        outcome = minimise(objective, point, settings.optimizer, watch)
    else:
        outcome = _in_two_parts(minimise, objective, point, settings.optimizer, watch, objective.pause)
    if settings.patience is not None and best is not None and not (outcome.converged and last >= best[0]):
        why = f"no better dev score for {settings.patience} iterations" if impatient else outcome.reason
        outcome = _with_weights(outcome, best[2], objective, f"{why}; weights of iteration {best[1]} kept")
        outcome = replace(outcome, path=outcome.path[: best[1]])
    done, spent = (before.iteration, before.seconds) if before is not None else (0, 0.0)
    return replace(
        outcome,
        weights=objective.weights_of(outcome.weights),
        iterations=done + outcome.iterations,
        seconds=spent + outcome.seconds,
    )


def _with_weights(outcome: Outcome, weights: Floats, objective: Criterion, reason: str) -> Outcome:
    """The outcome with the weights of an earlier iteration; as it is where it has just these."""
    if np.array_equal(weights, outcome.weights):
        return outcome
    value, gradient = objective.value_and_gradient(weights)
    return replace(
        outcome,
        weights=weights,
        objective=value,
        evaluations=outcome.evaluations + 1,
        converged=False,
        reason=reason,
        stalled=False,
        gradient_norm=float(np.linalg.norm(gradient)),
        gap=objective.gap(gradient),
        voters=None,  # they are of the whole way
    )


def _in_two_parts(
    minimise: Callable[..., Outcome],
    objective: Criterion,
    start: Floats,
    settings: MethodSettings,
    watch: Watch,
    pause: int,
) -> Outcome:
    """Minimises an objective that changes after `pause` iterations; they are counted through."""
    limit, is_stopped = getattr(settings, "max_iterations", pause), False

    def earlier(step: Iteration, weights: Floats) -> bool:
        nonlocal is_stopped
        is_stopped = watch(step, weights)
        return is_stopped

    first = minimise(objective, start, settings.model_copy(update={"max_iterations": min(pause, limit)}), earlier)
    if is_stopped or first.iterations >= limit:
        # what it may have converged to is not the objective that training was to end with
        return replace(first, converged=False, reason=f"{limit} iterations done") if first.converged else first
    objective.advance(first.weights)

    def later(step: Iteration, weights: Floats) -> bool:
        seconds = first.seconds + step.seconds
        return watch(step._replace(iteration=first.iterations + step.iteration, seconds=seconds), weights)

    rest = settings.model_copy(update={"max_iterations": limit - first.iterations})
    second = minimise(objective, first.weights, rest, later)
    return replace(
        second,
        iterations=first.iterations + second.iterations,
        evaluations=first.evaluations + second.evaluations,
        seconds=first.seconds + second.seconds,
    )


def _known_values(spec: ModelSpec, corpus: Corpus) -> dict[str, frozenset[str]]:
    """The training values of every column that an `oov_accuracy(label, column)` metric asks about."""
    columns = {plain(call.arguments[1].value) for call in spec.evaluate if call.name == "oov_accuracy"}
    return {str(name): frozenset(corpus.text_column(str(name)).values) for name in columns}
