"""The kind of a condition as a feature, from the template alone: texts, a test, or a number; texts with weights or not.

Agrees with evaluation on a corpus (`distinct_values`, `atoms`); needed for a model that is read from a file. Not here:
evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...foundation import IncompatibleState
from ...semantics import FUNCTIONS, ModelSpec, gives_number, nodes
from ...syntax import NUMERIC, Apply, Condition, Reference
from ..plan import LENGTH_OF_SEGMENT, condition_text, leaves, reads_segment
from .value_functions import FEATURES


def kind_of(spec: ModelSpec, condition: Condition, registered: Mapping[str, str]) -> str:
    """`value`, `test` or `number`. `registered`: the kind of each of the user's functions, by the same names.

    Raises `IncompatibleState` for an unknown function.
    """
    if len({(condition_text(leaf), offset) for leaf, offset in leaves(spec, condition)}) > 1:
        return "test"  # a comparison of places
    match condition:
        case Reference(name=name):
            column = spec.column(name)
            if column is not None:
                return "number" if column.type.name in NUMERIC else "value"
            if name == LENGTH_OF_SEGMENT:
                return "value"
            return "test" if FUNCTIONS[name].returns == "test" else "value"
        case Apply(function=name):
            if reads_segment(condition):
                return "value"
            if name in registered:
                return "value" if registered[name] == "weights" else registered[name]
            if name in FEATURES or name in ("span", "bin") or any(lexicon.name == name for lexicon in spec.lexicons):
                return "value"
            if gives_number(condition):
                return "number"
            raise IncompatibleState(f"nothing says what the function `{name}` gives")
    return "test"


def is_weighted(spec: ModelSpec, condition: Condition) -> bool:
    """Whether a condition stands for the names of a weighted bag, or for what a function makes of them."""
    if not isinstance(condition, Reference | Apply):
        return False
    columns = [spec.column(leaf.name) for leaf, _ in leaves(spec, condition) if isinstance(leaf, Reference)]
    return any(column is not None and column.type.name == "weighted_bag" for column in columns)


def gives_weights(condition: Condition, kinds: Mapping[str, str]) -> bool:
    """Whether a term is made of what a user's function gives as names with numbers."""
    return isinstance(condition, Reference | Apply) and any(
        isinstance(node, Apply) and kinds.get(node.function) == "weights" for node in nodes(condition)
    )
