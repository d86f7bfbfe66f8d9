"""Bundles: features that fire wherever one of them, the head, fires, read as one row.

Templates overlap: where a trigram of tags fires, so do its bigrams and its tags, and a rare word implies its prefixes
and suffixes. Such features need not be read one by one. A *bundle* belongs to a feature, its head, and holds the sum of
the weights of all features that fire wherever the head does. A position reads a few disjoint bundles and the remaining
features. The gradient of a bundle is added to that of each member, so nothing is approximated. Columns that are equal
on the whole data set are a special case: two features that imply each other.

Bundles are built from smaller bundles with lower numbers: the more often a head fires, the lower its number. This
module finds the members of bundles and the bundles that a position reads. Not here: which features are heads
(`inference.bound.packing`), what their cells hold (`tables.packed`).
"""

import numpy as np

from ..runtime import inner, kernel


@kernel
def implied_features(row_off, feature, heads, usable):
    """The features that fire wherever a head fires, the head included: (offsets [heads + 1], features).

    heads [features]: the number of the head, else -1.   usable [features]: whether a feature may be a member.
    """
    num_heads = heads.max() + 1
    seen = np.zeros(num_heads, np.bool_)
    off = np.zeros(num_heads + 1, np.int64)
    for r in range(len(row_off) - 1):
        for i in range(row_off[r], row_off[r + 1]):
            h = heads[feature[i]]
            if h >= 0 and not seen[h]:
                seen[h] = True
                off[h + 1] = row_off[r + 1] - row_off[r]
    for h in range(num_heads):
        off[h + 1] += off[h]
    member = np.empty(off[num_heads], np.int32)
    length = np.full(num_heads, -1, np.int64)
    fires = np.full(len(heads), -1, np.int64)  # the last row in which a feature fired
    for r in range(len(row_off) - 1):
        for i in range(row_off[r], row_off[r + 1]):
            fires[feature[i]] = r
        for i in range(row_off[r], row_off[r + 1]):
            h = heads[feature[i]]
            if h < 0 or length[h] == 1:
                continue
            kept, at = 0, off[h]
            if length[h] < 0:
                for j in range(row_off[r], row_off[r + 1]):
                    if usable[feature[j]]:
                        member[at + kept] = feature[j]
                        kept += 1
            else:
                for j in range(at, at + length[h]):
                    if fires[member[j]] == r:
                        member[at + kept] = member[j]
                        kept += 1
            length[h] = kept
    total = 0
    for h in range(num_heads):
        at, off[h] = off[h], total
        for j in range(max(0, length[h])):
            member[total + j] = member[at + j]
        total += max(0, length[h])
    off[num_heads] = total
    return off, member[:total].copy()


@inner
def _cover(features, first, last, head, member_off, member, gain, taken, mark, chosen, below):
    """Greedily chooses disjoint bundles among `features[first:last]`, the largest gain first. Returns how many.

    head [features]: the bundle of each feature, else -1.   taken [features]: set to `mark` for the members
    of chosen bundles.   below: only bundles with lower numbers are considered.   chosen: written.
    """
    count = 0
    while True:
        best, most = -1, 0.0
        for i in range(first, last):
            b = head[features[i]]
            if b < 0 or b >= below or gain[b] <= most:
                continue
            free = True
            for j in range(member_off[b], member_off[b + 1]):
                free &= taken[member[j]] != mark
            if free:
                best, most = b, gain[b]
        if best < 0:
            return count
        for j in range(member_off[best], member_off[best + 1]):
            taken[member[j]] = mark
        chosen[count] = best
        count += 1


@kernel
def cover_rows(row_off, feature, head, member_off, member, gain):
    """The bundles that each row reads, then those that each bundle reads: (offsets [rows + bundles + 1], bundles).

    head [features]: the bundle of each feature, else -1.   member_off, member: the features of each bundle.   gain
    [bundles]: the saving from reading a bundle.
    """
    rows, bundles = len(row_off) - 1, len(gain)
    off = np.zeros(rows + bundles + 1, np.int64)
    chosen = np.empty(len(feature) + len(member), np.int32)
    taken = np.full(len(head), -1, np.int64)
    total = 0
    for r in range(rows):
        total += _cover(
            feature, row_off[r], row_off[r + 1], head, member_off, member, gain, taken, r, chosen[total:], bundles
        )
        off[r + 1] = total
    for b in range(bundles):
        total += _cover(
            member, member_off[b], member_off[b + 1], head, member_off, member, gain, taken, rows + b, chosen[total:], b
        )
        off[rows + b + 1] = total
    return off, chosen[:total].copy()
