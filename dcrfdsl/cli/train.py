"""`dcrfdsl train`: from a template and a corpus to a model file."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import Features, Json, Quiet, SetPaths, StageName, Talk, Threads, print_diagnostics, refuse
from .inputs import STDIN, read_features, read_gold, resolved_template
from .interrupts import Interruption

if TYPE_CHECKING:
    from ..model import TrainedModel
    from ..report import TrainingProgress
    from ..spec.model import ModelSpec

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
    """
    from ..files import ensure_writable

    _refuse_clashes(output, template, data, dev)
    ensure_writable(output)
    from .. import report
    from ..spec.check import check_or_raise

    talk = Talk(quiet)
    registered = read_features(features)
    resolved = resolved_template(template, set_, stage)
    spec = resolved.spec
    check_or_raise(resolved, stage=stage, registered=registered)  # before anything is read
    from .compiling import announce_compiling  # loads Numba, as reading does

    announce_compiling(talk)
    corpus = read_gold(data, spec, talk)
    remarks = check_or_raise(resolved, stage=stage, registered=registered, corpus=corpus)
    if not quiet:
        print_diagnostics(remarks)
    held_out = read_gold(dev, spec, talk) if dev else None
    from ..training import fit  # loads the engine

    progress = _aimed(report.progress_for(as_json=as_json, quiet=quiet), spec, stage)
    with Interruption(talk) as interruption, progress:
        model = fit(
            resolved,
            corpus,
            stage=stage,
            dev=held_out,
            threads=threads,
            registered=registered,
            on_iteration=progress,
            should_stop=interruption.requested,
        )
    model.save(output)
    _conclude(model, output, talk, as_json=as_json)


def _aimed(progress: TrainingProgress, spec: ModelSpec, stage: str | None) -> TrainingProgress:
    """Progress that knows where the optimizer will stop, for its estimate of the time left."""
    from ..spec.settings import OnlineSettings, PerceptronSettings, StoppingSettings
    from ..spec.values import stage_settings

    settings = stage_settings(spec, stage)
    if isinstance(settings.criterion, PerceptronSettings):
        progress.aim(NO_TOLERANCE, settings.criterion.epochs)
    elif isinstance(settings.optimizer, OnlineSettings):
        progress.aim(NO_TOLERANCE, settings.optimizer.epochs)
    elif isinstance(settings.optimizer, StoppingSettings):
        progress.aim(settings.optimizer.tolerance, settings.optimizer.max_iterations)
    return progress


def _refuse_clashes(output: Path, template: str, data: str, dev: str | None) -> None:
    """Stdin serves one input, and no input is overwritten."""
    inputs = [path for path in (template, data, dev) if path is not None]
    if inputs.count(STDIN) > 1:
        raise typer.BadParameter("`-` (stdin) can be given once only")
    for path in inputs:
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
        print(json.dumps(summary), flush=True)
    for note in record.notes:
        talk(f"warning: {note}")
    how = "converged" if record.converged else f"not converged ({record.reason})"
    talk(
        f"{how} after {record.iterations} iterations in {report.duration(record.seconds)}: "
        f"{record.end}, {model.num_weights:,} weights"
    )
    name = shlex.quote(str(output))
    talk(f"{output} written ({report.file_size(output)}); next:")
    talk(f"  dcrfdsl tag {name} FILE")
    talk(f"  dcrfdsl eval {name} FILE")
