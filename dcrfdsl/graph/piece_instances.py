"""Instances of pieces on unrolled graphs: their variables, their factors, and the variables they condition on.

A piece has an instance at each anchor where all its sites lie in the sequence, or one at least if all its cliques are
padded; a piece over `y[all]` has one per sequence, with every instance of its cliques. Members outside the sequence are
left out, as is an instance without any member; in training so is one of hard constraints alone, whose loss is a
constant. Members of cliques that data joins are left out unless they touch a variable of the piece. Hard constraints on
the piece's variables, and on no others than the instance reads, take part as locked factors; those that are folded into
a clique too, where the piece lacks that clique.
Source: McCallum & Sutton 2004 §2. Not here: sums over the states (`kernels.piecewise.piece_losses`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..foundation import dataclass
from ..kernels.piecewise import PieceInstances
from ..semantics import ModelSpec
from ..syntax import At, Named, Piece
from .shapes import GraphShape, offsets_of
from .unroll import ModelGraph


@dataclass(frozen=True)
class PieceTemplate:
    """A piece with resolved names. `members`: clique number, shift of its anchor, whether it is locked."""

    name: str
    over: tuple[tuple[int, int], ...]  # (variable, offset); the offset is 0 where `everywhere`
    members: tuple[tuple[int, int, bool], ...]
    everywhere: bool = False


class PieceInstance(NamedTuple):
    """over: the piece's variables.   conditioned: those that it conditions on.   members: its factors, locked or not.

    Variables and factors are numbered within their shape.
    """

    over: tuple[int, ...]
    conditioned: tuple[int, ...]
    members: tuple[int, ...]
    locked: tuple[bool, ...]
    filters: tuple[int, ...]  # factors over the conditioning variables that may forbid some of their states


def piece_templates(spec: ModelSpec, graph: ModelGraph, pieces: Sequence[Piece]) -> list[PieceTemplate]:
    """The pieces of a specification that has passed the checker."""
    variable = {name: m for m, name in enumerate(graph.variables)}
    clique = {clique.label: number for number, clique in enumerate(spec.cliques)}
    return [
        PieceTemplate(
            piece.name,
            tuple((variable[site.variable], _shift(site.place)) for site in piece.over),
            tuple((clique[member.clique], _shift(member.place), member.locked) for member in piece.members),
            everywhere=any(isinstance(site.place, Named) for site in piece.over),
        )
        for piece in pieces
    ]


def _shift(place: object) -> int:
    return place.offset if isinstance(place, At) else 0


def independent_pieces(templates: Sequence[PieceTemplate]) -> list[list[PieceTemplate]]:
    """The pieces in groups such that no two groups share a clique, in the order of first pieces (McCallum 2004 §2)."""
    import networkx as nx  # here only: loading a model does without it

    shared: nx.Graph = nx.Graph()
    for number, template in enumerate(templates):
        shared.add_node(number)
        for clique, *_ in template.members:
            shared.add_edge(number, ("clique", clique))
    groups = (sorted(n for n in component if isinstance(n, int)) for component in nx.connected_components(shared))
    return [[templates[n] for n in group] for group in sorted(groups)]


def with_constraints_apart(graph: ModelGraph, templates: Sequence[PieceTemplate]) -> ModelGraph:
    """The graph in which a constraint that is folded into a clique is a template too, where a piece lacks the clique.

    Otherwise the constraint would be lost to that piece, though it reads all the constraint's sites.
    """
    held = [{clique for clique, *_ in template.members} for template in templates]
    apart = tuple(
        replace(t, clique=-1, feature_set=-1, has_bias=False, views=(), folded_into=t.clique)
        for t in graph.templates
        if t.clique >= 0 and t.allowed is not None and not t.relational and any(t.clique not in one for one in held)
    )
    return replace(graph, templates=(*graph.templates, *apart)) if apart else graph


class _Draft(NamedTuple):
    """An instance of the piece of a number, so far without hard constraints. members: factors, locked or not."""

    number: int
    over: tuple[int, ...]
    members: list[tuple[int, bool]]


class PieceUnrolling:
    """The factors of one shape, indexed by clique and anchor and by variable."""

    def __init__(self, graph: ModelGraph, shape: GraphShape, constraints: int | None = None, *, bare: bool = False):
        """constraints: the number of templates that may bring hard constraints into a piece; by default all.

        bare: whether to keep instances of hard constraints alone, which decoding must not lose.
        """
        self.shape, self._bare = shape, bare
        self.width = len(graph.cards)
        self.length = len(shape.cards) // self.width
        number = {id(template): n for n, template in enumerate(graph.templates)}
        template_of = [number[id(kind.template)] for kind in graph.kinds]
        self._padded = {template.clique for template in graph.templates if template.pad}
        self._factor: dict[tuple[int, int], int] = {}
        self._joined = defaultdict[int, list[int]](list)
        self._constraints_at, self._hard_at = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        self._folded: dict[int, tuple[int, int]] = {}  # of a constraint, the clique and the anchor of its other factor
        for f, (kind, anchor) in enumerate(zip(shape.kinds, shape.anchors, strict=True)):
            template = graph.templates[template_of[kind]]
            if template.clique < 0 and template_of[kind] >= (constraints or len(graph.templates)):
                continue
            if template.folded_into is not None:
                self._folded[f] = template.folded_into, anchor
            if template.clique < 0:
                for v in shape.scopes[f]:
                    self._constraints_at[v].append(f)
            elif template.relational:
                self._joined[template.clique].append(f)
            else:
                self._factor[template.clique, anchor] = f
            if template.allowed is not None or template.num_codes:
                for v in shape.scopes[f]:
                    self._hard_at[v].append(f)

    def instances(
        self, templates: Sequence[PieceTemplate], beside: Sequence[PieceTemplate] = ()
    ) -> list[tuple[int, PieceInstance]]:
        """The instances of pieces with the number of their template, and from left to right.

        beside: pieces kept elsewhere, which are not returned.
        """
        drafts = [_Draft(n, *one) for n, t in enumerate((*templates, *beside)) for one in self._places(t)]
        self._place_strays(drafts, [*templates, *beside])
        found = ((draft.number, self._instance(draft)) for draft in drafts if draft.number < len(templates))
        return [(number, instance) for number, instance in found if instance.members]

    def _places(self, template: PieceTemplate) -> Iterator[tuple[tuple[int, ...], list[tuple[int, bool]]]]:
        """The variables of each instance of a piece, and the factors of its cliques by their place."""
        held = {clique: locked for clique, _, locked in template.members}
        if template.everywhere:
            over = tuple(t * self.width + variable for t in range(self.length) for variable, _ in template.over)
            members = [(f, held[clique]) for (clique, _), f in self._factor.items() if clique in held]
            yield over, self._with_joined(over, members, held)
            return
        low, high = min(offset for _, offset in template.over), max(offset for _, offset in template.over)
        first, last = (-high, -low) if held.keys() <= self._padded else (-low, -high)
        for t in range(first, self.length + last):
            over = tuple(
                (t + offset) * self.width + variable
                for variable, offset in template.over
                if 0 <= t + offset < self.length
            )
            candidates = ((self._factor.get((clique, t + shift)), locked) for clique, shift, locked in template.members)
            members = self._with_joined(over, [(f, locked) for f, locked in candidates if f is not None], held)
            if over and (members or self._bare):
                yield over, members

    def _with_joined(
        self, over: tuple[int, ...], members: list[tuple[int, bool]], held: dict[int, bool]
    ) -> list[tuple[int, bool]]:
        """With the factors of relational cliques that touch the variables."""
        variables, scopes = set(over), self.shape.scopes
        for clique, locked in held.items():
            members = [*members, *((f, locked) for f in self._joined.get(clique, ()) if variables & set(scopes[f]))]
        return members

    def _place_strays(self, drafts: Sequence[_Draft], templates: Sequence[PieceTemplate]) -> None:
        """Gives what reaches beyond an end of the sequence, and has no place in a piece, to the first instance of a
        piece with that clique that has all its variables.
        """
        held = [{clique: locked for clique, _, locked in template.members} for template in templates]
        pieces_of = {clique: {n for n, one in enumerate(held) if clique in one} for clique in self._padded}
        placed = {f for draft in drafts for f, _ in draft.members}
        strays = [(clique, f) for (clique, _), f in self._factor.items() if clique in self._padded and f not in placed]
        for clique, f in strays:
            scope = set(self.shape.scopes[f])
            for draft in drafts:
                if draft.number in pieces_of[clique] and scope & set(draft.over) and scope <= self._touched(draft):
                    draft.members.append((f, held[draft.number][clique]))
                    break

    def _touched(self, draft: _Draft) -> set[int]:
        """The variables of an instance, with those that it conditions on."""
        return {v for f, _ in draft.members for v in self.shape.scopes[f]} | set(draft.over)

    def _instance(self, draft: _Draft) -> PieceInstance:
        scopes, touched = self.shape.scopes, self._touched(draft)
        conditioned = tuple(sorted(touched.difference(draft.over)))
        around = dict.fromkeys(f for v in draft.over for f in self._constraints_at.get(v, ()))
        there = {f for f, _ in draft.members}
        missing = (f for f in around if f not in self._folded or self._factor.get(self._folded[f]) not in there)
        members = [*draft.members, *((f, True) for f in missing if touched.issuperset(scopes[f]))]
        filters = dict.fromkeys(f for v in conditioned for f in self._hard_at.get(v, ()))
        return PieceInstance(
            draft.over,
            conditioned,
            tuple(f for f, _ in members),
            tuple(locked for _, locked in members),
            tuple(f for f in filters if set(conditioned).issuperset(scopes[f])),
        )


def piece_arrays(
    graph: ModelGraph,
    shapes: Sequence[GraphShape],
    templates: Sequence[PieceTemplate],
    *,
    divide: bool = False,
    beside: Sequence[PieceTemplate] = (),
    constraints: int | None = None,
    bare: bool = False,
) -> PieceInstances:
    """The instances of all pieces on all shapes; with `divide` a factor of n instances has a share of 1/n in each.

    beside: pieces kept elsewhere that share factors as well.   constraints, bare: see `PieceUnrolling`.
    """
    per_shape, scales, groups, shared = [], [], [], []
    group_of: dict[tuple[object, ...], int] = {}
    has_features = [kind.template.feature_set >= 0 for kind in graph.kinds]
    for shape in shapes:
        unrolling = PieceUnrolling(graph, shape, constraints, bare=bare)
        numbered = unrolling.instances(templates, beside)
        everyone = [i for _, i in (unrolling.instances((*templates, *beside)) if divide else numbered)]
        times = Counter(f for i in everyone for f, locked in zip(i.members, i.locked, strict=True) if not locked)
        for number, instance in numbered:
            kinds = tuple(shape.kinds[f] for f in instance.members)
            groups.append(group_of.setdefault((number, kinds), len(group_of)))
            shared.append(not instance.conditioned and not any(has_features[kind] for kind in kinds))
            scales.append([1.0 / max(1, times[f]) if divide else 1.0 for f in instance.members])
        per_shape.append([instance for _, instance in numbered])
    flat = [instance for instances in per_shape for instance in instances]
    return PieceInstances(
        instance_off=offsets_of(per_shape),
        template=np.array(groups, np.int32),
        over_off=offsets_of(i.over for i in flat),
        over=_joined((i.over for i in flat), np.int32),
        given_off=offsets_of(i.conditioned for i in flat),
        given=_joined((i.conditioned for i in flat), np.int32),
        member_off=offsets_of(i.members for i in flat),
        member=_joined((i.members for i in flat), np.int32),
        scale=_joined(scales, np.float64),
        locked=_joined((i.locked for i in flat), np.bool_),
        filter_off=offsets_of(i.filters for i in flat),
        filter=_joined((i.filters for i in flat), np.int32),
        shared=np.array(shared, np.bool_),
    )


def _joined(parts: Iterable[Sequence[float]], dtype: type) -> NDArray:
    return np.array([number for part in parts for number in part], dtype)
