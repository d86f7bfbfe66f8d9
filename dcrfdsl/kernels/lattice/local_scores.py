"""Log scores of single labels at every position, and their expected counts, which only surviving labels have.

Not here: contexts of several labels (`contexts`).
"""

from ..runtime import inner
from ..tables import copy_run, move_features, move_packed, move_single


@inner
def score_labels(s, length, local, kinds, bindings, rows, weights, score):
    """Log scores of all labels at every position of sequence s, score[t · states + label]."""
    states, packed = local.states, rows.packed
    for t in range(length):
        copy_run(local.everywhere, 0, states, score[t * states :])
    for y in range(states):
        score[y] += local.at_first[y]
        score[(length - 1) * states + y] += local.at_last[y]
    for n in range(len(local.scored)):
        k = local.scored[n]
        row = rows.first_row[kinds.feature_set[k], s]
        for t in range(length):
            if packed.is_packed[k]:
                move_packed(packed, k, packed.shift[k] + row + t, states, weights, score, t * states, False)
            else:
                move_features(k, row + t, kinds, bindings, rows, weights, score, t * states, False)


@inner
def scatter_labels(s, length, local, kinds, bindings, rows, label_off, label, belief, gradient, expected):
    """Adds the beliefs of labels to the counts of the features that fire, and to the expected base tables.

    label_off [T+1], label: the labels with a belief at each position.   belief [T · states]: 0 for the others.
    """
    states, packed = local.states, rows.packed
    for n in range(len(local.plain)):
        base = kinds.base[local.plain[n]]
        for t in range(length):
            for i in range(label_off[t], label_off[t + 1]):
                expected[base + label[i]] += belief[t * states + label[i]]
    for n in range(len(local.first)):
        for i in range(label_off[0], label_off[1]):
            expected[kinds.base[local.first[n]] + label[i]] += belief[label[i]]
    for n in range(len(local.last)):
        for i in range(label_off[length - 1], label_off[length]):
            expected[kinds.base[local.last[n]] + label[i]] += belief[(length - 1) * states + label[i]]
    for n in range(len(local.scored)):
        k = local.scored[n]
        if kinds.fixed[k]:
            continue
        row, start, width = rows.first_row[kinds.feature_set[k], s], packed.dense_start[k], packed.width[k]
        for t in range(length):
            if not packed.is_packed[k]:
                move_features(k, row + t, kinds, bindings, rows, gradient, belief, t * states, True)
                continue
            at = packed.shift[k] + row + t
            move_single(packed, k, at, gradient, belief, t * states, True)
            for q in range(packed.dense_off[at], packed.dense_off[at + 1]):
                cell = start + packed.dense[q] * width
                for i in range(label_off[t], label_off[t + 1]):
                    gradient[cell + label[i]] += belief[t * states + label[i]]
