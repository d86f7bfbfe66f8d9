"""Pruned inference on runs of sequences: lattices are refined level by level, then summed or searched.

With gold labels, a sequence whose gold labels are pruned after a level takes its sums at that level, where they are
still in: an *early update* (Müller et al. 2013, after Collins & Roark 2004). Factors of the levels above then count as
at the gold labels, in log Z and in the expected counts, so that log Z − g* and its gradient are those of the level.
Lists of labels that another model made do not depend on the weights, so that no update could bring gold labels back:
there they are put in again.

Where pruning leaves no labelling because of hard constraints, it is relaxed until there is one or nothing is pruned.
So a sequence is called impossible only if it is.
"""

from typing import NamedTuple

import numpy as np

from ..runtime import GAVE_UP, IMPOSSIBLE, OK, inner, kernel
from .contexts import ContextTables, LocalTables, edge_cells, find_cell, walk_contexts
from .guides import MOST_EDGES, surviving_labels, view_beliefs, view_cells
from .lattice_levels import Pruning, first_lattice, keep_edges, keep_labels, next_lattice
from .lattice_sums import best_path, edge_potentials, sum_lattice
from .local_scores import scatter_labels, score_labels

# columns of what lattices count for each sequence, [S, COLUMNS]
POSSIBLE = 0  #  labels that are possible, over all positions
LABELS = 1  #    of these, kept
EDGES = 2  #     edges of the last level
EARLY = 3  #     1 + the level after which the gold labels were pruned; 0 where they survived
RELAXED = 4  #   how often pruning was relaxed
POSITIONS = 5  # positions of the sequence
COLUMNS = 6


NO_GOLD = np.zeros(0, np.int32)


class LatticeTables(NamedTuple):
    """All factors of a chain at given weights."""

    local: LocalTables
    contexts: ContextTables


@kernel
def _label_beliefs(length, states, score, belief):
    """p(y_t) of the local scores alone. Returns (log Z, number of possible labels); -inf if a position has none."""
    log_z, possible = 0.0, 0
    for t in range(length):
        at = t * states
        peak = score[at]
        for y in range(1, states):
            peak = max(peak, score[at + y])
        if peak == -np.inf:
            return -np.inf, possible
        total = 0.0
        for y in range(states):
            belief[at + y] = np.exp(score[at + y] - peak)
            total += belief[at + y]
            possible += score[at + y] > -np.inf
        share = 1.0 / total
        for y in range(states):
            belief[at + y] *= share
        log_z += peak + np.log(total)
    return log_z, possible


@kernel
def _refine(length, tables, log_base, pruning, gold, score, label_off, label, summing):
    """The last lattice of a sequence, and with `summing` its sums.

    gold [T]: empty, or labels whose pruning ends the refinement.   label_off [T+1], label: those that survive level 0.
    Returns (status, lattice, cells and log potentials of its edges, log Z, whether in log space, p of nodes and edges,
    1 + the level where gold was pruned). Where gold was pruned at level 0, the lattice is empty.
    """
    states, contexts = tables.local.states, tables.contexts
    top = max(1, len(contexts.level_off) - 2)
    log_z, redone, early, status = 0.0, False, 0, OK
    node = np.zeros(length if len(gold) else 0, np.int64)
    for t in range(len(node)):
        node[t] = -1
        for i in range(label_off[t], label_off[t + 1]):
            if label[i] == gold[t]:
                node[t] = i
        if node[t] < 0:
            early = 1
    lattice = first_lattice(length, states, label_off, label, score)
    cell, edge_log = np.empty(0, np.int32), np.empty(0)
    node_belief, edge_belief = np.empty(0), np.empty(0)
    while early == 0:
        level, num = lattice.level, lattice.edge_off[len(lattice.run)]
        if num > MOST_EDGES:
            status = GAVE_UP
            break
        many = contexts.level_off[level + 1] - contexts.level_off[level] if level + 1 < len(contexts.level_off) else 0
        cell, edge_log = np.empty(num * many, np.int32), np.empty(num)
        if many:
            edge_cells(
                contexts, level, length, lattice.node_off, lattice.run, lattice.last, lattice.first_out,
                lattice.edge_off, cell,
            )  # fmt: skip
        edge_potentials(cell, many, log_base, edge_log)
        if level == top and not summing:
            break
        log_z, status, in_logs, node_belief, edge_belief = sum_lattice(lattice, edge_log)
        redone |= in_logs
        if level == top or status != OK:
            break
        kept = keep_edges(lattice, edge_belief, pruning)
        for t in range(len(node) - 1):
            if not kept[lattice.edge_off[node[t]] + node[t + 1] - lattice.first_out[node[t]]]:
                early = level + 1
        if early == 0:
            following, number = next_lattice(lattice, kept, edge_log)
            for t in range(len(node) - 1, 0, -1):
                node[t] = number[lattice.edge_off[node[t - 1]] + node[t] - lattice.first_out[node[t - 1]]]
            lattice = following
    return status, lattice, cell, edge_log, log_z, redone, node_belief, edge_belief, early


