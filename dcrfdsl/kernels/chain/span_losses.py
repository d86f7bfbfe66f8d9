"""A smooth count of errors on spans of chains, and its gradient.

The loss of a span s is ℓ(d(s)), with d(s) = max{g(y): y disagrees with y* on s} − max{g(y): y agrees} and ℓ a smooth
count of errors (Suzuki 2006 eq. 14, 15).

The gradient Σ ℓ'(d) [F(best that disagrees) − F(best that agrees)] is summed without following each labelling
(`span_count_gradients`). On linked chains the moves have scores of their own at each position: the factors of a
sequence are summed to the scores of states and of moves, from there on everything is the same, and counts of states and
moves go back to the tables of all factors.

On chunks and tags of CoNLL-2000, 20 and 42 states, chains whose moves are the same everywhere are judged 2.3 to 2.5
times as fast as by `sequences.span_competitors`, which takes any graph, and with soft maxima, which that does not have,
1.3 to 1.9 times as fast as linked chains. Not here: the two maxima (`viterbi`), soft maxima (`soft_span_losses`), sums
over labellings (`forward_backward`), which graphs are chains (`inference.bound.chain_runs`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask
from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, aligned_zeros, entry, inlined, inner, kernel
from ..tables import add_run, copy_run, fill_tables, scatter_gradient
from .chain_scores import score_positions
from .forward_backward import ChainSums
from .soft_span_losses import SoftRows, add_soft_span_loss
from .span_count_gradients import (
    BELIEF,
    GONE,
    INTO,
    GatheredCounts,
    Smoothing,
    add_continuation,
    collect_counts,
    propagate_counts,
    smooth,
)
from .viterbi import Lattice, best_agreeing, best_competitor, best_disagreeing, best_prefixes_and_suffixes

BUFFERS = 9  # rows of states a position


class Spans(NamedTuple):
    """Spans with a loss. `checked`: whether the continuation after the span must agree too, see `viterbi`."""

    off: Ints  #      [S+1]
    first: Ints32  #  [n]  positions in their sequence
    last: Ints32  #   [n]
    checked: Mask  #  [n]
    weight: Floats  # [n]  of ℓ in the sum


class SegmentMarks(NamedTuple):
    """How states encode segments."""

    kind: Ints32  #  [K]     number of the segment type; -1 outside segments
    opens: Mask  #   [K]     whether only the next state shows if the segment has ended
    starts: Mask  #  [K+1, K] whether a segment starts, by the state before (row K: none) and the one here
    goes_on: Mask  # [K, K] whether the segment of a state goes on in the one after it


class SpanLoss(NamedTuple):
    """Which spans have a loss, and which.   shares: factors of the gradients of spans and of false segments.

    find_false: whether segments of the best competitor that are not in y* have a loss too.   psi: the sharpness of the
    soft maximum over the states of a span; infinite for the maximum.
    """

    spans: Spans
    marks: SegmentMarks
    smoothing: Smoothing
    find_false: bool
    shares: tuple[float, float]
    psi: float


class CompetitorSums(NamedTuple):
    """Buffers that the gradient is added to (`sums.pair` holds counts), and loss [S], which is written."""

    gradient: Floats
    sums: ChainSums
    loss: Floats


class CompetitorWorkspace(NamedTuple):
    """Memory for sequences of at most `longest` positions.

    `along`, `holds` and the last three of the nine parts of `cells` are 0, and left so; the rest is overwritten.
    """

    longest: int
    cells: Floats
    along: Floats  #     [longest + 2]
    labelling: Ints32  # [longest]
    holds: Mask  #       [3, longest + 2]


def competitor_workspace(longest: int, width: int) -> CompetitorWorkspace:
    """A workspace for chains with rows of `width` cells."""
    cells = aligned_zeros(BUFFERS * longest * width + 8)
    along, holds = np.zeros(longest + 2), np.zeros((3, longest + 2), np.bool_)
    return CompetitorWorkspace(longest, cells, along, np.zeros(longest, np.int32), holds)


@inlined
def _add_any_loss(first, last, checked, weight, share, lattice, smoothing, psi, gathered, soft):
    """As `_add_span_loss`, or with a soft maximum."""
    if np.isinf(psi):
        return _add_span_loss(first, last, checked, weight, share, lattice, smoothing, gathered)
    return add_soft_span_loss(first, last, checked, weight, share, lattice, smoothing, psi, gathered, soft)


@inner
def _add_span_loss(first, last, checked, weight, share, lattice, smoothing, gathered):
    """Adds `share` times the gradient of a span's loss; returns the loss weight · ℓ(d), nan where y* is impossible."""
    width, gold, step = lattice.width, lattice.gold, lattice.step
    into, gone, along, belief, pairs, holds = gathered
    wrong, start, where, which = best_disagreeing(first, last, checked, lattice)
    rest, state = best_agreeing(last, checked, lattice)
    right = start + rest
    if right == -np.inf:
        return np.nan
    if wrong == -np.inf:
        return weight * smooth(smoothing, -np.inf)[0]
    value, slope = smooth(smoothing, wrong - right)
    pull = share * weight * slope
    # the best agreeing labelling: y* up to `last`, then the best continuation
    if where == first:
        into[first * width + gold[first]] -= pull
        into[first * width + which] += pull
        holds[INTO, first] = True
    along[first + 1] -= pull
    along[last + 1] += pull
    add_continuation(last, state, -pull, lattice, gathered)
    # the best disagreeing labelling: y* before `where`, then the best continuation
    if where > first:
        along[first + 1] += pull
        along[where] -= pull
        pairs[where * step + gold[where - 1] * width + which] += pull
        belief[where * width + which] += pull
        holds[BELIEF, where] = True
    gone[where * width + which] += pull
    holds[GONE, where] = True
    return weight * value


