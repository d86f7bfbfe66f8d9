"""The best labelling of an automaton (Viterbi), of as many sequences at once as a register has lanes.

    best_t(j) = s_t(j) + max_i best_{t-1}(i) + log ψ(i, j)

The maximum over the states of a group is shared by all states that are reached from it. It does not hold for a state
where the group's best one has a transition of its own that lowers the background; there, the maximum is taken again
over the states that are not listed. The maximum of each position is subtracted in the next one and added up
separately. No back pointers are stored but the best state of each group: the backward pass searches the best
transition into each state again. Source: Rabiner 1989 §III.B.
"""

import numpy as np

from ..runtime import (
    LANES,
    add,
    any_below,
    broadcast,
    choose_below,
    entry,
    inlined,
    inner,
    load,
    load_at,
    maximum,
    repeat,
    store,
    subtract,
)
from .forward_lanes import over_unlisted
from .lane_scores import load_lanes, score_lanes, sort_window
from .transitions import WINDOW

SCORE, PEAK, IS_LAST, END_STATE, SPARE = range(5)  # rows of `AutomatonWorkspace.lane`


@inner
def _best_unlisted(n, block, front, before, automaton, lane):
    """The maximum over the classes of a block's groups that have no listed transition into the state of step n, into a
    row of `lane`.
    """
    lanes = len(automaton.registers) * LANES
    store(lane, SPARE * lanes, over_unlisted(n, block, front, before, automaton, False))


@inner
def _best_of_groups(t, front, now, automaton, workspace):
    """The maximum of each group over the row of classes at `now`, and the class that has it."""
    registers, lanes, groups = automaton.registers, len(automaton.registers) * LANES, automaton.groups
    new, origin = t % 2 * groups * lanes, t * groups * lanes
    for c in range(0, groups * lanes, lanes):
        store(workspace.shared, new + c, broadcast(registers, -np.inf))
        store(workspace.origin, origin + c, broadcast(registers, -1.0))
    for c in range(automaton.classes):
        g = np.int64(automaton.source_group[c])
        if g >= 0:
            found, place = load(registers, front, now + c * lanes), g * lanes
            high = load(registers, workspace.shared, new + place)
            best = load(registers, workspace.origin, origin + place)
            store(workspace.origin, origin + place, choose_below(high, found, broadcast(registers, float(c)), best))
            store(workspace.shared, new + place, maximum(found, high))


@inner
def _best_of_classes(at, now, automaton, best, front):
    """The maximum of each class over the row of states at `at`, into the row at `now`."""
    registers, lanes = automaton.registers, len(automaton.registers) * LANES
    for n in range(automaton.classes):
        found = broadcast(registers, -np.inf)
        for m in range(automaton.class_off[n], automaton.class_off[n + 1]):
            found = maximum(found, load(registers, best, at + automaton.class_state[m] * lanes))
        store(front, now + automaton.out_class[n] * lanes, found)


@inner
def _advance(t, automaton, tables, workspace):
    """The best score of each state at position t, its maximum, and the best class of each group."""
    registers, lanes, best = automaton.registers, len(automaton.registers) * LANES, workspace.alpha
    shared, lane, rows = workspace.shared, workspace.lane, workspace.rows
    at, row, old = t * automaton.states * lanes, t * automaton.width * lanes, (t + 1) % 2 * automaton.groups * lanes
    front, before, now = best, at - automaton.states * lanes, at
    if automaton.is_split:
        front, now = workspace.front, t % 2 * automaton.classes * lanes
        before = (t + 1) % 2 * automaton.classes * lanes
    bottom, zero, half = broadcast(registers, -np.inf), broadcast(registers, 0.0), broadcast(registers, 0.5)
    taken = load(registers, lane, PEAK * lanes)
    taken = choose_below(bottom, taken, taken, zero)
    ends = False
    for n in range(lanes):
        here = t + 1 == workspace.length[n]
        lane[IS_LAST * lanes + n] = 1.0 if here else 0.0
        ends |= here
    is_last = load(registers, lane, IS_LAST * lanes)
    peak, variables = bottom, len(automaton.cards)
    for block in range(len(automaton.block_off) - 1):
        high = bottom
        for b in range(automaton.block_group_off[block], automaton.block_group_off[block + 1] if t > 0 else 0):
            high = maximum(high, load(registers, shared, old + automaton.block_group[b] * lanes))
        for n in range(automaton.block_off[block], automaton.block_off[block + 1]):
            j = np.int64(automaton.into_state[n])
            found = repeat(registers, tables.state, j)
            for v in range(variables):
                found = add(found, load_at(registers, rows, row, automaton.part_at, j * variables + v))
            if t == 0:
                found = add(found, repeat(registers, tables.first, j))
            else:
                listed, top = bottom, bottom
                for q in range(automaton.into_off[n], automaton.into_off[n + 1]):
                    source = load_at(registers, front, before, automaton.into_at, q)
                    top = maximum(top, source)
                    weight = repeat(registers, tables.transition, automaton.into_move[q])
                    listed = maximum(listed, add(source, weight))
                # where a listed class is as good as the groups' best one, that may be the only such class
                if any_below(choose_below(top, high, high, listed), high):
                    _best_unlisted(n, block, front, before, automaton, lane)
                    listed = maximum(listed, load(registers, lane, SPARE * lanes))
                else:
                    listed = maximum(listed, choose_below(top, high, high, listed))
                found = add(found, subtract(listed, taken))
            if ends:
                found = choose_below(is_last, half, found, add(found, repeat(registers, tables.last, j)))
            store(best, at + j * lanes, found)
            peak = maximum(peak, found)
    store(lane, PEAK * lanes, peak)
    if automaton.is_split:
        _best_of_classes(at, now, automaton, best, front)
    _best_of_groups(t, front, now, automaton, workspace)
    if ends:
        last, high = zero, bottom
        for j in range(automaton.states):
            found = load(registers, best, at + j * lanes)
            last = choose_below(high, found, broadcast(registers, float(j)), last)
            high = maximum(found, high)
        store(lane, SPARE * lanes, last)
    for n in range(lanes):
        if t < workspace.length[n]:
            lane[SCORE * lanes + n] += lane[PEAK * lanes + n]
        if t + 1 == workspace.length[n]:
            lane[END_STATE * lanes + n] = lane[SPARE * lanes + n]