@inner
def _relaxed(pruning):
    """Less pruning; at last none."""
    threshold = 1e-2 * pruning.threshold if pruning.threshold > 1e-12 else 0.0
    return Pruning(threshold, 4 * pruning.keep, 4.0 * pruning.states)


@inner
def _prunes(pruning, states):
    return pruning.threshold > 0.0 or pruning.keep < states or 0.0 < pruning.states < states


@inner
def _spread_nodes(contexts, lattice, node_belief, states, belief, expected):
    """Beliefs of labels from those of nodes, and expected counts of the contexts that nodes complete."""
    for t in range(len(lattice.node_off) - 1):
        for b in range(lattice.node_off[t], lattice.node_off[t + 1]):
            belief[t * states + lattice.last[b]] += node_belief[b]
            levels = min(t + 1, lattice.level, len(contexts.level_off) - 1)
            if len(expected) and levels > 1:
                for j in range(contexts.level_off[1], contexts.level_off[levels]):
                    c = find_cell(contexts, j, lattice.run[b])
                    if c >= 0:
                        expected[c] += node_belief[b]


@kernel
def _begin(s, length, local, problem, potentials, guide, through, pairs, results, counts):
    """(log scores of the labels of sequence s, p(y_t) by them and a view, their log Z, whether in log space).

    pairs: see `view_beliefs`.   The status is OK where there is something to refine, or no position.
    """
    states, in_logs = local.states, False
    results.log_z[s], results.status[s] = 0.0, OK
    counts[s, :] = 0
    counts[s, POSITIONS] = length
    score, belief, log_z = np.empty(length * states), np.empty(length * states), 0.0
    if length > 0:
        score_labels(s, length, local, problem.kinds, problem.bindings, problem.rows, potentials.weights, score)
        log_z, counts[s, POSSIBLE] = _label_beliefs(length, states, score, belief)
        if log_z == -np.inf:
            results.status[s] = IMPOSSIBLE
        elif len(guide.example):
            log_z, results.status[s], in_logs = view_beliefs(
                length, states, guide, through, potentials.log_base, score, belief, pairs
            )
    if results.status[s] != OK:
        results.log_z[s] = -np.inf
    return score, belief, log_z, in_logs


