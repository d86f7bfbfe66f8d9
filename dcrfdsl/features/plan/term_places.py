"""Where terms and conditions read: moved to other positions, at named positions, in whole sentences and segments.

    lower(word[-1])[-1]       is `lower(word)[-2]`; a window is several terms
    word[i-1]                 a named position of a relational clique, as an offset: so all code for offsets handles it
    f(word, pos[-1])          a call that reads several values is read at its own place, as a column would be: its
                              arguments keep theirs, counted from there; `f(word[all])` reads a whole sentence
    length, first(word)       of a `segment` statement: its length, and what is read of the tokens of a segment

Not here: groups and constants (`expansion`), which positions are joined (`relation_instances`), values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...foundation import data_error
from ...semantics import FUNCTIONS, LENGTH, SEGMENT_FUNCTIONS, children, rewritten, with_children
from ...syntax import (
    Apply,
    Argument,
    At,
    Condition,
    Cross,
    Feature,
    Here,
    Named,
    Place,
    Reference,
    Several,
    Value,
    Window,
)

# calls of several values ----------------------------------------------------------------------------------------------


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


# named positions ------------------------------------------------------------------------------------------------------


FAR = 1 << 40
NAMES = ("i", "j")


def named_offset(number: int, shift: int) -> int:
    """The offset of named position `number` (0 or 1) plus `shift`."""
    return (number + 1) * FAR + shift


def split_offset(offset: int) -> tuple[int, int]:
    """(0, offset) for an ordinary place, (1 or 2, shift) for one at the first or second named position."""
    which = (offset + FAR // 2) // FAR
    return which, offset - which * FAR


def place_name(offset: int) -> str:
    """`i-1` for a named place, `-1` for an ordinary one."""
    which, shift = split_offset(offset)
    if which == 0:
        return str(shift)
    return NAMES[which - 1] + (f"{shift:+d}" if shift else "")


def with_offsets(node: Any, names: tuple[str, ...]) -> Any:
    """A condition or feature with the positions `names` replaced by offsets."""
    if isinstance(node, Reference | Apply) and isinstance(node.place, Named) and node.place.position in names:
        offset = named_offset(names.index(node.place.position), node.place.shift)
        node = node.model_copy(update={"place": At(offset=offset)})
    return rewritten(node, lambda inner: with_offsets(inner, names))


# moved terms ----------------------------------------------------------------------------------------------------------


def offsets_of(place: Place) -> Sequence[int]:
    match place:
        case Here():
            return (0,)
        case At(offset=offset):
            return (offset,)
        case Window(first=first, last=last):
            return range(first, last + 1)
        case Several(offsets=offsets):
            return offsets
        case Named(position=position):
            raise data_error("place-without-where", f"`[{position}]` is a position that no `where` joins")


def place_at(offset: int) -> Place:
    return At(offset=offset)


def term_variants(term: Reference | Apply, shift: int) -> list[Reference | Apply]:
    """One term for each combination of places, each place moved to the innermost reference."""
    variants: list[Reference | Apply] = []
    for offset in offsets_of(term.place):
        if isinstance(term, Reference):
            variants.append(Reference(name=term.name, place=place_at(shift + offset)))
        elif is_joint(term):
            variants.append(term.model_copy(update={"place": place_at(shift + offset)}))
        elif not term.arguments:  # `first()` is `first`
            variants.append(Reference(name=term.function, place=place_at(shift + offset)))
        else:
            subject, *rest = term.arguments
            if not isinstance(subject.value, Reference | Apply):
                raise data_error("bad-argument", f"`{term.function}` takes a column, or a function of one, first")
            variants.extend(
                Apply(function=term.function, arguments=(Argument(value=inner, name=subject.name), *rest))
                for inner in term_variants(subject.value, shift + offset)
            )
    return variants


def variants_of(condition: Any, shift: int) -> list[Any]:
    """One condition for each combination of the places in its windows."""
    if isinstance(condition, Reference | Apply):
        return term_variants(condition, shift)
    parts = itertools.product(*(variants_of(part, shift) for part in children(condition)))
    return [with_children(condition, chosen) for chosen in parts]


def moved(condition: Condition, shift: int) -> Condition:
    """An expanded condition with every place moved by `shift`."""
    shifted: Condition = variants_of(condition, shift)[0]
    return shifted


# segments -------------------------------------------------------------------------------------------------------------


LENGTH_OF_SEGMENT = "length of segment"  # no name that a template can declare


def with_length(feature: Feature) -> Feature:
    """A feature in which the bare word `length` is that of the segment; `length(…)` stays a function."""
    if isinstance(feature, Cross):
        return Cross(factors=tuple(_with_length(factor) for factor in feature.factors))
    changed: Feature = _with_length(feature)
    return changed


def _with_length(condition: Any) -> Any:
    if isinstance(condition, Reference):
        named = condition.name == LENGTH and condition.place == Here()
        return Reference(name=LENGTH_OF_SEGMENT) if named else condition
    if isinstance(condition, Apply):
        return condition
    return with_children(condition, [_with_length(part) for part in children(condition)])


def reads_segment(term: Reference | Apply) -> bool:
    """Whether a term is one of the functions that read the tokens of a segment, and not a function of one."""
    return (
        isinstance(term, Apply)
        and term.function in SEGMENT_FUNCTIONS
        and len(term.arguments) == 1
        and isinstance(term.arguments[0].value, Reference)
    )


def segment_place(term: Apply) -> tuple[str, int]:
    """The column that such a term reads, and how far beside the first or last token."""
    read = term.arguments[0].value
    assert isinstance(read, Reference)  # see `reads_segment`
    return read.name, read.place.offset if isinstance(read.place, At) else 0
