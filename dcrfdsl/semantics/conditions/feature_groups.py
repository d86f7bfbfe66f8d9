"""Feature groups inside each other: cycles, depth of nesting, numbers of features.

Nothing here recurses or expands a group, so any template can be analysed. Not here: reporting (`checks.clique_rules`),
the expansion itself (`features`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..schema import (
    Condition,
    Cross,
    Feature,
    FeatureGroup,
    ModelSpec,
    Place,
    Reference,
    Several,
    Window,
    term_places,
)

MOST_FEATURES = 100_000  # entries that a list may expand to, before the data is looked at
DEEPEST = 64  # levels of groups inside each other: safe for every recursive walk over them
COUNT_LIMIT = 10**12  # numbers of features are counted up to here


def held_names(feature: Feature) -> list[str]:
    """The bare names in a feature: the feature itself, or its factors. Those declared as groups are its groups."""
    factors = feature.factors if isinstance(feature, Cross) else (feature,)
    return [factor.name for factor in factors if isinstance(factor, Reference)]


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

    def size(self, feature: Feature) -> int:
        """How many features an entry of a feature list stands for, at most `COUNT_LIMIT`."""
        product = 1
        for factor in feature.factors if isinstance(feature, Cross) else (feature,):
            product = min(COUNT_LIMIT, product * self._factor(factor))
        return product

    def _factor(self, factor: Condition) -> int:
        if isinstance(factor, Reference) and factor.name in self.sizes:
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

    def way_down(self, feature: Feature, by: Mapping[str, int]) -> list[str]:
        """A path through the groups inside an entry: at each level the group with the largest value of `by` (`depth` or
        `sizes`).
        """
        way: list[str] = []
        names = [name for name in held_names(feature) if name in self.groups]
        while names and len(way) <= len(self.groups):
            way.append(max(names, key=lambda name: by[name]))
            names = list(_groups_in(self.groups[way[-1]].features, self.groups))
        return way


def _groups_in(features: Iterable[Feature], groups: Iterable[str]) -> list[str]:
    known = groups if isinstance(groups, Mapping | set) else set(groups)
    return list(dict.fromkeys(name for feature in features for name in held_names(feature) if name in known))


def _width(place: Place) -> int:
    match place:
        case Window(first=first, last=last):
            return max(0, last - first + 1)
        case Several(offsets=offsets):
            return len(offsets)
    return 1
