"""Forests of factors: those that tree-reweighted sum-product averages over, and those that EP keeps.

A forest is a set of factors of two or more variables whose factor graph has no loop; for pairwise factors it is a
spanning forest of the variable graph. It is grown by Kruskal's rule: a factor that would join variables which are
already linked is skipped.

* **Edge appearance.** Random forests take factors in random order, those that have appeared least first. So every
  factor appears soon and appearances stay even, which keeps the bound tight.
* **Approximating family.** A factor within the scope of one in the forest goes with it; every other one is a *term*. A
  term changes the forest's distribution along its *walk* alone, the factors between the variables of its scope. Forests
  are grown from the factors of one clique after the other; of the orders of cliques that are tried, the one with the
  cheapest walks is taken. With `factored`, the forest has no factors.

Not here: the messages (`kernels.messages`), TRP's trees (`kernels.messages.propagation`).
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

import numpy as np

from ..foundation import Floats, cached_property, data_error, dataclass
from ..kernels.tables import Approximations, Schedules
from .shape_bank import ShapeBank
from .shapes import Columns, GraphShape, offsets_of

FEWEST = 12  # forests in a pool, unless the first one contains all factors


@dataclass(frozen=True, eq=False)
class ForestPool:
    """The forests of all shapes of a bank.

    passes: a forest lists edges (factor, variable) from the leaves up, each factor once with the variable above it.
    appearance [F]: the share of the shape's forests that contain a factor; 1 for factors of one variable.
    """

    passes: Schedules
    appearance: Floats


def bank_forests(bank: ShapeBank, seed: int) -> ForestPool:
    """The pools of a bank's shapes, drawn once for each shape and seed and kept in the bank.

    The same shape and seed give the same pool.
    """
    pools, shares = [], []
    for number, shape in enumerate(bank.shapes):
        if (number, seed) not in bank.forests:
            generator = random.Random(f"{seed}:{len(shape.cards)}:{len(shape.scopes)}")
            bank.forests[number, seed] = _draw(shape, generator)
        pools.append(bank.forests[number, seed])
        shares.append(_appearance(shape, pools[-1]))
    forests = [sends for pool in pools for sends in pool]
    send = np.fromiter(itertools.chain.from_iterable(forests), np.int32)
    passes = Schedules(pass_off=offsets_of(pools), send_off=offsets_of(forests), send=send)
    return ForestPool(passes, np.concatenate([np.zeros(0), *shares]))


def _draw(shape: GraphShape, generator: random.Random) -> list[list[int]]:
    """Forests that together contain every factor."""
    first_edge = _first_edges(shape)
    counts = dict.fromkeys(first_edge, 0)
    pool: list[list[int]] = []
    while not pool or (len(pool) < FEWEST and min(counts.values(), default=1) < len(pool)) or 0 in counts.values():
        forest = grown_forest(shape, sorted(counts, key=lambda f: (counts[f], generator.random())))
        for f in forest:
            counts[f] += 1
        pool.append([first_edge[f] + axis for f, axis in upward_edges(shape, forest)])
    return pool


def _first_edges(shape: GraphShape) -> dict[int, int]:
    """The first edge of each factor of two or more variables."""
    first_edge, edges = {}, 0
    for f, scope in enumerate(shape.scopes):
        if len(scope) > 1:
            first_edge[f] = edges
            edges += len(scope)
    return first_edge


def _appearance(shape: GraphShape, pool: Sequence[Sequence[int]]) -> Floats:
    """The share of the pool's forests that contain each factor."""
    first_edge = _first_edges(shape)
    starts, share = np.fromiter(first_edge.values(), np.int64), np.ones(len(shape.scopes))
    factor = np.searchsorted(starts, np.array([e for forest in pool for e in forest], np.int64), side="right") - 1
    counts = np.bincount(factor, minlength=len(starts))
    share[np.fromiter(first_edge, np.int64)] = counts / max(1, len(pool))
    return share


def grown_forest(shape: GraphShape, order: Sequence[int]) -> list[int]:
    """The factors of `order` that close no loop with earlier ones."""
    from networkx.utils import UnionFind  # here only: other methods do without it

    linked = UnionFind(range(len(shape.cards)))
    forest = []
    for f in order:
        if len({linked[v] for v in shape.scopes[f]}) == len(shape.scopes[f]):
            linked.union(*shape.scopes[f])
            forest.append(f)
    return forest


def upward_edges(shape: GraphShape, forest: Sequence[int]) -> list[tuple[int, int]]:
    """(factor, axis of the variable above it) for each factor of a forest, the furthest from the root first."""
    at: dict[int, list[int]] = defaultdict(list)
    for f in forest:
        for v in shape.scopes[f]:
            at[v].append(f)
    downwards: list[tuple[int, int]] = []
    reached: set[int] = set()
    used: set[int] = set()
    for root in range(len(shape.cards)):
        if root in reached:
            continue
        reached.add(root)
        queue = deque([root])
        while queue:
            above = queue.popleft()
            for f in at[above]:
                if f not in used:
                    used.add(f)
                    downwards.append((f, shape.scopes[f].index(above)))
                    below = [v for v in shape.scopes[f] if v != above]
                    reached.update(below)
                    queue.extend(below)
    return downwards[::-1]


