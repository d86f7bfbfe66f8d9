"""Forward and backward over a chain: one variable per position, and the same table between all neighbours.

Most models have this shape, so its sums are written for vectors that stay in registers. With the local scores s_t(y) of
position t (features, biases, hard zeros) and the table ψ(i, j) between neighbours:

    α_t(j) = exp s_t(j) Σ_i α_{t-1}(i) ψ(i, j)        β_t(i) = Σ_j ψ(i, j) exp s_{t+1}(j) β_{t+1}(j)

    p(y_t = i) ∝ α_t(i) β_t(i)        p(y_t = i, y_{t+1} = j) ∝ α_t(i) ψ(i, j) exp s_{t+1}(j) β_{t+1}(j)

One loop computes both, α from the left and β from the right, so that neither waits for its own sums. Each row is
divided by the sum of the row before it, which need not be ready when the products begin. A row has `width` cells: the
states, then zeros up to whole blocks of registers.

An underflow is never silent: as long as all positive numbers are at least `FLOOR`, products of three of them are
representable and zero means zero. A sequence that leaves this range gets the status `UNDERFLOW`, and the kernels for
general graphs (`sequences`) compute it. Source: Rabiner 1989 §III (scaling); Lafferty et al. 2001.
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import (
    IMPOSSIBLE,
    LANES,
    OK,
    UNDERFLOW,
    add,
    broadcast,
    entry,
    exp,
    fma,
    inlined,
    largest,
    least_finite,
    least_positive,
    load,
    lowest,
    maximum,
    multiply,
    repeat,
    store,
    subtract,
    total,
)
from ..tables import copy_run, move_single
from .chain_scores import scatter_plain, score_positions

FLOOR = 1e-100  # FLOOR³ is still a normal double; see the docstring
LOG_FLOOR = np.log(FLOOR)
SPARE = 8  # cells after the last row: blocks of four rows may read past the end


class ChainSums(NamedTuple):
    """Buffers for expected counts, summed over sequences."""

    everywhere: Floats  # [width] of states
    at_first: Floats  #   [width]  … of first positions
    at_last: Floats  #    [width]  … of last positions
    pair: Floats  #       [rows ≥ states, width] flat; of pairs, not yet multiplied by ψ


def workspace_for(longest: int, width: int) -> int:
    """Cells of memory that sequences of at most `longest` positions need."""
    return 4 * longest * width + SPARE


@inlined
def exponentiate_rows(length, chain, score):
    """exp(row − its maximum) of every row, in place. Returns (sum of the maxima, status)."""
    registers, width = chain.registers, chain.width
    block = len(registers) * LANES
    shift = 0.0
    least = broadcast(registers, 0.0)
    for t in range(length):
        high = load(registers, score, t * width)
        for c in range(block, width, block):
            high = maximum(high, load(registers, score, t * width + c))
        peak = largest(high)
        if peak == -np.inf:
            return 0.0, IMPOSSIBLE
        shift += peak
        taken = broadcast(registers, peak)
        for c in range(0, width, block):
            centred = subtract(load(registers, score, t * width + c), taken)
            least = least_finite(least, centred)
            store(score, t * width + c, exp(centred))
    return shift, OK if lowest(least) > LOG_FLOOR else UNDERFLOW


@inlined
def forward_backward(length, chain, score, alpha, beta, tail):
    """α, β and tail = exp(s) β of every position. Returns (log of the normaliser, status)."""
    registers, states, width = chain.registers, chain.states, chain.width
    pair, turned = chain.pair, chain.pair_turned
    block = len(registers) * LANES
    zero, one = broadcast(registers, 0.0), broadcast(registers, 1.0)
    least = one
    right = (length - 1) * width
    sum_left, sum_right = zero, zero
    for c in range(0, width, block):
        front, rear = load(registers, score, c), load(registers, score, right + c)
        store(alpha, c, front)
        store(beta, right + c, one)
        store(tail, right + c, rear)
        sum_left, sum_right = add(sum_left, front), add(sum_right, rear)
    scale_left, scale_right = total(sum_left), total(sum_right)
    log_z, product = 0.0, 1.0  # the logarithm is taken only when the product leaves the safe range
    left = 0
    for _ in range(1, length):
        if not (scale_left > 0.0 and scale_right > 0.0):
            return 0.0, IMPOSSIBLE
        product *= scale_left
        if product < 1e-140 or product > 1e140:
            log_z += np.log(product)
            product = 1.0
        factor_left, factor_right = broadcast(registers, 1.0 / scale_left), broadcast(registers, 1.0 / scale_right)
        sum_left, sum_right = zero, zero
        for c in range(0, width, block):
            even, odd, even_back, odd_back = zero, zero, zero, zero
            row = c
            for i in range(0, states, 2):  # row `states` is zero
                even = fma(repeat(registers, alpha, left + i), load(registers, pair, row), even)
                even_back = fma(repeat(registers, tail, right + i), load(registers, turned, row), even_back)
                odd = fma(repeat(registers, alpha, left + i + 1), load(registers, pair, row + width), odd)
                odd_back = fma(repeat(registers, tail, right + i + 1), load(registers, turned, row + width), odd_back)
                row += 2 * width
            front = multiply(multiply(add(even, odd), factor_left), load(registers, score, left + width + c))
            back = multiply(add(even_back, odd_back), factor_right)
            store(alpha, left + width + c, front)
            store(beta, right - width + c, back)
            back = multiply(back, load(registers, score, right - width + c))
            store(tail, right - width + c, back)
            least = least_positive(least_positive(least, front), back)
            sum_left, sum_right = add(sum_left, front), add(sum_right, back)
        scale_left, scale_right = total(sum_left), total(sum_right)
        left += width
        right -= width
    if not scale_left > 0.0:
        return 0.0, IMPOSSIBLE
    if lowest(least) < FLOOR:
        return 0.0, UNDERFLOW
    return log_z + np.log(product) + np.log(scale_left), OK


@inlined
def _marginals(length, chain, score, alpha, beta, tail, root):
    """Writes the marginals of every position to the rows of `score`; scales α_t so that p(i, j) = α ψ tail.

    root: a factor of all marginals.
    """
    registers, width = chain.registers, chain.width
    block = len(registers) * LANES
    for t in range(length):
        at = t * width
        mass, following = broadcast(registers, 0.0), broadcast(registers, 0.0)
        for c in range(0, width, block):
            product = multiply(load(registers, alpha, at + c), load(registers, beta, at + c))
            store(score, at + c, product)
            mass = add(mass, product)
        normaliser = root / total(mass)
        if t + 1 < length:
            for c in range(0, width, block):
                following = add(following, load(registers, tail, at + width + c))
            pairs = broadcast(registers, normaliser / total(following))  # β_t was divided by this sum
            for c in range(0, width, block):
                store(alpha, at + c, multiply(load(registers, alpha, at + c), pairs))
        share = broadcast(registers, normaliser)
        for c in range(0, width, block):
            store(score, at + c, multiply(load(registers, score, at + c), share))


@inlined
def sum_pairs(length, chain, alpha, tail, out):
    """out[i, j] += Σ_t α_t(i) tail_{t+1}(j), four rows at a time, whose sums stay in registers."""
    registers, states, width = chain.registers, chain.states, chain.width
    for c in range(0, width, len(registers) * LANES):
        for i in range(0, states, 4):
            row = i * width + c
            a, b = load(registers, out, row), load(registers, out, row + width)
            d, e = load(registers, out, row + 2 * width), load(registers, out, row + 3 * width)
            at = 0
            for _ in range(length - 1):
                following = load(registers, tail, at + width + c)
                a = fma(repeat(registers, alpha, at + i), following, a)
                b = fma(repeat(registers, alpha, at + i + 1), following, b)
                d = fma(repeat(registers, alpha, at + i + 2), following, d)
                e = fma(repeat(registers, alpha, at + i + 3), following, e)
                at += width
            store(out, row, a)
            store(out, row + width, b)
            store(out, row + 2 * width, d)
            store(out, row + 3 * width, e)


@inlined
def sum_states(length, chain, score, sums):
    """Adds the marginals of all positions, of the first and of the last one to `sums`."""
    registers, width = chain.registers, chain.width
    for c in range(0, width, len(registers) * LANES):
        everywhere = load(registers, sums.everywhere, c)
        for t in range(length):
            everywhere = add(everywhere, load(registers, score, t * width + c))
        store(sums.everywhere, c, everywhere)
        store(sums.at_first, c, add(load(registers, sums.at_first, c), load(registers, score, c)))
        last = load(registers, score, (length - 1) * width + c)
        store(sums.at_last, c, add(load(registers, sums.at_last, c), last))


@inlined
def scatter_rows(s, first, last, chain, kinds, bindings, rows, score, gradient):
    """Adds the marginals of positions `first` to `last` of sequence s to the cells of the features that fire."""
    registers, width, packed = chain.registers, chain.width, rows.packed
    block = len(registers) * LANES
    for n in range(len(chain.scored)):
        k = chain.scored[n]
        if kinds.fixed[k]:
            continue
        row = rows.first_row[kinds.feature_set[k], s]
        if not packed.is_packed[k]:
            for t in range(first, last):
                scatter_plain(k, row + t, kinds, bindings, rows, score, t * width, gradient)
            continue
        row += packed.shift[k]
        start = packed.dense_start[k]
        for t in range(first, last):
            move_single(packed, k, row + t, gradient, score, t * width, True)
            begin, end = packed.dense_off[row + t], packed.dense_off[row + t + 1]
            for c in range(0, width, block):
                marginals = load(registers, score, t * width + c)
                for q in range(begin, end):
                    cell = start + packed.dense[q] * width + c
                    store(gradient, cell, add(marginals, load(registers, gradient, cell)))


@entry
def chain_expectations(
    first, last, chain, problem, weights, gradient, sums, log_z, status, marginals, workspace, share
):
    """log Z of the sequences first … last − 1, and their expected feature counts.

    gradient: added to; cells where rows are packed, else weights; empty if only marginals are wanted.   marginals: see
    `sequences.exact_expectations`.   workspace: of `workspace_for` cells, overwritten.   share [S]: a factor of the
    expectations of each sequence; empty: 1.   status: `UNDERFLOW` where another kernel must answer, as for sequences
    longer than the workspace allows.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    longest, cells = workspace
    width = chain.width
    looked_at = len(marginals.value) > 0 or len(gradient) > 0
    part = longest * width
    score, alpha, beta, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part], cells[3 * part :]
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        log_z[s], status[s] = 0.0, OK
        if length == 0:
            continue
        status[s] = UNDERFLOW
        if length > longest:
            continue
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        shift, state = exponentiate_rows(length, chain, score)
        if state == OK:
            logarithm, state = forward_backward(length, chain, score, alpha, beta, tail)
            log_z[s] = logarithm + shift + (length - 1) * chain.pair_peak
        status[s] = state
        if state != OK:
            log_z[s] = -np.inf
            continue
        if not looked_at:
            continue
        _marginals(length, chain, score, alpha, beta, tail, share[s] if len(share) > 0 else 1.0)
        if len(marginals.value) > 0:
            at = marginals.off[s]
            for t in range(length):
                copy_run(score, t * width, chain.states, marginals.value[at + t * chain.states :])
        if len(gradient) > 0:
            sum_pairs(length, chain, alpha, tail, sums.pair)
            sum_states(length, chain, score, sums)
            scatter_rows(s, 0, length, chain, kinds, bindings, rows, score, gradient)
