"""The weights that count in the segments of a given labelling, sequence by sequence.

A labelling has one segmentation: it is cut where one segment may end and another begin. Cliques of tokens are counted
as in any model. Not here: the best labelling (`segment_paths`), sums over all (`segment_sums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import inner, kernel
from .segment_paths import class_ending
from .segment_potentials import apart


class SegmentCounts(NamedTuple):
    """Of the n-th entry: its sequence, its weight and how often it counts. An entry is a feature of one segment.

    A segment longer than possible has one entry, with the weight -1.
    """

    sequence: NDArray[np.int64]  # [n]
    weight: NDArray[np.int64]  #   [n]
    value: NDArray[np.float64]  #  [n]


@inner
def _row(s, start, size, segments, rows):
    """The row of the features of the segment of so many tokens from the token `start` of sequence s on."""
    if size > segments.limit:
        return segments.longer_row
    return rows.first_row[segments.feature_set, s] + start * segments.limit + size - 1


@inner
def _list_segment(s, start, size, c, n, segments, bindings, rows, counts):
    """Writes the entries of a segment of class c from the n-th on, if there is room; returns the number after them."""
    room = len(counts.weight)
    if size > segments.limit and not segments.together:
        if n < room:
            counts.sequence[n], counts.weight[n], counts.value[n] = s, -1, 1.0
        return n + 1
    if segments.bias[c] >= 0:
        if n < room:
            counts.sequence[n], counts.weight[n], counts.value[n] = s, segments.bias[c], 1.0
        n += 1
    if segments.feature_set < 0:
        return n
    row, valued = _row(s, start, size, segments, rows), len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = segments.run_base + rows.feature[i]
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            if bindings.entry[e] != c:
                continue
            if n < room:
                counts.sequence[n], counts.weight[n] = s, bindings.num_bias + e
                counts.value[n] = rows.value[i] if valued else 1.0
            n += 1
    return n


@inner
def _list(first, last, segments, problem, labelling, off, counts):
    """Writes all entries for which there is room; returns how many there are."""
    n, rows = 0, problem.rows
    for s in range(first, last):
        states = labelling[off[s] : off[s + 1]]
        length, known = len(states), True
        for t in range(length):
            known &= states[t] >= 0
        if not known:
            continue
        start = 0
        for t in range(length):
            if t + 1 < length and not apart(segments, states[t], states[t + 1]):
                continue
            c = class_ending(segments, states[t], t + 1 - start)
            if 0 <= c < segments.named:
                n = _list_segment(s, start, t + 1 - start, c, n, segments, problem.bindings, rows, counts)
            start = t + 1
    return n


@kernel
def segment_counts(first, last, segments, problem, labelling, off):
    """The weights that count in the segments of the sequences first … last − 1 at a labelling.

    labelling: flat, sequence s has its states from off[s] on; one with unknown states (negative) has no entries.
    """
    size = 1024
    while True:
        counts = SegmentCounts(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size))
        found = _list(first, last, segments, problem, labelling, off, counts)
        if found <= size:
            break
        size = found
    return SegmentCounts(counts.sequence[:found], counts.weight[:found], counts.value[:found])


def segment_rows(first, last, segments, rows):
    """The numbers of the features that segments of the sequences first … last − 1 may have, as indices into
    `Bindings.run_off`, ascending.
    """
    if segments.feature_set < 0 or first == last:
        return np.zeros(0, np.int64)
    tokens = int(rows.token_off[last] - rows.token_off[first])
    begin = int(rows.first_row[segments.feature_set, first])
    longer = segments.longer_row
    fired = [
        rows.feature[rows.row_off[begin] : rows.row_off[begin + tokens * segments.limit]],
        rows.feature[rows.row_off[longer] : rows.row_off[longer + 1]],
    ]
    return segments.run_base + np.unique(np.concatenate(fired)).astype(np.int64)