MOST_ORDERS = 24  # of cliques
MOST_CELLS = 2**26  # numbers that the terms of one graph may take


def bank_approximations(bank: ShapeBank, family: str) -> Approximations:
    """The forests of all shapes of a bank, made once. Raises DcrfError where the walks of a graph take too much."""
    return bank.once(("approximations", family), lambda: _joined(bank.shapes, family == "tree"))


@dataclass(frozen=True)
class _Forest:
    """Factors of a graph that close no loop, from the roots down, each with the axis of the variable above it."""

    shape: GraphShape
    down: tuple[tuple[int, int], ...]

    @cached_property
    def above(self) -> dict[int, int]:
        """By variable, the place in `down` of the factor above it; roots have none."""
        scopes = self.shape.scopes
        return {v: n for n, (f, axis) in enumerate(self.down) for a, v in enumerate(scopes[f]) if a != axis}

    @cached_property
    def heights(self) -> dict[int, tuple[int, int]]:
        """By variable below some factor, its root and the number of factors on the way to it."""
        found: dict[int, tuple[int, int]] = {}
        for f, axis in self.down:
            scope = self.shape.scopes[f]
            root, depth = found.get(scope[axis], (scope[axis], 0))
            found |= {v: (root, depth + 1) for a, v in enumerate(scope) if a != axis}
        return found

    def walk(self, scope: Sequence[int]) -> tuple[list[int], list[int]]:
        """Places in `down` of the factors between variables, from the top down, and the variables without one above."""
        by_root: dict[int, list[int]] = defaultdict(list)
        for v in scope:
            by_root[self.heights.get(v, (v, 0))[0]].append(v)
        kept: set[int] = set()
        tops: list[int] = []
        for mine in by_root.values():
            own, shared = self._climbed(mine)
            if shared is not None:
                own.add(shared)
            below = self._below(own)
            top = [self._parent(n) for n in own if self._parent(n) not in below]
            tops += list(dict.fromkeys(top)) if own else [mine[0]]
            kept |= own
        return sorted(kept), tops

    def _climbed(self, variables: Sequence[int]) -> tuple[set[int], int | None]:
        """Factors on the ways up to where all meet; and the factor in which they do, None if that is a variable.

        The lowest go up, one factor at a time. So it takes as many steps as the walk is long, not as the tree is high.
        """
        own: set[int] = set()
        ends = list(dict.fromkeys(variables))
        while len(ends) > 1:
            places = [self.above.get(v, -1) for v in ends]
            if places[0] >= 0 and len(set(places)) == 1:
                return own, places[0]
            depths = [self.heights.get(v, (v, 0))[1] for v in ends]
            lowest = max(depths)
            own |= {n for n, depth in zip(places, depths, strict=True) if depth == lowest}
            moved = (self._parent(n) if d == lowest else v for v, n, d in zip(ends, places, depths, strict=True))
            ends = list(dict.fromkeys(moved))
        return own, None

    def _parent(self, place: int) -> int:
        f, axis = self.down[place]
        return self.shape.scopes[f][axis]

    def _below(self, places: set[int]) -> set[int]:
        return {v for n in places for a, v in enumerate(self.shape.scopes[self.down[n][0]]) if a != self.down[n][1]}


def _orders(shape: GraphShape, large: Sequence[int]) -> Iterator[list[int]]:
    """Orders in which factors may come into the forest: clique by clique."""
    by_kind: dict[int, list[int]] = defaultdict(list)
    for f in large:
        by_kind[shape.kinds[f]].append(f)
    if len(by_kind) > len(large) / 2:  # factors of one graph, each a kind of its own
        yield sorted(large, key=lambda f: (-math.prod(shape.cards[v] for v in shape.scopes[f]), f))
        yield list(large)
        return
    for kinds in itertools.islice(itertools.permutations(by_kind), MOST_ORDERS):
        yield [f for kind in kinds for f in by_kind[kind]]


def _cost(shape: GraphShape, forest: _Forest) -> float:
    """About the additions of a sweep."""
    cost = 0.0
    hosts = [set(shape.scopes[f]) for f, _ in forest.down]
    at: dict[int, list[set[int]]] = defaultdict(list)
    for host in hosts:
        for v in host:
            at[v].append(host)
    for scope in shape.scopes:
        if len(scope) > 1 and not any(set(scope) <= host for host in at[scope[0]]):
            places, _ = forest.walk(scope)
            tables = sum(math.prod(shape.cards[v] for v in shape.scopes[forest.down[n][0]]) for n in places)
            cost += (tables + 1) * math.prod(shape.cards[v] for v in scope[:-1])
    return cost


