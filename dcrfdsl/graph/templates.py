"""Clique templates of a specification: clique indices {(Δt, variable)}, hard constraints folded in, views resolved.

Hard constraints fold into a clique over the same sites where there is one, so that they add no loop; else they are
templates of their own. Not here: instances on a sequence (`unroll`), weights (`parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..features.views import ViewMap, view_label, view_map
from ..spec.constraints import allowed_assignments
from ..spec.expressions import At, Named, Place
from ..spec.model import CliqueSpec, ModelSpec, Scheme
from ..spec.schemes import legal_moves

__all__ = ["CliqueTemplate", "Pattern", "assignment_states", "clique_templates"]

Pattern = tuple[int, ...]  # of a clique's sites: 0 in the sequence, -1 before it (START), +1 after it (STOP)
ANYWHERE, FIRST, LAST = "anywhere", "first", "last"


@dataclass(frozen=True, eq=False)
class CliqueTemplate:
    """A clique index with what its instances have in common.

    `clique` is its number in the specification, -1 for a hard constraint. `allowed` [cards] is False where an
    assignment has potential zero. With `pad` every site has two more states, START = card and STOP = card + 1. In a
    relational clique `ends` says of each site which of the two positions its offset counts from, 0 or 1. `views` has
    the view that a site was declared by; empty if there is none.
    """

    name: str
    clique: int
    variables: tuple[int, ...]
    offsets: tuple[int, ...]
    cards: tuple[int, ...]
    pad: bool = False
    feature_set: int = -1
    has_bias: bool = False
    allowed: NDArray[np.bool_] | None = None
    position: str = ANYWHERE
    ends: tuple[int, ...] = ()
    views: tuple[ViewMap | None, ...] = ()

    @property
    def weight_cards(self) -> tuple[int, ...]:
        """States of each site that weights tell apart: those of its view, if it has one."""
        views = self.views or (None,) * len(self.cards)
        return tuple(len(v.states) if v is not None else card for v, card in zip(views, self.cards, strict=True))

    @property
    def relational(self) -> bool:
        """Whether its instances are pairs of positions that the data joins, and not one at each position."""
        return bool(self.ends)

    @property
    def full_cards(self) -> tuple[int, ...]:
        """States of each site that weights tell apart, START and STOP included where they are used."""
        return tuple(card + 2 for card in self.weight_cards) if self.pad else self.weight_cards

    @property
    def num_assignments(self) -> int:
        return math.prod(self.full_cards)

    def anchors(self, length: int) -> range:
        """The anchors at which it has an instance in a sequence of `length` positions."""
        low, high = min(self.offsets), max(self.offsets)
        if self.relational:
            return range(0)
        if self.position == FIRST:
            return range(min(1, length))
        if self.position == LAST:
            return range(max(0, length - 1), length)
        return range(-high, length - low) if self.pad else range(max(0, -low), min(length, length - high))

    @property
    def inside(self) -> Pattern:
        """The pattern of an instance that lies in the sequence with all its sites."""
        return (0,) * len(self.offsets)

    def pattern(self, anchor: int, length: int) -> Pattern:
        return tuple(-1 if anchor + o < 0 else int(anchor + o >= length) for o in self.offsets)


def clique_templates(
    spec: ModelSpec,
    states: Mapping[str, Sequence[str]],
    set_of_clique: Sequence[int],
    bias_of_clique: Sequence[bool],
) -> tuple[CliqueTemplate, ...]:
    """The templates of a specification's cliques, then those of constraints that no clique takes in."""
    numbers = {label.name: m for m, label in enumerate(spec.labels)}
    views = {view.name: view_map(spec, view, states[view_label(spec, view)]) for view in spec.views}
    templates = [
        _clique_template(number, clique, numbers, views, states, set_of_clique[number], bias_of_clique[number])
        for number, clique in enumerate(spec.cliques)
    ]
    for sites, allowed, position in _hard_constraints(spec, states):
        if not allowed.all():
            _fold(templates, sites, allowed, position, numbers)
    return tuple(templates)


def _clique_template(
    number: int,
    clique: CliqueSpec,
    numbers: Mapping[str, int],
    views: Mapping[str, ViewMap],
    states: Mapping[str, Sequence[str]],
    feature_set: int,
    has_bias: bool,
) -> CliqueTemplate:
    seen_as = tuple(views.get(site.variable) for site in clique.sites)
    labels = [site.variable if view is None else view.label for site, view in zip(clique.sites, seen_as, strict=True)]
    return CliqueTemplate(
        name=clique.label,
        clique=number,
        variables=tuple(numbers[label] for label in labels),
        offsets=tuple(_offset(site.place) for site in clique.sites),
        cards=tuple(len(states[label]) for label in labels),
        pad=clique.edges == "pad",
        feature_set=feature_set,
        has_bias=has_bias,
        ends=tuple(clique.positions.index(s.place.position) for s in clique.sites if s.place.kind == "named"),
        views=seen_as if any(seen_as) else (),
    )


def _offset(place: Place) -> int:
    """Of a site from its anchor, or from the named position that it stands at."""
    match place:
        case At(offset=offset):
            return offset
        case Named(shift=shift):
            return shift
    return 0


Sites = tuple[tuple[str, int], ...]


def _hard_constraints(
    spec: ModelSpec, states: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Sites, NDArray[np.bool_], str]]:
    """Legal moves of segment schemes, and `forbid` / `require`: (sites, allowed assignments, where they apply)."""
    for label in spec.labels:
        if isinstance(label.domain, Scheme) and label.constrain:
            moves = legal_moves(label.domain.name, states[label.name])
            yield ((label.name, -1), (label.name, 0)), moves[:-1, :-1], ANYWHERE
            yield ((label.name, 0),), moves[-1, :-1], FIRST
            yield ((label.name, 0),), moves[:-1, -1], LAST
    for constraint in spec.constraints:
        sites, allowed = allowed_assignments(spec, constraint, states)
        yield sites, allowed, ANYWHERE


def _fold(
    templates: list[CliqueTemplate],
    sites: Sites,
    allowed: NDArray[np.bool_],
    position: str,
    numbers: Mapping[str, int],
) -> None:
    """Joins a constraint to the first template over the same sites (up to a shift), or appends it as a template."""
    wanted = {(numbers[name], offset - min(o for _, o in sites)): axis for axis, (name, offset) in enumerate(sites)}
    for number, template in enumerate(templates):
        low = min(template.offsets)
        own = [(v, o - low) for v, o in zip(template.variables, template.offsets, strict=True)]
        if template.relational or template.views:
            continue
        if set(own) == set(wanted) and template.position == position and len(own) == len(wanted):
            turned = np.transpose(allowed, [wanted[site] for site in own])
            both = turned if template.allowed is None else template.allowed & turned
            templates[number] = replace(template, allowed=both)
            return
    templates.append(
        CliqueTemplate(
            name="constraint",
            clique=-1,
            variables=tuple(numbers[name] for name, _ in sites),
            offsets=tuple(offset for _, offset in sites),
            cards=allowed.shape,
            allowed=allowed,
            position=position,
        )
    )


def assignment_states(template: CliqueTemplate, assignment: int, states: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The states that an assignment number stands for, one a site; `states[m]` are those of label m."""
    out = []
    views = template.views or (None,) * len(template.variables)
    for variable, view, card in zip(
        reversed(template.variables), reversed(views), reversed(template.full_cards), strict=True
    ):
        assignment, state = divmod(assignment, card)
        names = states[variable] if view is None else view.states
        out.append(names[state] if state < len(names) else ("START", "STOP")[state - len(names)])
    return tuple(reversed(out))
