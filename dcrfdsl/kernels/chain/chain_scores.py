"""The inputs of the kernels for chains: shared tables at given weights, and log scores of every position of a sequence.

A row has `width` cells: one for each state, then padding up to whole blocks of registers. Not here: what is computed
from the scores (`forward_backward`, `viterbi`), which graphs are chains (`inference.bound.chain_runs`).
"""

from typing import Any, NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32
from ..runtime import LANES, add, fma, inlined, load, repeat, store
from ..tables import Bindings, Kinds, Packed, Problem, Rows

READ: dict[Any, set[str]] = {  # what kernels for chains read
    Kinds: {"feature_set", "run_base", "fixed"},
    Bindings: {"run_off", "entry", "num_bias"},
    Rows: {"first_row", "row_off", "feature", "value", "token_off", "packed"},
    Packed: {"is_packed", "shift", "dense_start", "flat_start", "flat_bits", "dense_off", "dense", "flat_off", "flat"},
}

NOT_READ: dict[Any, dict[str, Any]] = {of: dict.fromkeys(set(of._fields) - read) for of, read in READ.items()}


def read_by_chains(problem: Problem) -> Problem:
    """A data set without the arrays that kernels for chains do not read: each takes time to pass and to compile."""

    def only(part: Any) -> Any:
        return part._replace(**NOT_READ[type(part)])

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
    rows: Floats  #      [.., width] flat; the identity matrix, then rows of weights
    row: Ints32  #       [features of all cliques] the weights of a feature are this row of them …
    multiple: Floats  #  [features of all cliques] … times this; [0]: only lists have the weights


class ChainWorkspace(NamedTuple):
    """Memory for sequences of at most `longest` positions: as many rows per position as a kernel needs."""

    longest: int
    cells: Floats


@inlined
def _add_plain(k, row, chain, kinds, bindings, rows, weights, value, at):
    """Adds the weights of the features of a feature row that is not packed to the scores at value[at].

    In the same order, by rows or by lists: rows are all alike, so that no branch is mispredicted.
    """
    valued, width = len(rows.value) > 0, chain.width
    if len(chain.row) > 0 and not valued:
        for c in range(0, width, len(chain.registers) * LANES):
            block_scores = load(chain.registers, value, at + c)
            for i in range(rows.row_off[row], rows.row_off[row + 1]):
                run = kinds.run_base[k] + rows.feature[i]
                of_states = load(chain.registers, chain.rows, np.int64(chain.row[run]) * width + c)
                block_scores = fma(repeat(chain.registers, chain.multiple, run), of_states, block_scores)
            store(value, at + c, block_scores)
        return
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
                _add_plain(k, row + t, chain, kinds, bindings, rows, weights, score, t * width)
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
                        weight, load(registers, chain.rows, (flat_entry & mask) * width + c), block_scores
                    )
                for q in range(packed.dense_off[row + t], packed.dense_off[row + t + 1]):
                    block_scores = add(block_scores, load(registers, weights, start + packed.dense[q] * width + c))
                store(score, t * width + c, block_scores)
