"""Values that name a method with its settings, such as `lbfgs(memory = 7)`. Not here: the settings that exist."""

from __future__ import annotations

from .expressions import Apply, Here, Reference, Value
from .model_spec import CallSpec


def as_call(value: Value) -> CallSpec | None:
    """A value that names a method, `exact` or `lbfgs(memory = 7)`, as a call; None for any other value."""
    match value:
        case Reference(place=Here()):
            return CallSpec(name=value.name)
        case Apply(place=Here()):
            return CallSpec(name=value.function, arguments=value.arguments)
        case _:
            return None
