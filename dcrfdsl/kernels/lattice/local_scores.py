"""Log scores of single labels at every position, and their expected counts, which only surviving labels have.

Not here: contexts of several labels (`contexts`).
"""

from ..runtime import inlined, inner
from ..tables import add_packed, copy_run, scatter_single


@inlined
def _pass_entry(x, cell, place, cells, table, scatters):
    if scatters:
        cells[cell] += x * table[place]
    else:
        table[place] += x * cells[cell]


@inlined
def _pass_features(s, length, k, states, kinds, bindings, rows, cells, table, scatters):
    """Adds the weights of the features that fire to the table of labels, of a kind whose rows are not packed; or, if it
    `scatters`, the table to the gradient. cells: weights or gradient.   table: scores or beliefs, [length · states].
    """
    packed, valued, row = rows.packed, len(rows.value) > 0, rows.first_row[kinds.feature_set[k], s]
    inverse, shift = kinds.inverse_off[k], packed.entry_shift[k]
    for t in range(length):
        at = t * states
        for i in range(rows.row_off[row + t], rows.row_off[row + t + 1]):
            feature_run = kinds.run_base[k] + rows.feature[i]
            x = rows.value[i] if valued else 1.0
            for e in range(bindings.run_off[feature_run], bindings.run_off[feature_run + 1]):
                if inverse == -1:
                    _pass_entry(x, shift + e, at + bindings.entry[e], cells, table, scatters)
                    continue
                entry_list = -2 - inverse + bindings.entry[e]  # labels that a view does not tell apart
                for c in range(kinds.inverse[entry_list], kinds.inverse[entry_list + 1]):
                    _pass_entry(x, shift + e, at + kinds.inverse[-2 - inverse + c], cells, table, scatters)


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
        if not packed.is_packed[k]:
            _pass_features(s, length, k, states, kinds, bindings, rows, weights, score, False)
            continue
        row = packed.shift[k] + rows.first_row[kinds.feature_set[k], s]
        for t in range(length):
            add_packed(packed, k, row + t, states, weights, score, t * states)


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
        if not packed.is_packed[k]:
            _pass_features(s, length, k, states, kinds, bindings, rows, gradient, belief, True)
            continue
        row, start, width = rows.first_row[kinds.feature_set[k], s], packed.dense_start[k], packed.width[k]
        for t in range(length):
            at = packed.shift[k] + row + t
            scatter_single(packed, k, at, belief, t * states, gradient)
            for q in range(packed.dense_off[at], packed.dense_off[at + 1]):
                cell = start + packed.dense[q] * width
                for i in range(label_off[t], label_off[t + 1]):
                    gradient[cell + label[i]] += belief[t * states + label[i]]
