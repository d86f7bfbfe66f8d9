"""Where terms and conditions read: moved to other positions, at named positions, in whole sentences and segments.

    lower(word[-1])[-1]       is `lower(word)[-2]`; a window is several terms
    word[i-1]                 a named position of a relational clique, as an offset: so all code for offsets handles it
    f(word, pos[-1])          a call that reads several values is read at its own place, as a column would be: its
                              arguments keep theirs, counted from there; `f(word[all])` reads a whole sentence
    mean(temp[-3..3])         so is a statistic of a window, which stays in it
    length, first(word)       of a `segment` statement: its length, and what is read of the tokens of a segment

Not here: groups and constants (`expansion`), which positions are joined (`relation_instances`), values.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...foundation import data_error
from ...semantics import FUNCTIONS, LENGTH, SEGMENT_FUNCTIONS, children, reads_window, rewritten, with_children
from ...syntax import nodes as ex

# calls of several values ----------------------------------------------------------------------------------------------


def reads_sentence(value: ex.Value) -> bool:
    """Whether an argument is the values at all positions, `word[all]`."""
    return (
        isinstance(value, ex.Reference | ex.Apply)
        and isinstance(value.place, ex.Named)
        and value.place.position == "all"
    )


def is_joint(term: ex.Apply) -> bool:
    """Whether a call of an expanded condition reads several values together."""
    if term.function in FUNCTIONS or not term.arguments:
        return reads_window(term)
    first, *more = [argument.value for argument in term.arguments]
    return reads_sentence(first) or any(reads_sentence(value) or _is_anchored(value) for value in more)


def _is_anchored(value: ex.Value) -> bool:
    """Whether an argument has an offset, at itself or inside."""
    if isinstance(value, ex.Reference):
        return isinstance(value.place, ex.At)
    return isinstance(value, ex.Apply) and (
        isinstance(value.place, ex.At) or any(_is_anchored(argument.value) for argument in value.arguments[:1])
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
    if isinstance(node, ex.Reference | ex.Apply) and isinstance(node.place, ex.Named) and node.place.position in names:
        offset = named_offset(names.index(node.place.position), node.place.shift)
        node = node.model_copy(update={"place": ex.At(offset=offset)})
    return rewritten(node, lambda inner: with_offsets(inner, names))


# moved terms ----------------------------------------------------------------------------------------------------------


def offsets_of(place: ex.Place) -> Sequence[int]:
    match place:
        case ex.Here():
            return (0,)
        case ex.At(offset=offset):
            return (offset,)
        case ex.Window(first=first, last=last):
            return range(first, last + 1)
        case ex.Several(offsets=offsets):
            return offsets
        case ex.Named(position=position):
            raise data_error("place-without-where", f"`[{position}]` is a position that no `where` joins")


def term_variants(term: ex.Reference | ex.Apply, shift: int) -> list[ex.Reference | ex.Apply]:
    """One term for each combination of places, each place moved to the innermost reference."""
    variants: list[ex.Reference | ex.Apply] = []
    for offset in offsets_of(term.place):
        if isinstance(term, ex.Reference):
            variants.append(ex.Reference(name=term.name, place=ex.At(offset=shift + offset)))
        elif is_joint(term):
            variants.append(term.model_copy(update={"place": ex.At(offset=shift + offset)}))
        elif not term.arguments:  # `first()` is `first`
            variants.append(ex.Reference(name=term.function, place=ex.At(offset=shift + offset)))
        else:
            subject, *rest = term.arguments
            if not isinstance(subject.value, ex.Reference | ex.Apply):
                raise data_error("bad-argument", f"`{term.function}` takes a column, or a function of one, first")
            variants.extend(
                ex.Apply(function=term.function, arguments=(ex.Argument(value=inner, name=subject.name), *rest))
                for inner in term_variants(subject.value, shift + offset)
            )
    return variants


def variants_of(condition: Any, shift: int) -> list[Any]:
    """One condition for each combination of the places in its windows."""
    if isinstance(condition, ex.Reference | ex.Apply):
        return term_variants(condition, shift)
    parts = itertools.product(*(variants_of(part, shift) for part in children(condition)))
    return [with_children(condition, chosen) for chosen in parts]


def moved(condition: ex.Condition, shift: int) -> ex.Condition:
    """An expanded condition with every place moved by `shift`."""
    shifted: ex.Condition = variants_of(condition, shift)[0]
    return shifted


# segments -------------------------------------------------------------------------------------------------------------


LENGTH_OF_SEGMENT = "length of segment"  # no name that a template can declare


def with_length(node: Any) -> Any:
    """A feature in which the bare word `length` is that of the segment; `length(…)` stays a function."""
    if isinstance(node, ex.Apply):
        return node
    if isinstance(node, ex.Reference):
        named = node.name == LENGTH and node.place == ex.Here()
        return ex.Reference(name=LENGTH_OF_SEGMENT) if named else node
    return rewritten(node, with_length)


def reads_segment(term: ex.Reference | ex.Apply) -> bool:
    """Whether a term is one of the functions that read the tokens of a segment, and not a function of one."""
    return (
        isinstance(term, ex.Apply)
        and term.function in SEGMENT_FUNCTIONS
        and len(term.arguments) == 1
        and isinstance(term.arguments[0].value, ex.Reference)
    )


def segment_place(term: ex.Apply) -> tuple[str, int]:
    """The column that such a term reads, and how far beside the first or last token."""
    read = term.arguments[0].value
    assert isinstance(read, ex.Reference)  # see `reads_segment`
    return read.name, read.place.offset if isinstance(read.place, ex.At) else 0
