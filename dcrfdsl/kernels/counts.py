"""Bounds of what the features of a labelling can count beside those of the gold one. Not here: the counts."""

from __future__ import annotations

import numpy as np

from .compiling import kernel

__all__ = ["difference_bounds"]


@kernel
def difference_bounds(off, column, above, below, first, order, gold_off, gold_weight, gold_count):
    """L, U [W]: min and max over sequences of below − gold and above − gold; 0 where a feature does not fire.

    off [S+1], column, above, below [n]: how much each column can count in each sequence.   first [columns + 1], order
    [W]: the weights of each column.   gold_off [S+1], gold_weight, gold_count [m]: what the gold labels count.
    """
    num_weights, num_sequences = len(order), len(off) - 1
    low, high = np.full(num_weights, np.inf), np.full(num_weights, -np.inf)
    gold, times = np.zeros(num_weights), np.zeros(len(first) - 1, np.int64)
    for s in range(num_sequences):
        for i in range(gold_off[s], gold_off[s + 1]):
            gold[gold_weight[i]] = gold_count[i]
        for i in range(off[s], off[s + 1]):
            c = column[i]
            times[c] += 1
            for n in range(first[c], first[c + 1]):
                k = order[n]
                low[k] = min(low[k], below[i] - gold[k])
                high[k] = max(high[k], above[i] - gold[k])
        for i in range(gold_off[s], gold_off[s + 1]):
            gold[gold_weight[i]] = 0.0
    for c in range(len(first) - 1):
        if times[c] < num_sequences:  # somewhere it does not fire
            for n in range(first[c], first[c + 1]):
                low[order[n]] = min(low[order[n]], 0.0)
                high[order[n]] = max(high[order[n]], 0.0)
    return low, high
