"""Lattices of one sequence, level by level, and what is pruned between levels.

A node of level m ≥ 1 is a position t with the last m labels there (all of them near the beginning). Edges join nodes of
neighbouring positions that agree, so an edge of level m is a run of m + 1 labels: the surviving edges of a level are
the nodes of the next one. Nodes made from the edges that leave one node stand together, so the edges of a node are a
range of nodes of the next position and need no list.

Level 0 has no edges: its items are single labels. What survives: items whose probability at this level is at least
`threshold`, at most `keep` labels of a position, at most `states` · 2^level items a position on average over the
sequence, and always one whole path, so that a pruned lattice has a labelling. Source of the idea: Müller, Schmid &
Schütze 2013, §3.

Not here: probabilities (`lattice_sums`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ..runtime import kernel
from .contexts import LABEL_BITS


class Pruning(NamedTuple):
    """What survives, see the module."""

    threshold: float
    keep: int
    states: float  # 0: no limit


class Lattice(NamedTuple):
    """A lattice with N nodes and E edges."""

    level: int
    node_off: Ints  #  [T+1]  nodes of a position
    run: Ints  #       [N]    the labels of a node, `LABEL_BITS` each, the last one lowest
    last: Ints32  #    [N]    the last of them
    local: Floats  #   [N]    log potential of the factors that the node completes
    first_out: Ints  # [N]    the first node that an edge leads to
    edge_off: Ints  #  [N+1]


@kernel
def _sentence_threshold(belief, pruning, level, length):
    """The least probability that survives in a sequence. belief: of all items."""
    if pruning.states <= 0.0:
        return pruning.threshold
    most = np.int64(pruning.states * (1 << level) * length)
    above = belief[belief >= pruning.threshold]
    if len(above) <= most:
        return pruning.threshold
    return np.partition(above, len(above) - most)[len(above) - most]


@kernel
def keep_labels(length, states, score, belief, pruning):
    """The labels that survive at each position: offsets [T+1] and labels in ascending order.

    score: logs, -inf for a label that is impossible.   belief [T · states]: p(y_t) at level 0.
    """
    threshold = _sentence_threshold(belief, pruning, 0, length)
    off = np.zeros(length + 1, np.int64)
    label = np.empty(length * min(states, pruning.keep), np.int32)
    count = 0
    for t in range(length):
        at, begin = t * states, count
        here = belief[at : at + states]
        least, ties = threshold, states
        if pruning.keep < states:
            bound = np.partition(here, states - pruning.keep)[states - pruning.keep]
            if bound >= least:  # ties at the bound: the lowest labels
                least, ties = bound, pruning.keep
                for y in range(states):
                    ties -= here[y] > bound
        best = np.argmax(here)
        for y in range(states):
            if score[at + y] == -np.inf:
                continue
            if here[y] < least and y != best:
                continue
            if here[y] == least and ties < states:
                if ties == 0:
                    continue
                ties -= 1
            label[count] = y
            count += 1
        off[t + 1] = count
        if count == begin:
            return np.zeros(0, np.int64), label[:0]
    return off, label[:count]


@kernel
def first_lattice(length, states, label_off, label, score):
    """The lattice of level 1: a node for each surviving label, edges between all neighbours."""
    num = label_off[length]
    run, local, first_out = np.empty(num, np.int64), np.empty(num), np.zeros(num, np.int64)
    edge_off = np.zeros(num + 1, np.int64)
    for t in range(length):
        following = label_off[t + 2] - label_off[t + 1] if t + 1 < length else 0
        for a in range(label_off[t], label_off[t + 1]):
            run[a] = label[a]
            local[a] = score[t * states + label[a]]
            first_out[a] = label_off[t + 1]
            edge_off[a + 1] = edge_off[a] + following
    return Lattice(1, label_off, run, label, local, first_out, edge_off)


@kernel
def keep_edges(lattice, belief, pruning):
    """Which edges survive, [E]. belief [E]: probability of each edge at this level."""
    length = len(lattice.node_off) - 1
    threshold = _sentence_threshold(belief, pruning, lattice.level, length)
    kept = belief >= threshold
    if threshold > 0.0:
        a, most = 0, -1.0
        for first in range(lattice.node_off[0], lattice.node_off[1]):
            mass = 0.0
            for e in range(lattice.edge_off[first], lattice.edge_off[first + 1]):
                mass += belief[e]
            if mass > most:
                a, most = first, mass
        for _ in range(1, length):  # a whole path: the likeliest node, then always the likeliest edge
            best = lattice.edge_off[a]
            for e in range(best, lattice.edge_off[a + 1]):
                if belief[e] > belief[best]:
                    best = e
            kept[best] = True
            a = lattice.first_out[a] + best - lattice.edge_off[a]
    return kept


@kernel
def next_lattice(lattice, kept, edge_log):
    """The lattice of the next level, whose nodes are the kept edges (at the first position: the nodes themselves).

    edge_log [E]: log potential of the edges.   Also returns the new number of each kept edge, [E], -1 for the others.
    """
    length = len(lattice.node_off) - 1
    first = lattice.node_off[1]
    num = first
    for e in range(len(kept)):
        num += kept[e]
    node_off = np.zeros(length + 1, np.int64)
    run, last, local = np.empty(num, np.int64), np.empty(num, np.int32), np.empty(num)
    number, head = np.full(len(kept), -1, np.int64), np.empty(num, np.int64)
    for a in range(first):
        run[a], last[a], local[a], head[a] = lattice.run[a], lattice.last[a], lattice.local[a], a
    node_off[1], made = first, first
    out_first = np.zeros(len(lattice.run) + 1, np.int64)  # of a node of this level: the nodes made from its edges
    out_count = np.zeros(len(lattice.run), np.int64)
    for t in range(length - 1):
        for a in range(lattice.node_off[t], lattice.node_off[t + 1]):
            out_first[a] = made
            for e in range(lattice.edge_off[a], lattice.edge_off[a + 1]):
                if not kept[e]:
                    continue
                b = lattice.first_out[a] + e - lattice.edge_off[a]
                run[made] = (lattice.run[a] << LABEL_BITS) | lattice.last[b]
                last[made], head[made] = lattice.last[b], b
                local[made] = lattice.local[b] + edge_log[e]
                number[e] = made
                made += 1
            out_count[a] = made - out_first[a]
        node_off[t + 2] = made
    first_out, edge_off = np.zeros(num, np.int64), np.zeros(num + 1, np.int64)
    for n in range(num):
        first_out[n] = out_first[head[n]]
        edge_off[n + 1] = edge_off[n] + out_count[head[n]]
    return Lattice(lattice.level + 1, node_off, run, last, local, first_out, edge_off), number
