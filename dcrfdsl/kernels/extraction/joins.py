"""Kernels of extraction: shift, cross, look up, assemble. Arrays in, arrays out; -1 means "no feature" everywhere.

A *row* is an anchor position: sentence after sentence, t from -pad_left to T-1+pad_right. A *key* is the mixed-radix
number of a combination of codes. A *ragged* pair (off[R+1], items[M]) holds any number of items per row. Integers
stay below 2^63 without wrapping, so the same code runs with the JIT switched off.

A *bag* is a list of weighted items: a ragged pair beside weights [M], or [0] if all are 1.
"""

import numpy as np

from ...foundation import Codes, Floats, Ints, Mask, Offsets
from ..runtime import inlined, kernel


@kernel
def shift_codes(
    codes: Codes, lut: Codes, sentence_off: Offsets, offset: int, pad_left: int, pad_right: int,
    left: int, right: int, step: int,
) -> Codes:  # fmt: skip
    """`lut[codes]` read at t + offset, [R]. Outside: `left` or `right` plus `step` for each position further out."""
    num_sentences = len(sentence_off) - 1
    out = np.empty(sentence_off[num_sentences] + num_sentences * (pad_left + pad_right), np.int32)
    row = 0
    for s in range(num_sentences):
        start = sentence_off[s]
        length = sentence_off[s + 1] - start
        for t in range(-pad_left, length + pad_right):
            at = t + offset
            if at < 0:
                out[row] = left + (-at - 1) * step
            elif at >= length:
                out[row] = right + (at - length) * step
            else:
                code = codes[start + at]
                out[row] = lut[code] if code >= 0 else -1
            row += 1
    return out


@kernel
def shift_numbers(
    numbers: Floats, sentence_off: Offsets, offset: int, pad_left: int, pad_right: int, outside: float
) -> Floats:
    """`numbers` read at t + offset, [R]."""
    num_sentences = len(sentence_off) - 1
    out = np.empty(sentence_off[num_sentences] + num_sentences * (pad_left + pad_right), np.float64)
    row = 0
    for s in range(num_sentences):
        start = sentence_off[s]
        length = sentence_off[s + 1] - start
        for t in range(-pad_left, length + pad_right):
            at = t + offset
            out[row] = numbers[start + at] if 0 <= at < length else outside
            row += 1
    return out


@kernel
def rows_inside(sentence_off: Offsets, first: int, last: int, pad_left: int, pad_right: int) -> Mask:
    """Whether t + first and t + last both lie in the sentence, [R]."""
    num_sentences = len(sentence_off) - 1
    out = np.empty(sentence_off[num_sentences] + num_sentences * (pad_left + pad_right), np.bool_)
    row = 0
    for s in range(num_sentences):
        length = sentence_off[s + 1] - sentence_off[s]
        for t in range(-pad_left, length + pad_right):
            out[row] = t + first >= 0 and t + last < length
            row += 1
    return out


@kernel
def gather_lists(codes: Codes, list_off: Offsets, list_codes: Codes, beyond: int) -> tuple[Offsets, Codes]:
    """The list of each row's code. With n lists, the code n + k has the list of one item `beyond + k`."""
    num_lists = len(list_off) - 1
    off = np.zeros(len(codes) + 1, np.int64)
    for r in range(len(codes)):
        code = codes[r]
        size = 0
        if code >= num_lists:
            size = 1
        elif code >= 0:
            size = list_off[code + 1] - list_off[code]
        off[r + 1] = off[r] + size
    out = np.empty(off[-1], np.int32)
    for r in range(len(codes)):
        code = codes[r]
        if code >= num_lists:
            out[off[r]] = beyond + code - num_lists
        elif code >= 0:
            for k in range(off[r + 1] - off[r]):
                out[off[r] + k] = list_codes[list_off[code] + k]
    return off, out


@kernel
def cross(keys: Ints, codes: Codes, size: int) -> Ints:
    """key · size + code, [R]; -1 where either is."""
    out = np.empty(len(keys), np.int64)
    for r in range(len(keys)):
        out[r] = keys[r] * size + codes[r] if keys[r] >= 0 and codes[r] >= 0 else -1
    return out


@kernel
def cross_ragged(key_off: Offsets, keys: Ints, code_off: Offsets, codes: Codes, size: int) -> tuple[Offsets, Ints]:
    """Every key of a row crossed with every code of the row; keys vary slowest."""
    num_rows = len(key_off) - 1
    off = np.zeros(num_rows + 1, np.int64)
    for r in range(num_rows):
        off[r + 1] = off[r] + (key_off[r + 1] - key_off[r]) * (code_off[r + 1] - code_off[r])
    out = np.empty(off[-1], np.int64)
    for r in range(num_rows):
        at = off[r]
        for i in range(key_off[r], key_off[r + 1]):
            for j in range(code_off[r], code_off[r + 1]):
                out[at] = keys[i] * size + codes[j] if keys[i] >= 0 and codes[j] >= 0 else -1
                at += 1
    return off, out


