"""`dcrfdsl train`: trains a template on a corpus and writes a model file."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..foundation import DcrfError, Diagnostic, json_text, shell_word
from . import command_files, report
from .console import Interruption, Talk, lost_output, print_diagnostics
from .inference_notes import earlier_notes, training_notes
from .options import with_options
from .training_options import (
    TrainOptions,
    bounds_of,
    forget_parts,
    machines,
    opened_parts,
    refuse_unusable,
    require_restarts,
    tuned,
)

if TYPE_CHECKING:
    from ..data import Corpus
    from ..features import RegisteredFeature
    from ..model import TrainedModel
    from ..semantics import Resolved
    from ..training import CorpusParts, Iteration
    from .training_progress import TrainingProgress


@with_options(TrainOptions)
def train(options: TrainOptions) -> None:
    """Train a model on labelled data. The first Ctrl-C (or SIGTERM, SIGHUP) stops early and saves what there is, the
    second stops at once."""
    refuse_unusable(options)
    try:
        _train(options)
    except (DcrfError, KeyboardInterrupt):
        if not options.checkpoint_path.exists():  # there is nothing to go on from
            forget_parts(options)
        raise


def _train(options: TrainOptions) -> None:
    from .training_progress import progress_for

    talk, checkpoint = Talk(options.quiet), options.checkpoint_path
    with Interruption(talk) as interruption, machines(options) as cluster:
        if not options.resume and not options.tune and checkpoint.exists():
            talk(f"`{checkpoint}` is of a training that was broken off; `--resume` goes on from it")
        job = _read(options, cluster, talk)
        interruption.training()
        if options.tune and job.dev is not None:
            model, lost = _tuned(job, job.dev, talk, interruption.requested)
        else:
            progress = progress_for(as_json=options.as_json, quiet=options.quiet)
            model, lost = _fitted(job, progress, interruption.requested)
        from ..training import remove_checkpoint, with_remarks, write_curve

        is_stopped = interruption.requested()
        interruption.saving()
        warnings = [remark for remark in job.remarks if remark.severity == "warning"]
        _save(with_remarks(model, warnings), options.output)
        if not is_stopped and not options.tune:
            remove_checkpoint(checkpoint)
            forget_parts(options)
        if options.curve is not None and (options.tune or options.resume):
            write_curve(options.curve, model.record)
    _conclude(model, options, talk, lost, None if options.tune else job.dev)
    if is_stopped and checkpoint.exists():
        talk("or go on with the training: the same command with --resume")
    if lost:  # the model is saved; the exit code says that not all is there
        raise DcrfError(lost)


class _Job(NamedTuple):
    """The inputs that the command line names, read and checked. remarks: the warnings and notes of the checker."""

    options: TrainOptions
    resolved: Resolved
    registered: Mapping[str, RegisteredFeature]
    corpus: Corpus | CorpusParts | None
    dev: Corpus | None
    unlabelled: Corpus | None
    start: TrainedModel | None
    remarks: Sequence[Diagnostic]


def _read(options: TrainOptions, cluster: Any, talk: Talk) -> _Job:
    """Reads the inputs. The template is checked before the data is read, and again with the data."""
    from ..semantics import check_or_raise, tuned_ranges

    registered = command_files.read_features(options.features)
    first = options.data[0] if options.data else None
    resolved = command_files.resolved_template(options.template, options.set_, options.stage, first)
    command_files.refuse_clash(options.outputs, command_files.files_of_template(resolved))
    check_or_raise(resolved, stage=options.stage, registered=registered)
    if options.tune:
        tuned_ranges(resolved, stage=options.stage, registered=registered)  # refuses what cannot be searched
    elif options.jobs is not None and options.jobs > 1:
        require_restarts(resolved.spec, options.stage, in_parts=options.in_parts)
    from .inference_notes import announce_compiling

    announce_compiling(talk)
    corpus: Corpus | CorpusParts | None = None
    if options.in_parts:
        corpus = opened_parts(options, resolved, cluster, talk)
    elif options.data is not None:
        corpus = command_files.read_gold(options.data[0], resolved.spec, talk, trains=True)
    remarks = check_or_raise(resolved, stage=options.stage, registered=registered, corpus=corpus)
    if remarks and not options.quiet:
        print_diagnostics(remarks)
        talk()
    dev = None if options.dev is None else command_files.read_gold(options.dev, resolved.spec, talk)
    unlabelled = (
        None if options.unlabelled is None else command_files.read_sample(options.unlabelled, resolved.spec, talk)
    )
    start = None if options.start is None else command_files.load_model(options.start, registered)
    return _Job(options, resolved, registered, corpus, dev, unlabelled, start, remarks)


def _save(model: TrainedModel, output: Path) -> None:
    """Saves the model to `output`, or in the directory of temporary files if `output` has become unusable."""
    try:
        model.save(output)
    except DcrfError as error:
        refuge = Path(tempfile.gettempdir()) / f"{output.name}-{secrets.token_hex(4)}"
        try:
            model.save(refuge)
        except DcrfError:
            raise error from None
        (diagnostic, *_) = error.diagnostics
        raise DcrfError(
            replace(diagnostic, help=f"the model has been saved as `{refuge}`: move it from there")
        ) from None


def _tuned(
    job: _Job, dev: Corpus, talk: Talk, should_stop: Callable[[], bool]
) -> tuple[TrainedModel, list[Diagnostic]]:
    """The model of the best trial, and what of the output is lost."""
    from ..training import TRIALS, ConstantSearch, CorpusParts, Goal, SearchPlan, TrialData

    options = job.options
    assert not isinstance(job.corpus, CorpusParts)  # they were refused before
    goal = Goal(options.best, bounds_of(options.at_least or ()))
    data = TrialData(job.resolved, job.corpus, dev, options.stage, options.threads, job.registered, goal)
    constants = ConstantSearch(data, should_stop=should_stop)
    plan = SearchPlan(options.search or "grid", options.trials or TRIALS, options.seed or 0, options.jobs or 1)
    return tuned(constants, plan, talk, as_json=options.as_json)


def _fitted(
    job: _Job, progress: TrainingProgress, should_stop: Callable[[], bool]
) -> tuple[TrainedModel, list[Diagnostic]]:
    """The trained model, and what of the output is lost."""
    from ..training import Checkpoint, CurveWriter, Observers, TrainingLog, TrainingRequest, train_model
    from .training_progress import aim

    options = job.options
    aim(progress, job.resolved.spec, options.stage)
    is_file = options.output.is_file() or not options.output.exists()
    checkpoint = Checkpoint(options.checkpoint_path, options.checkpoint, options.resume, keep=True)
    with ExitStack() as stack:
        stack.enter_context(progress)
        writer = None if options.curve is None else stack.enter_context(CurveWriter(options.curve))
        log = None
        if options.log is not None:
            log = stack.enter_context(TrainingLog(options.log, append=options.resume))

        def heed(step: Iteration) -> None:
            if writer is not None:
                writer.add(step)
            progress(step)

        remark = None if options.quiet else lambda one: print_diagnostics([one])
        observers = Observers(heed, should_stop, None if writer is None else writer.begin, log=log, on_remark=remark)
        asked = TrainingRequest(
            options.stage, job.start, job.dev, options.threads, job.registered, observers,
            checkpoint if is_file else None, jobs=options.jobs or 1, unlabelled=job.unlabelled,
        )  # fmt: skip
        model = train_model(job.resolved, job.corpus, asked)
    lost = lost_output(progress.failure if options.as_json else None)
    for what, path, file in (("learning curve", options.curve, writer), ("log", options.log, log)):
        if file is not None and file.failure is not None:
            note = f"the {what} in `{path}` ends early: {(file.failure.strerror or '').lower()}"
            lost.append(Diagnostic("file-error", note))
            model = model.with_record(replace(model.record, notes=(*model.record.notes, note)))
    return model, lost


def _conclude(
    model: TrainedModel, options: TrainOptions, talk: Talk, lost: Sequence[Diagnostic], dev: Corpus | None
) -> None:
    """Prints the last line of `--json`, how training ended, and the next command to type.

    lost: of the output, which is said at the end.   dev: on which a model without weights is scored here.
    """
    record, output = model.record, options.output
    scored = None
    if dev is not None and not record.stage:
        scored = model.scores.first_score(dev, threads=options.threads)
    if options.as_json:
        summary = {
            "weights": model.num_weights,
            **({"objective": record.objective} if record.stage else {}),
            "iterations": record.iterations,
            "converged": record.converged,
            "seconds": record.seconds,
            "peak_mb": round(report.peak_mb(), 1),
            "stage": record.stage,
            "model": str(output),
        }
        if scored is not None:
            summary["metric"], summary["dev"] = scored
        if record.calibration is not None:
            summary["temperature"] = record.calibration.temperature
        if record.tuning:
            summary["tuned"] = record.tuning["values"]
        print(json_text(summary), flush=True)
    for note in (*earlier_notes(model, options.stage), *record.notes):
        if note not in {one.message for one in lost}:
            talk(note if note.startswith("note: ") else f"warning: {note}")
    if scored is not None:
        talk(f"dev {scored[0]} {report.share_text(scored[1])}")
    if record.rounds:
        added = sum(round_.weights for round_ in record.rounds)
        crosses = sum(round_.conjunctions for round_ in record.rounds)
        talk(f"{len(record.rounds)} rounds of induction: {added:,} weights of {crosses:,} crosses of features")
    if record.stage:
        how = "converged" if record.converged else f"not converged ({record.reason})"
        talk(
            f"{how} after {record.iterations} iterations in {report.duration(record.seconds)}: "
            f"{record.end}, {model.num_weights:,} weights"
        )
    for note in training_notes(model):
        talk(note)
    name = shell_word(output)
    talk(f"{output} written ({report.file_size(output)}); next:")
    talk(f"  dcrfdsl tag {name} FILE")
    talk(f"  dcrfdsl eval {name} FILE")
