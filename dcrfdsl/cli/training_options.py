"""What belongs to some options of `train` alone: the search of `--tune`, and data in parts.

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
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from ..foundation import json_text
from .command_files import STDIN, Output, refuse_clash
from .console import Talk, lost_output, refuse
from .options import MOST_JOBS, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..foundation import Diagnostic
    from ..model import TrainedModel
    from ..semantics import ModelSpec, Resolved
    from ..training import ConstantSearch, CorpusParts, SearchPlan, Trial


Tune = Annotated[
    bool, Option("--tune", help="Search the constants that have a `tune` range for the best score on --dev.")
]
Search = Annotated[
    str | None, Option("--search", metavar="METHOD", help="How --tune searches: grid (default), random, optuna.")
]
Trials = Annotated[
    int | None, Option("--trials", min=1, metavar="N", help="How many values --tune tries at most (default: 9).")
]
SearchSeed = Annotated[
    int | None, Option("--seed", min=0, metavar="N", help="Seed of the search of --tune (default: 0).")
]
Jobs = Annotated[
    int | None,
    Option(
        "--jobs",
        min=1,
        max=MOST_JOBS,
        metavar="N",
        help="Run N trials of --tune, or N restarts, at once (default: 1); they share the threads.",
    ),
]


def refuse_idle_options(tune: bool, dev: str | None, options: Mapping[str, object]) -> None:
    """Raises `DcrfError` for `--tune` without held-out data, and for options of a search without `--tune`.

    options: their values by name, None where they are not given.
    """
    if tune and dev is None:
        refuse("no-dev-data", "`--tune` needs held-out data to score on", "give it by `--dev FILE`")
    for name, value in options.items():
        if value is not None and not tune:
            raise click.BadParameter(f"`{name}` is an option of `--tune`")


def refuse_beside_tune(start: str | None, *, has_log: bool, in_parts: bool) -> None:
    """Raises `DcrfError` for what a search of constants cannot use. start: the option that names where to begin."""
    if start is not None:
        message = f"every trial of `--tune` begins anew, so `{start}` changes nothing"
        refuse("idle-option", message, "leave one of them out")
    if has_log:
        message = "`--log` follows one training, and `--tune` does many"
        refuse("idle-option", message, "leave it out: `--json` prints the trials, and the model keeps them all")
    if in_parts:
        message = "`--tune` trains many times on data in memory, and this is data in parts"
        refuse("idle-option", message, "search on a part of the data: one file without `--memory` and `--cache`")


def require_restarts(spec: ModelSpec, stage: str | None, *, in_parts: bool) -> None:
    """Raises `BadParameter` unless `--jobs` has several trainings of a stage to run at once, on data in memory."""
    from ..semantics import stage_chain, stage_settings

    restarts = [stage_settings(spec, entry.label).restarts for entry in stage_chain(spec, stage)]
    if not spec.latents or max(restarts) < 2:
        message = "`--jobs` is an option of `--tune`, and of models whose latent variables need `restarts`"
        raise click.BadParameter(f"{message}; `--threads` shares one training among cores")
    if in_parts:
        message = "`--jobs` starts several trainings in memory, and this is data in parts"
        raise click.BadParameter(f"{message}: `--workers` shares these among processes")


def plan_of(search: str | None, trials: int | None, seed: int | None, jobs: int | None) -> SearchPlan:
    """The search that the options describe. Raises DcrfError for an unknown search."""
    from ..training import TRIALS, SearchPlan

    return SearchPlan(search or "grid", trials or TRIALS, seed or 0, jobs or 1)


def check_ranges(resolved: Resolved, stage: str | None, registered: Collection[str]) -> None:
    """Raises DcrfError if there is nothing to tune, or a range is invalid; called before data is read."""
    from ..semantics import tuned_ranges

    tuned_ranges(resolved, stage=stage, registered=registered)


def tuned(
    constants: ConstantSearch, plan: SearchPlan, talk: Talk, *, as_json: bool
) -> tuple[TrainedModel, list[Diagnostic]]:
    """The model of the best trial, and what of the output is lost: that is no reason to stop.

    Prints a line as each trial ends, and a table of all at the end.
    """
    from . import report
    from .training_progress import TrialStatus

    lines = _JsonTrials()
    on_trial = lines if as_json else _said(talk)
    with TrialStatus(shown=not talk.quiet and not as_json) as progress:
        model = replace(constants, on_trial=on_trial, on_iteration=progress).run(plan)
    path = model.record.tuning
    if not talk.quiet and not as_json:
        with suppress(OSError):  # as `Talk`
            report.print_table(report.trials_table(path["trials"], path["chosen"]), stream=sys.stderr)
    values = ", ".join(f"{name} = {report.setting_text(value)}" for name, value in path["values"].items())
    talk(f"{values}: best by {path['metric']} on the held-out data, on which nothing was trained")
    return model, lost_output(lines.failure)


class _JsonTrials:
    """Prints a line for each trial.   failure: why one could not be written; later ones are not."""

    def __init__(self) -> None:
        self.failure: OSError | None = None

    def __call__(self, trial: Trial) -> None:
        line = {"trial": trial.number, "values": trial.values, "dev": trial.dev, "metric": trial.metric}
        line |= {"seconds": trial.seconds}
        if self.failure is None:
            try:
                print(json_text(line | ({} if trial.complete else {"stopped": True})), flush=True)
            except OSError as error:
                self.failure = error


def _said(talk: Talk) -> Callable[[Trial], None]:
    from .report import duration, setting_text, share_text

    def say(trial: Trial) -> None:
        values = ", ".join(f"{name} = {setting_text(value)}" for name, value in trial.values.items())
        talk(f"trial {trial.number}: {values}: dev {trial.metric} {share_text(trial.dev)}, {duration(trial.seconds)}")

    return say


# data in parts -------------------------------------------------------------------------------------------------------


class PartOptions(NamedTuple):
    """What the command line says of parts.   data: files and folders.   output: the model, beside which parts lie."""

    data: Sequence[str]
    output: Path
    memory: str | None
    cache: Path | None
    workers: int | None
    cluster: str | None

    @property
    def are_wanted(self) -> bool:
        """Whether the data is to be read in parts, and not into memory."""
        asked = (self.memory, self.cache, self.workers, self.cluster)
        return len(self.data) > 1 or any(one is not None for one in asked) or os.path.isdir(self.data[0])

    @property
    def folder(self) -> Path:
        """Where the parts lie: with `--cache` for good, else until the model is written."""
        return self.cache if self.cache is not None else Path(f"{self.output}.parts")

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The folder of the parts, if any. A folder of `--cache` may be that of the data: its files stay."""
        if not self.are_wanted:
            return ()
        return (Output("-o", self.folder, beside=True),) if self.cache is None else ()

    def refuse_unusable(self) -> None:
        """Raises `DcrfError` for options that do not go together."""
        if not self.are_wanted:
            return
        if self.cache is not None:
            refuse_clash((Output("-o", self.output), Output("--cache", self.cache)), ())
        if STDIN in self.data:
            remedy = "write it to a file first, or leave `--memory`, `--cache`, `--workers` and `--cluster` out"
            refuse("no-file", "data in parts is read from files, and `-` is standard input", remedy)
        if self.workers is not None and self.cluster is not None:
            message = "`--workers` starts processes of its own, and `--cluster` names those that run"
            refuse("idle-option", message, "leave one of them out")
        if self.memory is not None:
            from ..training import parse_memory

            parse_memory(self.memory)

    def forget(self) -> None:
        """Removes parts that nobody asked to keep."""
        if self.are_wanted and self.cache is None:
            from ..training import remove_parts

            remove_parts(self.folder)

    @contextmanager
    def machines(self, threads: int | None) -> Iterator[Any]:
        """The client of the cluster that computes; None for this process."""
        if self.workers is None and self.cluster is None:
            yield None
            return
        from ..training import cluster_client

        with cluster_client(self.cluster, self.workers, threads) as client:
            yield client


def opened_parts(options: PartOptions, resolved: Resolved, stage: str | None, cluster: Any, talk: Talk) -> CorpusParts:
    """The training data in parts. Prints the warnings of the reader."""
    from ..training import open_parts, refuse_unsummed_stages

    refuse_unsummed_stages(resolved.spec, stage)
    parts = open_parts(options.data, resolved, cache=options.folder, memory=options.memory, cluster=cluster)
    for warning in parts.warnings:
        talk(f"warning: {warning}")
    count = len(parts.parts)
    talk(f"{parts.num_tokens:,} tokens in {count:,} {'part' if count == 1 else 'parts'} in {options.folder}")
    return parts
