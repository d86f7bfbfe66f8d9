"""Which training stages run. Only these are checked as errors: a template may hold many criteria, one is run at a time.

Not here: what is wrong with a stage.
"""

from __future__ import annotations

from ..model import ModelSpec
from .context import Context

__all__ = ["running_stages", "unchained"]


def running_stages(context: Context) -> tuple[int, ...]:
    """Numbers of the stages that run, first one first, as far as their chain leads; (0,) for the default stage."""
    stages = context.spec.stages
    if not stages:
        return (0,)
    by_label = {stage.label: n for n, stage in enumerate(stages)}
    at = by_label.get(context.stage) if context.stage is not None else len(stages) - 1
    chain: list[int] = []
    while at is not None and at not in chain:
        chain.append(at)
        before = stages[at].after
        at = by_label.get(before) if before is not None else None
    return tuple(reversed(chain))


def unchained(spec: ModelSpec) -> ModelSpec:
    """The same stages, none after another: what is wrong with the chain must not hide what a stage says."""
    return spec.model_copy(update={"stages": tuple(s.model_copy(update={"after": None}) for s in spec.stages)})
