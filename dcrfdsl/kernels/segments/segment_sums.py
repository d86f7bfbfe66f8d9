"""Sums over all segmentations of a sequence, and expectations.

With α_t(k) over labellings of tokens 0 … t in which a segment ends at t with state k, γ_t(k) over those in which one
begins at t with k, and G of `segment_potentials`:

    γ_t(k) = u_t(k) Σ_i α_{t-1}(i) τ_t(i, k)          α_e(k) = Σ_{c, l: last state k} γ_{e-l+1}(first state) G(l, e, c)

D_t(c) is over unfinished segments of class c with more than L tokens up to t + 1. β, B and E are the same from the
right. The cost is T·(L·C + K²). Source: Sarawagi & Cohen (2004), §3. Not here: best labellings (`segment_paths`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import IMPOSSIBLE, OK, kernel
from ..tables import scatter_gradient
from .segment_potentials import FIRST, INSIDE, LAST, SINGLE, apart, score_segments

Floats = NDArray[np.float64]

LEAST = 1e-200  # a linear sum below is computed again by logarithms
MOST = 600.0  # the largest logarithm of a factor that linear products are multiplied by


class _Sums(NamedTuple):
    """ends, begins: α and γ, or β and B, [T, K].   unfinished: D or E, [T, N]. Logarithms."""

    ends: Floats
    begins: Floats
    unfinished: Floats


@kernel
def _log_add(a, b):
    if b > a:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@kernel
def _highest(values):
    high = -np.inf
    for x in values:
        high = max(high, x)
    return high


@kernel
def _moved(segments, values, moves, step, peak, turned, out):
    """log Σ_i exp(values_i + step_ij) over the moves between segments, or with `turned` over j; exact in any range."""
    count, high = len(values), _highest(values)
    out[:] = -np.inf
    if high == -np.inf:
        return
    sums = np.zeros(count)
    for i in range(count):
        x = np.exp(values[i] - high)
        if x > 0.0 and not turned:
            for j in range(count):
                sums[j] += x * moves[i, j]
        elif x > 0.0:
            for j in range(count):
                sums[j] += x * moves[j, i]
    for j in range(count):
        if sums[j] > LEAST:
            out[j] = high + peak + np.log(sums[j])
            continue
        for i in range(count):
            a, b = (j, i) if turned else (i, j)
            if apart(segments, a, b) and values[i] > -np.inf:
                out[j] = _log_add(out[j], values[i] + step[a, b])


@kernel
def _forward(segments, scores):
    """α, γ and D."""
    length, states = scores.node.shape
    named, limit = segments.named, segments.limit
    ends, begins = np.full((length, states), -np.inf), np.full((length, states), -np.inf)
    unfinished = np.full((length, named), -np.inf)
    high, sums = np.empty(named), np.empty(named)
    for t in range(length):
        into = scores.slot[t]
        if t == 0:
            for k in range(states):
                begins[t, k] = 0.0 if segments.starts[k] else -np.inf
        else:
            _moved(segments, ends[t - 1], scores.moves[into], scores.step[into], scores.peak[into], False, begins[t])
        for k in range(states):
            begins[t, k] += scores.node[t, k]
        for c in range(named, len(segments.states)):
            ends[t, segments.states[c, SINGLE]] = begins[t, segments.states[c, SINGLE]]
        high[:], sums[:] = -np.inf, 0.0
        for n in range(1, min(limit, t + 1)):
            for c in range(named):
                high[c] = max(high[c], begins[t - n, segments.states[c, FIRST]] + scores.total[t - n, n, c])
        for n in range(1, min(limit, t + 1)):
            for c in range(named):
                if high[c] > -np.inf:
                    score = begins[t - n, segments.states[c, FIRST]] + scores.total[t - n, n, c]
                    sums[c] += np.exp(score - high[c])
        for c in range(named):
            inner, last = segments.states[c, INSIDE], segments.states[c, LAST]
            found = high[c] + np.log(sums[c]) if high[c] > -np.inf else -np.inf
            if segments.together and t > 0:
                before = unfinished[t - 1, c]
                found = _log_add(
                    found, before + scores.step[into, inner, last] + scores.node[t, last] + scores.longer[c]
                )
                unfinished[t, c] = before + scores.step[into, inner, inner] + scores.node[t, inner]
            if segments.together and t >= limit - 1:
                start = t - limit + 1
                begun = begins[start, segments.states[c, FIRST]] + scores.open[start, c]
                unfinished[t, c] = _log_add(unfinished[t, c], begun)
            ends[t, last] = _log_add(ends[t, last], found)
            single = segments.states[c, SINGLE]
            ends[t, single] = _log_add(ends[t, single], begins[t, single] + scores.total[t, 0, c])
    return _Sums(ends, begins, unfinished)


@kernel
def _backward(segments, scores):
    """β, B (with the token where a segment begins) and E."""
    length, states = scores.node.shape
    named, limit = segments.named, segments.limit
    ends, begins = np.zeros((length, states)), np.full((length, states), -np.inf)
    unfinished = np.full((length, named), -np.inf)
    high, sums = np.empty(named), np.empty(named)
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            into = scores.slot[t + 1]
            _moved(segments, begins[t + 1], scores.moves[into], scores.step[into], scores.peak[into], True, ends[t])
        for c in range(named, len(segments.states)):
            begins[t, segments.states[c, SINGLE]] = ends[t, segments.states[c, SINGLE]]
        high[:], sums[:] = -np.inf, 0.0
        for n in range(1, min(limit, length - t)):
            for c in range(named):
                high[c] = max(high[c], scores.total[t, n, c] + ends[t + n, segments.states[c, LAST]])
        for n in range(1, min(limit, length - t)):
            for c in range(named):
                if high[c] > -np.inf:
                    sums[c] += np.exp(scores.total[t, n, c] + ends[t + n, segments.states[c, LAST]] - high[c])
        for c in range(named):
            inner, last = segments.states[c, INSIDE], segments.states[c, LAST]
            found = high[c] + np.log(sums[c]) if high[c] > -np.inf else -np.inf
            if segments.together and t < length - 1:
                into = scores.slot[t + 1]
                stays = scores.step[into, inner, inner] + scores.node[t + 1, inner] + unfinished[t + 1, c]
                closes = scores.step[into, inner, last] + scores.node[t + 1, last] + scores.longer[c]
                unfinished[t, c] = _log_add(stays, closes + ends[t + 1, last])
            if segments.together and t + limit < length:
                found = _log_add(found, scores.open[t, c] + unfinished[t + limit - 1, c])
            first, single = segments.states[c, FIRST], segments.states[c, SINGLE]
            begins[t, first] = _log_add(begins[t, first], found)
            begins[t, single] = _log_add(begins[t, single], scores.total[t, 0, c] + ends[t, single])
        for k in range(states):
            begins[t, k] += scores.node[t, k]
    return _Sums(ends, begins, unfinished)


@kernel
def _expect_moves(segments, scores, left, right, log_z, pair):
    """Adds the probabilities of the moves between segments to `pair` [slots, K, K]."""
    length, states = scores.node.shape
    for t in range(1, length):
        into = scores.slot[t]
        high_left, high_right = _highest(left.ends[t - 1]), _highest(right.begins[t])
        if high_left == -np.inf or high_right == -np.inf:  # all of it is inside of segments here
            continue
        shift = high_left + high_right + scores.peak[into] - log_z
        for i in range(states):
            a = np.exp(left.ends[t - 1, i] - high_left)
            for j in range(states):
                if not apart(segments, i, j):
                    continue
                if shift < MOST:
                    b = np.exp(right.begins[t, j] - high_right) if a > 0.0 else 0.0
                    pair[into, i, j] += a * b * scores.moves[into, i, j] * np.exp(shift)
                else:
                    whole = left.ends[t - 1, i] + scores.step[into, i, j] + right.begins[t, j] - log_z
                    pair[into, i, j] += np.exp(whole)


@kernel
def _expect_segments(segments, scores, left, right, log_z, node, pair, longer):
    """Replaces `scores.total` by the probabilities of segments; adds those of their tokens and of the moves inside.

    longer [N]: the expected numbers of longer segments, added to.
    """
    length = len(node)
    named, limit = segments.named, segments.limit
    total, slot, step = scores.total, scores.slot, scores.step
    for t in range(length):
        for n in range(length - t, limit):
            total[t, n] = 0.0
        for c in range(named, len(segments.states)):
            k = segments.states[c, SINGLE]
            node[t, k] += np.exp(left.begins[t, k] + right.ends[t, k] - log_z)
        for c in range(named):
            single, first = segments.states[c, SINGLE], segments.states[c, FIRST]
            inner, last = segments.states[c, INSIDE], segments.states[c, LAST]
            total[t, 0, c] = np.exp(left.begins[t, single] + total[t, 0, c] + right.ends[t, single] - log_z)
            node[t, single] += total[t, 0, c]
            rest = 0.0  # the probability that a longer one begins here
            if segments.together and t + limit < length:
                rest = np.exp(left.begins[t, first] + scores.open[t, c] + right.unfinished[t + limit - 1, c] - log_z)
            for n in range(min(limit, length - t) - 1, 0, -1):
                before, into = first if n == 1 else inner, slot[t + n]
                total[t, n, c] = np.exp(left.begins[t, first] + total[t, n, c] + right.ends[t + n, last] - log_z)
                pair[into, before, inner] += rest
                node[t + n, inner] += rest
                pair[into, before, last] += total[t, n, c]
                node[t + n, last] += total[t, n, c]
                rest += total[t, n, c]
            node[t, first] += rest
            if segments.together and t > 0 and left.unfinished[t - 1, c] > -np.inf:
                into, until = slot[t], left.unfinished[t - 1, c] - log_z
                stays = step[into, inner, inner] + scores.node[t, inner] + right.unfinished[t, c]
                closes = step[into, inner, last] + scores.node[t, last] + scores.longer[c] + right.ends[t, last]
                for score, state in ((stays, inner), (closes, last)):
                    share = np.exp(until + score)
                    pair[into, inner, state] += share
                    node[t, state] += share
                longer[c] += np.exp(until + closes)


@kernel
def _add_counts(row, segments, bindings, rows, share, gradient):
    """Adds the expected counts of the features of a row, whose candidates have the probabilities `share` [N]."""
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = segments.run_base + rows.feature[i]
        x = rows.value[i] if valued else 1.0
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            gradient[bindings.num_bias + e] += x * share[bindings.entry[e]]


@kernel
def _add_gradient(s, segments, problem, total, longer, gradient):
    """The expected counts of the features of segments."""
    _, _, bindings, rows = problem
    length, limit = total.shape[0], total.shape[1]
    for c in range(segments.named):
        if segments.bias[c] >= 0:
            gradient[segments.bias[c]] += longer[c]
            for t in range(length):
                for n in range(min(limit, length - t)):
                    gradient[segments.bias[c]] += total[t, n, c]
    if segments.feature_set >= 0:
        first = rows.first_row[segments.feature_set, s]
        _add_counts(segments.longer_row, segments, bindings, rows, longer, gradient)
        for t in range(length):
            for n in range(min(limit, length - t)):
                _add_counts(first + t * limit + n, segments, bindings, rows, total[t, n], gradient)


@kernel
def _spread(g, scores, shapes, node, pair, expected, arena):
    """The probabilities of positions and moves as expectations of all factors: of shared cells, or in the arena."""
    states, slot = node.shape[1], scores.slot
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at, first = shapes.fac_table[f], shapes.scope_off[f]
        local = at >= shapes.local_start
        out, a = arena if local else expected, shapes.scope[first]
        if shapes.scope_off[f + 1] - first == 1:
            for k in range(states):
                out[at + k] = node[a, k] if local else out[at + k] + node[a, k]
            continue
        b = shapes.scope[first + 1]
        t = max(a, b)
        if not local and t > 1 and slot[t] == slot[t - 1]:
            continue  # its table has the sum over all of its positions
        for i in range(states):
            for j in range(states):
                share = pair[slot[t], i, j] if a < b else pair[slot[t], j, i]
                out[at + i * states + j] = share if local else out[at + i * states + j] + share


@kernel
def segment_expectations(first, last, segments, problem, potentials, totals, results, marginals, spans, arena):
    """log Z of each sequence, and expected feature counts.

    totals: added to; an empty gradient means that none are wanted.   marginals: of the states of each token.   spans:
    the probability of each segment, as `SegmentScores.total`.   Empty ones are not wanted.   arena: memory for the
    local tables of the longest sequence.
    """
    shapes, kinds, bindings, rows = problem
    gradient, expected = totals
    for s in range(first, last):
        g, length = rows.shape[s], rows.token_off[s + 1] - rows.token_off[s]
        results.status[s], results.log_z[s] = OK, 0.0
        if length == 0:
            continue
        scores = score_segments(s, segments, problem, potentials.weights, potentials.log_base, arena)
        left = _forward(segments, scores)
        log_z = -np.inf
        for k in range(len(segments.starts)):
            log_z = _log_add(log_z, left.ends[length - 1, k])
        results.log_z[s] = log_z
        if log_z == -np.inf:
            results.status[s] = IMPOSSIBLE
            if len(marginals.value) > 0:
                marginals.value[marginals.off[s] : marginals.off[s + 1]] = 0.0
            continue
        if len(gradient) == 0 and len(marginals.value) == 0 and len(spans.value) == 0:
            continue
        right = _backward(segments, scores)
        node, pair, longer = np.zeros_like(scores.node), np.zeros_like(scores.step), np.zeros(segments.named)
        _expect_segments(segments, scores, left, right, log_z, node, pair, longer)
        _expect_moves(segments, scores, left, right, log_z, pair)
        if len(marginals.value) > 0:
            marginals.value[marginals.off[s] : marginals.off[s + 1]] = node.ravel()
        if len(spans.value) > 0:
            spans.value[spans.off[s] : spans.off[s + 1]] = scores.total.ravel()
        if len(gradient) > 0:
            _add_gradient(s, segments, problem, scores.total, longer, gradient)
            _spread(g, scores, shapes, node, pair, expected, arena)
            scatter_gradient(s, shapes, kinds, bindings, rows, arena, expected, gradient)
