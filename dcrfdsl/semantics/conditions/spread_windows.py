"""Feature lists with windows written out: `word[-1..1]` becomes `word[-1], word, word[1]`, and so do windows of groups.

The order is that in which features are numbered, so that the lists stand for the same features. Lists of segments stay
as they are. Not here: groups in place of their names, constants and ids (`features.plan`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..schema import (
    Apply,
    Argument,
    At,
    Cross,
    Feature,
    Here,
    ModelSpec,
    Place,
    Reference,
    Several,
    Window,
    children,
    with_children,
)


def without_windows(spec: ModelSpec) -> ModelSpec:
    """The same model, whose features each read one place a term."""
    groups = tuple(group.model_copy(update={"features": _listed(group.features)}) for group in spec.groups)
    cliques = tuple(
        one if one.segmental else one.model_copy(update={"features": _listed(one.features)}) for one in spec.cliques
    )
    return spec.model_copy(update={"groups": groups, "cliques": cliques})


def _listed(features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    return tuple(spread for feature in features for spread in _features(feature))


def _features(feature: Feature) -> Iterator[Feature]:
    """An entry of a list for each combination of the places in it."""
    if not isinstance(feature, Cross):
        yield from _spread(feature)
        return
    for factors in itertools.product(*(list(_spread(factor)) for factor in feature.factors)):
        yield Cross(factors=factors)


def _spread(condition: Any) -> Iterator[Any]:
    if isinstance(condition, Reference | Apply):
        yield from _terms(condition)
        return
    for parts in itertools.product(*(list(_spread(part)) for _, part in children(condition))):
        yield with_children(condition, list(parts))


def _terms(term: Reference | Apply) -> Iterator[Reference | Apply]:
    """One term for each combination of places, those of the outer place first."""
    for place in _places(term.place):
        placed = term.model_copy(update={"place": place})
        subject = placed.arguments[0] if isinstance(placed, Apply) and placed.arguments else None
        if not isinstance(placed, Apply) or subject is None or not isinstance(subject.value, Reference | Apply):
            yield placed
            continue
        for inner in _terms(subject.value):
            arguments = (Argument(value=inner, name=subject.name), *placed.arguments[1:])
            yield placed.model_copy(update={"arguments": arguments})


def _places(place: Place) -> list[Place]:
    match place:
        case Window(first=first, last=last):
            offsets: tuple[int, ...] = tuple(range(first, last + 1))
        case Several(offsets=offsets):
            pass
        case _:
            return [place]
    return [At(offset=offset) if offset else Here() for offset in offsets]
