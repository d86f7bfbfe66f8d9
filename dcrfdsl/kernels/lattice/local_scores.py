"""Log scores of single labels at every position, and their expected counts, which only surviving labels have.

Not here: contexts of several labels (`contexts`).
"""

from __future__ import annotations

from ..runtime import inner
from ..tables import add_packed, scatter_single

__all__ = ["scatter_labels", "score_labels"]


@inner
def score_labels(s, length, local, kinds, bindings, rows, weights, score):
    """Log scores of all labels at every position of sequence s, score[t · states + label]."""
    states, packed, valued = local.states, rows.packed, len(rows.value) > 0
    for t in range(length):
        for y in range(states):
            score[t * states + y] = local.everywhere[y]
    for y in range(states):
        score[y] += local.at_first[y]
        score[(length - 1) * states + y] += local.at_last[y]
    for n in range(len(local.scored)):
        k = local.scored[n]
        row = rows.first_row[kinds.feature_set[k], s]
        if packed.is_packed[k]:
            for t in range(length):
                add_packed(packed, k, packed.shift[k] + row + t, states, weights, score, t * states)
            continue
        inverse, shift = kinds.inverse_off[k], packed.entry_shift[k]
        for t in range(length):
            at = t * states
            for i in range(rows.row_off[row + t], rows.row_off[row + t + 1]):
                feature_run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[feature_run], bindings.run_off[feature_run + 1]):
                    if inverse == -1:
                        score[at + bindings.entry[e]] += x * weights[shift + e]
                        continue
                    entry_list = -2 - inverse + bindings.entry[e]  # labels that a view does not tell apart
                    for c in range(kinds.inverse[entry_list], kinds.inverse[entry_list + 1]):
                        score[at + kinds.inverse[-2 - inverse + c]] += x * weights[shift + e]


@inner
def scatter_labels(s, length, local, kinds, bindings, rows, label_off, label, belief, gradient, expected):
    """Adds the beliefs of labels to the counts of the features that fire, and to the expected base tables.

    label_off [T+1], label: the labels with a belief at each position.   belief [T · states]: 0 for the others.
    """
    states, packed, valued = local.states, rows.packed, len(rows.value) > 0
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
        row = rows.first_row[kinds.feature_set[k], s]
        if packed.is_packed[k]:
            start, width = packed.dense_start[k], packed.width[k]
            for t in range(length):
                at = packed.shift[k] + row + t
                scatter_single(packed, k, at, belief, t * states, gradient)
                for q in range(packed.dense_off[at], packed.dense_off[at + 1]):
                    cell = start + packed.dense[q] * width
                    for i in range(label_off[t], label_off[t + 1]):
                        gradient[cell + label[i]] += belief[t * states + label[i]]
            continue
        inverse, shift = kinds.inverse_off[k], packed.entry_shift[k]
        for t in range(length):
            at = t * states
            for i in range(rows.row_off[row + t], rows.row_off[row + t + 1]):
                feature_run = kinds.run_base[k] + rows.feature[i]
                x = rows.value[i] if valued else 1.0
                for e in range(bindings.run_off[feature_run], bindings.run_off[feature_run + 1]):
                    if inverse == -1:
                        gradient[shift + e] += x * belief[at + bindings.entry[e]]
                        continue
                    entry_list = -2 - inverse + bindings.entry[e]
                    for c in range(kinds.inverse[entry_list], kinds.inverse[entry_list + 1]):
                        gradient[shift + e] += x * belief[at + kinds.inverse[-2 - inverse + c]]
