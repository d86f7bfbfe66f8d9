"""The best labellings in order: exactly by the contraction program, approximately by messages.

**Exact.** After the (max, +) sweep the sum of a step's two tables, at the states of its other variables, is the best
score that each state of the eliminated variable can reach. Variables are decided from the last one eliminated to the
first; a state x in place of the best one loses

    loss(x) = max_x' (A + B)(x') − (A + B)(x) ≥ 0,      score(y) = score of the best labelling − Σ losses of y.

The best completion of decided states loses nothing more, so the loss so far is the exact cost of the best labelling
that begins with them, and a best-first search finds labellings in order. The labellings other than one that was found
are partitioned by the first decision where they differ from it (Lawler 1972; Nilsson 1998). The parts are disjoint and
complete, so each labelling comes once. Only the `count` cheapest candidates are kept. Work: count · Σ_v states.

**Messages.** The same partition by constraints `y_v = x` / `y_v ≠ x` on the node potentials, split where the
max-marginals say that the second best labelling differs (Yanover & Weiss 2004). Exact on trees, a guess on loops.

**Latent variables summed out.** max over labels of the sum over latents, score(y) = log Σ_h exp(Σ log φ(y, h)), with
probability exp(score − log Z). The program must sum out every latent variable before it maximises over the first label.
The sweep then leaves tables over labels alone, and the search for the best labellings continues as in a model without
latent variables. Not here: the order (`graph`), models whose programs would not fit in memory.
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ..exact import best_state, decision_order, forward_log, forward_max, operand_places, sum_forward
from ..messages import largest_sequence, message_labelling, node_potentials, propagate, read_labelling, score_labelling
from ..runtime import GAVE_UP, IMPOSSIBLE, OK, inner, kernel
from ..tables import add_run, copy_run, fill_tables

ROUNDING = 1e-9  # of scores, relative
MOST_TRIES = 2  # runs of messages per wanted labelling; a constraint may turn out to leave none


class NBestLists(NamedTuple):
    """The labellings of every sequence: s has the columns off[s] to off[s + 1] of the first length[s] rows."""

    labelling: Ints32  # [most, variables]
    off: Ints  #         [S+1]
    length: Ints  #       [S]
    score: Floats  #     [S, most]  Σ log φ


# exact --------------------------------------------------------------------------------------------------------------


class Decisions(NamedTuple):
    """The order in which variables are decided, as `decision_order` writes it. Only the first `made` are made."""

    step: Ints  #     [V]
    variable: Ints  # [V]
    made: int


class Candidates(NamedTuple):
    """The open candidates, the most expensive first. Of equal costs, the oldest is taken first."""

    cost: Floats  # [most]
    origin: Ints  # [most, 3]  labelling that it departs from, the decision where it does, its state there


@inner
def search_labellings(g, shapes, programs, value, decisions, labelling, loss, candidates, limit):
    """The best labellings from a finished `forward_max` in `value`: rows of `labelling` [most, V] and their `loss`.

    candidates: overwritten.   limit: labellings lose less than this. Returns how many labellings there are, at most
    `most`; the caller knows that at least one is possible.
    """
    count, cost, origin = len(loss), candidates.cost, candidates.origin
    num_found, waiting, first, lost = 0, 0, 0, 0.0
    while True:
        waiting = _complete(
            g, shapes, programs, value, decisions, labelling[num_found], (first, lost, num_found), candidates, waiting,
            limit,
        )  # fmt: skip
        loss[num_found] = lost
        num_found += 1
        if num_found == count or waiting == 0:
            return num_found
        waiting -= 1
        lost, parent, at = cost[waiting], origin[waiting, 0], origin[waiting, 1]
        for v in range(labelling.shape[1]):
            labelling[num_found, v] = labelling[parent, v]
        labelling[num_found, decisions.variable[at]] = origin[waiting, 2]
        first = at + 1


@inner
def _complete(g, shapes, programs, value, decisions, assignment, parent, candidates, waiting, limit):
    """Decides optimally from a decision on, ties to the lowest state; opens the other states as candidates.

    parent: the first decision to make, what is lost before, the number of the labelling. Returns the number of open
    candidates.
    """
    v0, (first, lost, number) = shapes.var_off[g], parent
    for d in range(first, decisions.made):
        v = decisions.variable[d]
        places = operand_places(decisions.step[d], v, programs, assignment)
        at_a, stride_a, at_b, stride_b = places
        best, chosen = best_state(value, places, shapes.card[v0 + v])
        assignment[v] = chosen
        for x in range(shapes.card[v0 + v]):
            if x == chosen:
                continue
            total = lost + (best - (value[at_a + x * stride_a] + value[at_b + x * stride_b]))
            if total < limit:
                waiting = _open(total, number, d, x, candidates.cost, candidates.origin, waiting)
    return waiting


@inner
def _open(total, number, decision, state, cost, origin, waiting):
    """Inserts a candidate, unless the list is full of cheaper ones. Returns the number of open candidates."""
    if waiting == len(cost):
        if total >= cost[0]:
            return waiting
        at = 0  # replaces the most expensive one
        while at + 1 < waiting and cost[at + 1] > total:
            _move(cost, origin, at + 1, at)
            at += 1
    else:
        at = waiting
        while at > 0 and cost[at - 1] <= total:
            _move(cost, origin, at - 1, at)
            at -= 1
        waiting += 1
    cost[at] = total
    origin[at, 0], origin[at, 1], origin[at, 2] = number, decision, state
    return waiting


@inner
def _move(cost, origin, source, target):
    cost[target] = cost[source]
    for i in range(3):
        origin[target, i] = origin[source, i]


@inner
def _list_best(s, shapes, rows, programs, logs, lists, memory, limit):
    """Lists the best labellings of sequence s from a finished `forward_max` in `logs`.   memory: see `_memory`."""
    (labelling, off, length, score), (step, variable, candidates) = lists, memory
    g = rows.shape[s]
    decision_order(g, shapes, programs, step, variable)
    sequence_rows = labelling[:, off[s] : off[s + 1]]
    decisions = Decisions(step, variable, off[s + 1] - off[s])
    length[s] = search_labellings(g, shapes, programs, logs, decisions, sequence_rows, score[s], candidates, limit)
    best = score_labelling(g, shapes, logs, sequence_rows[0])
    for n in range(length[s]):
        score[s, n] = best - score[s, n]


@kernel
def _memory(first, last, lists):
    """Memory for the search in one sequence of a run: steps and variables of `Decisions`, and `Candidates`."""
    count, most = len(lists.labelling), 1
    for s in range(first, last):
        most = max(most, lists.off[s + 1] - lists.off[s])
    candidates = Candidates(np.empty(count), np.empty((count, 3), np.int64))
    return np.empty(most, np.int64), np.empty(most, np.int64), candidates


@kernel
def exact_nbest(first, last, problem, programs, patterns, potentials, latents, lists, results, value, logs):
    """The best labellings of each sequence, and its log Z.   value, logs: two arenas, overwritten.

    latents: the variables that are summed out, which are left at state 0; or None, whose type decides what is compiled.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    memory, scale = _memory(first, last, lists), np.empty(len(programs.step))
    value[: shapes.local_start] = potentials.base
    logs[: shapes.local_start] = log_base
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        results.log_z[s], results.redone[s], results.status[s] = sum_forward(
            s, problem, programs, patterns, potentials, value, logs, scale
        )
        lists.length[s] = 0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        begin, end, summed = programs.step_off[g], programs.step_off[g + 1], 0.0
        if latents is not None:
            after = _first_label_step(begin, end, programs, latents)
            summed, begin = forward_log(begin, after, programs, patterns, logs, False), after
        best = summed + forward_max(begin, end, programs, patterns, logs)
        if best == -np.inf:
            results.status[s] = IMPOSSIBLE
        elif latents is None:
            _list_best(s, shapes, rows, programs, logs, lists, memory, np.inf)
        else:
            _list_labels(s, best, shapes, rows, programs, logs, lists, memory, latents)


