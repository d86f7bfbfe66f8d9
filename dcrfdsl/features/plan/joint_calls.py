"""Calls of users' functions that read more than one value: `f(word, pos[-1])`, or a whole sentence: `f(word[all])`.

Such a call is read at its own place, as a column would be: its arguments keep theirs, counted from there. Once a
condition is expanded, further arguments that read the data are those with an offset (`At`). Not here: evaluation.
"""

from __future__ import annotations

from ...semantics import FUNCTIONS, Apply, At, Named, Reference, Value


def reads_sentence(value: Value) -> bool:
    """Whether an argument is the values at all positions, `word[all]`."""
    return isinstance(value, Reference | Apply) and isinstance(value.place, Named) and value.place.position == "all"


def is_joint(term: Apply) -> bool:
    """Whether a call of an expanded condition reads several values together."""
    if term.function in FUNCTIONS or not term.arguments:
        return False
    first, *more = [argument.value for argument in term.arguments]
    return reads_sentence(first) or any(reads_sentence(value) or _is_anchored(value) for value in more)


def _is_anchored(value: Value) -> bool:
    """Whether an argument has an offset, at itself or inside."""
    if isinstance(value, Reference):
        return isinstance(value.place, At)
    return isinstance(value, Apply) and (
        isinstance(value.place, At) or any(_is_anchored(argument.value) for argument in value.arguments[:1])
    )
