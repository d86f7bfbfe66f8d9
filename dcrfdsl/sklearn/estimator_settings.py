"""Settings of a template as parameters of an estimator: `train__prior="laplace(scale=1)"`, `variance=10`.

A parameter is a path of `--set` with `__` for the dot, as scikit-learn names parameters of parameters. Its value is a
text in the language, a number, a bool (`yes`, `no`), None (`none`) or what `dcrfdsl.template.call` and
`dcrfdsl.template.gaussian` make. Not here: which paths there are (`semantics.resolve.overrides`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..semantics import ModelSpec, Number, Resolved, load_template, load_text, to_text, tuned_ranges, value_text
from ..template import as_setting_value
from ..training import Template, as_resolved, grid_values


def resolved_with(template: Template, settings: Mapping[str, Any], stage: str | None) -> Resolved:
    """A template in any form with these settings. A text of several lines is the template itself, not its path."""
    overrides = [f"{name.replace('__', '.')}={_text(name, value)}" for name, value in settings.items()]
    if isinstance(template, str) and "\n" in template:
        return load_text(template, "<template>", overrides, stage)
    if isinstance(template, str | os.PathLike):
        return load_template(os.fspath(template), overrides, stage)
    resolved = as_resolved(template, "template")
    if not overrides:
        return resolved
    spec: ModelSpec = resolved.require(unchecked=True)
    changed = load_text(to_text(spec), "<template>", overrides, stage)
    return replace(changed, directories=resolved.directories)


def range_values(
    resolved: Resolved, points: int, stage: str | None, registered: Collection[str]
) -> dict[str, list[Any]]:
    """Values of each constant of the template that has a `tune` range, as parameters take them."""
    ranges = tuned_ranges(resolved, stage=stage, registered=registered)
    return {
        name: [value.value if isinstance(value, Number) else value_text(value) for value in grid_values(span, points)]
        for name, span in ranges.items()
    }


def _text(name: str, value: Any) -> str:
    """A value as a text of the language. TypeError if it has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    try:
        return value_text(as_setting_value(value))
    except (TypeError, ValueError):
        expected = "a text such as 'gaussian(variance = 1)', a number, True, False or None"
        raise TypeError(f"the setting `{name}` takes {expected}: found {value!r}") from None
