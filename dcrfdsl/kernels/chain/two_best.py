"""The best labelling of each chain other than a known one: two-best decoding where the known one may be the best.

It is the known one up to a position where it has another state, and the best from there on (`competitors.best_competitor`).
Ties go to the first such position and the lowest state. Source: Altun & Hofmann 2003 §5. Not here: other graphs.
"""

from __future__ import annotations

import numpy as np

from ..runtime import kernel
from .chain_scores import score_positions
from .competitors import Lattice, best_competitor, best_prefixes_and_suffixes

__all__ = ["COMPETITOR_ROWS", "chain_decode_competitor"]

COMPETITOR_ROWS = 4  # rows of states a position that the kernel works in


@kernel
def chain_decode_competitor(first, last, chain, problem, weights, known, labelling, workspace):
    """Writes to `labelling`; -1 where there is no other.   known: laid out as its value is.

    The tables of `chain` are logarithms; no sequence is longer than the workspace allows, of `COMPETITOR_ROWS` rows.
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
        best_prefixes_and_suffixes(length, chain, score, best, tail, after)
        lattice = Lattice(
            length, chain.states, chain.width, chain.pair, chain.pair_turned, goes_on, known[off[s] : off[s + 1]],
            score, best, tail, after,
        )  # fmt: skip
        if not best_competitor(lattice, sequence_labels):
            sequence_labels[:] = -1
