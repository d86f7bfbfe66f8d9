"""Which training stage prunes for another: `by = STAGE` of pruned inference.

Not here: whether it may (`checks.pruning_rules`), its marginals (`inference.stage_guides`).
"""

from __future__ import annotations

from ..schema import ModelSpec
from .method_settings import MethodSettings
from .pruned_settings import PrunedSettings
from .settings_reading import DEFAULT_STAGE, inference_settings, stage_settings


def guiding_stage(spec: ModelSpec, settings: MethodSettings) -> str | None:
    """The stage by whose marginals these settings prune; None if there is none, as where a view prunes."""
    if not isinstance(settings, PrunedSettings) or settings.by is None:
        return None
    labels = [stage.label for stage in spec.stages or (DEFAULT_STAGE,)]
    return settings.by if settings.by in labels and settings.by not in [view.name for view in spec.views] else None


def stage_inference(spec: ModelSpec, label: str) -> MethodSettings:
    """The inference of a stage: its own, else that of the template."""
    return stage_settings(spec, label).infer or inference_settings(spec)


def guiding_stages(spec: ModelSpec, settings: MethodSettings | None = None) -> tuple[str, ...]:
    """The stages whose weights inference needs besides the model's own: that which prunes, that which prunes there, ….

    settings: of the inference; by default those of the template, which tagging follows.
    """
    found: list[str] = []
    stage = guiding_stage(spec, inference_settings(spec) if settings is None else settings)
    while stage is not None and stage not in found:
        found.append(stage)
        stage = guiding_stage(spec, stage_inference(spec, stage))
    return tuple(found)
