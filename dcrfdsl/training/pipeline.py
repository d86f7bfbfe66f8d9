"""`fit`: the pipeline from a specification and data to a trained model, as one function that reads top to bottom.

    data -> assembly (states, gold, features, graph) -> weights -> stage after stage -> model
    stage:  features that it adds -> criterion <-> optimizer -> weights and record

The stages that have ended, and the one that runs, are layers of a checkpoint (`StageRuns`). Not here: the steps
themselves, the file of a checkpoint (`checkpoints`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np

from ..criteria import TrainingProblem, counting_problem
from ..data import Corpus, raise_if_any
from ..foundation import (
    CORPUS,
    DcrfError,
    Diagnostic,
    IncompatibleState,
    data_error,
    dataclass,
    give_back_memory,
    in_a_line,
    recalled,
    require_kind,
    warn_of,
)
from ..graph import Gold, join_parameters, placed_counts
from ..inference import Workers, resolve_decode_rule
from ..model import InductionRound, StartRecord, TrainedModel, TrainingRecord, impossible_gold
from ..optimizers import Iteration as Iteration, NotNow, RunState, Voters
from ..semantics import (
    InduceSettings,
    ModelSpec,
    Resolved,
    TrainSettings,
    guiding_stages,
    learns,
    stage_chain,
    stage_settings,
)
from .carried_weights import carried_weights
from .checking import AnyTemplate, Registered, as_resolved, checker_warnings, require_arguments
from .checkpoints import Checkpoint, Checkpointing, fingerprint_of
from .induction import with_induced_features
from .parts import CorpusParts, joined_corpora, refuse_unsummed_stages, untrained_on_parts
from .restarts import best_of_restarts, refuse_not_finite
from .size_limits import naming_statements
from .stage import LOGGER, Observers, Stage
from .stage_notes import diagnostics_of
from .support_vectors import with_candidate_vectors, with_support_vectors_only
from .training_logs import TrainingLog
from .untrained_model import (
    UntrainedModel,
    assemble,
    corpus_without_tokens,
    known_columns,
    refuse_undecodable,
)


class StageRuns:
    """The stages of a training in order, which go on from what `state` has saved, if anything."""

    def __init__(self, state: RunState):
        self._state = state
        saved = state.take("stages") or {"done": [], "curve": []}
        self._saved_done: list[dict[str, Any]] = saved["done"]
        self._saved_curve = [Iteration(*step) for step in saved["curve"]]
        self._done: list[dict[str, Any]] = []
        self._is_ready = False  # whether all that the present run needs is there, so that it could go on from here

    def is_done(self, number: int) -> bool:
        """Whether stage `number` had ended at the checkpoint."""
        return number < len(self._saved_done)

    def model_after(self, number: int, model: TrainedModel) -> TrainedModel:
        """The model as it was after stage `number`, from `model`, as it was before."""
        saved = self._saved_done[number]
        self._done.append(saved)
        voters = None if saved["voters"] is None else Voters.restore(saved["voters"], model.num_weights)
        weights = recalled(saved, "weights", model.num_weights)
        return model.with_weights(weights, TrainingRecord.restore(saved["record"]), voters)

    def begin(self, number: int, stage: Stage) -> RunState:
        """Stage `number` begins, and goes on from what is returned, if the checkpoint was within it."""
        self._is_ready = False
        if self.is_done(number):  # it runs again, for what later stages need of it
            return RunState()

        def remember() -> dict[str, Any]:
            if not self._is_ready:
                raise NotNow
            return {"done": self._done, "curve": [list(step) for step in stage.curve]}

        self._state.keep("stages", remember)
        return self._state.below("stage")

    def restore_curve(self, number: int, stage: Stage) -> None:
        """To be called when the run of stage `number` begins, after the stage has added its features."""
        if self._saved_curve and number == len(self._saved_done):
            stage.curve[:] = self._saved_curve
        self._is_ready = True

    def add(self, number: int, model: TrainedModel) -> None:
        """Stage `number` has ended with this model."""
        voters = None if model.voters is None else model.voters.arrays()
        self._done.append({"weights": model.weights, "record": asdict(model.record), "voters": voters})


@dataclass(frozen=True)
class TrainingRequest:
    """What is asked of a training beside the template and the data; see `fit`.

    warns: whether it gives out warnings, which are in the record in any case.   jobs: restarts that run at once, in
    processes that share the threads.
    """

    stage: str | None = None
    start: TrainedModel | None = None
    dev: Corpus | None = None
    threads: int | None = None
    registered: Registered | None = None
    observers: Observers = field(default_factory=Observers)
    checkpoint: Checkpoint | None = None
    warns: bool = False
    jobs: int = 1
    unlabelled: Corpus | None = None


def fit(
    model: AnyTemplate,
    corpus: Corpus | CorpusParts | None = None,
    *,
    stage: str | None = None,
    start: TrainedModel | None = None,
    dev: Corpus | None = None,
    unlabelled: Corpus | None = None,
    threads: int | None = None,
    registered: Registered | None = None,
    on_iteration: Callable[[Iteration], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    log: TrainingLog | None = None,
    unchecked: bool = False,
) -> TrainedModel:
    """Trains a model on gold data.

    model: a resolved template, its path, a `Template`, or a specification (paths in it are then relative to the working
        directory).
    corpus: gold data, as `read_corpus` gives it, or in parts on disk, as `open_parts` does. A template that learns
        nothing, since each of its cliques has nothing but `offset(COLUMN)`, needs none.
    stage: the training stage to run with its `after` chain; by default the last one.
    start: a model to start from. Weights of the same clique, feature and states are taken over, the others begin at 0.
        A prior with `mean = model` keeps weights near them.
    dev: held-out data that is scored after each iteration, and calibrates probabilities where the criterion gives none.
    unlabelled: data whose shares the template's `expect` statements are about; labels in it are not read. Without it
        they are about the corpus.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
    registered: the feature functions of yours that the template calls, by name: `{f.name: f}`.
    on_iteration: called after each iteration with its `objective`, `gradient_norm`, `seconds`, `dev` …
    should_stop: polled then; True ends training with the current weights.
    checkpoint: a `Checkpoint`: where training saves what it needs to go on after a break, and whether it goes on now.
    log: a `TrainingLog`, to which each event is written as a line of JSON.
    unchecked: skips the checker, for callers that have run it.

    Returns a `TrainedModel`. Deterministic: the same data, settings and seed give the same weights for any number of
    threads. Raises DcrfError with everything that the checker finds wrong with the model, where the data does not fit
    it, or where the weights become infinite. Each warning of the checker is a `DcrfWarning`, and a note in the record.

    >>> model = fit("address.dcrf", corpus)
    >>> model.record.converged
    True
    """
    resolved = Resolved(model) if unchecked and isinstance(model, ModelSpec) else as_resolved(model)
    require_arguments(corpus, stage, dev, registered, on_iteration=on_iteration, should_stop=should_stop)
    require_kind(start, (TrainedModel, type(None)), "start", "a model, as `fit` and `load` return it")
    require_kind(
        checkpoint, (Checkpoint, type(None)), "checkpoint", "a Checkpoint, as in `Checkpoint('my.checkpoint')`"
    )
    require_kind(unlabelled, (Corpus, type(None)), "unlabelled", CORPUS)
    require_kind(log, (TrainingLog, type(None)), "log", "a TrainingLog, as in `TrainingLog('log.jsonl')`")
    if corpus is not None:
        require_tokens(corpus)
    remarks: Sequence[Diagnostic] = (
        () if unchecked else checker_warnings(resolved, corpus, stage=stage, registered=registered)
    )
    warn_of(remarks, depth=2)
    observers = Observers(on_iteration, should_stop, log=log, on_remark=lambda one: warn_of([one], depth=1))
    asked = TrainingRequest(
        stage, start, dev, threads, registered, observers, checkpoint, warns=not unchecked, unlabelled=unlabelled
    )  # fmt: skip
    return train_model(resolved, corpus, asked, remarks)


def train_model(
    resolved: Resolved, corpus: Corpus | CorpusParts | None, asked: TrainingRequest, remarks: Sequence[Diagnostic] = ()
) -> TrainedModel:
    """Trains a model whose template has been checked. remarks: warnings of the checker, for the record."""
    spec = resolved.require(unchecked=True)
    if corpus is None:
        corpus = corpus_without_tokens(spec, resolved.directories)
    else:
        require_tokens(corpus)
    chain = [(entry.label, stage_settings(spec, entry.label)) for entry in stage_chain(spec, asked.stage)]
    workers = Workers(asked.threads)
    give_back_memory()  # of reading
    with naming_statements(resolved.spec, None):
        trained, problem = _begun(resolved, spec, corpus, asked, workers)
    refuse_undecodable(spec, trained.states, trained.graph, asked.stage)
    if not any(map(learns, spec.cliques)):
        if asked.start is not None:
            message = "the template has no weights, so a model to start from changes nothing"
            raise data_error("idle-start", message, help="train without it")
        return with_remarks(trained.with_record(TrainingRecord.of_nothing(corpus)), remarks)
    started: StartRecord | None = None
    if asked.start is not None:
        weights, started = carried_weights(asked.start, trained)
        trained, problem = trained.with_weights(weights, trained.record), replace(problem, start=weights)
    if asked.dev is not None:
        idle = trained.scores.empty_metrics(asked.dev)
        warn_of(idle if asked.warns else [], depth=3)
        remarks = (*remarks, *idle)
    saving = None
    if asked.checkpoint is not None:
        labels = [label for label, _ in chain]
        fingerprint = fingerprint_of(spec, labels, corpus, asked.dev, asked.start, trained, problem, asked.unlabelled)
        saving = Checkpointing(asked.checkpoint, fingerprint)
        asked = replace(asked, observers=replace(asked.observers, after_iteration=saving.after_iteration))
    if asked.observers.log is not None:
        asked.observers.log.begin(spec, chain, corpus, asked.dev, asked.start, workers)
    try:
        with naming_statements(resolved.spec, trained.states):
            trained = _run_stages(trained, problem, chain, corpus, asked, saving)
    except IncompatibleState as error:
        if saving is None:
            raise
        raise saving.refusal(error) from None
    trained = with_remarks(
        trained.with_record(replace(trained.record, start=started, sweeps=problem.graph.sweeps)), remarks
    )
    if saving is not None:
        saving.end()
        if saving.failure is not None:
            note = f"no checkpoint could be written: {saving.failure}"
            trained = trained.with_record(replace(trained.record, notes=(*trained.record.notes, note)))
    trained = trained if asked.dev is None else with_probabilities(trained, asked.dev, asked.threads)
    if asked.observers.log is not None:
        asked.observers.log.end(trained)
    return trained


def require_tokens(corpus: Corpus | CorpusParts) -> None:
    """DcrfError if there is nothing to train on."""
    if corpus.num_tokens == 0:
        message = "there is nothing to train on: the data has no token"
        raise data_error("empty-file", message, file=corpus.file)


def _run_stages(
    trained: TrainedModel,
    problem: TrainingProblem,
    chain: Sequence[tuple[str, TrainSettings]],
    corpus: Corpus | CorpusParts,
    asked: TrainingRequest,
    saving: Checkpointing | None,
) -> TrainedModel:
    """The model after all stages of a chain, each of which begins with the weights of the one before."""
    runs = StageRuns(RunState() if saving is None else saving.state)
    for number, (label, settings) in enumerate(chain):
        settings = settings.model_copy(update={"decode": resolve_decode_rule(trained.spec, trained.graph, label)})
        begun = replace(problem, stage=label, weights=trained.weights)
        continues = asked.start is not None and number == 0
        running = Stage(trained, begun, settings, asked.dev, asked.observers, continues=continues)
        if runs.is_done(number) and running.can_be_skipped:
            trained = runs.model_after(number, trained)
        else:
            if saving is not None:
                saving.is_suspended = runs.is_done(number)
            trained, problem = _after(running, corpus, runs, number, asked.jobs)
            runs.add(number, trained)
        problem = replace(problem, earlier={**problem.earlier, label: trained.weights})
        pruning = [stage for stage in guiding_stages(trained.spec) if stage in problem.earlier]
        trained = replace(trained, guides={stage: problem.earlier[stage] for stage in pruning} or trained.guides)
    return trained


def _begun(
    resolved: Resolved, spec: ModelSpec, corpus: Corpus | CorpusParts, asked: TrainingRequest, workers: Workers
) -> tuple[TrainedModel, TrainingProblem]:
    """The model with all weights 0, and its training data."""
    directories, registered = resolved.directories, asked.registered or {}
    _refuse_unlabelled(spec, corpus, asked.unlabelled)
    if isinstance(corpus, CorpusParts):
        refuse_unsummed_stages(spec, asked.stage)
        return untrained_on_parts(spec, corpus, directories, registered, workers)
    begun = assemble(
        spec, corpus, directories, registered, workers, remark=asked.observers.on_remark,
        observed=None if asked.unlabelled is None else joined_corpora([corpus, asked.unlabelled]),
    )  # fmt: skip
    spec, states, extractor = begun.spec, begun.states, begun.extractor
    problem = begun.problem(workers, asked.stage)
    known = {name: frozenset(corpus.text_column(name).values) for name in known_columns(spec)}
    problem = _with_shares(problem, begun, asked.unlabelled)
    graph, parameters, nothing = problem.graph, problem.parameters, np.zeros(problem.parameters.num_weights)
    return TrainedModel(spec, states, extractor, known, graph, parameters, nothing, TrainingRecord()), problem


def _refuse_unlabelled(spec: ModelSpec, corpus: Corpus | CorpusParts, unlabelled: Corpus | None) -> None:
    """DcrfError where unlabelled data would change nothing, or stands beside data in parts."""
    if isinstance(corpus, CorpusParts) and unlabelled is not None:
        remedy = "put its sentences into the data, with labels that are missing"
        raise data_error("no-sum-over-parts", "unlabelled data cannot stand beside data in parts", help=remedy)
    if unlabelled is not None and not spec.expectations:
        remedy = "add a statement such as `expect LABEL is not O with least = 0.1, most = 0.2`, or leave the data out"
        raise data_error(
            "cannot-expect", "unlabelled data changes nothing, as the template has no `expect`", help=remedy
        )


def _with_shares(problem: TrainingProblem, begun: UntrainedModel, unlabelled: Corpus | None) -> TrainingProblem:
    """The problem with the data whose shares its template expects.

    Unlabelled data counts as sentences without a known label: its features have a weight with every possible state.
    """
    if not problem.spec.expectations:
        return problem
    if unlabelled is None:
        return replace(problem, counting=counting_problem(problem, begun.corpus, begun.rows, begun.relations))
    rows, relations = begun.extractor.everything(unlabelled, [template.reads for template in begun.graph.coded])
    variables = len(begun.graph.variables)
    unknown = Gold(np.full((variables, unlabelled.num_tokens), -1, np.int32), ((),) * variables)
    own, _ = replace(begun, corpus=unlabelled, rows=rows, relations=relations, gold=unknown).learn_parameters()
    joined = join_parameters(problem.parameters, own)
    problem = replace(problem, parameters=joined, counts=placed_counts(joined, problem.parameters, problem.counts))
    return replace(problem, counting=counting_problem(problem, unlabelled, rows, relations))


def _after(
    stage: Stage, corpus: Corpus | CorpusParts, runs: StageRuns, number: int, jobs: int
) -> tuple[TrainedModel, TrainingProblem]:
    """Runs a stage: the trained model, and the training data with any new features, for later stages."""
    LOGGER.info("stage %s begins: %d weights", stage.label, stage.model.num_weights)
    if stage.observers.on_stage is not None:
        stage.observers.on_stage(stage.label)
    if stage.observers.log is not None:
        stage.observers.log.stage(stage.label, stage.model.num_weights)
    state = runs.begin(number, stage)
    rounds: Sequence[InductionRound] = ()
    if isinstance(stage.settings.criterion, InduceSettings):
        stage, rounds = with_induced_features(stage, stage.settings.criterion)
    problem = stage.problem
    if stage.settings.clique_kernels:
        stage = with_candidate_vectors(stage)
    stage = replace(stage, earlier=stage.last)
    runs.restore_curve(number, stage)
    objective = stage.objective()
    if isinstance(corpus, Corpus):
        raise_if_any(impossible_gold(corpus, objective.contradictions()))
    outcome = best_of_restarts(stage, objective, state, jobs if isinstance(corpus, Corpus) else 1)
    try:
        refuse_not_finite(stage, outcome)
        notes = diagnostics_of(stage, objective, outcome)
    finally:
        objective.close()
    inference, earlier = objective.inference_description, stage.model.record
    record = TrainingRecord.of(
        stage.label, stage.settings, outcome, corpus, inference, notes, earlier, stage.curve, rounds
    )
    LOGGER.info("stage %s ends after %d iterations: %s", stage.label, outcome.iterations, outcome.reason)
    model = stage.model.with_weights(outcome.weights, record, outcome.voters)
    return with_support_vectors_only(model) if stage.settings.clique_kernels else model, problem


def with_remarks(trained: TrainedModel, remarks: Sequence[Diagnostic]) -> TrainedModel:
    """The model with the checker's warnings before the other notes of its record."""
    if not remarks:
        return trained
    notes = (*map(in_a_line, remarks), *trained.record.notes)
    return trained.with_record(replace(trained.record, notes=notes))


def with_probabilities(trained: TrainedModel, dev: Corpus, threads: int | None = None) -> TrainedModel:
    """The model with probabilities calibrated on held-out data, if its criterion needs it and it has not been done."""
    if not trained.is_margin or trained.record.calibration is not None:
        return trained
    try:
        return trained.calibration.calibrated(dev, threads=threads)
    except DcrfError as error:
        notes = (*trained.record.notes, *(diagnostic.message for diagnostic in error.diagnostics))
        return trained.with_record(replace(trained.record, notes=notes))
