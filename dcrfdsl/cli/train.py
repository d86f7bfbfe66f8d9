"""`dcrfdsl train`: from a template and a corpus to a model file."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..printing import json_text
from .console import Features, Json, Quiet, SetPaths, StageName, Talk, Threads, print_diagnostics, refuse
from .inputs import STDIN, read_features, read_gold, resolved_template
from .interrupts import Interruption
from .probabilities import training_notes
from .tuning import Plan, Search, SearchSeed, Trials, Tune, check_ranges, refuse_idle_options, tuned

if TYPE_CHECKING:
    from ..data import Corpus
    from ..model import TrainedModel
    from ..report import TrainingProgress
    from ..spec.model import ModelSpec
    from ..spec.resolve import Resolved

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
    """Train a model. The first Ctrl-C stops early and saves what there is, the second stops at once.

    \b
    Example:
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --set "train.prior=gaussian(variance=1)"
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --curve curve.csv
      dcrfdsl train chunk.dcrf train.txt -o chunk.model --dev dev.txt --tune --search random --trials 20

    \b
    --curve writes a row an iteration: stage, start, iteration, objective, gradient_norm, seconds, dev.
    --tune searches every constant that the template declares as `let NAME = V tune RANGE`, RANGE being log(a, b),
    linear(a, b) or among(V, ...). The model of the best trial is written; it was trained on DATA alone. A constant
    given by --set is not searched.
    """
    from ..files import ensure_writable

    refuse_idle_options(tune, dev, search, trials, seed)
    _refuse_clashes((output, curve), template, data, dev)
    ensure_writable(output)
    if curve is not None:
        from ..curves import check_curve_path

        check_curve_path(curve)
    from .. import report
    from ..spec.check import check_or_raise

    talk = Talk(quiet)
    registered = read_features(features)
    resolved = resolved_template(template, set_, stage)
    spec = resolved.spec
    check_or_raise(resolved, stage=stage, registered=registered)  # before anything is read
    if tune:
        check_ranges(resolved, stage, registered)
    from .compiling import announce_compiling  # loads Numba, as reading does

    announce_compiling(talk)
    corpus = read_gold(data, spec, talk)
    remarks = check_or_raise(resolved, stage=stage, registered=registered, corpus=corpus)
    if not quiet:
        print_diagnostics(remarks)
    held_out = read_gold(dev, spec, talk) if dev else None
    how = {"stage": stage, "threads": threads, "registered": registered}
    if tune and held_out is not None:
        model = tuned(resolved, corpus, held_out, Plan(search, trials, seed), talk, as_json=as_json, **how)
    else:
        progress = _aimed(report.progress_for(as_json=as_json, quiet=quiet), spec, stage)
        model = _fitted(resolved, corpus, held_out, progress, talk, **how)
    model.save(output)
    if curve is not None:
        from ..curves import write_curve

        write_curve(curve, model.record)
    _conclude(model, output, talk, as_json=as_json)


def _fitted(
    resolved: Resolved, corpus: Corpus, dev: Corpus | None, progress: TrainingProgress, talk: Talk, **how: Any
) -> TrainedModel:
    from ..training import fit  # loads the engine

    with Interruption(talk) as interruption, progress:
        return fit(resolved, corpus, dev=dev, on_iteration=progress, should_stop=interruption.requested, **how)


def _aimed(progress: TrainingProgress, spec: ModelSpec, stage: str | None) -> TrainingProgress:
    """Progress that knows where the optimizer will stop, for its estimate of the time left."""
    from ..spec.margins import HmsvmSettings
    from ..spec.optimizers import DualSettings
    from ..spec.risks import AdaboostSettings
    from ..spec.settings import OnlineSettings, PerceptronSettings, StoppingSettings
    from ..spec.values import stage_settings

    settings = stage_settings(spec, stage)
    if isinstance(settings.criterion, PerceptronSettings):
        progress.aim(NO_TOLERANCE, settings.criterion.epochs)
    elif isinstance(settings.criterion, AdaboostSettings):
        progress.aim(NO_TOLERANCE, settings.criterion.rounds)
    elif isinstance(settings.criterion, HmsvmSettings):
        assert isinstance(settings.optimizer, DualSettings | StoppingSettings)
        progress.aim(settings.criterion.tolerance, settings.optimizer.max_iterations, "gap")
    elif isinstance(settings.optimizer, OnlineSettings):
        progress.aim(NO_TOLERANCE, settings.optimizer.epochs)
    elif isinstance(settings.optimizer, StoppingSettings):
        progress.aim(settings.optimizer.tolerance, settings.optimizer.max_iterations)
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
    from .. import report

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