@inlined
def _best_in_class(c, at, automaton, best):
    """The best state of a class, the lowest of equal ones: (score, state). at: where the lane of state 0 lies."""
    lanes = len(automaton.registers) * LANES
    if not automaton.is_split:
        return best[at + c * lanes], c
    high, state = -np.inf, -1
    n = automaton.class_step[c]
    for m in range(automaton.class_off[n], automaton.class_off[n + 1]):
        k = np.int64(automaton.class_state[m])
        if best[at + k * lanes] > high:
            high, state = best[at + k * lanes], k
    return high, state


@inner
def _best_source(j, t, n, automaton, tables, workspace):
    """The best state at position t before state j, in lane n; of equal ones, one of the lowest class."""
    lanes, best = len(automaton.registers) * LANES, workspace.alpha
    at = t * automaton.states * lanes + n
    high, source, found_class = -np.inf, -1, -1
    first, end, block = automaton.target_off[j], automaton.target_off[j + 1], automaton.block_of[j]
    for q in range(first, end):
        c = np.int64(automaton.source[q])
        x, state = _best_in_class(c, at, automaton, best)
        x += tables.transition[q]
        if x > high:
            high, source, found_class = x, state, c
    for b in range(automaton.block_group_off[block], automaton.block_group_off[block + 1]):
        g = np.int64(automaton.block_group[b])
        own = np.int64(workspace.origin[(t * automaton.groups + g) * lanes + n])
        is_listed = False
        for q in range(first, end):
            is_listed |= automaton.source[q] == own
        if own >= 0 and not is_listed:
            x, state = _best_in_class(own, at, automaton, best)
            if x > high or (x == high and own < found_class):
                high, source, found_class = x, state, own
        elif own >= 0:
            seen = first
            for m in range(automaton.member_off[g], automaton.member_off[g + 1]):
                c = np.int64(automaton.member[m])
                while seen < end and automaton.source[seen] < c:
                    seen += 1
                if seen < end and automaton.source[seen] == c:
                    continue
                x, state = _best_in_class(c, at, automaton, best)
                if x > high or (x == high and c < found_class):
                    high, source, found_class = x, state, c
    return source


@inner
def _trace_back(n, automaton, tables, workspace, labels):
    """Writes the labels of the best path of lane n."""
    variables, visible = len(automaton.cards), automaton.visible
    k = np.int64(workspace.lane[END_STATE * len(automaton.registers) * LANES + n])
    for t in range(workspace.length[n] - 1, -1, -1):
        for v in range(visible):
            labels[t * visible + v] = automaton.parts[k * variables + v] - automaton.row_start[v]
        if t > 0:
            k = _best_source(k, t - 1, n, automaton, tables, workspace)


@entry
def automaton_decode(first, last, automaton, tables, problem, weights, score_of, labelling, workspace):
    """The best labelling of each sequence and its score, as `chain_decode`.

    Of equally good predecessors, one of the lowest class wins.   tables: logarithms.   labelling: of each position,
    the label of every variable; -1 where none is possible.   score_of: nan where a sequence is longer than the
    workspace allows.
    """
    token_off = problem.rows.token_off
    lanes = len(automaton.registers) * LANES
    for s in range(first, last):
        score_of[s] = 0.0 if token_off[s + 1] == token_off[s] else np.nan
    for begin in range(first, last, WINDOW):
        count = sort_window(begin, min(last, begin + WINDOW), workspace.longest, token_off, workspace.order)
        for at in range(0, count, lanes):
            longest = load_lanes(at, count, token_off, workspace)
            workspace.lane[SCORE * lanes : (SCORE + 1) * lanes] = 0.0
            score_lanes(longest, automaton, problem, weights, workspace)
            for t in range(longest):
                _advance(t, automaton, tables, workspace)
            for n in range(min(lanes, count - at)):
                s = workspace.sequence[n]
                score_of[s] = workspace.lane[SCORE * lanes + n]
                labels = labelling.value[labelling.off[s] : labelling.off[s + 1]]
                if score_of[s] > -np.inf:
                    _trace_back(n, automaton, tables, workspace, labels)
                else:
                    labels[:] = -1