@inlined
def _starts(marks, labels, t):
    """Whether a segment starts at position t of a labelling."""
    return marks.starts[labels[t - 1] if t > 0 else len(marks.kind), labels[t]]


@inlined
def _end(marks, labels, length, t):
    """The last position of the segment that starts at t."""
    while t + 1 < length and marks.goes_on[labels[t], labels[t + 1]]:
        t += 1
    return t


@inlined
def _judge_spans(s, judging, lattice, gathered, soft):
    """Σ weight · ℓ(d) over the spans of sequence s, nan where y* is impossible; propagates the gathered gradient."""
    spans, loss = judging.spans, 0.0
    for i in range(spans.off[s], spans.off[s + 1]):
        loss += _add_any_loss(
            spans.first[i], spans.last[i], spans.checked[i], spans.weight[i], judging.shares[0], lattice,
            judging.smoothing, judging.psi, gathered, soft,
        )  # fmt: skip
    propagate_counts(lattice, gathered)
    return loss


@inner
def _judge_false_segments(judging, lattice, labelling, gathered, soft):
    """As `_judge_spans`, for all segments of a wrong labelling that are not in y*."""
    marks, length, gold, loss = judging.marks, lattice.length, lattice.gold, 0.0
    for t in range(length):
        if not _starts(marks, labelling, t):
            continue
        end = _end(marks, labelling, length, t)
        same = _starts(marks, gold, t) and marks.kind[gold[t]] == marks.kind[labelling[t]]
        if same and _end(marks, gold, length, t) == end:
            continue
        loss += _add_any_loss(
            t, end, marks.opens[gold[end]], 1.0, judging.shares[1], lattice, judging.smoothing, judging.psi, gathered,
            soft,
        )  # fmt: skip
    propagate_counts(lattice, gathered)
    return loss


@entry
def chain_competitors(first, last, chain, problem, weights, labelling, judging, right, wrong, status, workspace):
    """Σ weight · ℓ(d) over the spans of each sequence, and its gradient, into `right`; of false segments into `wrong`.

    labelling: y*. The pair tables of `chain` are logarithms.   status: UNDERFLOW for sequences that are too long for
    the workspace, IMPOSSIBLE where y* is impossible.
    """
    kinds, bindings, rows = problem.kinds, problem.bindings, problem.rows
    longest, cells, along, other, holds = workspace
    states, width, pair = chain.states, chain.width, chain.pair
    part = longest * width
    score, best, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part]
    after, soft = cells[3 * part : 4 * part], SoftRows(cells[4 * part : 5 * part], cells[5 * part : 6 * part])
    into, gone, belief = cells[6 * part : 7 * part], cells[7 * part : 8 * part], cells[8 * part : 9 * part]
    for s in range(first, last):
        length = rows.token_off[s + 1] - rows.token_off[s]
        right.loss[s], wrong.loss[s], status[s] = 0.0, 0.0, OK
        if length == 0:
            continue
        if length > longest:
            status[s] = UNDERFLOW
            continue
        gold = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        score_positions(s, length, chain, kinds, bindings, rows, weights, score)
        best_prefixes_and_suffixes(
            length, chain.registers, states, width, (pair, chain.pair_turned, 0), score, best, tail, after
        )
        lattice = Lattice(
            chain.registers, length, states, width, pair, chain.pair_turned, judging.marks.goes_on, gold, score, best,
            tail, after, 0,
        )  # fmt: skip
        gathered = GatheredCounts(into, gone, along, belief, right.sums.pair, holds)
        right.loss[s] = _judge_spans(s, judging, lattice, gathered, soft)
        if np.isnan(right.loss[s]):
            status[s] = IMPOSSIBLE
        collect_counts(s, length, chain, kinds, bindings, rows, belief, holds, right.sums, right.gradient)
        if judging.find_false and best_competitor(lattice, other):
            gathered = GatheredCounts(into, gone, along, belief, wrong.sums.pair, holds)
            wrong.loss[s] = _judge_false_segments(judging, lattice, other, gathered, soft)
            collect_counts(s, length, chain, kinds, bindings, rows, belief, holds, wrong.sums, wrong.gradient)


