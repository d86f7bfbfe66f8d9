"""Unrolls a template over a sequence: the only place where offsets are applied.

A clique index is a set of sites (variable, Δt). Its instance at anchor t holds the variables y_{t+Δt}; it exists where
all its sites lie in the sequence (`edges = inside`) or where at least one does (`edges = pad`, the others in the states
START or STOP). Weights are the same at every anchor (Sutton 2004 §3.1). Hard constraints fold into a clique over the
same sites where there is one, so that they add no loop; else they are factors of their own.

Variables of a sequence of length T with M labels are numbered t·M + label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.wiring import Kinds
from ..spec.constraints import allowed_assignments
from ..spec.model import CliqueSpec, ModelSpec, Scheme
from ..spec.schemes import legal_moves
from .bank import GraphShape, ShapeBank
from .elimination import slice_order

__all__ = ["CliqueTemplate", "ModelGraph", "Pattern"]

Pattern = tuple[int, ...]  # of a clique's sites: 0 in the sequence, -1 before it (START), +1 after it (STOP)
ANYWHERE, FIRST, LAST = "anywhere", "first", "last"


@dataclass(frozen=True, eq=False)
class CliqueTemplate:
    """A clique index with what its instances have in common.

    `clique` is its number in the specification, -1 for a hard constraint. `allowed` [cards] is False where an
    assignment has potential zero. With `pad` every site has two more states, START = card and STOP = card + 1.
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

    @property
    def full_cards(self) -> tuple[int, ...]:
        """States of each site, START and STOP included where they are used."""
        return tuple(card + 2 for card in self.cards) if self.pad else self.cards

    @property
    def num_assignments(self) -> int:
        return math.prod(self.full_cards)

    def anchors(self, length: int) -> range:
        """The anchors at which it has an instance in a sequence of `length` positions."""
        low, high = min(self.offsets), max(self.offsets)
        if self.position == FIRST:
            return range(min(1, length))
        if self.position == LAST:
            return range(max(0, length - 1), length)
        return range(-high, length - low) if self.pad else range(max(0, -low), min(length, length - high))

    def pattern(self, anchor: int, length: int) -> Pattern:
        return tuple(-1 if anchor + o < 0 else int(anchor + o >= length) for o in self.offsets)


@dataclass(frozen=True)
class _Kind:
    """A template together with a pattern of sites outside: its tables range over the sites inside."""

    template: CliqueTemplate
    pattern: Pattern

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(c for c, outside in zip(self.template.cards, self.pattern, strict=True) if not outside)

    def full_assignments(self) -> NDArray[np.int64]:
        """The assignment of the full clique that each entry of the table stands for, [size]."""
        full = self.template.full_cards
        strides = [math.prod(full[i + 1 :]) for i in range(len(full))]
        places = np.zeros(1, np.int64)
        for card, stride, outside in zip(self.template.cards, strides, self.pattern, strict=True):
            states = np.arange(card) if not outside else np.array([card if outside < 0 else card + 1])
            places = (places[:, None] + stride * states[None, :]).ravel()
        return places

    def hard(self) -> NDArray[np.float64]:
        """0 where an entry is allowed, -inf where it is not, [size]."""
        size = math.prod(self.cards)
        if self.template.allowed is None or any(self.pattern):
            return np.zeros(size)
        return np.where(self.template.allowed.ravel(), 0.0, -np.inf)


