"""The training stages that run. Only these are checked for errors: a template may hold several, and one runs at a time.

Not here: the rules on a stage.
"""

from __future__ import annotations

from ..schema import ModelSpec
from .context import Context


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


def without_stage_order(context: Context) -> ModelSpec:
    """The same stages without their order: a problem of the chain must not hide those of a stage."""
    if without_stage_order not in context.kept:
        stages = tuple(stage.model_copy(update={"after": None}) for stage in context.spec.stages)
        context.kept[without_stage_order] = context.spec.model_copy(update={"stages": stages})
    loose: ModelSpec = context.kept[without_stage_order]
    return loose
