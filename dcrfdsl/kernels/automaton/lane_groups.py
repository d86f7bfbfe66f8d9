"""Sequences in lanes: those that advance together, and their score rows with one lane for each.

Sequences are taken in windows and sorted by length within them, so that most lanes have work until the last position.
What a lane computes never depends on the other lanes.
"""

from __future__ import annotations

import numpy as np

from ..runtime import (
    LANES,
    broadcast,
    inlined,
    inner,
    sort_ascending,
    store,
    transpose,
)
from .score_rows import fill_score_row
from .transitions import WINDOW


@inner
def sort_window(first, last, longest, token_off, order):
    """Puts the sequences first … last − 1 that have 1 to `longest` positions into `order`, by length. Their number."""
    count = 0
    for s in range(first, last):
        length = token_off[s + 1] - token_off[s]
        if 0 < length <= longest:
            order[count] = length * WINDOW + (s - first)
            count += 1
    sort_ascending(order, count)
    for n in range(count):
        order[n] = first + order[n] % WINDOW
    return count


@inlined
def load_lanes(begin, count, token_off, workspace):
    """Gives each lane a sequence: of `count` sorted ones those from `begin` on. Returns the greatest length."""
    lanes = len(workspace.sequence)
    most = 0
    for n in range(lanes):
        workspace.length[n] = 0
        if begin + n < count:
            s = workspace.order[begin + n]
            workspace.sequence[n] = s
            workspace.length[n] = token_off[s + 1] - token_off[s]
            most = max(most, workspace.length[n])
    return most


@inlined
def score_lanes(t, automaton, problem, weights, workspace, rows):
    """Log scores of position t in lanes, into `rows`; -inf beyond a sequence's end."""
    width, lanes = automaton.width, len(automaton.registers) * LANES
    for n in range(lanes):
        if t < workspace.length[n]:
            fill_score_row(
                workspace.sequence[n], t, automaton, problem.kinds, problem.bindings, problem.rows, weights,
                workspace.label, n * width,
            )  # fmt: skip
        else:
            for c in range(0, width, LANES):
                store(workspace.label, n * width + c, broadcast((0,), -np.inf))
    for c in range(0, width, LANES):
        for n in range(0, lanes, LANES):
            transpose(workspace.label, n * width + c, width, rows, (t * width + c) * lanes + n, lanes)
