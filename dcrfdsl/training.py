"""`fit`: the pipeline from a specification and data to a trained model, as one function that reads top to bottom.

    data -> states, gold -> features (alphabet locks) -> graph, weights -> wiring -> criterion <-> optimizer -> model

Not here: any of the steps. This file says in which order they come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .criteria import CRITERIA, Likelihood, weight_precisions
from .data.corpus import Corpus
from .data.labels import check_gold, encode_labels, learn_states, raise_if_any
from .errors import DcrfError, Diagnostic
from .features.extract import FeatureExtractor
from .features.lexicons import load_lexicons
from .features.registered import RegisteredFeature
from .graph import ModelGraph, clique_templates, learn_parameters
from .graph.parameters import broken_instances
from .inference import METHODS, Binder, Workers, choose_method
from .model import TrainedModel, TrainingRecord
from .optimizers import OPTIMIZERS, Iteration, Outcome
from .spec.model import ModelSpec, plain
from .spec.resolve import Resolved
from .spec.settings import MethodSettings, TrainSettings
from .spec.values import inference_settings, stage_chain, stage_settings

__all__ = ["Iteration", "broken_constraints", "fit"]

Floats = NDArray[np.float64]


def fit(
    model: Resolved | ModelSpec,
    corpus: Corpus,
    *,
    stage: str | None = None,
    dev: Corpus | None = None,
    threads: int | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> TrainedModel:
    """Trains a model on gold data.

    model: a resolved template, or a specification (its file paths are then relative to the working directory).
    stage: the training stage to run with its `after` chain; by default the last one.
    dev: held-out data that is scored after each iteration.   threads: default `DCRFDSL_THREADS`, else all cores.
    on_iteration: called after each iteration.   should_stop: polled then; True ends training with the weights at hand.

    Deterministic: the same data, settings and seed give the same weights for any number of threads. Raises DcrfError
    where the data does not fit the model.
    """
    spec = model.require() if isinstance(model, Resolved) else model
    directories: Mapping[str, Path] = model.directories if isinstance(model, Resolved) else {}
    if corpus.num_tokens == 0:
        raise DcrfError(
            Diagnostic("empty-data", "there is nothing to train on: the data has no token", location=corpus.file)
        )
    chain = [(entry.label, stage_settings(spec, entry.label)) for entry in stage_chain(spec, stage)]

    states = learn_states(spec, corpus, directories)
    gold = encode_labels(spec, states, corpus)
    raise_if_any(check_gold(spec, states, corpus, gold))

    lexicons = load_lexicons(spec, directories)
    extractor, rows = FeatureExtractor.learn(spec, corpus, resources=lexicons, registered=registered)
    relations = extractor.relations(corpus)

    templates = clique_templates(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
    graph = ModelGraph(tuple(states), tuple(len(s) for s in states.values()), templates)
    raise_if_any(broken_constraints(graph, corpus, gold.codes))
    parameters, counts = learn_parameters(
        spec.cliques, graph, rows, [s.num_features for s in extractor.sets], gold.codes, corpus.sentence_off, relations
    )

    workers = Workers(threads)
    weights = np.zeros(parameters.num_weights)
    trained = TrainedModel(
        spec, states, extractor, _known_values(spec, corpus), graph, parameters, weights, TrainingRecord()
    )
    for label, settings in chain:
        method_name, method_settings = choose_method(graph, settings.infer or inference_settings(spec))
        entry = METHODS[method_name]
        data = Binder(graph, parameters, programs=entry.programs).bind(rows, corpus.sentence_off, relations)
        objective = CRITERIA[settings.criterion.method](
            data,
            entry.build(data, method_settings),
            counts,
            weight_precisions(settings, spec.cliques, parameters),
            workers,
        )
        trained, outcome = _run_stage(trained, label, settings, objective, dev, workers, on_iteration, should_stop)
        record = TrainingRecord.of(
            label,
            settings,
            outcome,
            corpus,
            method_name,
            _notes(objective, method_name, method_settings, outcome),
            trained.record,
        )
        trained = trained.with_weights(outcome.weights, record)
    return trained


def _run_stage(
    trained: TrainedModel,
    label: str,
    settings: TrainSettings,
    objective: Likelihood,
    dev: Corpus | None,
    workers: Workers,
    on_iteration: Callable[[Iteration], None] | None,
    should_stop: Callable[[], bool] | None,
) -> tuple[TrainedModel, Outcome]:
    """One stage from the weights at hand; with `patience` the weights of the best dev score are kept."""
    best: tuple[float, int, Floats] | None = None
    evaluator = trained.evaluator(dev, workers, settings.decode) if dev is not None else None

    def watch(step: Iteration, weights: Floats) -> bool:
        nonlocal best
        stop = False
        if evaluator is not None:
            score = evaluator(weights)
            step = step._replace(dev=score)
            if best is None or score > best[0]:
                best = (score, step.iteration, weights.copy())
            stop = settings.patience is not None and step.iteration - best[1] >= settings.patience
        if on_iteration is not None:
            on_iteration(step)
        return stop or (should_stop is not None and should_stop())

    minimise = OPTIMIZERS[settings.optimizer.method]
    outcome = minimise(objective, trained.weights.copy(), settings.optimizer, watch)
    if settings.patience is not None and best is not None and best[1] < outcome.iterations and not outcome.converged:
        value, _ = objective.value_and_gradient(best[2])
        reason = f"no better dev score for {settings.patience} iterations; weights of iteration {best[1]} kept"
        outcome = Outcome(best[2], value, outcome.iterations, outcome.evaluations + 1, False, outcome.seconds, reason)
    return trained, outcome


def _known_values(spec: ModelSpec, corpus: Corpus) -> dict[str, frozenset[str]]:
    """The training values of every column that an `oov_accuracy(label, column)` metric asks about."""
    columns = {plain(call.arguments[1].value) for call in spec.evaluate if call.name == "oov_accuracy"}
    return {str(name): frozenset(corpus.text_column(str(name)).values) for name in columns}


def broken_constraints(graph: ModelGraph, corpus: Corpus, gold: NDArray[np.int32]) -> list[Diagnostic]:
    """Gold instances that a `forbid` or `require` gives probability zero."""
    found = []
    for template in graph.templates:
        tokens = broken_instances(template, gold, corpus.sentence_off)
        if len(tokens):
            lines = ", ".join(str(corpus.token_line[n]) for n in tokens[:5])
            more = f" and {len(tokens) - 5} more" if len(tokens) > 5 else ""
            sites = ", ".join(graph.labels[v] for v in dict.fromkeys(template.variables))
            found.append(
                Diagnostic(
                    "broken-constraint",
                    f"the gold labels of {sites} break a constraint at "
                    f"line{'s' if len(tokens) > 1 else ''} {lines}{more}",
                    location=f"{corpus.file}:{corpus.token_line[tokens[0]]}",
                    help="correct the data, or relax the `forbid` or `require` that rules these labels out",
                )
            )
    return found


def _notes(objective: Likelihood, method: str, settings: MethodSettings, outcome: Outcome) -> Sequence[str]:
    """What a user should know about inference during training, said once with its numbers."""
    status, notes = objective.total_status, []
    begun, ended = getattr(settings, "tolerance", None), getattr(objective.method, "tolerance", None)
    if ended is not None and ended != begun:
        notes.append(
            f"the tolerance of `{method}` was tightened from {begun:g} to {ended:g} during training, "
            "since the objective was not exact enough for the line search"
        )
    if outcome.stalled and status.approximate:
        notes.append(
            f"training ended where no better point could be found; `{method}` may have several fixed points here, and "
            "its objective then jumps. Try `infer exact` if `check` says that it fits, or a prior with less variance"
        )
    if status.not_converged:
        share = 100.0 * status.not_converged / status.graphs
        notes.append(
            f"`{method}` did not converge on {status.not_converged:,} of {status.graphs:,} graphs ({share:.2g} %) "
            f"over all evaluations; the largest change left was {status.residual:.2g}. "
            "Try `damping = 0.5`, more `max_iterations`, or `infer exact` if `check` says that it fits"
        )
    if status.redone:
        notes.append(f"{status.redone:,} of {status.graphs:,} graphs were computed in log space (extreme potentials)")
    return notes
