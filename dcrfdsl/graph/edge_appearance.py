"""Random forests of factors and edge appearance probabilities, over which tree-reweighted sum-product averages.

A forest is a set of factors of two or more variables whose factor graph has no loop; for pairwise factors it is a
spanning forest of the variable graph. Each is grown by Kruskal's rule: factors in random order, those that have
appeared least first; a factor that would join variables which are already linked is skipped. So every factor appears
soon and appearances stay even, which keeps the bound tight. Not here: the messages (`kernels.messages.trw`), TRP's
trees (`kernels.messages.random_trees`).
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..foundation import Floats
from ..kernels.tables import Schedules
from .shape_bank import ShapeBank
from .shapes import GraphShape

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
    return ForestPool(_pool_arrays(pools), np.concatenate([np.zeros(0), *shares]))


def _pool_arrays(pools: list[list[list[int]]]) -> Schedules:
    """The forests of all shapes as flat arrays."""
    forests = [sends for pool in pools for sends in pool]
    return Schedules(
        pass_off=np.cumsum([0, *(len(pool) for pool in pools)], dtype=np.int64),
        send_off=np.cumsum([0, *(len(sends) for sends in forests)], dtype=np.int64),
        send=np.fromiter((e for sends in forests for e in sends), np.int32),
    )


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
