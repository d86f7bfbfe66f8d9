"""Feature weights in the order in which a data set reads them, and the feature rows that refer to them.

Training reads every feature of every position hundreds of times. The weights of cliques are therefore copied to *packed
cells*. A feature with many weights becomes a dense row: one cell for each entry of the clique's table, padded to whole
vectors, and added to a table as a whole. The rows of frequent features come first and so stay in the cache. Features
with few weights remain lists of (cell, entry of the table); those that fire once lie in the order of the data. Features
that fire together form a bundle (`extraction.bundles`): one more dense row holds their sum and is read in their place.
Gradients have the same layout; the gradient of a bundle is passed on to its features. Cells that hold no weight are 0,
and in gradients are never read.

Not here: which cliques are packed (`inference.bound.packing`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Ints, Ints32, Mask
from ..runtime import LANES, add, fast_kernel, inlined, kernel, load, store
from .dense import load_some, store_some

Counts = NDArray[np.unsignedinteger]  # as narrow as possible: most of the time goes into reading these lists


class Packed(NamedTuple):
    """The packed rows of the factor kinds that have them. Row `shift[k] + row` belongs to feature row `row`."""

    is_packed: Mask  #   [K]
    shift: Ints  #       [K]
    entry_shift: Ints  # [K]      the weight of entry e of a kind that is not packed is in cell entry_shift[k] + e
    width: Ints  #       [K]      cells of a dense row
    dense_start: Ints  # [K]      cell of the first one
    flat_start: Ints  #  [K]      cell of the first single weight
    flat_bits: Ints  #   [K]      bits that name an entry of the table
    dense_off: Ints  #   [rows + 1]
    dense: Counts  #     [..]     number of a dense row
    flat_off: Ints  #    [rows + 1]
    flat: Counts  #      [..]     number of a single weight, and in the lowest bits the entry that it is added to
    bundle_kind: Ints  # [bundles] a kind that reads it; bundles follow those that they are made of
    bundle_row: Ints  #  [bundles] the packed row that lists its parts
    bundle_cell: Ints  # [bundles] cell of its dense row


class BundleLists(NamedTuple):
    """The bundles that the rows of a clique read."""

    cover_off: Ints  #  [R+1]
    cover: Ints32  #              bundles that a row reads
    member_off: Ints  # [bundles + 1]
    member: Ints32  #             the features of each bundle
    row: Ints  #        [bundles] the number of its dense row


# a data set is packed -------------------------------------------------------------------------------------------------


@kernel
def count_fires(row_off, feature, num_features):
    """How often each feature fires in the rows `row_off` [R+1], the index of its first firing in `feature`, and whether
    it fires several times in some row: three arrays [features].
    """
    counts = np.zeros(num_features, np.int64)
    first = np.zeros(num_features, np.int64)
    repeats = np.zeros(num_features, np.bool_)
    last_row = np.full(num_features, -1, np.int64)
    for r in range(len(row_off) - 1):
        for i in range(row_off[r], row_off[r + 1]):
            f = feature[i]
            if counts[f] == 0:
                first[f] = i
            repeats[f] |= last_row[f] == r
            last_row[f] = r
            counts[f] += 1
    return counts, first, repeats


@kernel
def pack_rows(row_off, feature, run_off, entry, dense_row, flat_first, bits, bundles, dense_type, flat_type):
    """The packed rows of the feature rows `row_off` [R+1] of one clique: dense_off, dense, flat_off, flat.

    run_off [features + 1]: entries of a feature.   dense_row, flat_first [features]: the number of its dense row, or of
    its first single weight, else -1.   dense_type, flat_type: arrays of the lists' types.
    """
    cover_off, cover, member_off, member, bundle_row = bundles
    num_rows = len(row_off) - 1
    dense_off, flat_off = np.zeros(num_rows + 1, np.int64), np.zeros(num_rows + 1, np.int64)
    dense, flat = np.empty(0, dense_type.dtype), np.empty(0, flat_type.dtype)
    covered = np.full(len(run_off) - 1, -1, np.int64)  # the last row in which a bundle has brought a feature
    for filling in range(2):  # counts, then writes
        num_dense, num_flat = 0, 0
        for r in range(num_rows):
            mark = 2 * r + filling
            for i in range(cover_off[r], cover_off[r + 1]):
                b = cover[i]
                if filling:
                    dense[num_dense] = bundle_row[b]
                num_dense += 1
                for j in range(member_off[b], member_off[b + 1]):
                    covered[member[j]] = mark
            for i in range(row_off[r], row_off[r + 1]):
                f = feature[i]
                if covered[f] == mark:
                    continue
                if dense_row[f] >= 0:
                    if filling:
                        dense[num_dense] = dense_row[f]
                    num_dense += 1
                else:
                    for e in range(run_off[f], run_off[f + 1]):
                        if filling:
                            flat[num_flat] = (flat_first[f] + e - run_off[f] << bits) | entry[e]
                        num_flat += 1
            dense_off[r + 1], flat_off[r + 1] = num_dense, num_flat
        if not filling:
            dense, flat = np.empty(num_dense, dense_type.dtype), np.empty(num_flat, flat_type.dtype)
    return dense_off, dense, flat_off, flat


# weights and gradients ----------------------------------------------------------------------------------------------


@kernel
def pack_weights(weights, cell_of, cells):
    """Copies each weight to its cell. cell_of [W]: -1 where no sequence reads the weight."""
    for w in range(len(cell_of)):
        if cell_of[w] >= 0:
            cells[cell_of[w]] = weights[w]


@fast_kernel
def add_runs(first, last, partial):
    """partial[0, first:last] becomes the sum over all runs, added in their order."""
    total = partial[0, first:last]
    for r in range(1, len(partial)):
        run = partial[r, first:last]
        for c in range(len(run)):
            total[c] += run[c]


@fast_kernel
def collect_gradient(first, last, partial, cell_of, weights, precision, counts, gradient):
    """gradient[w] = Σ_r partial[r, cell of w] + precision[w] λ_w − counts[w] for the weights `first` to `last`.

    Returns (Σ precision λ² / 2, Σ counts λ). Partial sums are added in the order of runs.
    """
    penalty, score = 0.0, 0.0
    for w in range(first, last):
        pull = precision[w] * weights[w]
        penalty += pull * weights[w]
        score += counts[w] * weights[w]
        total = pull - counts[w]
        cell = cell_of[w]
        if cell >= 0:
            for r in range(len(partial)):
                total += partial[r, cell]
        gradient[w] = total
    return 0.5 * penalty, score


@inlined
def move_single(packed, k, row, cells, value, at, scatters):
    """Adds the single weights of a packed row, in `cells`, to the table at value[at]; with `scatters` the table to the
    cells.
    """
    start, bits = packed.flat_start[k], packed.flat_bits[k]
    mask = (1 << bits) - 1
    for q in range(packed.flat_off[row], packed.flat_off[row + 1]):
        flat_entry = np.int64(packed.flat[q])
        cell, place = start + (flat_entry >> bits), at + (flat_entry & mask)
        if scatters:
            cells[cell] += value[place]
        else:
            value[place] += cells[cell]


@inlined
def move_packed(packed, k, row, size, cells, value, at, scatters):
    """Adds the weights of the features of a packed row of kind k to the table of `size` entries at value[at].

    With `scatters` the other way: adds the table's entries to the cells of the features.
    """
    move_single(packed, k, row, cells, value, at, scatters)
    start, width, j = packed.dense_start[k], packed.width[k], 0
    while j < size:
        if j + 4 * LANES <= size:
            _move_block((0, 0, 0, 0), packed, row, start + j, width, cells, value, at + j, size - j, scatters)
            j += 4 * LANES
        else:
            _move_block((0,), packed, row, start + j, width, cells, value, at + j, size - j, scatters)
            j += LANES


@inlined
def _move_block(registers, packed, row, start, width, cells, value, at, left, scatters):
    """One block of the dense rows of `move_packed`; `left` entries of the table are left."""
    block_values = load_some(registers, value, at, left)
    for q in range(packed.dense_off[row], packed.dense_off[row + 1]):
        cell = start + packed.dense[q] * width
        if scatters:
            store(cells, cell, add(block_values, load(registers, cells, cell)))
        else:
            block_values = add(block_values, load(registers, cells, cell))
    if not scatters:
        store_some(value, at, left, len(registers) * LANES, block_values)


@kernel
def sum_bundles(packed, cells):
    """Fills the dense rows of all bundles with the sums of their parts."""
    for b in range(len(packed.bundle_row)):
        k, at = packed.bundle_kind[b], packed.bundle_cell[b]
        width = packed.width[k]
        cells[at : at + width] = 0.0
        move_packed(packed, k, packed.bundle_row[b], width, cells, cells, at, False)


@kernel
def distribute_bundles(packed, gradient):
    """Adds the gradient of every bundle to those of its parts; the bundles' cells are zero afterwards."""
    for b in range(len(packed.bundle_row) - 1, -1, -1):
        k, at = packed.bundle_kind[b], packed.bundle_cell[b]
        width = packed.width[k]
        move_packed(packed, k, packed.bundle_row[b], width, gradient, gradient, at, True)
        gradient[at : at + width] = 0.0