class _Lists(Columns):
    """The fields of `Approximations` while they are collected."""

    def add(self, shape: GraphShape, by_trees: bool) -> None:
        """Adds a graph: its terms' walks, and then the walk through the whole forest."""
        large = [f for f, scope in enumerate(shape.scopes) if len(scope) > 1]
        grown = (grown_forest(shape, order) for order in _orders(shape, large)) if by_trees else [[]]
        forests = [_Forest(shape, tuple(upward_edges(shape, one))[::-1]) for one in grown]
        forest = min(forests, key=lambda one: _cost(shape, one)) if len(forests) > 1 else forests[0]
        above, sizes = forest.above, [math.prod(shape.cards[v] for v in shape.scopes[f]) for f, _ in forest.down]
        starts = list(itertools.accumulate(sizes, initial=0))
        host_of: dict[int, int] = {}
        places_of: dict[int, list[int]] = defaultdict(list)  # by variable
        for n, (f, _) in enumerate(forest.down):
            host_of[f] = n
            for v in shape.scopes[f]:
                places_of[v].append(n)
        terms = []
        for f in large:
            host = host_of.get(f, -1)
            if host < 0:
                scope = shape.scopes[f]
                inside = (n for n in places_of[scope[0]] if set(scope) <= set(shape.scopes[forest.down[n][0]]))
                host = next(inside, -1)
            if host < 0:
                terms.append(f)
                continue
            around = shape.scopes[forest.down[host][0]]
            cards = tuple(shape.cards[v] for v in around)
            states, entry = np.indices(cards).reshape(len(cards), -1), np.zeros(sizes[host], np.int64)
            for v in shape.scopes[f]:
                entry = entry * shape.cards[v] + states[around.index(v)]
            self.put(held_factor=f, held_cell=starts[host], held_size=sizes[host], held_map=len(self["map"]))
            self["map"] += entry.tolist()
        self.put(held_end=len(self["held_factor"]), tree_cells=starts[-1])
        cells = 0
        for f in terms:
            places, tops = forest.walk(shape.scopes[f])
            cells = self._walk(shape, forest, starts, places, tops, f, cells)
            if cells > MOST_CELLS:
                raise data_error(
                    "too-many-cells",
                    f"`ep` would need more than {MOST_CELLS:,} numbers for the factors outside of the tree of one "
                    "sequence", help="use `ep(family = factored)` or `infer trp`",
                )  # fmt: skip
        self.put(cells=cells)
        roots = [v for v in range(len(shape.cards)) if v not in above]
        self._walk(shape, forest, starts, list(range(len(forest.down))), roots, -1, 0)
        self.put(walk_end=len(self["walk_factor"]))

    def _walk(
        self, shape: GraphShape, forest: _Forest, starts: list[int], places: list[int], tops: list[int], factor: int,
        cells: int,
    ) -> int:  # fmt: skip
        """Adds a walk, breadth first. Returns where the numbers of the next term begin."""
        under: dict[int, list[int]] = defaultdict(list)
        for n in places:
            f, axis = forest.down[n]
            under[shape.scopes[f][axis]].append(n)
        number = {v: i for i, v in enumerate(tops)}
        queue, local = list(tops), 0
        first_item = len(self["item_tree"])
        for v in queue:
            siblings = under[v]
            begin = len(self["item_tree"]) - first_item
            for n in siblings:
                f, axis = forest.down[n]
                scope = shape.scopes[f]
                for u in scope:
                    if u not in number:
                        number[u] = len(number)
                        queue.append(u)
                size = math.prod(shape.cards[u] for u in scope)
                self.put(
                    item_tree=n, item_cell=starts[n], item_size=size, item_local=local, item_axis=axis,
                    item_first=begin, item_last=begin + len(siblings), item_scope=len(self["scope"]),
                    item_arity=len(scope),
                )  # fmt: skip
                self["scope"] += [number[u] for u in scope]
                local += size
        states = 0
        degree: dict[int, int] = defaultdict(int)
        for n in places:
            for u in shape.scopes[forest.down[n][0]]:
                degree[u] += 1
        inverse = {n: i for i, n in enumerate(self["item_tree"][first_item:])}
        for v in queue:
            children = [inverse[n] for n in under[v]]
            at = forest.above.get(v, -1) if factor < 0 else -1
            self.put(
                var=v, var_local=states, var_degree=degree[v], var_is_top=int(v in tops),
                child_first=min(children, default=0), child_last=max(children, default=-1) + 1,
                above=inverse.get(at, -1),
            )  # fmt: skip
            states += shape.cards[v]
        self.put(
            walk_factor=factor, walk_item=len(self["item_tree"]), walk_var=len(self["var"]), walk_cell=cells,
            walk_table=local, walk_states=states, walk_scope=len(self["term_scope"]),
        )  # fmt: skip
        if factor >= 0:
            self["term_scope"] += [number[v] for v in shape.scopes[factor]]
        return cells + local + states


def _joined(shapes: Sequence[GraphShape], by_trees: bool) -> Approximations:
    lists = _Lists()
    lists.put(held_end=0, walk_end=0, walk_item=0, walk_var=0)
    for shape in shapes:
        lists.add(shape, by_trees)
    return Approximations(**{name: np.array(lists[name], np.int64) for name in Approximations._fields})
