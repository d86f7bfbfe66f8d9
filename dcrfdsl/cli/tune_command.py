"""`train --tune`: a search for constants, shown as it goes on; and what the options of a search need.

Not here: the search (`tuning`), which model is written where (`train`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..errors import json_text
from .console import Talk, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..data import Corpus
    from ..model import TrainedModel
    from ..semantics import Resolved
    from ..training import Trial

__all__ = ["Plan", "Search", "SearchSeed", "Trials", "Tune", "check_ranges", "refuse_idle_options", "tuned"]

Tune = Annotated[
    bool, typer.Option("--tune", help="Search the constants that have a `tune` range for the best score on --dev.")
]
Search = Annotated[
    str | None, typer.Option("--search", metavar="METHOD", help="How --tune searches: grid (default), random, optuna.")
]
Trials = Annotated[
    int | None, typer.Option("--trials", min=1, help="How many values --tune tries at most (default: 9).")
]
SearchSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the search of --tune (default: 0).")]


def refuse_idle_options(tune: bool, dev: str | None, search: str | None, trials: int | None, seed: int | None) -> None:
    """`--tune` needs held-out data, and the options of a search need `--tune`."""
    if tune and dev is None:
        refuse("no-dev-data", "`--tune` needs held-out data to score on", "give it by `--dev FILE`")
    for name, value in (("--search", search), ("--trials", trials), ("--seed", seed)):
        if value is not None and not tune:
            raise typer.BadParameter(f"`{name}` is an option of `--tune`")


class Plan(NamedTuple):
    """What the options of a search say; None where they say nothing."""

    search: str | None
    trials: int | None
    seed: int | None


def check_ranges(resolved: Resolved, stage: str | None, registered: Collection[str]) -> None:
    """DcrfError where there is nothing to tune, or a range that cannot be: found out before data is read."""
    from ..semantics import tuned_ranges

    tuned_ranges(resolved, stage=stage, registered=registered)


def tuned(
    resolved: Resolved, corpus: Corpus, dev: Corpus, plan: Plan, talk: Talk, *, as_json: bool, **how: Any
) -> TrainedModel:
    """The model of the best trial. Each trial is a line as it ends, and all are a table at the end.

    how: further arguments of the training.
    """
    from ..training import TRIALS, tune
    from . import report

    shown = _as_json if as_json else _said(talk)
    with report.TrialStatus(shown=not talk.quiet and not as_json) as progress:
        model = tune(
            resolved,
            corpus,
            dev,
            search=plan.search or "grid",
            trials=plan.trials or TRIALS,
            seed=plan.seed or 0,
            on_trial=shown,
            on_iteration=progress,
            unchecked=True,  # the command has asked the checker, and said what it warns of
            **how,
        )
    path = model.record.tuning
    if not talk.quiet and not as_json:
        report.print_table(report.trials_table(path["trials"], path["chosen"]), stream=sys.stderr)
    values = ", ".join(f"{name} = {report.setting_text(value)}" for name, value in path["values"].items())
    talk(f"{values}: best by {path['metric']} on the held-out data, on which nothing was trained")
    return model


def _as_json(trial: Trial) -> None:
    line = {"trial": trial.number, "values": trial.values, "dev": trial.dev, "seconds": trial.seconds}
    print(json_text(line | ({} if trial.complete else {"stopped": True})), flush=True)


def _said(talk: Talk) -> Callable[[Trial], None]:
    from .report import duration, score_text, setting_text

    def say(trial: Trial) -> None:
        values = ", ".join(f"{name} = {setting_text(value)}" for name, value in trial.values.items())
        talk(f"trial {trial.number}: {values}: dev {score_text(trial.dev)}, {duration(trial.seconds)}")

    return say
