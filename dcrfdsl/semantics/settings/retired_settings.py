"""Settings that the language no longer has. Not here: current settings (`training_settings`)."""

from __future__ import annotations

from collections.abc import Mapping

from ..schema import ModelSpec

# What does the work of each now.
RETIRED: Mapping[str, str] = {
    "checkpoint": "remove it: `dcrfdsl train` writes checkpoints by itself, `--checkpoint SECONDS` says how often, and "
    "`--resume` goes on from one",
}


def without_retired_settings(spec: ModelSpec) -> ModelSpec:
    """The specification without retired settings: a model file, which nobody can edit, may still have them."""
    stages = []
    for stage in spec.stages:
        call = stage.criterion
        arguments = tuple(item for item in call.arguments if item.name not in RETIRED)
        settings = tuple(item for item in call.settings if ".".join(item.key) not in RETIRED)
        call = call.model_copy(update={"arguments": arguments, "settings": settings})
        stages.append(stage.model_copy(update={"criterion": call}))
    return spec.model_copy(update={"stages": tuple(stages)})