@kernel
def lattice_expectations(
    first, last, tables, problem, potentials, pruning, guide, gold, totals, results, marginals, counts
):
    """log Z of the sequences first … last − 1 over what survives, and their expected feature counts.

    guide: its lists begin with sequence `first`.
    gold: labels of all sequences for early updates, or empty; without effect where one is negative.
    totals: an empty gradient asks for no counts.
    counts [S, 6]: see `COLUMNS`.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    log_base, nothing = potentials.log_base, np.zeros(0)
    gradient, expected = totals.gradient, totals.expected
    local, contexts = tables.local, tables.contexts
    states, through = local.states, view_cells(guide, contexts)
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        pairs = np.zeros(len(guide.example) ** 2 if len(gradient) else 0)
        results.redone[s] = False
        score, belief, local_log_z, in_logs = _begin(
            s, length, local, problem, potentials, guide, through, pairs, results, counts
        )
        if length == 0 or results.status[s] != OK:
            continue
        labels = gold.value[gold.off[s] : gold.off[s + 1]] if len(gold.value) else NO_GOLD[:0]
        for t in range(len(labels)):
            if labels[t] < 0:  # not known: nothing to keep
                labels = NO_GOLD[:0]
                break
        chosen, begin = pruning, rows.token_off[s] - rows.token_off[first]
        while True:
            label_off, label, put_in = surviving_labels(guide, begin, length, states, score, belief, chosen, labels)
            status, lattice, cell, edge_log, log_z, redone, node_belief, edge_belief, early = _refine(
                length, tables, log_base, chosen, labels, score, label_off, label, True
            )
            if status != IMPOSSIBLE or not _prunes(chosen, states):
                break
            chosen = _relaxed(chosen)
            counts[s, RELAXED] += 1
        counts[s, LABELS], counts[s, EDGES] = label_off[length], len(edge_log)
        counts[s, EARLY] = max(early, np.int64(put_in))
        results.status[s], results.redone[s], results.log_z[s] = status, redone or in_logs, log_z
        if status != OK:
            results.log_z[s] = -np.inf
            continue
        level = lattice.level
        if early == 1:
            results.log_z[s], level = local_log_z, 0
        wanted = expected if len(gradient) else nothing
        if early > 0:
            summed = guide.tables if early == 1 else guide.tables[:0]
            results.log_z[s] += walk_contexts(contexts, labels, level, summed, log_base, wanted, 0.0)
        if len(gradient) == 0 and len(marginals.value) == 0:
            continue
        if early == 1:
            label_off = np.arange(0, (length + 1) * states, states)
            label = np.empty(length * states, np.int32)
            for i in range(length * states):
                label[i] = i % states
        else:
            belief[:] = 0.0
            _spread_nodes(contexts, lattice, node_belief, states, belief, wanted)
            label_off, label = _labels_of(lattice, belief, states)
        if len(marginals.value):
            marginals.value[marginals.off[s] : marginals.off[s + 1]] = belief
        if len(gradient):
            scatter_labels(s, length, local, kinds, bindings, rows, label_off, label, belief, gradient, expected)
            if early != 1:
                _spread_edges(cell, edge_belief, expected)
            else:
                _spread_edges(through, pairs, expected)


@kernel
def _labels_of(lattice, belief, states):
    """The labels with a belief at each position: offsets [T+1] and labels."""
    length = len(lattice.node_off) - 1
    off, label = np.zeros(length + 1, np.int64), np.empty(len(lattice.run), np.int32)
    count = 0
    for t in range(length):
        for y in range(states):
            if belief[t * states + y] > 0.0:
                label[count] = y
                count += 1
        off[t + 1] = count
    return off, label[:count]


@inner
def _spread_edges(cell, edge_belief, expected):
    """Expected counts of the contexts that edges complete."""
    tables = len(cell) // max(1, len(edge_belief))
    for e in range(len(edge_belief)):
        for i in range(tables):
            if cell[e * tables + i] >= 0:
                expected[cell[e * tables + i]] += edge_belief[e]


@kernel
def lattice_decode(first, last, tables, problem, potentials, pruning, guide, results, labelling, counts):
    """The best surviving labelling of the sequences first … last − 1, -1 where none is possible; its score as log Z."""
    rows, states = problem.rows, tables.local.states
    through, nothing = view_cells(guide, tables.contexts), np.zeros(0)
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        labels[:] = -1
        score, belief, _, _ = _begin(
            s, length, tables.local, problem, potentials, guide, through, nothing, results, counts
        )
        if length == 0 or results.status[s] != OK:
            continue
        chosen, begin = pruning, rows.token_off[s] - rows.token_off[first]
        while True:
            label_off, label, _ = surviving_labels(guide, begin, length, states, score, belief, chosen, NO_GOLD[:0])
            counts[s, LABELS] = label_off[length]
            status, lattice, _, edge_log, _, _, _, _, _ = _refine(
                length, tables, potentials.log_base, chosen, NO_GOLD[:0], score, label_off, label, False
            )
            best = best_path(lattice, edge_log, labels) if status == OK else -np.inf
            if status == GAVE_UP or best > -np.inf or not _prunes(chosen, states):
                break
            chosen = _relaxed(chosen)
            counts[s, RELAXED] += 1
        counts[s, EDGES] = len(edge_log)
        results.log_z[s] = best
        results.status[s] = status if status == GAVE_UP else OK if best > -np.inf else IMPOSSIBLE


@kernel
def lattice_bounds(first, last, tables, starred, problem, potentials, star_values, most, log_z):
    """Upper bounds on log Z of the sequences first … last − 1, written to `log_z` [S].

    starred: tables in which label `states` stands for all but the likeliest `most` labels of a position, and
    star_values their cells.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    states = tables.local.states
    nothing = Pruning(0.0, states + 1, 0.0)
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        log_z[s] = 0.0
        if length == 0:
            continue
        score, belief = np.empty(length * states), np.empty(length * states)
        score_labels(s, length, tables.local, kinds, bindings, rows, potentials.weights, score)
        log_z[s] = _label_beliefs(length, states, score, belief)[0]
        if log_z[s] == -np.inf:
            continue
        wide = np.full(length * (states + 1), -np.inf)
        for t in range(length):
            here = score[t * states : (t + 1) * states]
            least = np.partition(here, states - most)[states - most] if most < states else -np.inf
            peak, total, taken = -np.inf, 0.0, 0
            for y in range(states):
                if here[y] >= least and taken < most:
                    wide[t * (states + 1) + y] = here[y]
                    taken += 1
                else:
                    peak = max(peak, here[y])
            for y in range(states):
                if wide[t * (states + 1) + y] == -np.inf and here[y] > -np.inf:
                    total += np.exp(here[y] - peak)
            if total > 0.0:
                wide[t * (states + 1) + states] = peak + np.log(total)
        flat = np.ones(length * (states + 1))
        label_off, label = keep_labels(length, states + 1, wide, flat, nothing)
        answer = _refine(length, starred, star_values, nothing, NO_GOLD[:0], wide, label_off, label, True)
        log_z[s] = answer[4] if answer[0] == OK else -np.inf if answer[0] == IMPOSSIBLE else np.inf
