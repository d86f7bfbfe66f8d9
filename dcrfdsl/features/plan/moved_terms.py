"""Terms and conditions moved to other positions: `lower(word[-1])[-1]` is `lower(word)[-2]`, a window is several terms.

Not here: groups and constants (`expansion`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...foundation import DcrfError, Diagnostic
from ...semantics import (
    Apply,
    Argument,
    At,
    Condition,
    Here,
    Named,
    Place,
    Reference,
    Several,
    Window,
    children,
    with_children,
)
from .joint_calls import is_joint


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
            raise expansion_error("place-without-where", f"`[{position}]` is a position that no `where` joins")


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
                raise expansion_error("bad-argument", f"`{term.function}` takes a column, or a function of one, first")
            variants.extend(
                Apply(function=term.function, arguments=(Argument(value=inner, name=subject.name), *rest))
                for inner in term_variants(subject.value, shift + offset)
            )
    return variants


def variants_of(condition: Any, shift: int) -> list[Any]:
    """One condition for each combination of the places in its windows."""
    if isinstance(condition, Reference | Apply):
        return term_variants(condition, shift)
    parts = itertools.product(*(variants_of(part, shift) for _, part in children(condition)))
    return [with_children(condition, chosen) for chosen in parts]


def moved(condition: Condition, shift: int) -> Condition:
    """An expanded condition with every place moved by `shift`."""
    shifted: Condition = variants_of(condition, shift)[0]
    return shifted


def expansion_error(slug: str, message: str) -> DcrfError:
    return DcrfError(Diagnostic(slug, message))
