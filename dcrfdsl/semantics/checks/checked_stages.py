"""The training stages that run. Only these are checked for errors: a template may hold several, and one runs at a time.

Not here: the rules on a stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from ...foundation import DcrfError, Span
from ...syntax import Node, Stage, Value
from ..schema import ModelSpec, as_call
from ..settings import DEFAULT_STAGE, CriterionSettings, Prior, stage_settings
from .context import At, Context

Chosen = TypeVar("Chosen", bound=CriterionSettings)

EXACT = ("exact", "auto")  # inference methods; whether `auto` takes `exact` depends on the graph


def running_stages(context: Context) -> tuple[int, ...]:
    """Numbers of the stages that run, the first one first, as far as their chain leads; (0,) for the default stage."""
    stages, numbers = context.spec.stages, context.spec.stage_numbers
    if not stages:
        return (0,)
    at = numbers.get(context.stage) if context.stage is not None else len(stages) - 1
    chain: dict[int, None] = {}
    while at is not None and at not in chain:
        chain[at] = None
        before = stages[at].after
        at = numbers.get(before) if before is not None else None
    return tuple(reversed(chain))


def running_statements(context: Context) -> Iterator[Stage]:
    """The `train` statements that run; none where only the default stage runs."""
    stages = context.spec.stages
    return (stages[n] for n in running_stages(context) if n < len(stages))


def without_stage_order(context: Context) -> ModelSpec:
    """The same stages without their order: a problem of the chain must not hide those of a stage."""
    if without_stage_order not in context.kept:
        stages = tuple(stage.model_copy(update={"after": None}) for stage in context.spec.stages)
        context.kept[without_stage_order] = context.spec.model_copy(update={"stages": stages})
    loose: ModelSpec = context.kept[without_stage_order]
    return loose


class StageView:
    """A stage that runs: its settings, and their places in the text."""

    def __init__(self, context: Context, number: int):
        loose = without_stage_order(context)
        self.context = context
        self.stage = loose.stages[number] if loose.stages else DEFAULT_STAGE
        self.after = context.spec.stages[number].after if loose.stages else None
        self.settings = stage_settings(loose, self.stage.label)
        self.name = self.stage.criterion.place_of("name")

    @property
    def criterion(self) -> str:
        return self.stage.criterion.name

    @property
    def optimizer(self) -> str:
        return self.settings.optimizer.method

    @cached_property
    def _written(self) -> Mapping[tuple[str, ...], Value]:
        """The value of each written setting: of the block, else of the arguments."""
        call = self.stage.criterion
        values = {
            (argument.name,): argument.value for argument in reversed(call.arguments) if argument.name is not None
        }
        return values | {one.key: one.value for one in reversed(call.settings)}

    def written(self, *key: str) -> Value | None:
        """The value of a setting as written; None if it is not."""
        return self._written.get(key)

    def place(self, *key: str) -> Node | Span:
        """The place of a setting, or that of the criterion if it is not written."""
        return self.written(*key) or self.name

    @property
    def of_criterion(self) -> list[tuple[At, str]]:
        """A further place of a complaint: the criterion."""
        return [(self.name, "the criterion")]

    @property
    def inference(self) -> tuple[str, At]:
        """The method that sums here, of the stage or else of `infer`, and where it is written."""
        own, infer = self.written("infer"), self.context.spec.infer
        call = as_call(self.context.spec.settled(own)) if own is not None else None
        return (infer.name, infer.place_of("name")) if call is None else (call.name, self.place("infer"))

    @property
    def priors(self) -> Mapping[tuple[str, ...], Prior]:
        """The prior of all weights and those of single cliques, by the keys of their settings."""
        priors: dict[tuple[str, ...], Prior] = {("prior",): self.settings.prior}
        return priors | {("prior", name): prior for name, prior in self.settings.clique_priors.items()}


def stage_views(context: Context) -> Iterator[StageView]:
    """The stages that run and whose settings can be read."""
    if stage_views not in context.kept:
        views: list[StageView] = []
        for n in running_stages(context):
            with suppress(DcrfError):  # `setting_rules` reports it
                views.append(StageView(context, n))
        context.kept[stage_views] = views
    yield from context.kept[stage_views]


def stages_of(context: Context, *criteria: type[Chosen]) -> Iterator[tuple[StageView, Chosen]]:
    """The stages of `stage_views` that have one of these criteria, with its settings."""
    for stage in stage_views(context):
        if isinstance(stage.settings.criterion, criteria):
            yield stage, stage.settings.criterion