# chains whose moves have scores of their own at each position ---------------------------------------------------------


@inner
def _move_factors(g, shapes, states, width, value, score, pair, turned, scatters):
    """Adds the tables of the factors of shape g, in `value`, to the scores of states and of moves.

    With `scatters` the other way: adds counts of states and of moves to the tables; `turned` stays as it is.
    """
    step = width * width
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        at, first = shapes.fac_table[f], shapes.scope_off[f]
        if shapes.scope_off[f + 1] - first == 1:
            row = shapes.scope[first] * width
            if scatters:
                add_run(score, row, states, value[at:])
            else:
                add_run(value, at, states, score[row:])
            continue
        left, right = shapes.scope[first], shapes.scope[first + 1]
        base, forward = max(left, right) * step, left < right
        for a in range(states):
            for b in range(states):
                i, j = (a, b) if forward else (b, a)
                cell, move = at + a * states + b, base + i * width + j
                if scatters:
                    value[cell] += pair[move]
                else:
                    pair[move] += value[cell]
                    turned[base + j * width + i] += value[cell]


@inner
def _collect_linked(s, problem, length, states, width, belief, counts, holds, mass, sums):
    """Adds the counts of states and of moves to the sums, table by table; they are 0 afterwards."""
    shapes, kinds, bindings, rows = problem
    g, step = rows.shape[s], width * width
    _move_factors(g, shapes, states, width, mass, belief, counts, counts, True)
    add_run(mass, 0, shapes.local_start, sums.expected)
    scatter_gradient(s, shapes, kinds, bindings, rows, mass, sums.expected, sums.gradient)
    mass[: shapes.local_end[g]] = 0.0
    holds[:, :length] = False
    belief[: length * width] = 0.0
    counts[: length * step] = 0.0


@kernel
def linked_competitors(first, last, row, problem, potentials, labelling, judging, right, wrong, status, memory):
    """Σ weight · ℓ(d) over the spans of each sequence, and its gradient, into `right`; of false segments into `wrong`.

    row: the registers of a block, the states, and the width of a row.   right, wrong: `ErrorSums`.   labelling: y*.
    status: IMPOSSIBLE where y* is impossible; the loss is then nan.   memory: a workspace of chains with rows of this
    width, and three times width² cells a position, all 0.
    """
    (registers, states, width), (workspace, links) = row, memory
    shapes, kinds, bindings, rows = problem
    longest, cells, along, other, holds = workspace
    part, linked = longest * width, longest * width * width
    score, best, tail = cells[:part], cells[part : 2 * part], cells[2 * part : 3 * part]
    after, soft = cells[3 * part : 4 * part], SoftRows(cells[4 * part : 5 * part], cells[5 * part : 6 * part])
    into, gone, belief = cells[6 * part : 7 * part], cells[7 * part : 8 * part], cells[8 * part : 9 * part]
    pair, turned, counts = links[:linked], links[linked : 2 * linked], links[2 * linked : 3 * linked]
    arena = shapes.local_start
    for s in range(first, last):
        arena = max(arena, shapes.local_end[rows.shape[s]])
    value, mass = np.empty(arena), np.zeros(arena)
    copy_run(potentials.log_base, 0, shapes.local_start, value)
    value[0] = 0.0
    for s in range(first, last):
        length, g = rows.token_off[s + 1] - rows.token_off[s], rows.shape[s]
        right.loss[s], wrong.loss[s], status[s] = 0.0, 0.0, OK
        if length == 0:
            continue
        gold = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, value)
        step = width * width
        for at in range(length * width):
            score[at] = 0.0 if at % width < states else -np.inf
        pair[: length * step] = 0.0
        turned[: length * step] = 0.0
        _move_factors(g, shapes, states, width, value, score, pair, turned, False)
        best_prefixes_and_suffixes(length, registers, states, width, (pair, turned, step), score, best, tail, after)
        lattice = Lattice(
            registers, length, states, width, pair, turned, judging.marks.goes_on, gold, score, best, tail, after, step
        )  # fmt: skip
        gathered = GatheredCounts(into, gone, along, belief, counts, holds)
        right.loss[s] = _judge_spans(s, judging, lattice, gathered, soft)
        if np.isnan(right.loss[s]):
            status[s] = IMPOSSIBLE
        _collect_linked(s, problem, length, states, width, belief, counts, holds, mass, right)
        if judging.find_false and best_competitor(lattice, other):
            wrong.loss[s] = _judge_false_segments(judging, lattice, other, gathered, soft)
            _collect_linked(s, problem, length, states, width, belief, counts, holds, mass, wrong)
