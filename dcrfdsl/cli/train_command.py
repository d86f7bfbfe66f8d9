"""`dcrfdsl train`: from a template and a corpus to a model file."""

from __future__ import annotations

import itertools
import os
import secrets
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DcrfError, json_text
from .console import Features, Json, Quiet, SetPaths, StageName, Talk, Threads, print_diagnostics, refuse
from .inputs import STDIN, read_features, read_gold, resolved_template
from .interrupts import Interruption
from .probabilities import training_notes
from .tune_command import Plan, Search, SearchSeed, Trials, Tune, check_ranges, refuse_idle_options, tuned

if TYPE_CHECKING:
    from ..data import Corpus
    from ..errors import Diagnostic
    from ..model import TrainedModel
    from ..optimizers import Iteration
    from ..semantics import ModelSpec, Resolved
    from .report import TrainingProgress

__all__ = ["train"]

NO_TOLERANCE = 1e-300  # of methods that go through the data a given number of times


def train(
    template: Annotated[str, typer.Argument(metavar="TEMPLATE", help="Template file; - is stdin.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Training data; - is stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Write the model here.")],
    dev: Annotated[
        str | None, typer.Option("--dev", metavar="DATA", help="Held-out data, scored as training goes on.")
    ] = None,
    stage: StageName = None,
    set_: SetPaths = None,
    tune: Tune = False,
    search: Search = None,
    trials: Trials = None,
    seed: SearchSeed = None,
    curve: Annotated[
        Path | None, typer.Option("--curve", metavar="FILE", help="Write learning curves here: .csv or .jsonl.")
    ] = None,
    threads: Threads = None,
    features: Features = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model. The first Ctrl-C (or SIGTERM, SIGHUP) stops early and saves what there is, the second at once.

    \b
    Example:
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --set "train.prior=gaussian(variance=1)"
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --curve curve.csv
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --search random --trials 20

    \b
    --curve writes a row an iteration: stage, start, iteration, objective, gradient_norm, seconds, dev, gap. Empty are
    gradient_norm where there is no gradient, gap (of the duality) where no dual is solved, dev without --dev. --json
    leaves such keys out.
    They are written as training goes on; those of the best trial of --tune at the end.
    --tune searches every constant that the template declares as `let NAME = V tune RANGE`, RANGE being log(a, b),
    linear(a, b) or among(V, ...). The model of the best trial is written; it was trained on DATA alone. A constant
    given by --set is not searched.
    """
    from ..files import ensure_writable

    refuse_idle_options(tune, dev, search, trials, seed)
    _refuse_clashes((output, curve), template, data, dev)
    ensure_writable(output)
    if curve is not None:
        from ..training import check_curve_path

        check_curve_path(curve)
    from ..semantics import check_or_raise
    from . import report

    talk = Talk(quiet)
    with Interruption(talk) as interruption:
        registered = read_features(features)
        resolved = resolved_template(template, set_, stage, data)
        spec = resolved.spec
        check_or_raise(resolved, stage=stage, registered=registered)  # before anything is read
        if tune:
            check_ranges(resolved, stage, registered)
        from .compiler_notice import announce_compiling  # loads Numba, as reading does

        announce_compiling(talk)
        corpus = read_gold(data, spec, talk)
        remarks = check_or_raise(resolved, stage=stage, registered=registered, corpus=corpus)
        if not quiet:
            print_diagnostics(remarks)
        held_out = read_gold(dev, spec, talk) if dev else None
        how: dict[str, Any] = {"stage": stage, "threads": threads, "registered": registered}
        how["should_stop"] = interruption.requested
        interruption.training()
        if tune and held_out is not None:
            model = tuned(resolved, corpus, held_out, Plan(search, trials, seed), talk, as_json=as_json, **how)
        else:
            progress = _aimed(report.progress_for(as_json=as_json, quiet=quiet), spec, stage)
            model = _fitted(resolved, corpus, held_out, progress, curve, **how)
        interruption.saving()
        _save(_noted(model, remarks), output)
        if curve is not None and tune:
            from ..training import write_curve

            write_curve(curve, model.record)
    _conclude(model, output, talk, as_json=as_json)


def _save(model: TrainedModel, output: Path) -> None:
    """Saves the model, in the directory of temporary files where its own place has become unusable meanwhile."""
    try:
        model.save(output)
    except DcrfError as error:
        refuge = Path(tempfile.gettempdir()) / f"{output.name}-{secrets.token_hex(4)}"
        try:
            model.save(refuge)
        except DcrfError:
            raise error from None
        (found, *_) = error.diagnostics
        raise DcrfError(replace(found, help=f"the model has been saved as `{refuge}`: move it from there")) from None


def _fitted(
    resolved: Resolved, corpus: Corpus, dev: Corpus | None, progress: TrainingProgress, curve: Path | None, **how: Any
) -> TrainedModel:
    from ..training import fit  # loads the engine

    with ExitStack() as open_ones:
        open_ones.enter_context(progress)
        if curve is None:
            return fit(resolved, corpus, dev=dev, on_iteration=progress, unchecked=True, **how)
        from ..training import CurveWriter

        writer = open_ones.enter_context(CurveWriter(curve))

        def seen(step: Iteration) -> None:
            writer.add(step)
            progress(step)

        model = fit(resolved, corpus, dev=dev, on_iteration=seen, on_stage=writer.begin, unchecked=True, **how)
    if writer.failure is not None:
        note = f"the learning curve in `{curve}` ends early: {(writer.failure.strerror or '').lower()}"
        record = replace(model.record, notes=(*model.record.notes, note))
        return model.with_weights(model.weights, record, model.voters)
    return model


def _noted(model: TrainedModel, remarks: Sequence[Diagnostic]) -> TrainedModel:
    """The model as it is kept: what the checker has warned of, and was said above, stands in its record."""
    from ..training import with_remarks

    return with_remarks(model, [remark for remark in remarks if remark.severity == "warning"])


def _aimed(progress: TrainingProgress, spec: ModelSpec, stage: str | None) -> TrainingProgress:
    """Progress that knows where the optimizer will stop, for its estimate of the time left."""
    from ..semantics import (
        AdaboostSettings,
        DualSettings,
        HmsvmSettings,
        OnlineSettings,
        PerceptronSettings,
        StoppingSettings,
        stage_chain,
        stage_settings,
    )

    settings = stage_settings(spec, stage)
    limit: tuple[float, int] | None = None
    if isinstance(settings.criterion, PerceptronSettings):
        limit = NO_TOLERANCE, settings.criterion.epochs
    elif isinstance(settings.criterion, AdaboostSettings):
        limit = NO_TOLERANCE, settings.criterion.rounds
    elif isinstance(settings.criterion, HmsvmSettings):
        assert isinstance(settings.optimizer, DualSettings | StoppingSettings)
        limit = settings.criterion.tolerance, settings.optimizer.max_iterations
    elif isinstance(settings.optimizer, OnlineSettings):
        limit = NO_TOLERANCE, settings.optimizer.epochs
    elif isinstance(settings.optimizer, StoppingSettings):
        limit = settings.optimizer.tolerance, settings.optimizer.max_iterations
    if limit is not None:
        starts = settings.restarts if spec.latents else 1
        progress.aim(*limit, starts=starts, stages=len(stage_chain(spec, stage)))
    return progress


def _refuse_clashes(outputs: Sequence[Path | None], template: str, data: str, dev: str | None) -> None:
    """Stdin serves one input, no input is overwritten, and no output by another one."""
    inputs = [path for path in (template, data, dev) if path is not None]
    if inputs.count(STDIN) > 1:
        raise typer.BadParameter("`-` (stdin) can be given once only")
    written = [path for path in outputs if path is not None]
    if len({path.resolve() for path in written}) < len(written):
        raise typer.BadParameter("`-o` and `--curve` name one file")
    for path, output in itertools.product(inputs, written):
        if path != STDIN and output.exists() and os.path.exists(path) and os.path.samefile(path, output):
            refuse("output-is-input", f"`{output}` is an input of this command", "name another file after `-o`")


def _conclude(model: TrainedModel, output: Path, talk: Talk, *, as_json: bool) -> None:
    """The last line of `--json`, or a summary and what to type next."""
    from . import report

    record = model.record
    if as_json:
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
    for note in record.notes:
        talk(f"warning: {note}")
    if record.rounds:
        added = sum(done.weights for done in record.rounds)
        crosses = sum(done.conjunctions for done in record.rounds)
        talk(f"{len(record.rounds)} rounds of induction: {added:,} weights of {crosses:,} crosses of features")
    how = "converged" if record.converged else f"not converged ({record.reason})"
    talk(
        f"{how} after {record.iterations} iterations in {report.duration(record.seconds)}: "
        f"{record.end}, {model.num_weights:,} weights"
    )
    for note in training_notes(model):
        talk(note)
    name = shlex.quote(str(output))
    talk(f"{output} written ({report.file_size(output)}); next:")
    talk(f"  dcrfdsl tag {name} FILE")
    talk(f"  dcrfdsl eval {name} FILE")