@kernel
def exact_better(first, last, problem, programs, patterns, potentials, lists, known, floor, logs):
    """The labellings of each sequence that score more than floor[s], best first, and no log Z.

    Rounding may let in labellings that score a little less.   known [flat]: a labelling whose score is added to
    floor[s]; empty: none.   logs: an arena, overwritten.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    memory, off = _memory(first, last, lists), lists.off
    logs[: shapes.local_start] = log_base
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        lists.length[s] = 0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        bound = floor[s]
        if len(known) > 0:
            bound += score_labelling(g, shapes, logs, known[off[s] : off[s + 1]])
        best = forward_max(programs.step_off[g], programs.step_off[g + 1], programs, patterns, logs)
        limit = best - bound + ROUNDING * max(1.0, abs(best))
        if best > -np.inf and limit > 0.0:
            _list_best(s, shapes, rows, programs, logs, lists, memory, limit)


# messages -----------------------------------------------------------------------------------------------------------


@kernel
def message_nbest(first, last, problem, edges, potentials, sweeps, control, lists, results):
    """Good labellings of each sequence by max-product, in order of discovery.

    The results record the run for the first labelling.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    labelling, off, length, score = lists
    status, iterations, residual = results.status, results.iterations, results.residual
    (arena, states), count, longest = largest_sequence(shapes, rows, first, last), len(labelling), 1
    for s in range(first, last):
        longest = max(longest, edges.messages[rows.shape[s]])
    logs, node, message, belief = np.empty(arena), np.empty(states), np.empty(longest), np.empty(states)
    # A constraint: variable, state, 1 for `is` and 0 for `is not`, and the one before it in its part, -1 for none.
    bound, newest = np.empty((2 * MOST_TRIES * count, 4), np.int64), np.empty(count + 1, np.int64)
    gap, split = np.empty(count), np.empty((count, 2), np.int64)  # loss of a part's second best, and where it differs
    logs[: shapes.local_start] = log_base
    for s in range(first, last):
        g = rows.shape[s]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        parts, num_bound = 0, 0
        newest[0] = -1
        for attempt in range(MOST_TRIES * count):
            # the labelling of a new part, numbered `parts`
            sequence_labels = labelling[parts, off[s] : off[s + 1]]
            rounds, left, state = _max_product(
                g, shapes, edges, logs, sweeps, control, bound, newest[parts], node, message, belief
            )
            if attempt == 0:
                status[s], iterations[s], residual[s] = state, rounds, left
            if state == OK and attempt == 0:
                state = message_labelling(g, shapes, edges, logs, node, message, sequence_labels)
                status[s] = state if state != GAVE_UP else OK
            elif state == OK:
                read_labelling(g, shapes, edges, logs, node, message, sequence_labels)
            if state == OK:
                score[s, parts] = score_labelling(g, shapes, logs, sequence_labels)
                if score[s, parts] > -np.inf and _obeys(bound, newest[parts], sequence_labels):
                    gap[parts] = _second_best(g, shapes, belief, sequence_labels, split[parts])
                    parts += 1
            if parts == count:
                break
            # the part that should hold the next best labelling is cut in two
            chosen, best = -1, -np.inf
            for p in range(parts):
                if score[s, p] - gap[p] > best:
                    chosen, best = p, score[s, p] - gap[p]
            if chosen < 0:
                break
            for kept in range(2):
                bound[num_bound + kept, 0], bound[num_bound + kept, 1] = split[chosen, 0], split[chosen, 1]
                bound[num_bound + kept, 2], bound[num_bound + kept, 3] = kept, newest[chosen]
            newest[chosen], newest[parts] = num_bound, num_bound + 1
            num_bound += 2
            # the old half keeps its labelling: where does its second best differ now?
            _, _, state = _max_product(
                g, shapes, edges, logs, sweeps, control, bound, newest[chosen], node, message, belief
            )
            gap[chosen] = np.inf
            if state == OK:
                gap[chosen] = _second_best(g, shapes, belief, labelling[chosen, off[s] : off[s + 1]], split[chosen])
        length[s] = parts


