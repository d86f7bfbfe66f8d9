"""`dcrfdsl train`: trains a template on a corpus and writes a model file."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from ..foundation import DcrfError, Diagnostic, json_text, shell_word
from .command_files import (
    STDIN,
    Output,
    files_of_template,
    load_model,
    read_features,
    read_gold,
    refuse_clash,
    refuse_foreign,
    resolved_template,
)
from .console import Interruption, Talk, lost_output, print_diagnostics
from .inference_notes import earlier_notes, training_notes
from .options import MOST_JOBS, Argument, Features, Json, Option, Quiet, SetPaths, StageName, Threads, with_options
from .training_options import (
    Jobs,
    PartOptions,
    Search,
    SearchSeed,
    Trials,
    Tune,
    check_ranges,
    opened_parts,
    plan_of,
    refuse_beside_tune,
    refuse_idle_options,
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


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The command line of `train`."""

    template: Annotated[str, Argument("TEMPLATE", help="Template file; - is stdin.")]
    data: Annotated[list[str], Argument("DATA...", help="Training data: files, or folders of files; - is stdin.")]
    output: Annotated[Path, Option("--output", "-o", metavar="MODEL", help="Write the model here.")]
    dev: Annotated[str | None, Option("--dev", metavar="DATA", help="Held-out data, scored as training goes on.")] = (
        None
    )
    start: Annotated[
        str | None, Option("--from", metavar="MODEL", help="Start from the weights of this model, where they fit.")
    ] = None
    resume: Annotated[bool, Option("--resume", help="Go on with the training that was broken off.")] = False
    checkpoint: Annotated[
        int, Option("--checkpoint", metavar="SECONDS", min=0, help="Save what --resume needs as often as this.")
    ] = 60
    memory: Annotated[
        str | None, Option("--memory", metavar="SIZE", help="Read the data in parts, and use no more memory: 2GB.")
    ] = None
    cache: Annotated[
        Path | None, Option("--cache", metavar="DIR", help="Keep the parts of the data here, for later trainings.")
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "--workers", metavar="N", min=1, max=MOST_JOBS, help="Train by N processes of this machine (needs dask)."
        ),
    ] = None
    cluster: Annotated[
        str | None, Option("--cluster", metavar="ADDRESS", help="Train by the workers of this Dask scheduler.")
    ] = None
    stage: StageName = None
    set_: SetPaths = None
    tune: Tune = False
    search: Search = None
    trials: Trials = None
    seed: SearchSeed = None
    jobs: Jobs = None
    curve: Annotated[
        Path | None, Option("--curve", metavar="FILE", help="Write learning curves here: .csv or .jsonl.")
    ] = None
    log: Annotated[
        Path | None, Option("--log", metavar="FILE", help="Write a line of JSON for each event of training here.")
    ] = None
    threads: Threads = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(TrainOptions)
def train(options: TrainOptions) -> None:
    """Train a model. The first Ctrl-C (or SIGTERM, SIGHUP) stops early and saves what there is, the second at once.

    \b
    Example:
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --set "train.prior=gaussian(variance=1)"
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --curve curve.csv
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --search random --trials 20 --jobs 2
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --resume
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --log log.jsonl
      dcrfdsl train chunk.dcrf train.txt more.txt -o chunk.model --memory 2GB --cache parts
      dcrfdsl train chunk.dcrf more.txt -o new.model --from chunk.model

    \b
    --curve writes a row an iteration: stage, start, iteration, objective, gradient_norm, seconds, dev, gap, metric.
    Empty are gradient_norm where there is no gradient, gap (of the duality) where no dual is solved, dev and its
    metric without --dev. --json leaves such keys out.
    They are written as training goes on; those of the best trial of --tune at the end.
    --log writes how training goes, for programs: a line at the beginning with data, settings and versions, one for each
    stage and iteration, and one at the end. With --resume they follow those that are there.
    --tune searches every constant that the template declares as `let NAME = V tune RANGE`, RANGE being log(a, b),
    linear(a, b) or among(V, ...). The model of the best trial is written; it was trained on DATA alone. A constant
    given by --set is not searched.
    While training goes on, a checkpoint lies beside the model as MODEL.checkpoint. If training was broken off, by
    Ctrl-C or worse, the same command with --resume goes on from there and ends with the same model.
    --from takes over each weight with the same clique, feature and states as a weight of the template; others begin at
    0. `prior = gaussian(mean = model)` keeps weights near them.
    """
    _refuse_unusable(options)
    try:
        _train(options)
    except (DcrfError, KeyboardInterrupt):
        if not _checkpoint_path(options).exists():  # there is nothing to go on from
            _part_options(options).forget()
        raise


