"""Counts (feature, assignment) pairs of gold clique instances: which weights exist, and their empirical counts.

Linear time without hashing: a counting sort orders occurrences by feature, then each feature's assignments are added up
in one small table.
"""

import numpy as np

from ..runtime import kernel, sort_ascending


@kernel
def count_pairs(row, assignment, row_off, feature, value, num_features, size):
    """Counts the pairs of all instances i, with the features of row `row[i]` and the gold assignment `assignment[i]`.

    Returns run_off [num_features + 1], entry [pairs] int32 (assignments of each feature, ascending) and count [pairs]
    float64 (sums of feature values). `size` is the number of assignments; `value` may be empty (all ones).
    """
    first = np.zeros(num_features + 1, np.int64)
    for i in range(len(row)):
        for j in range(row_off[row[i]], row_off[row[i] + 1]):
            first[feature[j] + 1] += 1
    for k in range(num_features):
        first[k + 1] += first[k]
    valued = len(value) > 0
    seen = np.empty(first[num_features], np.int32)
    amount = np.empty(first[num_features] if valued else 0, np.float64)
    fill = first[:-1].copy()
    for i in range(len(row)):
        for j in range(row_off[row[i]], row_off[row[i] + 1]):
            at = fill[feature[j]]
            seen[at] = assignment[i]
            if valued:
                amount[at] = value[j]
            fill[feature[j]] = at + 1
    run_off = np.zeros(num_features + 1, np.int64)
    entry = np.empty(len(seen), np.int32)
    count = np.empty(len(seen), np.float64)
    total, present, touched = np.zeros(size), np.zeros(size, np.bool_), np.empty(size, np.int32)
    pairs = 0
    for k in range(num_features):
        num = np.int64(0)
        for j in range(first[k], first[k + 1]):
            a = seen[j]
            if not present[a]:
                present[a] = True
                touched[num] = a
                num += 1
            total[a] += amount[j] if valued else 1.0
        sort_ascending(touched, num)
        for a in touched[:num]:
            entry[pairs] = a
            count[pairs] = total[a]
            pairs += 1
            total[a] = 0.0
            present[a] = False
        run_off[k + 1] = pairs
    return run_off, entry[:pairs].copy(), count[:pairs].copy()
