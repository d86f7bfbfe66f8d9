"""The best labellings of a sequence by segments, in order.

The recursions are those of `segment_sums` with lists of the best R scores in place of sums: each entry remembers which
segment or move it ends with, and which entry of the list before it continues. A labelling has one segmentation, so
the R best segmentations are the R best labellings. Of equal scores the one found first comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import IMPOSSIBLE, OK, kernel
from .segment_potentials import FIRST, INSIDE, LAST, SINGLE, apart, score_segments

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SegmentLists(NamedTuple):
    """The labellings of every sequence: s has the tokens off[s] to off[s + 1] of the first length[s] rows."""

    labelling: NDArray[np.int32]  # [R, N]  -1 where there is none
    off: Ints  #                    [S+1]
    length: Ints  #                 [S]
    score: Floats  #                [S, R]


class _Entries(NamedTuple):
    """Lists of the best scores, descending, and where each comes from: for lists that end at a token, [T, states, R].

    size, rank: the segment's number of tokens (0: a longer one; in `begins`: the state before), and the entry of the
    list that it continues.
    """

    score: Floats
    size: Ints
    rank: Ints


@kernel
def _entries(length, width, most):
    shape = (length, width, most)
    return _Entries(np.full(shape, -np.inf), np.zeros(shape, np.int64), np.zeros(shape, np.int64))


@kernel
def _offer(entries, t, k, score, size, rank):
    """Inserts an entry into a list that keeps its best. False if it has no place, nor has any worse one."""
    scores = entries.score[t, k]
    at = len(scores) - 1
    if not score > scores[at]:
        return False
    while at > 0 and score > scores[at - 1]:
        scores[at] = scores[at - 1]
        entries.size[t, k, at], entries.rank[t, k, at] = entries.size[t, k, at - 1], entries.rank[t, k, at - 1]
        at -= 1
    scores[at], entries.size[t, k, at], entries.rank[t, k, at] = score, size, rank
    return True


@kernel
def _continue(entries, t, k, before, more, size):
    """Offers each entry of a list `before`, with `more` added to its score."""
    for rank in range(len(before)):
        if not _offer(entries, t, k, before[rank] + more, size, rank):
            break


@kernel
def _search(segments, scores, most):
    """The lists of the labellings that end with a segment, begin one, or are inside of a longer one, at each token."""
    length, states = scores.node.shape
    named, limit = segments.named, segments.limit
    ends, begins = _entries(length, states, most), _entries(length, states, most)
    unfinished = _entries(length, named, most)
    for t in range(length):
        into = scores.slot[t]
        for k in range(states):
            if not segments.starts[k]:
                continue
            if t == 0:
                _offer(begins, t, k, scores.node[t, k], 0, 0)
                continue
            for i in range(states):
                if apart(segments, i, k):
                    _continue(begins, t, k, ends.score[t - 1, i], scores.step[into, i, k] + scores.node[t, k], i)
        for c in range(named, len(segments.states)):
            k = segments.states[c, SINGLE]
            _continue(ends, t, k, begins.score[t, k], 0.0, 1)
        for c in range(named):
            single, first = segments.states[c, SINGLE], segments.states[c, FIRST]
            inner, last = segments.states[c, INSIDE], segments.states[c, LAST]
            _continue(ends, t, single, begins.score[t, single], scores.total[t, 0, c], 1)
            for n in range(1, min(limit, t + 1)):
                _continue(ends, t, last, begins.score[t - n, first], scores.total[t - n, n, c], n + 1)
            if segments.together and t > 0:
                before = unfinished.score[t - 1, c]
                closes = scores.step[into, inner, last] + scores.node[t, last] + scores.longer[c]
                _continue(ends, t, last, before, closes, 0)
                _continue(unfinished, t, c, before, scores.step[into, inner, inner] + scores.node[t, inner], 0)
            if segments.together and t >= limit - 1:
                begun = begins.score[t - limit + 1, first]
                _continue(unfinished, t, c, begun, scores.open[t - limit + 1, c], limit)
    return ends, begins, unfinished


@kernel
def class_ending(segments, state, size):
    """The class of a segment of so many tokens (0: a longer one) that ends with a state."""
    for c in range(len(segments.states)):
        if size == 1 and segments.states[c, SINGLE] == state:
            return c
        if size != 1 and c < segments.named and segments.states[c, LAST] == state:
            return c
    return -1


@kernel
def _write(segments, lists, state, rank, labelling):
    """Writes the labelling of an entry at the last token."""
    ends, begins, unfinished = lists
    t, limit = len(labelling) - 1, segments.limit
    while t >= 0:
        size, rank_before = ends.size[t, state, rank], ends.rank[t, state, rank]
        c = class_ending(segments, state, size)
        labelling[t] = state
        if size == 0:  # a longer segment: to the left until its first `limit` tokens
            rank = rank_before
            t -= 1
            while unfinished.size[t, c, rank] == 0:
                labelling[t] = segments.states[c, INSIDE]
                rank = unfinished.rank[t, c, rank]
                t -= 1
            rank_before = unfinished.rank[t, c, rank]
            size = limit
            labelling[t] = segments.states[c, INSIDE]
        for n in range(1, size):
            if n < size - 1:
                labelling[t - n] = segments.states[c, INSIDE]
        first = segments.states[c, SINGLE] if size == 1 else segments.states[c, FIRST]
        t -= size - 1
        labelling[t] = first
        state, rank = begins.size[t, first, rank_before], begins.rank[t, first, rank_before]
        t -= 1


@kernel
def segment_nbest(first, last, segments, problem, potentials, lists, results, arena):
    """The best labellings of each sequence, at most as many as `lists.labelling` has rows; the status of each.

    results.log_z is left alone.   arena: memory for the local tables of the longest sequence.
    """
    rows, most = problem.rows, lists.labelling.shape[0]
    for s in range(first, last):
        start, end = lists.off[s], lists.off[s + 1]
        lists.length[s], results.status[s] = 0, OK
        lists.labelling[:, start:end] = -1
        lists.score[s] = -np.inf
        if rows.token_off[s + 1] == rows.token_off[s]:
            lists.length[s], lists.score[s, 0] = 1, 0.0
            continue
        scores = score_segments(s, segments, problem, potentials.weights, potentials.log_base, arena)
        found = _search(segments, scores, most)
        ends, t = found[0], end - start - 1
        best = _entries(1, 1, most)
        for k in range(len(segments.ends)):
            _continue(best, 0, 0, ends.score[t, k], 0.0, k)
        for n in range(most):
            if best.score[0, 0, n] == -np.inf:
                break
            _write(segments, found, best.size[0, 0, n], best.rank[0, 0, n], lists.labelling[n, start:end])
            lists.score[s, n] = best.score[0, 0, n]
            lists.length[s] = n + 1
        if lists.length[s] == 0:
            results.status[s] = IMPOSSIBLE