def _train(options: TrainOptions) -> None:
    """Reads, trains and writes the model."""
    from .training_progress import progress_for

    talk, parts = Talk(options.quiet), _part_options(options)
    with Interruption(talk) as interruption, parts.machines(options.threads) as cluster:
        if not options.resume and not options.tune and _checkpoint_path(options).exists():
            talk(f"`{_checkpoint_path(options)}` is of a training that was broken off; `--resume` goes on from it")
        job = _read(options, cluster, talk)
        interruption.training()
        if options.tune and job.dev is not None:
            model, lost = _tuned(job, job.dev, talk, interruption.requested)
        else:
            progress = progress_for(as_json=options.as_json, quiet=options.quiet)
            model, lost = _fitted(job, progress, interruption.requested)
        is_stopped = interruption.requested()
        interruption.saving()
        _save(_noted(model, job.remarks), options.output)
        if not is_stopped and not options.tune:
            from ..training import remove_checkpoint

            remove_checkpoint(_checkpoint_path(options))
            parts.forget()
        if options.curve is not None and (options.tune or options.resume):
            from ..training import write_curve

            write_curve(options.curve, model.record)
    _conclude(model, options, talk, lost)
    if is_stopped and _checkpoint_path(options).exists():
        talk("or go on with the training: the same command with --resume")
    if lost:  # the model is saved; the exit code says that not all is there
        raise DcrfError(lost)


def _checkpoint_path(options: TrainOptions) -> Path:
    return Path(f"{options.output}.checkpoint")


def _part_options(options: TrainOptions) -> PartOptions:
    return PartOptions(options.data, options.output, options.memory, options.cache, options.workers, options.cluster)


class _Job(NamedTuple):
    """The inputs that the command line names, read and checked. remarks: the warnings and notes of the checker."""

    options: TrainOptions
    resolved: Resolved
    registered: Mapping[str, RegisteredFeature]
    corpus: Corpus | CorpusParts
    dev: Corpus | None
    start: TrainedModel | None
    remarks: Sequence[Diagnostic]


def _read(options: TrainOptions, cluster: Any, talk: Talk) -> _Job:
    """Reads the inputs. The template is checked before the data is read, and again with the data."""
    from ..semantics import check_or_raise

    registered = read_features(options.features)
    resolved = resolved_template(options.template, options.set_, options.stage, options.data[0])
    refuse_clash(_outputs(options), files_of_template(resolved))
    check_or_raise(resolved, stage=options.stage, registered=registered)
    if options.tune:
        check_ranges(resolved, options.stage, registered)
    elif options.jobs is not None and options.jobs > 1:
        require_restarts(resolved.spec, options.stage, in_parts=_part_options(options).are_wanted)
    from .inference_notes import announce_compiling

    announce_compiling(talk)
    corpus: Corpus | CorpusParts
    if (parts := _part_options(options)).are_wanted:
        corpus = opened_parts(parts, resolved, options.stage, cluster, talk)
    else:
        corpus = read_gold(options.data[0], resolved.spec, talk, trains=True)
    remarks = check_or_raise(resolved, stage=options.stage, registered=registered, corpus=corpus)
    if remarks and not options.quiet:
        print_diagnostics(remarks)
        talk()
    dev = None if options.dev is None else read_gold(options.dev, resolved.spec, talk)
    start = None
    if options.start is not None:
        start = load_model(options.start, registered)
    return _Job(options, resolved, registered, corpus, dev, start, remarks)


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
    from ..training import ConstantSearch, CorpusParts, TrialData

    options = job.options
    assert not isinstance(job.corpus, CorpusParts)  # refused before
    data = TrialData(job.resolved, job.corpus, dev, options.stage, options.threads, job.registered)
    constants = ConstantSearch(data, should_stop=should_stop)
    plan = plan_of(options.search, options.trials, options.seed, options.jobs)
    return tuned(constants, plan, talk, as_json=options.as_json)