@kernel
def _max_product(g, shapes, edges, logs, sweeps, control, bound, newest, node, message, belief):
    """Converged messages under a part's constraints, and max-marginals: belief = node potential · all messages.

    Returns (iterations, negative if not converged, residual, status). `belief` is in log space, up to a constant a
    variable.
    """
    _, state = node_potentials(g, shapes, logs, True, node)
    if state != OK:
        return 0, 0.0, state
    i = newest
    while i >= 0:
        v = shapes.var_off[g] + bound[i, 0]
        at = shapes.state_off[v]
        for x in range(shapes.card[v]):
            if (x == bound[i, 1]) != (bound[i, 2] == 1):
                node[at + x] = -np.inf
        i = bound[i, 3]
    converged, rounds, left, state, _ = propagate(
        g, shapes, edges, logs, node, message, sweeps, control, True, True, False
    )
    if state != OK:
        return 0, left, state
    e0 = edges.edge_off[g]
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        at = shapes.state_off[v]
        copy_run(node, at, shapes.card[v], belief[at:])
        for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
            m = edges.message_off[e0 + edges.var_edge[j]]
            add_run(message, m, shapes.card[v], belief[at:])
    return rounds if converged else -rounds, left, state


@inner
def _obeys(bound, newest, assignment):
    """Whether a labelling meets a part's constraints. Where these leave no state, messages give an arbitrary answer."""
    i = newest
    while i >= 0:
        if (assignment[bound[i, 0]] == bound[i, 1]) != (bound[i, 2] == 1):
            return False
        i = bound[i, 3]
    return True


