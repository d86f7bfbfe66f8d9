"""Instances of large pieces as separate factor graphs: a piece's variables, with the conditioning variables clamped.

Each factor has its own copies of the variables that its instance conditions on, clamped to their known states, so that
they join nothing. A factor may count with a share of its score in an instance, or be locked; then it has separate
weights, which follow from the model's (`role_model`). Equal instances share a graph in two forms: with the piece's
variables free, and clamped to their known values. A clamp on an unknown value changes nothing.
Source: McCallum & Sutton 2004 §2. Not here: the choice of instances (`piece_instances`), inference on the graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Ints32, data_error, dataclass
from ..kernels.piecewise import PieceInstances
from ..kernels.tables import Kinds
from .elimination import best_order, least_table, order_cost
from .known_labels import Gold
from .label_factors import clamped_graph
from .parameters import Parameters
from .shape_bank import ShapeBank
from .shapes import GraphShape, Run, in_order
from .unroll import ModelGraph

Factor = tuple[int, tuple[int, ...], int]  # kind, variables of the instance's graph, anchor


class Role(NamedTuple):
    """The role of a clique in a piece: the share of its score that counts, and whether it is locked."""

    clique: int
    share: float
    locked: bool


@dataclass(frozen=True, eq=False)
class RoleModel:
    """A model whose cliques are the roles of another model's cliques.

    Its weight w' is `share[w']` times weight `weight[w']` of the other model; `trained[w']` is 0 if that is locked.
    """

    graph: ModelGraph
    parameters: Parameters
    roles: tuple[Role, ...]
    weight: Ints  #    [W']
    share: Floats  #   [W']
    trained: Floats  # [W']


def roles_of(graph: ModelGraph, shapes: Sequence[GraphShape], pieces: PieceInstances) -> tuple[Role, ...]:
    """Every role that a clique has in some instance. Hard constraints have no roles."""
    clique_of = [kind.template.clique for kind in graph.kinds]
    roles: dict[Role, None] = {}
    for g, shape in enumerate(shapes):
        members = slice(*pieces.member_off[pieces.instance_off[g : g + 2]].tolist())
        parts = pieces.member[members].tolist(), pieces.scale[members].tolist(), pieces.locked[members].tolist()
        for f, share, locked in zip(*parts, strict=True):
            if clique_of[shape.kinds[f]] >= 0:
                roles[Role(clique_of[shape.kinds[f]], share, locked)] = None
    return tuple(sorted(roles))


def role_model(graph: ModelGraph, parameters: Parameters, roles: Sequence[Role]) -> RoleModel:
    """The model of these roles, with the hard constraints of `graph`."""
    template_of = {template.clique: template for template in graph.templates if template.clique >= 0}
    templates = [replace(template_of[role.clique], clique=number) for number, role in enumerate(roles)]
    role_parameters = Parameters(tuple(parameters.cliques[role.clique] for role in roles))
    weight = np.zeros(role_parameters.num_weights, np.int64)
    share, trained = np.ones((2, role_parameters.num_weights))
    for number, role in enumerate(roles):
        at = role_parameters.of_clique(number)
        weight[at], share[at] = parameters.of_clique(role.clique), role.share
        trained[at] = float(not role.locked)
    constraints = [template for template in graph.templates if template.clique < 0]
    return RoleModel(
        replace(graph, templates=(*templates, *constraints)), role_parameters, tuple(roles), weight, share, trained
    )


@dataclass(frozen=True, eq=False)
class PieceGraphs:
    """The graphs of all instances on all shapes, in the order of `PieceInstances`.

    graph: with the templates of the clamps, one per variable of a position, whose feature sets come last.
    """

    graph: ModelGraph
    free: ShapeBank
    known: ShapeBank
    number: Ints32  # [I]        graph of each instance, the same in both banks
    first: Ints  #    [sets, I]  the anchor from which an instance counts the anchors of its factors


def piece_graphs(
    graph: ModelGraph,
    shapes: Sequence[GraphShape],
    pieces: PieceInstances,
    model: RoleModel,
    gold: Gold,
    *,
    num_sets: int,
    max_table: int,
) -> PieceGraphs:
    """The graphs of the instances of `pieces` on the shapes of `graph`.

    num_sets: feature sets of the model; the sets of the clamps follow. Raises DcrfError if exact inference would need a
    table of more than `max_table` entries.
    """
    every = replace(model.graph, num_labels=len(graph.cards), num_latents=0)  # memories and latents are clamped too
    wired = clamped_graph(every, gold, num_sets)
    maker = _Maker(graph, wired, model, wired.kind_arrays(model.parameters.run_base()), num_sets + len(graph.cards))
    free, known = (ShapeBank(wired.num_shared, partial(_order, max_table=max_table)) for _ in range(2))
    number_of: dict[tuple[object, ...], int] = {}
    numbers, firsts = [], []
    for g, shape in enumerate(shapes):
        for i in range(*pieces.instance_off[g : g + 2].tolist()):
            cards, factors, clamps, first = maker.factors(shape, pieces, i)
            key = cards, factors, clamps
            if key not in number_of:
                number_of[key] = free.add(maker.shape(cards, factors))
                known.add(maker.shape(cards, (*factors, *clamps)))
            numbers.append(number_of[key])
            firsts.append(first)
    anchors = np.ascontiguousarray(np.array(firsts, np.int64).reshape(len(numbers), maker.num_sets).T)
    return PieceGraphs(wired, free, known, np.array(numbers, np.int32), anchors)


class _Maker:
    """Makes the graphs of instances. graph: the unrolled one; wired: the one whose kinds they use."""

    def __init__(self, graph: ModelGraph, wired: ModelGraph, model: RoleModel, kinds: Kinds, num_sets: int):
        self.width, self.num_sets = len(graph.cards), num_sets
        self.base, self.size, self.feature_set = kinds.base.tolist(), kinds.size.tolist(), kinds.feature_set.tolist()
        self.local_start = wired.num_shared
        self._kinds = graph.kinds
        self._role = {role: number for number, role in enumerate(model.roles)}
        self._wired = {
            (kind.template.clique if kind.template.clique >= 0 else id(kind.template), kind.pattern): number
            for number, kind in enumerate(wired.kinds)
        }
        clamps = wired.templates[len(wired.templates) - self.width :]
        self._clamp = [self._wired[id(clamp), (0,)] for clamp in clamps]

    def _kind(self, kind: int, share: float, locked: bool) -> int:
        template, pattern = self._kinds[kind].template, self._kinds[kind].pattern
        if template.clique < 0:
            return self._wired[id(template), pattern]
        return self._wired[self._role[Role(template.clique, share, locked)], pattern]

    def factors(
        self, shape: GraphShape, pieces: PieceInstances, i: int
    ) -> tuple[tuple[int, ...], tuple[Factor, ...], tuple[Factor, ...], list[int]]:
        """States of the variables, factors, the clamps of the piece's variables, and the first anchor of each set.

        The variables of the piece come first, then copies of the conditioning variables. Anchors are relative.
        """
        over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]].tolist()
        members = slice(pieces.member_off[i], pieces.member_off[i + 1])
        number = {v: n for n, v in enumerate(over)}
        cards = [shape.cards[v] for v in over]
        factors: list[Factor] = []
        clamps = [(self._clamp[v % self.width], (n,), v // self.width) for n, v in enumerate(over)]
        parts = pieces.member[members].tolist(), pieces.scale[members].tolist(), pieces.locked[members].tolist()
        for f, share, locked in zip(*parts, strict=True):
            scope = []
            for v in shape.scopes[f]:
                scope.append(number.get(v, len(cards)))
                if v not in number:
                    factors.append((self._clamp[v % self.width], (len(cards),), v // self.width))
                    cards.append(shape.cards[v])
            factors.append((self._kind(shape.kinds[f], share, locked), tuple(scope), shape.anchors[f]))
        first = [-1] * self.num_sets
        for kind, _, anchor in (*factors, *clamps):
            feature_set = self.feature_set[kind]
            if feature_set >= 0:
                first[feature_set] = min(anchor, first[feature_set]) if first[feature_set] >= 0 else anchor
        first = [max(0, anchor) for anchor in first]
        return tuple(cards), self._counted_from(first, factors), self._counted_from(first, clamps), first

    def _counted_from(self, first: list[int], factors: Sequence[Factor]) -> tuple[Factor, ...]:
        return tuple(
            (kind, scope, anchor - first[self.feature_set[kind]] if self.feature_set[kind] >= 0 else 0)
            for kind, scope, anchor in factors
        )

    def shape(self, cards: tuple[int, ...], factors: Sequence[Factor]) -> GraphShape:
        runs = [Run(scope, self.base[kind], kind, anchor) for kind, scope, anchor in factors]
        is_local = [self.feature_set[kind] >= 0 for kind, *_ in factors]
        sizes = [self.size[kind] for kind, *_ in factors]
        return GraphShape(cards, in_order(runs, is_local, sizes, self.local_start))


def _order(shape: GraphShape, max_table: int) -> list[int]:
    largest = least_table(shape.scopes, shape.cards)
    if largest <= max_table:
        order = best_order(shape.scopes, shape.cards)
        largest = order_cost(shape.scopes, shape.cards, order).largest
        if largest <= max_table:
            return order
    raise data_error(
        "piece-too-large",
        f"`exact` would build a table of {largest:.3g} entries on the graph of a piece; `max_table` allows "
        f"{max_table:,}",
        help="make the piece over fewer variables, or raise `max_table` of `infer exact` if there is memory for it",
    )
