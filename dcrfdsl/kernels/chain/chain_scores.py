"""The inputs of the kernels for chains: shared tables at given weights, and log scores of every position of a sequence.

A row has `width` cells: one for each state, then padding up to whole blocks of registers. Not here: what is computed
from the scores (`forward_backward`, `viterbi`), which graphs are chains (`inference.bound.chain_runs`).
"""

from typing import Any, NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ..runtime import LANES, add, fma, inlined, load, repeat, store
from ..tables import Bindings, Kinds, Packed, Problem, Rows

READ = {  # what kernels for chains read
    Kinds: {"feature_set", "run_base", "fixed"},
    Bindings: {"run_off", "entry", "num_bias"},
    Rows: {"first_row", "row_off", "feature", "value", "token_off", "packed"},
    Packed: {"is_packed", "shift", "dense_start", "flat_start", "flat_bits", "dense_off", "dense", "flat_off", "flat"},
}


def read_by_chains(problem: Problem) -> Problem:
    """A data set without the arrays that kernels for chains do not read: each takes time to pass and to compile."""

    def only(part: Any) -> Any:
        return part._replace(**dict.fromkeys(set(part._fields) - READ[type(part)]))

    _, kinds, bindings, rows = problem
    nothing: Any = None
    return Problem(nothing, only(kinds), only(bindings), only(rows)._replace(packed=only(rows.packed)))


class ChainTables(NamedTuple):
    """The tables that all positions of all sequences share, at given weights. Rows of `width` cells."""

    registers: tuple[int, ...]  # the registers of a block, see `machine_vectors`
    states: int
    width: int
    scored: Ints  #      [n]  kinds of one-variable factors with features
    everywhere: Floats  # [width] log scores at every position; -inf beyond the states
    at_first: Floats  #  [width]  … and added to them at the first position, 0 beyond the states
    at_last: Floats  #   [width]  … and at the last
    pair: Floats  #      [width, width] flat; i → j, linear and divided by the maximum, or logarithms for decoding
    pair_turned: Floats  # the same, j → i
    pair_peak: float  #       logarithm of that maximum
    unit: Floats  #      [states, width] flat; the identity matrix


class ChainWorkspace(NamedTuple):
    """Memory for sequences of at most `longest` positions: as many rows per position as a kernel needs."""

    longest: int
    cells: Floats


@inlined
def _add_plain(k, row, kinds, bindings, rows, weights, value, at):
    """Adds the weights of the features of a feature row that is not packed to the scores at value[at]."""
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = kinds.run_base[k] + rows.feature[i]
        x = rows.value[i] if valued else 1.0
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            value[at + bindings.entry[e]] += x * weights[bindings.num_bias + e]


@inlined
def scatter_plain(k, row, kinds, bindings, rows, belief, at, gradient):
    """Adds the numbers at belief[at] to the gradients of the features of a feature row that is not packed."""
    valued = len(rows.value) > 0
    for i in range(rows.row_off[row], rows.row_off[row + 1]):
        run = kinds.run_base[k] + rows.feature[i]
        x = rows.value[i] if valued else 1.0
        for e in range(bindings.run_off[run], bindings.run_off[run + 1]):
            gradient[bindings.num_bias + e] += x * belief[at + bindings.entry[e]]


@inlined
def score_positions(s, length, chain, kinds, bindings, rows, weights, score):
    """Log scores of every position of sequence s into the rows of `score`."""
    registers, width, packed = chain.registers, chain.width, rows.packed
    block = len(registers) * LANES
    for c in range(0, width, block):
        shared = load(registers, chain.everywhere, c)
        for t in range(length):
            store(score, t * width + c, shared)
        store(score, c, add(load(registers, score, c), load(registers, chain.at_first, c)))
        last = (length - 1) * width + c
        store(score, last, add(load(registers, score, last), load(registers, chain.at_last, c)))
    for n in range(len(chain.scored)):
        k = chain.scored[n]
        row = rows.first_row[kinds.feature_set[k], s]
        if not packed.is_packed[k]:
            for t in range(length):
                _add_plain(k, row + t, kinds, bindings, rows, weights, score, t * width)
            continue
        row += packed.shift[k]
        start, single = packed.dense_start[k], packed.flat_start[k]
        bits = packed.flat_bits[k]
        mask = (1 << bits) - 1
        for t in range(length):
            for c in range(0, width, block):
                block_scores = load(registers, score, t * width + c)
                # a finite weight times a row of the unit matrix: nothing waits for memory that was just written
                for q in range(packed.flat_off[row + t], packed.flat_off[row + t + 1]):
                    flat_entry = np.int64(packed.flat[q])
                    weight = repeat(registers, weights, single + (flat_entry >> bits))
                    block_scores = fma(
                        weight, load(registers, chain.unit, (flat_entry & mask) * width + c), block_scores
                    )
                for q in range(packed.dense_off[row + t], packed.dense_off[row + t + 1]):
                    block_scores = add(block_scores, load(registers, weights, start + packed.dense[q] * width + c))
                store(score, t * width + c, block_scores)
