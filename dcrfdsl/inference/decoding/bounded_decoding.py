"""Decoding with an upper bound on the score of each sequence, by `decode certified` and `optimal`: branch and bound.

Each part of a graph that hangs together is searched by itself. A node of the search allows each variable some of its
states. Its bound is the dual's (`kernels.messages.score_bounds`), begun where its parent's ended; states whose own
bound is below the best score known are struck out. If a gap is left, the variable whose two likeliest states are
closest takes the likelier one in one child and the others in the other. The node with the highest bound comes first, so
a search that ends early still knows that no labelling scores more than the highest bound that is open (Land & Doig
1960). All choices are by number: the same graph gives the same answer.

A labelling is called the best where the bound exceeds its score by no more than what rounding of the sums may amount
to: then no other one scores more by more than that. Not here: the labellings that it begins with (`run`).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask, dataclass
from ...graph import FactorGraph, offsets, offsets_of
from ...kernels.messages import DualGraph, ascend_dual, prune_states, state_bounds
from ...kernels.tables import Potentials
from ..bound import BoundData
from ..run_status import RunStatus
from ..sequence_graphs import sequence_graph
from ..workers import Workers

NODE_ITERATIONS = 30  # of a node below the root, at most
ROOT_FALL, NODE_FALL = 1e-3, 0.05  # a bound that falls by less of the gap in 10 iterations is left as it is


@dataclass(frozen=True)
class SearchLimits:
    """iterations: of the dual at the root.   nodes: of the search for each sequence; 1 is the dual alone."""

    iterations: int
    nodes: int


@dataclass(frozen=True, eq=False)
class BoundedLabelling:
    """The best labelling found. labelling [V], or None, with a score of -inf.   bound: no labelling scores more; -inf
    where it is proven that there is none.   tolerance: what rounding may amount to.   nodes: of the search.
    """

    labelling: Ints | None
    score: float
    bound: float
    tolerance: float
    nodes: int

    @property
    def is_best(self) -> bool:
        """Whether the labelling is proven to be the best, or that there is none."""
        return self.bound == -math.inf or self.bound - self.score <= self.tolerance

    @property
    def gap(self) -> float:
        """How much more than this one a labelling may score; infinite if none is known."""
        return 0.0 if self.is_best else self.bound - self.score


def bounded_labelling(graph: FactorGraph, limits: SearchLimits, start: Ints | None = None) -> BoundedLabelling:
    """Searches `graph` within the limits. start [V]: a labelling that is known, or states of -1."""
    if graph.constant == -math.inf:
        return BoundedLabelling(None, -math.inf, -math.inf, 0.0, 0)
    labelling = np.zeros(len(graph.cards), np.int64)
    score, bound, tolerance, nodes, size = graph.constant, graph.constant, 0.0, 0, abs(graph.constant)
    found_all = True
    for members, factors in _parts(graph):
        known = None if start is None or (start[members] < 0).any() else start[members].astype(np.int64)
        part = _Part(graph, members, factors).search(limits, known, limits.nodes - nodes)
        nodes += part.nodes
        bound, tolerance = bound + part.bound, tolerance + part.tolerance
        if part.bound == -math.inf:
            return BoundedLabelling(None, -math.inf, -math.inf, 0.0, nodes)
        if part.labelling is None:
            found_all = False
            continue
        labelling[members] = part.labelling
        score, size = score + part.score, size + abs(part.score)
    if not found_all:
        return BoundedLabelling(None, -math.inf, bound, tolerance, nodes)
    return BoundedLabelling(labelling, score, bound, tolerance + 2.0**-52 * len(graph.cards) * size, nodes)


def _parts(graph: FactorGraph) -> list[tuple[Ints, list[int]]]:
    """The variables of each part that hangs together, and the factors on it; parts in order of their first variable."""
    above = list(range(len(graph.cards)))  # each variable's way to the first one of its part

    def first(v: int) -> int:
        while above[v] != v:
            above[v] = v = above[above[v]]
        return v

    for scope in graph.scopes:
        tops = sorted({first(v) for v in scope})
        for top in tops[1:]:
            above[top] = tops[0]
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for v in range(len(above)):
        parts.setdefault(first(v), ([], []))[0].append(v)
    for f, scope in enumerate(graph.scopes):
        if scope:
            parts[first(scope[0])][1].append(f)
    return [(np.array(members, np.int64), factors) for members, factors in parts.values()]


class _Node(NamedTuple):
    """States [states] that are left, and δ to begin from."""

    allowed: Mask
    delta: Floats


class _Part:
    """A part of a graph that hangs together, as the arrays of the kernels."""

    def __init__(self, graph: FactorGraph, members: Ints, factors: Sequence[int]):
        number = {int(v): n for n, v in enumerate(members)}
        cards = [graph.cards[int(v)] for v in members]
        state_off = offsets(cards)
        self.unary = np.zeros(int(state_off[-1]))
        scopes: list[list[int]] = []
        tables: list[Floats] = []
        for f in factors:
            scope, table = [number[v] for v in graph.scopes[f]], graph.log_tables[f]
            if len(scope) == 1:
                self.unary[state_off[scope[0]] : state_off[scope[0] + 1]] += table
            else:
                scopes.append(scope)
                tables.append(np.asarray(table, np.float64).ravel())
        edges = np.array([v for scope in scopes for v in scope], np.int64)
        self.dual = DualGraph(
            state_off,
            offsets_of(scopes),
            edges,
            offsets_of(tables),
            np.concatenate([np.zeros(0), *tables]),
            offsets(np.array(cards, np.int64)[edges]),
            offsets(np.bincount(edges, minlength=len(cards))),
            np.argsort(edges, kind="stable"),
            np.repeat(np.arange(len(scopes)), [len(scope) for scope in scopes]).astype(np.int64),
        )
        self.order = np.arange(len(members))
        self.labelling = np.zeros(len(members), np.int64)
        self.score, self.tolerance = -math.inf, 0.0

    def search(self, limits: SearchLimits, known: Ints | None, most: int) -> BoundedLabelling:
        """The best labelling of this part in at most `most` nodes, and 1 at least."""
        if known is not None:
            self.labelling[:] = known
            self.score = self._score(known)
        queue: list[tuple[float, int, _Node]] = []
        number, closed, nodes = itertools.count(), -math.inf, 0
        root = _Node(np.ones(len(self.unary), np.bool_), np.zeros(int(self.dual.delta_off[-1])))
        heapq.heappush(queue, (-math.inf, next(number), root))
        while queue and (nodes == 0 or (nodes < most and -queue[0][0] > self.score + self.tolerance)):
            above, _, node = heapq.heappop(queue)
            iterations, fall = (limits.iterations, ROOT_FALL) if nodes == 0 else (NODE_ITERATIONS, NODE_FALL)
            nodes += 1
            if not prune_states(self.dual, self.unary, node.allowed):
                continue
            bound, theta = self._ascend(node, iterations, fall)
            bound = min(bound, -above)
            if bound <= self.score + self.tolerance:
                closed = max(closed, bound)
                continue
            for child in self._branch(node, bound, theta) if most > 1 else (node,):
                heapq.heappush(queue, (-bound, next(number), child))
        bound = max(closed, self.score, -queue[0][0] if queue else -math.inf)
        found = None if self.score == -math.inf else self.labelling
        return BoundedLabelling(found, self.score, bound, self.tolerance, nodes)

    def _score(self, labelling: Ints) -> float:
        total = float(self.unary[self.dual.state_off[:-1] + labelling].sum())
        dual = self.dual
        for f in range(len(dual.scope_off) - 1):
            entry = 0
            for v in dual.scope[dual.scope_off[f] : dual.scope_off[f + 1]].tolist():
                entry = entry * int(dual.state_off[v + 1] - dual.state_off[v]) + int(labelling[v])
            total += float(dual.table[dual.table_off[f] + entry])
        return total

    def _ascend(self, node: _Node, iterations: int, fall: float) -> tuple[float, Floats]:
        """A bound for the node, and its θ̃ [states]; better labellings are kept."""
        theta = np.zeros(len(self.unary))
        bound, tolerance, self.score, _ = ascend_dual(
            self.dual, self.unary, node.allowed, self.order, iterations, node.delta, theta, self.labelling, self.score,
            fall,
        )  # fmt: skip
        self.tolerance = max(self.tolerance, tolerance)
        return bound, theta

    def _branch(self, node: _Node, bound: float, theta: Floats) -> list[_Node]:
        """The children, without states that no better labelling has."""
        most = np.empty(len(theta))
        state_bounds(self.dual, node.allowed, node.delta, theta, bound, most)
        allowed = node.allowed & (most >= self.score - 2.0 * self.tolerance)
        off, closest, chosen, state = self.dual.state_off.tolist(), (math.inf, 0), -1, -1
        for v in range(len(off) - 1):
            states = off[v] + np.flatnonzero(allowed[off[v] : off[v + 1]])
            if len(states) == 0:
                return []
            if len(states) > 1:
                ranked = states[np.argsort(-most[states], kind="stable")]
                degree = int(self.dual.edge_off[v + 1] - self.dual.edge_off[v])
                key = float(most[ranked[0]] - most[ranked[1]]), -degree
                if key < closest:
                    closest, chosen, state = key, v, int(ranked[0])
        if chosen < 0:
            return [_Node(allowed, node.delta)]
        one, others = allowed.copy(), allowed.copy()
        one[off[chosen] : off[chosen + 1]] = False
        one[state], others[state] = True, False
        return [_Node(one, node.delta.copy()), _Node(others, node.delta.copy())]


@dataclass(frozen=True, eq=False)
class BoundedDecoding:
    """labelling: flat, see `BoundData.labelling_off`; -1 where none is known.   scores [S]: nan there.   bounds [S]:
    the score itself where it is proven to be the best, -inf where it is proven that there is no labelling.
    """

    labelling: Ints32
    scores: Floats
    bounds: Floats
    status: RunStatus


def bounded_decoding(
    data: BoundData, potentials: Potentials, labelling: Ints32, scores: Floats, status: RunStatus, limits: SearchLimits,
    workers: Workers,
) -> BoundedDecoding:  # fmt: skip
    """Bounds for the labellings that inference found, and better labellings where the search meets them.

    labelling, scores, status: of inference. What it found exactly is the best already.
    """
    count = data.num_sequences
    if not status.approximate:
        impossible = np.isnan(scores)
        bounds = np.where(impossible, -np.inf, scores)
        return BoundedDecoding(labelling, scores, bounds, replace(status, bounded=count, certified=count))
    labelling, scores, bounds, off = labelling.copy(), scores.copy(), np.empty(count), data.labelling_off

    def search(s: int, _: int) -> BoundedLabelling:
        graph = sequence_graph(data, potentials, s)
        # behind the first position a variable of the sentence has one state in the graph
        start = np.minimum(labelling[off[s] : off[s + 1]], np.array(graph.cards, np.int64) - 1)
        one = bounded_labelling(graph, limits, start)
        labelling[off[s] : off[s + 1]] = -1 if one.labelling is None else one.labelling
        scores[s] = np.nan if one.labelling is None else one.score
        bounds[s] = one.bound if one.labelling is None else one.score + one.gap
        return one

    every = workers.map(search, [(s, s + 1) for s in range(count)])
    return BoundedDecoding(
        data.spread(labelling),
        scores,
        bounds,
        replace(
            status,
            approximate=False,
            not_converged=0,
            impossible=tuple(s for s, one in enumerate(every) if one.labelling is None),
            bounded=count,
            certified=sum(one.is_best for one in every),
            gap=float(sum(one.gap for one in every if one.labelling is not None)),
            nodes=sum(one.nodes for one in every),
        ),
    )
