"""The tables of a chain's cliques as lattices read them: the shared cell of a run of labels, found by its key.

A clique of several labels has a table of statesⁿ entries, of which training shows few. Only these have a cell. A run of
labels that ends at a position is one integer, `LABEL_BITS` a label, the last label lowest. A table sums the codes of
its sites' labels to a key; codes hold strides, and views if labels are seen through them. Small tables are indexed by
the key, the others are hashed with linear probing. What is not found has potential 1, or 0 in a table of hard
constraints. A table whose cells lie in the order of the keys needs no index.

Scores and counts of given labellings in the cliques of several labels are here too. Not here: which tables a model
has (`inference.bound.lattice_tables`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ..runtime import inner, kernel

LABEL_BITS = 15  # four labels are one positive integer
MOST_STATES = 1 << LABEL_BITS
LABEL_MASK = MOST_STATES - 1
UNSEEN, FORBIDDEN = -1, -2  # in place of a cell: potential 1, potential 0
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: 2^64 divided by the golden ratio


class LocalTables(NamedTuple):
    """The factors on one label, at given weights."""

    states: int
    scored: Ints  #       [n]      kinds with features, at every position
    plain: Ints  #        [n]      kinds at every position, those with features too: their base tables are expected
    first: Ints  #        [n]      kinds at the first position only
    last: Ints  #         [n]      kinds at the last position only
    everywhere: Floats  # [states] log scores, summed over kinds
    at_first: Floats  #   [states]
    at_last: Floats  #    [states]


class ContextTables(NamedTuple):
    """The factors on several labels, by level: the distance from the first to the last site."""

    level_off: Ints  #   [levels + 2]  the tables of level m are level_off[m] to level_off[m + 1]
    sites: Ints  #       [tables]      number of sites
    back: Ints  #        [tables, 4]   how far a site lies before the last one
    code_off: Ints  #    [tables, 4]   where its labels' codes begin
    codes: Ints  #       [..]
    direct: Ints  #      [tables]      where the table begins in `cell_of`; -1 if it is hashed
    cell_of: Ints32  #   [..]          key → cell
    hash_off: Ints  #    [tables]
    hash_bits: Ints  #   [tables]      logarithm of the number of places; 0: the cell is hash_off + key
    hash_key: Ints  #    [..]          -1: free
    hash_cell: Ints32  # [..]


@kernel
def fill_hash(keys, cells, bits, hash_key, hash_cell):
    """Enters the distinct `keys` with their cells into a hash table of 2^bits free places."""
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    for i in range(len(keys)):
        place = np.int64((np.uint64(keys[i]) * SPREAD) >> shift)
        while hash_key[place] >= 0:
            place = (place + 1) & mask
        hash_key[place], hash_cell[place] = keys[i], cells[i]


@inner
def find_cell(contexts, j, run):
    """The cell of table j for a run of labels; `UNSEEN` or `FORBIDDEN` without one."""
    key = 0
    for i in range(contexts.sites[j]):
        label = (run >> (LABEL_BITS * contexts.back[j, i])) & LABEL_MASK
        key += contexts.codes[contexts.code_off[j, i] + label]
    if contexts.direct[j] >= 0:
        return contexts.cell_of[contexts.direct[j] + key]
    bits, start = contexts.hash_bits[j], contexts.hash_off[j]
    if bits == 0:
        return np.int32(start + key)
    mask = (1 << bits) - 1
    place = np.int64((np.uint64(key) * SPREAD) >> np.uint64(64 - bits))
    while contexts.hash_key[start + place] >= 0:
        if contexts.hash_key[start + place] == key:
            return contexts.hash_cell[start + place]
        place = (place + 1) & mask
    return np.int32(UNSEEN)


@inner
def edge_cells(contexts, level, length, node_off, run, last, first_out, edge_off, cell):
    """The cells of all edges of a lattice: `cell[e · tables + i]` of the i-th table of its level."""
    low, high = contexts.level_off[level], contexts.level_off[level + 1]
    tables = high - low
    for t in range(length - 1):
        for a in range(node_off[t], node_off[t + 1]):
            for e in range(edge_off[a], edge_off[a + 1]):
                b = first_out[a] + e - edge_off[a]
                labels = (run[a] << LABEL_BITS) | last[b]
                for i in range(tables):
                    cell[e * tables + i] = find_cell(contexts, low + i, labels) if t + 1 >= level else UNSEEN


@inner
def walk_contexts(contexts, labels, above, left_out, log_base, expected, score):
    """Counts the contexts of a labelling in the tables of levels beyond `above`; returns `score` plus their potentials.

    left_out: tables that do not count.   expected: shared cells, or empty.
    """
    for t in range(len(labels)):
        run = 0
        for back in range(min(t, 3), -1, -1):
            run = (run << LABEL_BITS) | labels[t - back]
        levels = min(t + 1, len(contexts.level_off) - 1)
        for j in range(contexts.level_off[min(above + 1, levels)], contexts.level_off[levels]):
            is_left_out = False
            for i in range(len(left_out)):
                is_left_out |= left_out[i] == j
            if is_left_out:
                continue
            c = find_cell(contexts, j, run)
            if c >= 0:
                score += log_base[c]
                if len(expected):
                    expected[c] += 1.0
            elif c == FORBIDDEN:
                score = -np.inf
    return score


@kernel
def score_contexts(first, last, contexts, token_off, labelling, log_base, score):
    """Adds the log potentials of each labelling's contexts to `score` [S]; nan where a label is unknown (negative)."""
    none, uncounted = np.zeros(0, np.int64), np.zeros(0)
    for s in range(first, last):
        labels, known = labelling[token_off[s] : token_off[s + 1]], True
        for label in labels:
            known &= label >= 0
        score[s] = walk_contexts(contexts, labels, -1, none, log_base, uncounted, score[s]) if known else np.nan


@kernel
def count_contexts(first, last, contexts, token_off, labelling, expected):
    """Adds the counts of each labelling's contexts to `expected` [shared cells]; all labels must be known."""
    none = np.zeros(0, np.int64)
    for s in range(first, last):
        labels = labelling[token_off[s] : token_off[s + 1]]
        walk_contexts(contexts, labels, -1, none, expected, expected, 0.0)  # whatever their log potential
