"""The command line of `train`: its options, which of them go together, and what belongs to some of them alone.

`--tune` searches for constants; `--memory`, `--cache`, several files, folders and machines mean data in parts. Not
here: the search (`training.tuning`), parts (`training.parts`), which model is written where (`train_command`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from .. import model as models, semantics, training
from ..foundation import Diagnostic, dataclass, ensure_writable, json_text
from . import report
from .command_files import STDIN, Output, refuse_clash, refuse_foreign
from .console import Talk, lost_output, print_diagnostics, refuse
from .options import MOST_JOBS, Argument, Features, Json, Option, Quiet, SetPaths, StageName, Threads

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    template: Annotated[str, Argument("TEMPLATE")]
    output: Annotated[Path, Option("MODEL", short="-o")]
    data: Annotated[list[str] | None, Argument("[DATA]...")] = None
    dev: Annotated[str | None, Option("DATA")] = None
    unlabelled: Annotated[str | None, Option("DATA")] = None
    start: Annotated[str | None, Option("MODEL", name="--from")] = None
    resume: bool = False
    checkpoint: Annotated[int, Option("SECONDS", min=0)] = 60
    memory: Annotated[str | None, Option("SIZE")] = None
    cache: Annotated[Path | None, Option("DIR")] = None
    workers: Annotated[int | None, Option("N", min=1, max=MOST_JOBS)] = None
    cluster: Annotated[str | None, Option("ADDRESS")] = None
    stage: StageName = None
    set_: SetPaths = None
    tune: bool = False
    best: Annotated[str | None, Option("SCORE")] = None
    at_least: Annotated[list[str] | None, Option("SCORE=NUMBER")] = None
    search: Annotated[str | None, Option("METHOD")] = None
    trials: Annotated[int | None, Option("N", min=1)] = None
    seed: Annotated[int | None, Option("N", min=0)] = None
    jobs: Annotated[int | None, Option("N", min=1, max=MOST_JOBS)] = None
    curve: Annotated[Path | None, Option("FILE")] = None
    log: Annotated[Path | None, Option("FILE")] = None
    threads: Threads = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False

    @property
    def checkpoint_path(self) -> Path:
        return Path(f"{self.output}.checkpoint")

    @property
    def in_parts(self) -> bool:
        """Whether the data is to be read in parts, and not into memory."""
        asked = (self.memory, self.cache, self.workers, self.cluster)
        if self.data is None:
            return False
        return len(self.data) > 1 or any(one is not None for one in asked) or os.path.isdir(self.data[0])

    @property
    def parts_folder(self) -> Path:
        """Where the parts lie: with `--cache` for good, else until the model is written."""
        return self.cache if self.cache is not None else Path(f"{self.output}.parts")

    @property
    def outputs(self) -> list[Output]:
        """What the command writes, or removes when it ends. A folder of `--cache` may be that of the data: its files
        stay.
        """
        outputs = [Output("-o", self.output), Output("--curve", self.curve), Output("--log", self.log)]
        if not self.tune:
            outputs.append(Output("-o", self.checkpoint_path, beside=True))
        if self.in_parts and self.cache is None:
            outputs.append(Output("-o", self.parts_folder, beside=True))
        return outputs


def refuse_unusable(options: TrainOptions) -> None:
    """Raises `DcrfError` for incompatible options and for outputs that cannot be written, before anything is read."""
    if options.tune and options.dev is None:
        refuse("no-dev-data", "`--tune` needs held-out data to score on", "give it by `--dev FILE`")
    of_tune = {"--search": options.search, "--trials": options.trials, "--seed": options.seed, "--best": options.best}
    for name, value in (*of_tune.items(), ("--at-least", options.at_least)):
        if value is not None and not options.tune:
            raise click.BadParameter(f"`{name}` is an option of `--tune`")
    if options.data is None and any((options.memory, options.cache, options.workers, options.cluster)):
        raise click.BadParameter("`--memory`, `--cache`, `--workers` and `--cluster` are about DATA, and there is none")
    if options.in_parts:
        _refuse_beside_parts(options)
    if options.tune:
        _refuse_beside_tune(options)
    named = [options.template, *(options.data or ()), options.dev, options.unlabelled]
    if named.count(STDIN) > 1:
        raise click.BadParameter("`-` (stdin) can be given once only")
    outputs = options.outputs
    refuse_clash(outputs, (*named, *(options.features or ())))
    beside = [output for output in outputs if output.path != options.output]  # a model may replace its start
    refuse_clash(beside, (options.start,))
    if not options.tune and not options.resume:
        refuse_foreign(options.checkpoint_path)
    ensure_writable(options.output)
    if options.curve is not None:
        training.check_curve_path(options.curve)
    if options.log is not None:
        ensure_writable(options.log)


def _refuse_beside_tune(options: TrainOptions) -> None:
    """Raises `DcrfError` for what a search of constants cannot use."""
    start = "--resume" if options.resume else None if options.start is None else "--from"
    if start is not None:
        message = f"every trial of `--tune` begins anew, so `{start}` changes nothing"
        refuse("idle-option", message, "leave one of them out")
    if options.log is not None:
        message = "`--log` follows one training, and `--tune` does many"
        refuse("idle-option", message, "leave it out: `--json` prints the trials, and the model keeps them all")
    if options.unlabelled is not None:
        refuse("idle-option", "`--tune` does not read `--unlabelled`", "leave one of them out")
    if options.in_parts:
        message = "`--tune` trains many times on data in memory, and this is data in parts"
        refuse("idle-option", message, "search on a part of the data: one file without `--memory` and `--cache`")


def _refuse_beside_parts(options: TrainOptions) -> None:
    if options.cache is not None:
        refuse_clash((Output("-o", options.output), Output("--cache", options.cache)), ())
    if STDIN in (options.data or ()):
        remedy = "write it to a file first, or leave `--memory`, `--cache`, `--workers` and `--cluster` out"
        refuse("no-file", "data in parts is read from files, and `-` is standard input", remedy)
    if options.workers is not None and options.cluster is not None:
        message = "`--workers` starts processes of its own, and `--cluster` names those that run"
        refuse("idle-option", message, "leave one of them out")
    if options.memory is not None:
        training.parse_memory(options.memory)


def require_restarts(spec: semantics.ModelSpec, stage: str | None, *, in_parts: bool) -> None:
    """Raises `BadParameter` unless `--jobs` has several trainings of a stage to run at once, on data in memory."""
    restarts = [semantics.stage_settings(spec, entry.label).restarts for entry in semantics.stage_chain(spec, stage)]
    if not spec.latents or max(restarts) < 2:
        message = "`--jobs` is an option of `--tune`, and of models whose latent variables need `restarts`"
        raise click.BadParameter(f"{message}; `--threads` shares one training among cores")
    if in_parts:
        message = "`--jobs` starts several trainings in memory, and this is data in parts"
        raise click.BadParameter(f"{message}: `--workers` shares these among processes")


def tuned(
    constants: training.ConstantSearch, plan: training.SearchPlan, talk: Talk, *, as_json: bool
) -> tuple[models.TrainedModel, list[Diagnostic]]:
    """The model of the best trial, and what of the output is lost: that is no reason to stop.

    Prints a line as each trial ends, and a table of all at the end.
    """
    from .training_progress import TrialStatus

    lines = _JsonTrials()
    on_trial = lines if as_json else _said(talk)
    with TrialStatus(shown=not talk.quiet and not as_json) as progress:
        constants = replace(constants, on_trial=on_trial, on_iteration=progress)
        model = constants.run(plan)
    path, goal = model.record.tuning, constants.data.goal
    if not talk.quiet and not as_json:
        with suppress(OSError):  # as `Talk`
            report.print_table(report.trials_table(path["trials"], path["chosen"]), stream=sys.stderr)
    values = ", ".join(f"{name} = {report.setting_text(value)}" for name, value in path["values"].items())
    why = f"best by {path['metric']}" + (f" with {goal.bounds}" if goal.at_least else "")
    if constants.out_of_reach is not None:
        print_diagnostics([constants.out_of_reach])
        why = f"nearest to {goal.bounds}"
    talk(f"{values}: {why} on the held-out data, on which nothing was trained")
    return model, lost_output(lines.failure)


class _JsonTrials:
    """Prints a line for each trial.   failure: why one could not be written; later ones are not."""

    def __init__(self) -> None:
        self.failure: OSError | None = None

    def __call__(self, trial: training.Trial) -> None:
        line = {"trial": trial.number, "values": trial.values, "dev": trial.dev, "metric": trial.metric}
        line |= {"seconds": trial.seconds} | ({"bounded": trial.bounded} if trial.bounded else {})
        if self.failure is None:
            try:
                print(json_text(line | ({} if trial.complete else {"stopped": True})), flush=True)
            except OSError as error:
                self.failure = error


def _said(talk: Talk) -> Callable[[training.Trial], None]:
    def say(trial: training.Trial) -> None:
        values = ", ".join(f"{name} = {report.setting_text(value)}" for name, value in trial.values.items())
        scores = [(trial.metric, trial.dev), *trial.bounded.items()]
        dev = ", ".join(f"{name} {report.share_text(score)}" for name, score in scores)
        talk(f"trial {trial.number}: {values}: dev {dev}, {report.duration(trial.seconds)}")

    return say


def bounds_of(written: Sequence[str]) -> dict[str, float]:
    """The bounds of `--at-least`, by score. BadParameter where one is no `SCORE=NUMBER`."""
    bounds = {}
    for one in written:
        name, _, number = one.rpartition("=")
        try:
            bounds[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name.strip():
            raise click.BadParameter(f"`{one}`: expected SCORE=NUMBER, as in `segments(part).recall=0.99`")
    return bounds


# data in parts -------------------------------------------------------------------------------------------------------


def forget_parts(options: TrainOptions) -> None:
    """Removes parts that nobody asked to keep."""
    if options.in_parts and options.cache is None:
        training.remove_parts(options.parts_folder)


@contextmanager
def machines(options: TrainOptions) -> Iterator[Any]:
    """The client of the cluster that computes; None for this process."""
    if options.workers is None and options.cluster is None:
        yield None
        return
    with training.cluster_client(options.cluster, options.workers, options.threads) as client:
        yield client


def opened_parts(options: TrainOptions, resolved: semantics.Resolved, cluster: Any, talk: Talk) -> training.CorpusParts:
    """The training data in parts. Prints the warnings of the reader."""
    training.refuse_unsummed_stages(resolved.spec, options.stage)
    folder = options.parts_folder
    parts = training.open_parts(options.data or (), resolved, cache=folder, memory=options.memory, cluster=cluster)
    for warning in parts.warnings:
        talk(f"warning: {warning}")
    count = len(parts.parts)
    talk(f"{parts.num_tokens:,} tokens in {count:,} {'part' if count == 1 else 'parts'} in {folder}")
    return parts
