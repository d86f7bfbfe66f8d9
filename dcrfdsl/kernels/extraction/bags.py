"""Kernels of bags: lists of weighted codes, gathered, crossed and merged. Not here: lists without weights (`joins`).

`off` [R+1] holds the offsets of the R lists, `weights` [M] a number for each of their M items, or [0] if all are 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..runtime import kernel

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]


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