@dataclass
class ModelGraph:
    """The templates of a model over its label variables, and the graphs that they unroll to.

    `cards[m]` are the states of label m. Tables shared by all sequences come first in the arena: cell 0 (the constant
    1), then the base table of each kind. A kind with features has a table of its own in every sequence.
    """

    labels: tuple[str, ...]
    cards: tuple[int, ...]
    templates: tuple[CliqueTemplate, ...]
    kinds: list[_Kind] = field(init=False)

    def __post_init__(self) -> None:
        span = max((max(t.offsets) - min(t.offsets) for t in self.templates), default=0)
        # every pattern of sites outside shows in some sequence of at most span + 2 positions
        found = {
            (number, template.pattern(anchor, length)): None
            for number, template in enumerate(self.templates)
            for length in range(1, span + 3)
            for anchor in template.anchors(length)
        }
        self.kinds = [_Kind(self.templates[number], pattern) for number, pattern in found]
        self._kind_of = {key: index for index, key in enumerate(found)}
        sizes = [math.prod(kind.cards) for kind in self.kinds]
        self._base = np.cumsum([1, *sizes], dtype=np.int64)
        self._inside: list[int] | None = None

    @property
    def num_shared(self) -> int:
        """Shared cells of the arena."""
        return int(self._base[-1])

    def instances(self, length: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(kind, anchor, variables) of every factor of a sequence, clique by clique, from left to right."""
        for number, template in enumerate(self.templates):
            for anchor in template.anchors(length):
                pattern = template.pattern(anchor, length)
                scope = tuple(
                    (anchor + offset) * len(self.cards) + variable
                    for variable, offset, outside in zip(template.variables, template.offsets, pattern, strict=True)
                    if not outside
                )
                yield self._kind_of[number, pattern], anchor, scope

    def shape(self, length: int) -> GraphShape:
        """The unrolled graph of a sequence of `length` positions."""
        kinds, anchors, scopes, tables = [], [], [], []
        at = self.num_shared
        for kind, anchor, scope in self.instances(length):
            kinds.append(kind)
            anchors.append(anchor)
            scopes.append(scope)
            if self.kinds[kind].template.feature_set < 0:
                tables.append(int(self._base[kind]))
            else:
                tables.append(at)
                at += math.prod(self.kinds[kind].cards)
        return GraphShape(self.cards * length, tuple(scopes), tuple(tables), tuple(kinds), tuple(anchors))

    def elimination_order(self, shape: GraphShape) -> list[int]:
        """Left to right, the best order inside a position (chosen once, on a short sequence)."""
        num_labels = len(self.cards)
        if self._inside is None:
            span = max((max(t.offsets) - min(t.offsets) for t in self.templates), default=0)
            sample = self.shape(2 * span + 3)
            self._inside = slice_order(sample.scopes, sample.cards, num_labels)
        length = len(shape.cards) // num_labels
        return [t * num_labels + label for t in range(length) for label in self._inside]

    def bank(self, *, programs: bool) -> ShapeBank:
        """An empty bank for this model's shapes, with contraction programs or without."""
        return ShapeBank(self.num_shared, self.elimination_order if programs else None)

    def kind_arrays(self, run_base: Sequence[int]) -> Kinds:
        """`run_base[c]`: index of the first feature of the specification's clique c in `Bindings.run_off`."""
        inverse: list[NDArray[np.int32]] = []
        inverse_off, at = [], 0
        for kind in self.kinds:
            if not kind.template.pad:
                inverse_off.append(-1)
                continue
            lookup = np.full(kind.template.num_assignments, -1, np.int32)
            lookup[kind.full_assignments()] = np.arange(math.prod(kind.cards))
            inverse_off.append(at)
            inverse.append(lookup)
            at += len(lookup)
        return Kinds(
            base=self._base[:-1].copy(),
            size=np.diff(self._base),
            feature_set=np.array([kind.template.feature_set for kind in self.kinds], np.int32),
            run_base=np.array(
                [run_base[k.template.clique] if k.template.clique >= 0 else 0 for k in self.kinds], np.int64
            ),
            has_bias=np.array([kind.template.has_bias for kind in self.kinds], np.bool_),
            inverse_off=np.array(inverse_off, np.int64),
            inverse=np.concatenate([np.zeros(0, np.int32), *inverse]),
        )

    def hard_cells(self) -> NDArray[np.float64]:
        """Hard zeros of all base tables in the layout of the shared cells, [num_shared]; 0 or -inf."""
        return np.concatenate([np.zeros(1), *(kind.hard() for kind in self.kinds)])

    def bias_cells(self, clique: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """(assignments of the full clique, shared cells) of each kind of the specification's clique."""
        for number, kind in enumerate(self.kinds):
            if kind.template.clique == clique:
                assignments = kind.full_assignments()
                yield assignments, self._base[number] + np.arange(len(assignments))


def clique_templates(
    spec: ModelSpec,
    states: Mapping[str, Sequence[str]],
    set_of_clique: Sequence[int],
    bias_of_clique: Sequence[bool],
) -> tuple[CliqueTemplate, ...]:
    """The templates of a specification's static cliques, then those of constraints that no clique takes in."""
    numbers = {label.name: m for m, label in enumerate(spec.labels)}
    templates = [
        _clique_template(number, clique, numbers, states, set_of_clique[number], bias_of_clique[number])
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
    states: Mapping[str, Sequence[str]],
    feature_set: int,
    has_bias: bool,
) -> CliqueTemplate:
    return CliqueTemplate(
        name=clique.label,
        clique=number,
        variables=tuple(numbers[site.variable] for site in clique.sites),
        offsets=tuple(site.place.offset if site.place.kind == "at" else 0 for site in clique.sites),
        cards=tuple(len(states[site.variable]) for site in clique.sites),
        pad=clique.edges == "pad",
        feature_set=feature_set,
        has_bias=has_bias,
    )


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
    for variable, card in zip(reversed(template.variables), reversed(template.full_cards), strict=True):
        assignment, state = divmod(assignment, card)
        names = states[variable]
        out.append(names[state] if state < len(names) else ("START", "STOP")[state - len(names)])
    return tuple(reversed(out))
