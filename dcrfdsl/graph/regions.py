"""Clusters of variables and the regions that they share, for generalised belief propagation.

Clusters hold the factors. The shared regions are all intersections of clusters, and of those (cluster variation,
Kikuchi 1951; Yedidia, Freeman & Weiss 2005), with counting numbers c_β = 1 − Σ_{γ ⊃ β} c_γ. Clusters come from

* `factors`: the factors alone, which is the Bethe approximation where no two share more than one variable;
* `loops`: also the chordless loops of the variable graph, up to a size;
* `join`: a join graph of bounded clusters (Dechter's mini-buckets): elimination in which the tables that meet at a
  variable are joined in groups of a bounded size. Without a bound it is a junction tree.

A cluster within another one is left out. Not here: the messages (`kernels.messages.region_messages`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from ..foundation import data_error, dataclass
from ..kernels.tables import Regions
from .elimination import best_order
from .shape_bank import ShapeBank
from .shapes import Columns, GraphShape, offsets, offsets_of

Scope = tuple[int, ...]
MOST_REGIONS = 50_000  # of one graph


@dataclass(frozen=True)
class ClusterLimits:
    """Where clusters come from (`factors`, `loops` or `join`), and how large they may be."""

    source: str
    size: int  #      variables
    max_table: int  # entries


def bank_regions(bank: ShapeBank, limits: ClusterLimits) -> Regions:
    """The regions of all shapes of a bank, made once for each bank and limits.

    Raises DcrfError where a graph has more regions than memory and patience should go to.
    """
    return bank.once(("regions", limits), lambda: _joined(bank.shapes, limits))


# clusters -----------------------------------------------------------------------------------------------------------


def _clusters(shape: GraphShape, scopes: Sequence[Scope], limits: ClusterLimits) -> list[Scope]:
    """The largest clusters in the order of their variables; each variable and factor is in one."""
    finders = {"factors": lambda *_: [], "loops": _loops, "join": _mini_buckets}
    more = finders[limits.source](shape, scopes, limits)
    return _largest([*((v,) for v in range(len(shape.cards))), *scopes, *more])


def _largest(scopes: Iterable[Scope]) -> list[Scope]:
    """The scopes that are within no other one."""
    kept: list[Scope] = []
    at: dict[int, list[frozenset[int]]] = defaultdict(list)
    for scope in sorted(set(scopes), key=lambda s: (-len(s), s)):
        variables = frozenset(scope)
        if not any(variables <= other for other in at[scope[0]]):
            kept.append(scope)
            for v in scope:
                at[v].append(variables)
    return sorted(kept)


def _fits(shape: GraphShape, variables: Iterable[int], limits: ClusterLimits) -> bool:
    members = set(variables)
    return len(members) <= limits.size and math.prod(shape.cards[v] for v in members) <= limits.max_table


def _loops(shape: GraphShape, scopes: Sequence[Scope], limits: ClusterLimits) -> list[Scope]:
    """The loops without a chord that fit; each is found from its first variable, one way round."""
    near: dict[int, set[int]] = defaultdict(set)
    for scope in scopes:
        for v in scope:
            near[v].update(u for u in scope if u != v)
    found: set[Scope] = set()

    def extend(path: list[int]) -> None:
        for v in near[path[-1]]:
            if v <= path[0] or v in path or any(v in near[u] for u in path[1:-1]):
                continue
            if len(path) > 1 and v in near[path[0]]:
                if _fits(shape, [*path, v], limits):
                    found.add(tuple(sorted([*path, v])))
                    if len(found) > MOST_REGIONS:
                        raise _too_many(limits)
            elif len(path) + 1 < limits.size:
                extend([*path, v])

    for first in range(len(shape.cards)):
        extend([first])
    return list(found)


def _mini_buckets(shape: GraphShape, scopes: Sequence[Scope], limits: ClusterLimits) -> list[Scope]:
    """The groups of tables that meet when variables are eliminated; a group is as large as it may be."""
    pending: dict[frozenset[int], None] = dict.fromkeys(frozenset(scope) for scope in scopes)
    found = []
    for v in best_order(scopes, shape.cards):
        bucket = sorted((s for s in pending if v in s), key=lambda s: (-len(s), sorted(s)))
        groups: list[frozenset[int]] = []
        for table in bucket:
            del pending[table]
            for i, group in enumerate(groups):
                if _fits(shape, group | table, limits):
                    groups[i] = group | table
                    break
            else:
                groups.append(table)
        for group in groups:
            found.append(tuple(sorted(group)))
            if len(group) > 1:
                pending[group - {v}] = None
    return found


# shared regions -----------------------------------------------------------------------------------------------------


def _shared(clusters: Sequence[Scope], limits: ClusterLimits) -> list[Scope]:
    """All intersections of clusters, and of these with clusters, in the order of their variables."""
    at: dict[int, list[frozenset[int]]] = defaultdict(list)
    sets = [frozenset(cluster) for cluster in clusters]
    for cluster in sets:
        for v in cluster:
            at[v].append(cluster)
    found: set[frozenset[int]] = set()
    fresh = set(sets)
    while fresh:
        met = {region & other for region in fresh for v in region for other in at[v] if not region <= other}
        fresh = met - found
        found |= fresh
        if len(found) > MOST_REGIONS:
            raise _too_many(limits)
    return sorted(tuple(sorted(region)) for region in found)


def _counts(clusters: Sequence[Scope], regions: Sequence[Scope]) -> list[int]:
    """The counting numbers of the regions; those of clusters are 1."""
    above: dict[int, list[tuple[frozenset[int], int]]] = defaultdict(list)
    for cluster in clusters:
        for v in cluster:
            above[v].append((frozenset(cluster), 1))
    count = {}
    for region in sorted(regions, key=lambda r: (-len(r), r)):
        members = frozenset(region)
        count[region] = 1 - sum(c for other, c in above[region[0]] if members < other)
        for v in region:
            above[v].append((members, count[region]))
    return [count[region] for region in regions]


def _too_many(limits: ClusterLimits) -> Exception:
    return data_error(
        "too-many-regions",
        f"`gbp` with `clusters = {limits.source}` and `size = {limits.size}` would need more than {MOST_REGIONS:,} "
        "regions for one sequence",
        help="use a smaller `size`, `clusters = factors`, or `infer trp`",
    )


# arrays -------------------------------------------------------------------------------------------------------------


class _Lists:
    """The fields of `Regions` while they are collected, with `links`, how many each region has."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.columns.put(cluster_off=0, region_off=0)
        self.around: list[list[int]] = []
        self.maps: dict[tuple[Scope, Scope], int] = {}
        self.entries: list[np.ndarray] = []
        self.next_map = 0

    def map_of(self, shape: GraphShape, cluster: Scope, scope: Scope) -> int:
        """Where the map from the table of `cluster` to that of `scope`, row-major in its own order, begins."""
        cards, axes = tuple(shape.cards[v] for v in cluster), tuple(cluster.index(v) for v in scope)
        if (cards, axes) not in self.maps:
            states = np.indices(cards).reshape(len(cards), -1)
            entry = np.zeros(states.shape[1], np.int64)
            for axis in axes:
                entry = entry * cards[axis] + states[axis]
            self.maps[cards, axes] = self.next_map
            self.entries.append(entry.astype(np.int32))
            self.next_map += len(entry)
        return self.maps[cards, axes]

    def add(self, shape: GraphShape, limits: ClusterLimits) -> None:
        scopes = [tuple(sorted(scope)) for scope in shape.scopes if len(scope) > 1]
        clusters = _clusters(shape, scopes, limits)
        regions = _shared(clusters, limits)
        columns, tables = self.columns, 0
        first, first_region = columns["cluster_off"][-1], columns["region_off"][-1]
        at: dict[int, list[int]] = defaultdict(list)
        for number, cluster in enumerate(clusters):
            size = math.prod(shape.cards[v] for v in cluster)
            columns.put(table_off=tables, size=size)
            self.around.append([])
            tables += size
            for v in cluster:
                at[v].append(number)

        def holders(scope: Scope) -> list[int]:
            return [number for number in at[scope[0]] if set(scope) <= set(clusters[number])]

        cells = messages = 0
        for n, (region, count) in enumerate(zip(regions, _counts(clusters, regions), strict=True), first_region):
            states, around = math.prod(shape.cards[v] for v in region), holders(region)
            for number in around:
                self.around[first + number].append(len(columns["link_cluster"]))
                to_region = self.map_of(shape, clusters[number], region)
                columns.put(link_cluster=first + number, link_region=n, link_map=to_region, link_message=messages)
                messages += states
            columns.put(number=count, cell_off=cells, states=states, links=len(around))
            cells += states
        columns.put(cluster_off=first + len(clusters), region_off=first_region + len(regions), messages=messages)
        index = {region: first_region + i for i, region in enumerate(regions)}

        def place(scope: Scope) -> tuple[int, int, int, int]:
            """The smallest cluster around a scope, the map from it, the region that all of them share, and the map."""
            around = holders(scope)
            smallest = min(around, key=lambda n: columns["size"][first + n])
            to_scope = self.map_of(shape, clusters[smallest], scope)
            if len(around) == 1:
                return first + smallest, to_scope, -1, -1
            common = tuple(sorted(set.intersection(*(set(clusters[number]) for number in around))))
            return first + smallest, to_scope, index[common], self.map_of(shape, common, scope)

        factors = [place(tuple(scope)) if len(scope) > 1 else (-1, -1, -1, -1) for scope in shape.scopes]
        for kind, places in (("fac", factors), ("var", [place((v,)) for v in range(len(shape.cards))])):
            for name, column in zip(("cluster", "map", "region", "within"), zip(*places, strict=True), strict=False):
                columns[f"{kind}_{name}"] += column


def _joined(shapes: Sequence[GraphShape], limits: ClusterLimits) -> Regions:
    lists = _Lists()
    for shape in shapes:
        lists.add(shape, limits)
    whole = {
        name: np.array(lists.columns[name], np.int64)
        for name in Regions._fields
        if name not in ("around_off", "around", "number", "link_off", "map")
    }
    return Regions(
        **whole,
        around_off=offsets_of(lists.around),
        around=np.array([link for links in lists.around for link in links], np.int64),
        number=np.array(lists.columns["number"], np.float64),
        link_off=offsets(lists.columns["links"]),
        map=np.concatenate([np.zeros(0, np.int32), *lists.entries]),
    )
