"""The scores of the segments of a sequence: of their tokens, of the moves inside them, and of their own features.

A segment of class c at tokens s … e has the score

    G(s, e, c) = Σ_{s<t<=e} [u_t(y_t) + τ_t(y_{t-1}, y_t)] + Σ_k λ_k g_k(s, e, c)      (the token s counts elsewhere)

where the states y_s … y_e follow from c: `single` for one token, else `first`, `inside` …, `last`. u and τ sum up all
factors on one position and on two neighbours, whatever they are. Not here: sums over labellings (`segment_sums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import kernel
from ..tables import fill_tables

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SINGLE, FIRST, INSIDE, LAST = 0, 1, 2, 3  # columns of `SegmentKinds.states`


class SegmentKinds(NamedTuple):
    """The classes of segments of a label, C of them; the first `named` have scores of their own, N below.

    The others are one token long.
    """

    states: Ints  #       [C, 4]  state of a single token, of the first, an inner and the last one
    named: int
    maximal: bool  #              neighbours of one class are not possible: segments are runs of a state
    limit: int  #                 the most tokens of a segment
    together: bool  #             whether longer segments are possible, all with one score
    feature_set: int  #           whose rows the candidates have; -1 for none
    run_base: int  #              first index of the features in Bindings.run_off
    longer_row: int  #            the row of longer segments, counted from the first row of the data set
    bias: Ints  #         [N]     weight of each class, or -1
    starts: Mask  #       [K]     whether a segment may begin with a state
    ends: Mask  #         [K]     whether a segment may end with it


class SegmentScores(NamedTuple):
    """The scores of a sequence of T tokens in log space, but for `moves`. K states, L the limit."""

    node: Floats  #   [T, K]        u
    slot: Ints  #     [T]           the table of the moves into position t
    step: Floats  #   [slots, K, K] τ
    moves: Floats  #  [slots, K, K] exp(τ − peak) of the moves from a segment to the next, 0 for all others
    peak: Floats  #   [slots]
    total: Floats  #  [T, L, N]     G of the segment of l + 1 tokens from t on; -inf where it does not fit
    open: Floats  #   [T, N]        the tokens of a longer segment from t on, up to its L-th
    longer: Floats  # [N]           features of any longer segment


@kernel
def _slots(g, length, shapes):
    """The table of the moves into each position; positions with the same shared factors have one. Returns their number.

    A position with a factor of its own sentence has a table of its own.
    """
    mark, own = np.zeros(length, np.int64), np.zeros(length, np.bool_)
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if shapes.scope_off[f + 1] - shapes.scope_off[f] == 2:
            a, b = shapes.scope[shapes.scope_off[f]], shapes.scope[shapes.scope_off[f] + 1]
            t = max(a, b)
            if shapes.fac_table[f] >= shapes.local_start:
                own[t] = True
            else:
                mark[t] = mark[t] * 1000003 + shapes.fac_table[f] * 2 + (1 if a > b else 2)
    slot, count = np.zeros(length, np.int64), 1
    for t in range(1, length):
        if t > 1 and (own[t] or own[t - 1] or mark[t] != mark[t - 1]):
            count += 1
        slot[t] = count - 1
    return slot, count


@kernel
def _tables(g, length, states, shapes, log_base, arena):
    """u, the slots and τ of a sequence whose local tables lie in the arena."""
    slot, count = _slots(g, length, shapes)
    node, step = np.zeros((length, states)), np.zeros((count, states, states))
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at, first = shapes.fac_table[f], shapes.scope_off[f]
        table = arena if at >= shapes.local_start else log_base
        a = shapes.scope[first]
        if shapes.scope_off[f + 1] - first == 1:
            for k in range(states):
                node[a, k] += table[at + k]
            continue
        b = shapes.scope[first + 1]
        t = max(a, b)
        if t > 1 and slot[t] == slot[t - 1]:
            continue
        for i in range(states):
            for j in range(states):
                if a < b:
                    step[slot[t], i, j] += table[at + i * states + j]
                else:
                    step[slot[t], j, i] += table[at + i * states + j]
    return node, slot, step


@kernel
def apart(segments, i, j):
    """Whether a segment may end with state i and the next one begin with state j."""
    return segments.ends[i] and segments.starts[j] and not (segments.maximal and i == j)


@kernel
def _moves(segments, step):
    """exp of the moves between segments, each table divided by its maximum, and the logarithms of the maxima."""
    count, states = step.shape[0], step.shape[1]
    moves, peak = np.zeros((count, states, states)), np.zeros(count)
    for n in range(count):
        high = -np.inf
        for i in range(states):
            for j in range(states):
                if apart(segments, i, j):
                    high = max(high, step[n, i, j])
        if high == -np.inf:
            continue
        peak[n] = high
        for i in range(states):
            for j in range(states):
                if apart(segments, i, j):
                    moves[n, i, j] = np.exp(step[n, i, j] - high)
    return moves, peak


@kernel
def _add_features(row, segments, bindings, rows, weights, out):
    """Adds the weights of the features of a row to `out` [N]."""
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = segments.run_base + rows.feature[i]
        x = rows.value[i] if valued else 1.0
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            out[bindings.entry[e]] += x * weights[bindings.num_bias + e]


@kernel
def score_segments(s, segments, problem, weights, log_base, arena):
    """The scores of sequence s. arena: overwritten by its local tables."""
    shapes, kinds, bindings, rows = problem
    g, length = rows.shape[s], rows.token_off[s + 1] - rows.token_off[s]
    states, named, limit = len(segments.starts), segments.named, segments.limit
    fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, arena)
    node, slot, step = _tables(g, length, states, shapes, log_base, arena)
    moves, peak = _moves(segments, step)
    total, unfinished, longer = np.zeros((length, limit, named)), np.full((length, named), -np.inf), np.zeros(named)
    if segments.feature_set >= 0:
        first = rows.first_row[segments.feature_set, s]
        _add_features(segments.longer_row, segments, bindings, rows, weights, longer)
        for t in range(length):
            for n in range(min(limit, length - t)):
                _add_features(first + t * limit + n, segments, bindings, rows, weights, total[t, n])
    for c in range(named):
        own = weights[segments.bias[c]] if segments.bias[c] >= 0 else 0.0
        begin, inner, end = segments.states[c, FIRST], segments.states[c, INSIDE], segments.states[c, LAST]
        longer[c] += own
        for t in range(length):
            total[t, 0, c] += own
            inside = 0.0
            for n in range(1, limit):
                if t + n >= length:
                    total[t, n, c] = -np.inf
                    continue
                before, into = begin if n == 1 else inner, slot[t + n]
                total[t, n, c] += own + inside + step[into, before, end] + node[t + n, end]
                inside += step[into, before, inner] + node[t + n, inner]
            if t + limit < length:
                unfinished[t, c] = inside
    return SegmentScores(node, slot, step, moves, peak, total, unfinished, longer)
