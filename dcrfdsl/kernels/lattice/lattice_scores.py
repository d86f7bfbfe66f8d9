"""Scores and counts of given labellings in the cliques of several labels. Not here: single labels (`sequences`)."""

from __future__ import annotations

import numpy as np

from ..runtime import kernel
from .contexts import FORBIDDEN, LABEL_BITS, find_cell


@kernel
def score_contexts(first, last, contexts, token_off, labelling, log_base, score):
    """Adds the log potentials of each labelling's contexts to `score` [S]. labelling [N]: known labels."""
    for s in range(first, last):
        begin, run = token_off[s], 0
        for t in range(token_off[s + 1] - begin):
            if labelling[begin + t] < 0:
                score[s] = np.nan
                break
            run = ((run << LABEL_BITS) | labelling[begin + t]) & ((1 << 4 * LABEL_BITS) - 1)
            for j in range(contexts.level_off[min(t + 1, len(contexts.level_off) - 1)]):
                c = find_cell(contexts, j, run)
                if c >= 0:
                    score[s] += log_base[c]
                elif c == FORBIDDEN:
                    score[s] = -np.inf


@kernel
def count_contexts(first, last, contexts, token_off, labelling, expected):
    """Adds the counts of each labelling's contexts to `expected` [shared cells]; all labels must be known."""
    for s in range(first, last):
        begin, run = token_off[s], 0
        for t in range(token_off[s + 1] - begin):
            run = ((run << LABEL_BITS) | labelling[begin + t]) & ((1 << 4 * LABEL_BITS) - 1)
            for j in range(contexts.level_off[min(t + 1, len(contexts.level_off) - 1)]):
                c = find_cell(contexts, j, run)
                if c >= 0:
                    expected[c] += 1.0