def _fitted(
    job: _Job, progress: TrainingProgress, should_stop: Callable[[], bool]
) -> tuple[TrainedModel, list[Diagnostic]]:
    """The trained model, and what of the output is lost."""
    from ..training import (  # loads the engine
        Checkpoint,
        CurveWriter,
        Observers,
        TrainingLog,
        TrainingRequest,
        train_model,
    )
    from .training_progress import aim

    options = job.options
    aim(progress, job.resolved.spec, options.stage)
    is_file = options.output.is_file() or not options.output.exists()
    checkpoint = Checkpoint(_checkpoint_path(options), options.checkpoint, options.resume, keep=True)
    with ExitStack() as stack:
        stack.enter_context(progress)
        writer = None if options.curve is None else stack.enter_context(CurveWriter(options.curve))
        log = None
        if options.log is not None:
            log = stack.enter_context(TrainingLog(options.log, append=options.resume))

        def report(step: Iteration) -> None:
            if writer is not None:
                writer.add(step)
            progress(step)

        remark = None if options.quiet else lambda one: print_diagnostics([one])
        observers = Observers(report, should_stop, None if writer is None else writer.begin, log=log, on_remark=remark)
        asked = TrainingRequest(
            options.stage, job.start, job.dev, options.threads, job.registered, observers,
            checkpoint if is_file else None, jobs=options.jobs or 1,
        )  # fmt: skip
        model = train_model(job.resolved, job.corpus, asked)
    lost = lost_output(progress.failure if options.as_json else None)
    for what, path, file in (("learning curve", options.curve, writer), ("log", options.log, log)):
        if file is not None and file.failure is not None:
            note = f"the {what} in `{path}` ends early: {(file.failure.strerror or '').lower()}"
            lost.append(Diagnostic("file-error", note))
            model = model.with_record(replace(model.record, notes=(*model.record.notes, note)))
    return model, lost


def _noted(model: TrainedModel, remarks: Sequence[Diagnostic]) -> TrainedModel:
    """The model with the checker's warnings in its record."""
    from ..training import with_remarks

    return with_remarks(model, [remark for remark in remarks if remark.severity == "warning"])


def _refuse_unusable(options: TrainOptions) -> None:
    """Raises `DcrfError` for incompatible options and for outputs that cannot be written, before anything is read."""
    from ..foundation import ensure_writable

    of_tune = {
        "--search": options.search, "--trials": options.trials, "--seed": options.seed,
    }  # fmt: skip
    refuse_idle_options(options.tune, options.dev, of_tune)
    parts = _part_options(options)
    parts.refuse_unusable()
    if options.tune:
        start = "--resume" if options.resume else None if options.start is None else "--from"
        refuse_beside_tune(start, has_log=options.log is not None, in_parts=parts.are_wanted)
    named = [options.template, *options.data, options.dev]
    if named.count(STDIN) > 1:
        raise click.BadParameter("`-` (stdin) can be given once only")
    refuse_clash(_outputs(options), (*named, *(options.features or ())))
    beside = [output for output in _outputs(options) if output.path != options.output]  # a model may replace its start
    refuse_clash(beside, (options.start,))
    if not options.tune and not options.resume:
        refuse_foreign(_checkpoint_path(options))
    ensure_writable(options.output)
    if options.curve is not None:
        from ..training import check_curve_path

        check_curve_path(options.curve)
    if options.log is not None:
        ensure_writable(options.log)


def _outputs(options: TrainOptions) -> list[Output]:
    """What the command writes, or removes when it ends."""
    outputs = [Output("-o", options.output), Output("--curve", options.curve), Output("--log", options.log)]
    if not options.tune:
        outputs.append(Output("-o", _checkpoint_path(options), beside=True))
    return [*outputs, *_part_options(options).outputs]


def _conclude(model: TrainedModel, options: TrainOptions, talk: Talk, lost: Sequence[Diagnostic]) -> None:
    """Prints the last line of `--json`, how training ended, and the next command to type.

    lost: of the output, which is said at the end.
    """
    from . import report

    record, output = model.record, options.output
    if options.as_json:
        summary = {
            "weights": model.num_weights,
            "objective": record.objective,
            "iterations": record.iterations,
            "converged": record.converged,
            "seconds": record.seconds,
            "peak_mb": round(report.peak_mb(), 1),
            "stage": record.stage,
            "model": str(output),
        }
        if record.calibration is not None:
            summary["temperature"] = record.calibration.temperature
        if record.tuning:
            summary["tuned"] = record.tuning["values"]
        print(json_text(summary), flush=True)
    for note in (*earlier_notes(model, options.stage), *record.notes):
        if note not in {one.message for one in lost}:
            talk(note if note.startswith("note: ") else f"warning: {note}")
    if record.rounds:
        added = sum(round_.weights for round_ in record.rounds)
        crosses = sum(round_.conjunctions for round_ in record.rounds)
        talk(f"{len(record.rounds)} rounds of induction: {added:,} weights of {crosses:,} crosses of features")
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
