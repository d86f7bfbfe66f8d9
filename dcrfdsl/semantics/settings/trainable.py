"""Which optimizers can train which criterion, and which penalties each optimizer treats.

Both follow from the settings classes: a criterion declares what it `offers` and an optimizer what it `needs`
(`method_settings`). The checker refuses all other pairs. Not here: its messages (`checks.setting_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping

from .method_settings import Access, Shape
from .optimizer_settings import OPTIMIZERS
from .training_settings import CRITERIA


def _needing(*access: Access | None) -> tuple[str, ...]:
    return tuple(name for name, settings in OPTIMIZERS.items() if settings.needs in access)


SMOOTH = _needing(None, "gradient")
STEPWISE = _needing("sequences")
TRAINED_BY: Mapping[str, tuple[str, ...]] = {
    name: _needing(None, *settings.offers) for name, settings in CRITERIA.items()
}
WITHOUT_PENALTY = tuple(name for name, settings in CRITERIA.items() if not settings.takes_prior)
TREATS: Mapping[str, tuple[Shape, ...]] = {name: settings.treats for name, settings in OPTIMIZERS.items()}
