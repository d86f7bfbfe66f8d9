"""The best labelling of each chain other than a known one: two-best decoding where the known one may be the best.

It is the known one up to a position where it has another state, and the best from there on (`rivals.best_other`). Ties
go to the first such position and the lowest state. Source: Altun & Hofmann 2003 §5. Not here: other graphs.
"""

from __future__ import annotations

import numpy as np

from ..runtime import kernel
from .chain_scores import score_positions
from .competitors import best_both_ways, best_other

__all__ = ["OTHER_ROWS", "chain_decode_other"]

OTHER_ROWS = 4  # rows of states a position that the kernel needs room for


@kernel
def chain_decode_other(first, last, longest, chain, kinds, bindings, rows, weights, known, labelling, off, room):
    """Writes to `labelling` (flat, of sequence s from off[s] on, as `known`); -1 where there is no other.

    The tables of `chain` are logarithms; no sequence is longer than `longest`.   room [OTHER_ROWS · longest · width].
    """
    part = longest * chain.width
    score, best, tail, after = room[:part], room[part : 2 * part], room[2 * part : 3 * part], room[3 * part : 4 * part]
    goes_on = np.zeros((1, 1), np.bool_)  # no stretch asks for it
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        if length == 0:
            continue
        own = labelling[off[s] : off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        best_both_ways(length, chain, score, best, tail, after)
        is_there = best_other(
            length, chain.states, chain.width, chain.pair, goes_on, known[off[s] : off[s + 1]], score, best, tail,
            after, own,
        )  # fmt: skip
        if not is_there:
            own[:] = -1
