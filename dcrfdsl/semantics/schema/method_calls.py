"""Values that name a method with its settings, such as `lbfgs(memory = 7)`. Not here: the settings that exist."""

from __future__ import annotations

from ...syntax import Apply, Here, Reference, Value
from .model_spec import CallSpec


def as_call(value: Value) -> CallSpec | None:
    """A value that names a method, `exact` or `lbfgs(memory = 7)`, as a call; None for any other value."""
    match value:
        case Reference(place=Here()):
            call, name = CallSpec(name=value.name), "name"
        case Apply(place=Here()):
            call, name = CallSpec(name=value.function, arguments=value.arguments), "function"
        case _:
            return None
    return call.at(value.span, name=value.place_of(name)) if value.is_written else call