# tables ----------------------------------------------------------------------------------------------------------


@inlined
def _slot(key: int, slot_key: Ints) -> int:
    """The slot that holds a key, or the free one where it belongs.

    Each half of the key times an odd constant below 2^28 gives the first one to probe; bits 31 up mix the whole key.
    """
    mask, mixed = len(slot_key) - 1, (key & 0xFFFFFFFF) * 0x9E3779B + (key >> 32) * 0xC2B2AE3
    slot = ((mixed >> 31) ^ (mixed >> 13)) & mask
    while slot_key[slot] != key and slot_key[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@kernel
def find(keys: Ints, slot_key: Ints, slot_id: Codes) -> Codes:
    """The id of each key in an open-addressing table (capacity a power of two, -1 = empty); -1 if absent."""
    out = np.empty(len(keys), np.int32)
    for r in range(len(keys)):
        key = keys[r]
        out[r] = -1
        if key >= 0:
            slot = _slot(key, slot_key)
            if slot_key[slot] == key:
                out[r] = slot_id[slot]
    return out


@kernel
def find_direct(keys: Ints | Codes, table: Codes) -> Codes:
    """`table[key]`; -1 for the key -1."""
    out = np.empty(len(keys), np.int32)
    for r in range(len(keys)):
        out[r] = table[keys[r]] if keys[r] >= 0 else -1
    return out


@kernel
def insert(keys: Ints, ids: Codes, slot_key: Ints, slot_id: Codes) -> None:
    """Enter distinct keys, none of them in the table yet, with their ids. There must be room for all."""
    for k in range(len(keys)):
        slot = _slot(keys[k], slot_key)
        slot_key[slot], slot_id[slot] = keys[k], ids[k]


@kernel
def intern(keys: Ints, slot_key: Ints, slot_id: Codes, distinct: Ints, counts: Ints, num: int) -> tuple[int, Codes]:
    """Number keys in order of first appearance and count them.

    `distinct[i]` and `counts[i]` belong to number i, `num` are in use; table and lists must have room for all of
    `keys`. Returns the new `num` and the number of each key.
    """
    out = np.empty(len(keys), np.int32)
    for r in range(len(keys)):
        key = keys[r]
        out[r] = -1
        if key >= 0:
            slot = _slot(key, slot_key)
            if slot_key[slot] < 0:
                slot_key[slot] = key
                slot_id[slot] = num
                distinct[num] = key
                counts[num] = 0
                num += 1
            out[r] = slot_id[slot]
            counts[out[r]] += 1
    return num, out


@kernel
def count_keys(keys: Ints, counts: Ints) -> None:
    """Add one to `counts[key]` for each key."""
    for r in range(len(keys)):
        if keys[r] >= 0:
            counts[keys[r]] += 1


# assembly --------------------------------------------------------------------------------------------------------


@kernel
def count_rows(off: Offsets, ids: Codes, counts: Offsets) -> None:
    """Add to `counts[r]` the number of features of row r among `ids`, a ragged pair with `off`."""
    for r in range(len(off) - 1):
        for i in range(off[r], off[r + 1]):
            if ids[i] >= 0:
                counts[r] += 1


@kernel
def place_rows(off: Offsets | None, ids: Codes, weight: Floats, cursor: Offsets, feature: Codes, value: Floats) -> None:
    """Write the features of one template to where `cursor` [R] points in each row, and advance it.

    off: offsets of `ids`; None, whose type decides what is compiled: one a row.   weight: of each of `ids`, or [0] for
    ones.   value: [nnz], or [0] if not needed.
    """
    for r in range(len(cursor)):
        first, last = r, r + 1
        if off is not None:
            first, last = off[r], off[r + 1]
        for i in range(first, last):
            if ids[i] >= 0:
                at = cursor[r]
                feature[at] = ids[i]
                if len(value) > 0:
                    value[at] = weight[i] if len(weight) > 0 else 1.0
                cursor[r] = at + 1


# spans -----------------------------------------------------------------------------------------------------------


@kernel
def mark_spans(
    codes: Codes, sentence_off: Offsets, slot_key: Ints, slot_id: Codes, final: Mask, num_codes: int
) -> Codes:
    """0 (B) and 1 (I) on dictionary entries, -1 elsewhere, [N]. From the left, the longest entry wins.

    The entries are a trie: node 0 is its root, the child of node n by code c has the key n · num_codes + c in the
    table, and `final[n]` is whether an entry ends in n.
    """
    out = np.full(len(codes), -1, np.int32)
    for s in range(len(sentence_off) - 1):
        t, end = sentence_off[s], sentence_off[s + 1]
        while t < end:
            node, at, entry_end = 0, t, t
            while at < end and codes[at] >= 0:
                key = node * num_codes + int(codes[at])
                slot = _slot(key, slot_key)
                if slot_key[slot] != key:
                    break
                node = int(slot_id[slot])
                at += 1
                if final[node]:
                    entry_end = at
            if entry_end > t:
                out[t] = 0
                for i in range(t + 1, entry_end):
                    out[i] = 1
                t = entry_end
            else:
                t += 1
    return out


@kernel
def conjoin(row_off: Offsets, feature: Codes, off: Offsets, other: Codes, made: Codes) -> tuple[Offsets, Codes]:
    """The rows extended by the conjunctions of their features: (offsets, features).

    `other[off[f]:off[f+1]]` are the partners of feature f, and the same part of `made` the conjunctions with them. A
    row is a queue: each feature is conjoined with those before it, and conjunctions join the end of the queue.
    """
    met = np.full(len(off) - 1, -1, np.int64)  # the last row in which each feature was
    out_off = np.zeros(len(row_off), np.int64)
    out = np.empty(2 * len(feature) + 16, np.int32)
    num = 0
    for r in range(len(row_off) - 1):
        length = row_off[r + 1] - row_off[r]
        if num + length + len(made) > len(out):
            longer = np.empty(2 * (num + length + len(made)), np.int32)
            longer[:num] = out[:num]
            out = longer
        begin, end = num, num + length
        out[begin:end] = feature[row_off[r] : row_off[r + 1]]
        at = begin
        while at < end:
            f = out[at]
            at += 1
            if met[f] == r:
                continue
            for i in range(off[f], off[f + 1]):
                if met[other[i]] == r:
                    out[end] = made[i]
                    end += 1
            met[f] = r
        num = end
        out_off[r + 1] = num
    return out_off, out[:num].copy()


# bags: lists of weighted codes, gathered, crossed and merged ----------------------------------------------------------


@kernel
def gather_weights(rows: Codes, list_off: Offsets, list_weights: Floats, off: Offsets) -> Floats:
    """The weights of each row's list, beside the items of `gather_lists`; an item beyond the lists has weight 1."""
    num_lists = len(list_off) - 1
    out = np.empty(off[-1], np.float64)
    for r in range(len(rows)):
        start = list_off[rows[r]] if 0 <= rows[r] < num_lists else -1
        for k in range(off[r + 1] - off[r]):
            out[off[r] + k] = list_weights[start + k] if start >= 0 else 1.0
    return out


@kernel
def cross_weights(key_off: Offsets, key_weights: Floats, code_off: Offsets, code_weights: Floats) -> Floats:
    """The products of weights, in the order of `cross_ragged`. Either may be [0]: ones."""
    num_rows = len(key_off) - 1
    length = 0
    for r in range(num_rows):
        length += (key_off[r + 1] - key_off[r]) * (code_off[r + 1] - code_off[r])
    out = np.empty(length, np.float64)
    at = 0
    for r in range(num_rows):
        for i in range(key_off[r], key_off[r + 1]):
            left = key_weights[i] if len(key_weights) > 0 else 1.0
            for j in range(code_off[r], code_off[r + 1]):
                out[at] = left * code_weights[j] if len(code_weights) > 0 else left
                at += 1
    return out


@kernel
def merge_items(off: Offsets, codes: Codes, weights: Floats, num_codes: int) -> tuple[Offsets, Codes, Floats]:
    """The lists with each code once, where it comes first, and the sum of its weights. Codes below 0 are left out.

    The weights that come back are [M] throughout.
    """
    place = np.full(num_codes, -1, np.int64)  # of the last item of each code
    out_off = np.zeros(len(off), np.int64)
    out_codes, out_weights = np.empty(len(codes), np.int32), np.empty(len(codes), np.float64)
    num = 0
    for r in range(len(off) - 1):
        begin = num
        for i in range(off[r], off[r + 1]):
            code = codes[i]
            if code < 0:
                continue
            weight = weights[i] if len(weights) > 0 else 1.0
            if place[code] >= begin:
                out_weights[place[code]] += weight
            else:
                place[code] = num
                out_codes[num] = code
                out_weights[num] = weight
                num += 1
        out_off[r + 1] = num
    return out_off, out_codes[:num].copy(), out_weights[:num].copy()


# products -------------------------------------------------------------------------------------------------------------


@kernel
def row_products(
    off: Offsets, codes: Codes, weights: Floats, list_off: Offsets, columns: Codes, list_weights: Floats, width: int
) -> Floats:
    """A sparse matrix [R, K] times a sparse matrix [K, width], as a dense one [R, width].

    Row r lists its codes, from 0 to K - 1, with weights, and `list_off` [K+1] the columns of each code with theirs.
    """
    out = np.zeros((len(off) - 1, width))
    for r in range(len(off) - 1):
        for i in range(off[r], off[r + 1]):
            for k in range(list_off[codes[i]], list_off[codes[i] + 1]):
                out[r, columns[k]] += weights[i] * list_weights[k]
    return out
