"""What decides in place of the labels' own scores which labels survive: lists from another model, or a view.

A view's pass is the model with its cliques on single labels, and those that see two neighbours through the view alone.
With ψ_t(v) = Σ_{y: v(y) = v} exp(score_t(y)) it is a chain of the view's values, so that

    p(y_t) = p(v_t) exp(score_t(y_t)) / ψ_t(v_t)

is exact in that model, at the cost of values². Not here: what lists are made from (`inference.stage_guides`), which
tables see labels through a view (`inference.bound.lattice_tables`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Ints, Ints32
from ..runtime import GAVE_UP, OK, kernel
from .contexts import LABEL_BITS, find_cell
from .lattice_levels import first_lattice, keep_labels
from .lattice_sums import edge_potentials, sum_lattice

MOST_EDGES = 2**24  # of a level of one sequence; beyond it memory would not last


class Guide(NamedTuple):
    """What decides which labels survive; without lists and values it is the labels' own scores.

    P: positions of the sequences that a kernel is called for.
    """

    label_off: Ints  # [P+1]     listed labels of each position, in ascending order; empty without lists
    label: Ints32
    value: Ints  #     [states]  the view's value of each label; empty without a view
    example: Ints  #   [values]  a label of each value
    tables: Ints  #    tables of level 1 that see both labels through the view


NO_GUIDE = Guide(
    np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
)


@kernel
def view_cells(guide, contexts):
    """The cells of the view's tables for each pair of values, [values · values · tables]."""
    values, tables = len(guide.example), len(guide.tables)
    cell = np.empty(values * values * tables, np.int32)
    for a in range(values):
        for b in range(values):
            labels = (guide.example[a] << LABEL_BITS) | guide.example[b]
            for i in range(tables):
                cell[(a * values + b) * tables + i] = find_cell(contexts, guide.tables[i], labels)
    return cell


@kernel
def view_beliefs(length, states, guide, cell, log_base, score, belief, pairs):
    """Writes p(y_t) to `belief` [T · states], and adds the expected pairs of values to `pairs` [values · values].

    cell: see `view_cells`.   score: logs, -inf for a label that is impossible.   pairs may be empty.
    Returns (log Z, status, whether it was computed in log space).
    """
    values, tables = len(guide.example), len(guide.tables)
    if length * values * values > MOST_EDGES:
        return 0.0, GAVE_UP, False
    wide = np.full(length * values, -np.inf)
    for t in range(length):
        here = wide[t * values : (t + 1) * values]
        for y in range(states):
            here[guide.value[y]] = max(here[guide.value[y]], score[t * states + y])
        total = np.zeros(values)
        for y in range(states):
            if score[t * states + y] > -np.inf:
                total[guide.value[y]] += np.exp(score[t * states + y] - here[guide.value[y]])
        for v in range(values):
            if total[v] > 0.0:
                here[v] += np.log(total[v])
    off, label = np.zeros(length + 1, np.int64), np.empty(length * values, np.int32)
    count = 0
    for t in range(length):
        for v in range(values):
            if wide[t * values + v] > -np.inf:
                label[count] = v
                count += 1
        off[t + 1] = count
    lattice = first_lattice(length, values, off, label[:count], wide)
    pair = np.empty(values * values)
    edge_potentials(cell, tables, log_base, pair)
    edge_log = np.empty(lattice.edge_off[count])
    for a in range(count):
        for e in range(lattice.edge_off[a], lattice.edge_off[a + 1]):
            edge_log[e] = pair[label[a] * values + label[lattice.first_out[a] + e - lattice.edge_off[a]]]
    log_z, status, redone, node_belief, edge_belief = sum_lattice(lattice, edge_log)
    if status != OK:
        return log_z, status, redone
    for t in range(length):
        of_value = np.zeros(values)
        for i in range(off[t], off[t + 1]):
            of_value[label[i]] = node_belief[i]
        for y in range(states):
            v = guide.value[y]
            at = t * states + y
            belief[at] = of_value[v] * np.exp(score[at] - wide[t * values + v]) if score[at] > -np.inf else 0.0
    if len(pairs):
        for a in range(count):
            for e in range(lattice.edge_off[a], lattice.edge_off[a + 1]):
                pairs[label[a] * values + label[lattice.first_out[a] + e - lattice.edge_off[a]]] += edge_belief[e]
    return log_z, OK, redone


@kernel
def _listed(guide, begin, length, states, score, gold):
    """The listed labels that are possible, and the gold labels: offsets [T+1], labels, whether gold was not listed.

    begin: the first position of the sequence in the lists. No offsets where a position has no label left.
    """
    room = guide.label_off[begin + length] - guide.label_off[begin] + length
    off, label = np.zeros(length + 1, np.int64), np.empty(room, np.int32)
    count, missed = 0, False
    for t in range(length):
        put = len(gold) == 0
        for i in range(guide.label_off[begin + t], guide.label_off[begin + t + 1]):
            y = guide.label[i]
            if not put and gold[t] <= y:
                if gold[t] < y:
                    label[count], missed = gold[t], True
                    count += 1
                put = True
            if score[t * states + y] > -np.inf:
                label[count] = y
                count += 1
        if not put:
            label[count], missed = gold[t], True
            count += 1
        off[t + 1] = count
        if off[t + 1] == off[t]:
            return off[:0], label[:0], False
    return off, label[:count], missed


@kernel
def surviving_labels(guide, begin, length, states, score, belief, pruning, gold):
    """The labels that survive at each position: offsets [T+1], labels in ascending order, and whether gold was put in.

    belief [T · states]: what decides where there are no lists.   begin: the first position of the sequence in lists.
    gold [T]: labels that lists must hold, or empty.
    """
    if len(guide.label_off):
        off, label, missed = _listed(guide, begin, length, states, score, gold)
        if len(off):
            return off, label, missed
    off, label = keep_labels(length, states, score, belief, pruning)
    return off, label, False


@kernel
def list_labels(token_off, states, belief, best, pruning):
    """The labels that survive by the marginals of all positions: offsets [N+1], and labels in ascending order.

    belief [N · states]: p(y_t).   best [N]: a labelling that survives whatever its probability, or empty.
    """
    positions = token_off[-1]
    off, label = np.zeros(positions + 1, np.int64), np.empty(positions * (min(states, pruning.keep) + 1), np.int32)
    count = 0
    for s in range(len(token_off) - 1):
        first, length = token_off[s], token_off[s + 1] - token_off[s]
        if length == 0:
            continue
        here = belief[first * states : (first + length) * states]
        own_off, own = keep_labels(length, states, np.zeros(length * states), here, pruning)
        for t in range(length):
            extra = best[first + t] if len(best) else np.int32(-1)
            for i in range(own_off[t], own_off[t + 1]):
                if 0 <= extra <= own[i]:
                    if extra < own[i]:
                        label[count] = extra
                        count += 1
                    extra = np.int32(-1)
                label[count] = own[i]
                count += 1
            if extra >= 0:
                label[count] = extra
                count += 1
            off[first + t + 1] = count
    return off, label[:count]
