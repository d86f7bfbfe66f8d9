"""Feature lists: groups inside each other (cycles, depth of nesting, numbers of features), and windows written out.

Nothing of the first recurses or expands a group, so any template can be analysed. Written out, `word[-1..1]` becomes
`word[-1], word, word[1]`, and so do windows of groups; the order is that in which features are numbered, so that the
lists stand for the same features. Not here: reporting (`checks.clique_rules`); groups in place of their names,
constants and ids (`features`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...foundation import dataclass
from ...syntax import FeatureGroup, nodes as ex
from ..schema import ModelSpec, children, reads_window, term_places, with_children

MOST_FEATURES = 100_000  # entries that a list may expand to, before the data is looked at
DEEPEST = 64  # levels of groups inside each other: safe for every recursive walk over them
COUNT_LIMIT = 10**12  # numbers of features are counted up to here


def held_names(feature: ex.Feature) -> list[str]:
    """The bare names in a feature: the feature itself, or its factors. Those declared as groups are its groups."""
    factors = feature.factors if isinstance(feature, ex.Cross) else (feature,)
    return [factor.name for factor in factors if isinstance(factor, ex.Reference)]


def strong_components(leads_to: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """The strongly connected components of a graph of names; each comes after those that it leads to (Tarjan 1972)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    for start in leads_to:
        path: list[tuple[str, Iterator[str]]] = []
        following: str | None = None if start in number else start
        while path or following is not None:
            if following is not None:
                number[following] = lowest[following] = len(number)
                waiting.append(following)
                is_waiting.add(following)
                path.append((following, iter(leads_to[following])))
            name, rest = path[-1]
            following = None
            for other in rest:
                if other not in number:
                    following = other
                    break
                if other in is_waiting:
                    lowest[name] = min(lowest[name], number[other])
            if following is not None:
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[name])
            if lowest[name] == number[name]:
                at = len(waiting) - 1
                while waiting[at] != name:
                    at -= 1
                component = waiting[at:]
                del waiting[at:]
                is_waiting.difference_update(component)
                yield component


@dataclass(frozen=True)
class GroupTree:
    """The nesting of groups. circles: the sets of groups that contain each other.   depth: of each group; 1 for a group
    without groups inside, and for one on a circle.

    sizes: the number of features of each group, at most `COUNT_LIMIT`. A group on a circle counts as one feature.
    """

    groups: Mapping[str, FeatureGroup]
    circles: tuple[list[str], ...]
    depth: Mapping[str, int]
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, spec: ModelSpec) -> GroupTree:
        groups = {group.name: group for group in spec.groups}
        inside = {name: _groups_in(group.features, groups) for name, group in groups.items()}
        tree = cls(groups, (), depth := {}, sizes := {})
        circles = []
        for component in strong_components(inside):
            if len(component) > 1 or component[0] in inside[component[0]]:
                circles.append(component)
                depth.update(dict.fromkeys(component, 1))
                sizes.update(dict.fromkeys(component, 1))
                continue
            (name,) = component
            depth[name] = 1 + max((depth[other] for other in inside[name]), default=0)
            sizes[name] = min(COUNT_LIMIT, sum(tree.size(feature) for feature in groups[name].features))
        return cls(groups, tuple(circles), depth, sizes)

    def size(self, feature: ex.Feature) -> int:
        """How many features an entry of a feature list stands for, at most `COUNT_LIMIT`."""
        product = 1
        for factor in feature.factors if isinstance(feature, ex.Cross) else (feature,):
            product = min(COUNT_LIMIT, product * self._factor(factor))
        return product

    def _factor(self, factor: ex.Condition) -> int:
        if isinstance(factor, ex.Reference) and factor.name in self.sizes:
            return self.sizes[factor.name] * _width(factor.place)
        product = 1
        for place in term_places(factor):
            product = min(COUNT_LIMIT, product * _width(place))
        return product

    def circle(self, component: Sequence[str]) -> list[str]:
        """A shortest path from the first declared group of a circle back to it."""
        within = set(component)
        start = next(name for name in self.groups if name in within)
        came_from: dict[str, str] = {}
        ways = [start]
        for name in ways:  # grows during the loop: breadth-first search
            for other in _groups_in(self.groups[name].features, within):
                if other == start:
                    way = [name]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return [*reversed(way), start]
                if other not in came_from:
                    came_from[other] = name
                    ways.append(other)
        raise AssertionError(component)

    def way_down(self, feature: ex.Feature, by: Mapping[str, int]) -> list[str]:
        """A path through the groups inside an entry: at each level the group with the largest value of `by` (`depth` or
        `sizes`).
        """
        way: list[str] = []
        names = [name for name in held_names(feature) if name in self.groups]
        while names and len(way) <= len(self.groups):
            way.append(max(names, key=lambda name: by[name]))
            names = list(_groups_in(self.groups[way[-1]].features, self.groups))
        return way


def _groups_in(features: Iterable[ex.Feature], groups: Iterable[str]) -> list[str]:
    known = groups if isinstance(groups, Mapping | set) else set(groups)
    return list(dict.fromkeys(name for feature in features for name in held_names(feature) if name in known))


def _width(place: ex.Place) -> int:
    match place:
        case ex.Window(first=first, last=last):
            return max(0, last - first + 1)
        case ex.Several(offsets=offsets):
            return len(offsets)
    return 1


# windows written out --------------------------------------------------------------------------------------------------


def without_windows(spec: ModelSpec) -> ModelSpec:
    """The same model, whose features each read one place a term."""
    groups = tuple(group.model_copy(update={"features": _listed(group.features)}) for group in spec.groups)
    cliques = tuple(
        one if one.segmental else one.model_copy(update={"features": _listed(one.features)}) for one in spec.cliques
    )
    return spec.model_copy(update={"groups": groups, "cliques": cliques})


def _listed(features: tuple[ex.Feature, ...]) -> tuple[ex.Feature, ...]:
    return tuple(spread for feature in features for spread in _one_place_each(feature))


def _one_place_each(feature: ex.Feature) -> Iterator[ex.Feature]:
    """An entry of a list for each combination of the places in it."""
    if not isinstance(feature, ex.Cross):
        yield from _spread(feature)
        return
    for factors in itertools.product(*(list(_spread(factor)) for factor in feature.factors)):
        yield ex.Cross(factors=factors)


def _spread(condition: Any) -> Iterator[Any]:
    if isinstance(condition, ex.Reference | ex.Apply):
        yield from _terms(condition)
        return
    for parts in itertools.product(*(list(_spread(part)) for part in children(condition))):
        yield with_children(condition, list(parts))


def _terms(term: ex.Reference | ex.Apply) -> Iterator[ex.Reference | ex.Apply]:
    """One term for each combination of places, those of the outer place first."""
    for place in _places(term.place):
        placed = term.model_copy(update={"place": place})
        arguments = term.arguments if isinstance(term, ex.Apply) else ()
        subject = arguments[0] if arguments else None
        if subject is None or reads_window(term) or not isinstance(subject.value, ex.Reference | ex.Apply):
            yield placed
            continue
        for inner in _terms(subject.value):
            within = (ex.Argument(value=inner, name=subject.name), *arguments[1:])
            yield placed.model_copy(update={"arguments": within})


def _places(place: ex.Place) -> list[ex.Place]:
    match place:
        case ex.Window(first=first, last=last):
            offsets: tuple[int, ...] = tuple(range(first, last + 1))
        case ex.Several(offsets=offsets):
            pass
        case _:
            return [place]
    return [ex.At(offset=offset) if offset else ex.Here() for offset in offsets]