@inner
def _second_best(g, shapes, belief, assignment, split):
    """Writes to `split` where the second best labelling differs: (variable, state) of least loss. Returns it."""
    least = np.inf
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        at = shapes.state_off[v]
        best_state = assignment[v - shapes.var_off[g]]
        for x in range(shapes.card[v]):
            loss = belief[at + best_state] - belief[at + x]
            if x != best_state and loss < least:
                least, split[0], split[1] = loss, v - shapes.var_off[g], x
    return least


# with latent variables summed out -------------------------------------------------------------------------------------


class Latents(NamedTuple):
    """Which variables are latent: v where first ≤ v % width < end."""

    first: int
    end: int
    width: int


@inner
def _is_latent(latents, v):
    return latents.first <= v % latents.width < latents.end


@inner
def _first_label_step(first, last, programs, latents):
    """The step after the last one that sums out a latent variable."""
    after = first
    for i in range(first, last):
        v = programs.variable[i]
        if v >= 0 and _is_latent(latents, v):
            after = i + 1
    return after


@inner
def _list_labels(s, best, shapes, rows, programs, logs, lists, memory, latents):
    """As `_list_best`, where sums over the latent variables were maximised. best: the score of the best labels."""
    (labelling, off, length, score), (step, variable, candidates) = lists, memory
    g = rows.shape[s]
    decisions = Decisions(step, variable, _labels_in_front(g, shapes, programs, step, variable, latents))
    sequence_rows = labelling[:, off[s] : off[s + 1]]
    sequence_rows[:] = 0
    length[s] = search_labellings(g, shapes, programs, logs, decisions, sequence_rows, score[s], candidates, np.inf)
    free = _isolated_latents(g, shapes, programs, latents)
    for n in range(length[s]):
        score[s, n] = best + free - score[s, n]


@inner
def _isolated_latents(g, shapes, programs, latents):
    """log of the number of states of latent variables that no step sums out."""
    total = 0.0
    for v in range(shapes.var_off[g + 1] - shapes.var_off[g]):
        if _is_latent(latents, v):
            total += np.log(shapes.card[shapes.var_off[g] + v])
    for i in range(programs.step_off[g], programs.step_off[g + 1]):
        v = programs.variable[i]
        if v >= 0 and _is_latent(latents, v):
            total -= np.log(shapes.card[shapes.var_off[g] + v])
    return total


@inner
def _labels_in_front(g, shapes, programs, step, variable, latents):
    """`decision_order` with the latent variables left out. Returns the number of decisions."""
    decision_order(g, shapes, programs, step, variable)
    kept = 0
    for d in range(shapes.var_off[g + 1] - shapes.var_off[g]):
        v = variable[d]
        if not _is_latent(latents, v):
            step[kept], variable[kept] = step[d], v
            kept += 1
    return kept
