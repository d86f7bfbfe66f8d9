"""The training stages that run. Only these are checked for errors: a template may hold several, and one runs at a time.

Not here: the rules on a stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from ...foundation import DcrfError
from ...syntax import Stage, Value
from ..schema import ModelSpec, Path, as_call
from ..settings import DEFAULT_STAGE, CriterionSettings, Prior, stage_settings
from .context import Context

Chosen = TypeVar("Chosen", bound=CriterionSettings)

EXACT = ("exact", "auto")  # inference methods; whether `auto` takes `exact` depends on the graph


def running_stages(context: Context) -> tuple[int, ...]:
    """Numbers of the stages that run, the first one first, as far as their chain leads; (0,) for the default stage."""
    if running_stages not in context.kept:
        context.kept[running_stages] = _running(context)
    numbers: tuple[int, ...] = context.kept[running_stages]
    return numbers


def _running(context: Context) -> tuple[int, ...]:
    stages = context.spec.stages
    if not stages:
        return (0,)
    numbers = context.spec.stage_numbers
    at = numbers.get(context.stage) if context.stage is not None else len(stages) - 1
    chain: dict[int, None] = {}
    while at is not None and at not in chain:
        chain[at] = None
        before = stages[at].after
        at = numbers.get(before) if before is not None else None
    return tuple(reversed(chain))


def running_statements(context: Context) -> Iterator[tuple[int, Stage]]:
    """The `train` statements that run, with their numbers; none where only the default stage runs."""
    stages = context.spec.stages
    return ((n, stages[n]) for n in running_stages(context) if n < len(stages))


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
        self.context, self.number = context, number
        self.stage = loose.stages[number] if loose.stages else DEFAULT_STAGE
        self.settings = stage_settings(loose, self.stage.label)
        self.path: Path = ("stages", number, "criterion")

    @property
    def criterion(self) -> str:
        return self.stage.criterion.name

    @property
    def optimizer(self) -> str:
        return self.settings.optimizer.method

    def written(self, *key: str) -> Path | None:
        """The place of a setting; None if it is not written."""
        return self._places.get(key)

    @cached_property
    def _places(self) -> Mapping[tuple[str, ...], Path]:
        """The place of each written setting: in the block, else among the arguments."""
        places: dict[tuple[str, ...], Path] = {}
        for s, setting in enumerate(self.stage.criterion.settings):
            places.setdefault(setting.key, (*self.path, "settings", s, "value"))
        for a, argument in enumerate(self.stage.criterion.arguments):
            if argument.name is not None:
                places.setdefault((argument.name,), (*self.path, "arguments", a, "value"))
        return places

    def value(self, *key: str) -> Value | None:
        """The value of a setting as written; None if it is not."""
        return next((setting.value for setting in self.stage.criterion.settings if setting.key == key), None)

    def place(self, *key: str) -> Path:
        """The place of a setting, or that of the criterion if it is not written."""
        return self.written(*key) or (*self.path, "name")

    @property
    def of_criterion(self) -> list[tuple[Path, str]]:
        """A further place of a complaint: the criterion."""
        return [((*self.path, "name"), "the criterion")]

    @property
    def inference(self) -> tuple[str, Path]:
        """The method that sums here, of the stage or else of `infer`, and where it is written."""
        own = self.value("infer")
        call = as_call(self.context.spec.settled(own)) if own is not None else None
        return (self.context.spec.infer.name, ("infer", "name")) if call is None else (call.name, self.place("infer"))

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
