"""The best labelling of each chain other than the known one. Where the known one is best, it is the second best.

It equals the known labelling up to a position where it has another state, and is the best from there on
(`competitors.best_competitor`). Ties go to the first such position and the lowest state. Source: Altun & Hofmann 2003
§5. Not here: other graphs.
"""

from __future__ import annotations

import numpy as np

from ..runtime import kernel
from .chain_scores import score_positions
from .competitors import Lattice, best_competitor, best_prefixes_and_suffixes

COMPETITOR_ROWS = 4  # rows of states per position in the workspace


@kernel
def chain_decode_competitor(first, last, chain, problem, weights, known, labelling, workspace):
    """Writes the competitors to `labelling`; -1 where there is none.   known: laid out as `labelling.value`.

    The tables of `chain` are logarithms.   workspace: `COMPETITOR_ROWS` rows per position, enough for every sequence.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    longest, cells = workspace
    off = labelling.off
    part = longest * chain.width
    score, best, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part]
    after = cells[3 * part : 4 * part]
    goes_on = np.zeros((1, 1), np.bool_)  # no span asks for it
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        if length == 0:
            continue
        sequence_labels = labelling.value[off[s] : off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        moves = chain.pair, chain.pair_turned, 0
        best_prefixes_and_suffixes(
            length, chain.registers, chain.states, chain.width, moves, score, best, tail, after
        )  # fmt: skip
        lattice = Lattice(
            length, chain.states, chain.width, chain.pair, chain.pair_turned, goes_on, known[off[s] : off[s + 1]],
            score, best, tail, after, 0,
        )  # fmt: skip
        if not best_competitor(lattice, sequence_labels):
            sequence_labels[:] = -1
