"""Kinds of factors: a clique template with a pattern of sites outside the sequence, and the entries of its tables.

Hard constraints on some of the sites of a clique rule out assignments of it too: a clique over three labels has no
table of its own for the legal moves of two, but where these are forbidden no weight of it can ever count. Not here:
constraints over the same sites, which are folded into the clique (`templates`), where kinds lie in a sequence
(`unroll`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..foundation import Floats, Ints, Mask, dataclass
from .templates import CliqueTemplate, Pattern


@dataclass(frozen=True)
class CliqueKind:
    """A template with a pattern of sites outside the sequence: its tables range over the sites inside."""

    template: CliqueTemplate
    pattern: Pattern

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(c for c, outside in zip(self.template.cards, self.pattern, strict=True) if not outside)

    def full_assignments(self) -> Ints:
        """For each entry of the table, its assignment as weights distinguish them, [size]."""
        template = self.template
        places = np.zeros(1, np.int64)
        sites = zip(template.seen_states, template.weight_cards, template.full_cards, self.pattern, strict=True)
        for states, count, full, outside in sites:
            if outside:
                states = np.array([count if outside < 0 else count + 1])
            places = (places[:, None] * full + states[None, :]).ravel()
        return places

    @property
    def size(self) -> int:
        return math.prod(self.cards)

    def hard(self) -> Floats:
        """0 for an allowed entry, -inf for a forbidden one, [size]."""
        if self.template.allowed is None or any(self.pattern):
            return np.zeros(self.size)
        return np.where(self.template.allowed.ravel(), 0.0, -np.inf)


Site = tuple[int, int]  # variable, offset


def possible_entries(kind: CliqueKind, templates: Sequence[CliqueTemplate]) -> Mask:
    """Whether the constraints among `templates` allow each entry of the kind's table, [size].

    They are those that read no data and hold wherever all their sites lie in the sequence, and what follows from those
    on neighbours of one variable for sites that lie further apart.
    """
    template = kind.template
    allowed = np.isfinite(kind.hard()).reshape(kind.cards)
    if not template.is_regular or template.position is not None:
        return allowed.ravel()
    sites = [
        (variable, offset)
        for variable, offset, outside in zip(template.variables, template.offsets, kind.pattern, strict=True)
        if not outside
    ]
    for table, places in _parts(sites, [one for one in templates if _is_everywhere(one)]):
        shape = [1] * len(sites)
        order = np.argsort(places)
        for axis in order:
            shape[places[axis]] = table.shape[axis]
        allowed = allowed & np.transpose(table, order).reshape(shape)
    return allowed.ravel()


def with_implied_constraints(template: CliqueTemplate, templates: Sequence[CliqueTemplate]) -> CliqueTemplate:
    """The template, whose own table also forbids what the constraints on some of its sites do."""
    if len(template.cards) == 1 or template.segments is not None:
        return template
    allowed = possible_entries(CliqueKind(template, template.inside), templates)
    return template if allowed.all() else replace(template, allowed=allowed.reshape(template.cards))


def _is_everywhere(template: CliqueTemplate) -> bool:
    """Whether it is a constraint without data that holds wherever all its sites lie in the sequence."""
    regular = template.position is None and not template.relational and not template.num_codes
    return regular and template.allowed is not None and min(template.offsets) <= 0 <= max(template.offsets)


def _parts(sites: Sequence[Site], constraints: Sequence[CliqueTemplate]) -> Iterator[tuple[Mask, list[int]]]:
    """Tables over some of the sites, each with the places of its axes among the sites."""
    place = {site: n for n, site in enumerate(sites)}
    moves: dict[int, Mask] = {}
    for constraint in constraints:
        assert constraint.allowed is not None
        of_constraint = list(zip(constraint.variables, constraint.offsets, strict=True))
        for shift in {offset - of_constraint[0][1] for variable, offset in sites if variable == of_constraint[0][0]}:
            places = [place.get((variable, offset + shift), -1) for variable, offset in of_constraint]
            if min(places) >= 0:
                yield constraint.allowed, places
        ordered = np.argsort(constraint.offsets)
        steps = np.diff(np.array(constraint.offsets)[ordered]).tolist()
        if steps == [1] and len(set(constraint.variables)) == 1:
            variable = constraint.variables[0]
            moves[variable] = np.transpose(constraint.allowed, ordered) & moves.get(variable, np.True_)
    for variable, table in moves.items():
        own = sorted(offset for one, offset in sites if one == variable)
        for first, second in pairwise(own):
            if second - first > 1:
                yield _reached(table, second - first), [place[variable, first], place[variable, second]]


def _reached(moves: Mask, steps: int) -> Mask:
    """Whether so many moves lead from one state to another, [states, states]."""
    one: Floats = moves.astype(np.float64)
    found = one
    for _ in range(steps - 1):
        found = np.minimum(found @ one, 1.0)
    return found > 0.0
