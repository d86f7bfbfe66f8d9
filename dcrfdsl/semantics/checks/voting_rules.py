"""Rules on a voted perceptron: the settings that can be combined with `vote`.

Not here: unknown settings (`setting_rules`), counting votes (`inference.decoding.voting`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import DcrfError, Diagnostic
from ..settings import PerceptronSettings, decoding
from .context import Context, Rule
from .optimizer_rules import StageView, stage_views


def voting(context: Context) -> Iterator[Diagnostic]:
    """`vote` keeps all weights, and needs a whole labelling to vote on."""
    for stage in stage_views(context):
        criterion = stage.settings.criterion
        if isinstance(criterion, PerceptronSettings):
            yield from _voted(stage) if criterion.vote else _not_voted(stage)


def _not_voted(stage: StageView) -> Iterator[Diagnostic]:
    at = stage.written("voters")
    if at is not None:
        message = "`voters` changes nothing without `vote = yes`"
        yield stage.context.complaint("idle-setting", message, at, "no effect", severity="warning")


def _voted(stage: StageView) -> Iterator[Diagnostic]:
    context, vote = stage.context, (stage.place("vote"), "all weights are kept here")
    at = stage.written("average")
    if at is not None:
        message = "`average` changes nothing beside `vote = yes`, which keeps all weights, and their mean"
        yield context.complaint(
            "idle-setting", message, at, "no effect", help="remove one of them", severity="warning", others=[vote]
        )
    at = stage.written("patience")
    if at is not None:
        message = "`patience` keeps the weights of one iteration, and `vote = yes` those of all"
        yield context.complaint("vote-settings", message, at, "not with `vote`", help="set `epochs`", others=[vote])
    try:
        decode = decoding(context.spec, stage.stage.label)
    except DcrfError:  # `setting_rules` reports it
        return
    if decode != "joint":
        message = f"`vote = yes` is a vote on whole labellings, which `decode {decode}` does not find"
        at = stage.written("decode") or ("decode", "name")
        remedy = "write `decode joint`, or `average = yes` in the place of `vote`"
        yield context.complaint("vote-settings", message, at, "not with `vote`", help=remedy, others=[vote])


RULES: tuple[Rule, ...] = (voting,)
