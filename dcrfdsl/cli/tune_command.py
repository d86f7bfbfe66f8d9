"""`train --tune`: the options of a search for constants, their requirements, and the output of the search.

Not here: the search (`training.tuning`), which model is written where (`train_command`).
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import click

from ..foundation import json_text
from .console import MOST_JOBS, Talk, lost_output, refuse
from .options import Option

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..foundation import Diagnostic
    from ..model import TrainedModel
    from ..semantics import ModelSpec, Resolved
    from ..training import ConstantSearch, SearchPlan, Trial

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
