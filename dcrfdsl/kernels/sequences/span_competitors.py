"""Competitors on any graph with a contraction program: best wrong labellings, and the loss of spans and its gradient.

Max-marginals (`exact.max_sweeps`) answer most of what is asked. If the best labelling of all is right, the best wrong
one has a wrong state somewhere: that with the highest max-marginal. The best labelling that disagrees with y* on a span
is the best one with a wrong state in some position of it. The best one that agrees is the best of all if that agrees;
else its results between the first and the last position of the span are computed anew (`exact.max_marginal_backtrace`).
The gradient counts all these labellings at once. Losses are those of `chain.span_losses`. Not here: chains
(`chain.viterbi`), graphs that are computed block by block.
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask
from ..chain import Smoothing, Spans, smooth
from ..exact import (
    FREE,
    MIXED,
    PathWorkspace,
    TurnedTables,
    add_best_with,
    follow_range,
    pass_counts,
    sweep_down,
    sweep_up,
    trace_back,
    trace_range,
)
from ..messages import score_labelling
from ..runtime import IMPOSSIBLE, LANES, OK, inner, kernel
from ..tables import add_run, copy_run, entry_of, fill_tables, scatter_gradient

# the best wrong labelling ---------------------------------------------------------------------------------------------


class WrongStates(NamedTuple):
    """Which states contradict the known labels. A labelling with such a state is wrong.

    code [flat]: of each variable, a row of its table of allowed states; negative where no state is wrong.   off
    [width]: where the table of a variable begins.   allowed [..]: tables [rows, states], end to end.
    """

    code: Ints32
    off: Ints
    allowed: Mask


class Lattice(NamedTuple):
    """What is known of one sequence. width: variables at a position."""

    steps: tuple[int, int]
    local_end: int
    length: int
    width: int
    gold: Ints32  #  [V]
    found: Ints32  # [V]  the best labelling
    maxima: Floats
    state_off: Ints
    card: Ints32


@kernel
def path_workspace(first, last, shapes, programs, patterns, rows):
    """A workspace for the sequences of a run; (maxima, labelling, row, turned) for the longest, see `sweep_both`."""
    arena, steps, variables, states, most, widest = max(shapes.local_start, 1), 1, 1, 1, 1, 1
    for s in range(first, last):
        g = rows.shape[s]
        arena, steps = max(arena, shapes.arena_end[g]), max(steps, programs.step_off[g + 1])
        v = shapes.var_off[g + 1] - 1
        variables = max(variables, v + 1 - shapes.var_off[g])
        if v >= shapes.var_off[g]:
            states = max(states, shapes.state_off[v] + shapes.card[v])
    for p in range(len(patterns.dims)):
        most, widest = max(most, patterns.dims[p, 2]), max(widest, patterns.dims[p, 2], patterns.dims[p, 3])
    for v in range(len(shapes.card)):
        most = max(most, shapes.card[v])
    turned = TurnedTables(np.empty(shapes.local_start), np.zeros(shapes.local_start, np.int64))
    w = PathWorkspace(
        np.empty(arena), np.empty(arena), np.empty(steps), np.zeros(arena), np.zeros(arena), np.zeros(steps, np.bool_),
        np.zeros(steps, np.bool_), np.zeros(arena, np.int32), np.empty(steps, np.int32), np.zeros(steps),
        np.empty(variables, np.int32), np.empty(arena),
        np.zeros(steps, np.bool_), np.empty(steps, np.int32), np.full(variables, FREE, np.int32),
        np.arange(most).astype(np.int32), np.empty(most, np.int32),
    )  # fmt: skip
    return w, np.zeros(states), np.empty(variables, np.int32), np.empty(3 * (widest + 3 * LANES)), turned


@inner
def sweep_both(s, problem, programs, patterns, potentials, w, maxima, found, row, turned, wanted):
    """Both sweeps over sequence s, and its best labelling; without `wanted`, the first sweep alone.

    Returns the score of the best labelling, -inf if none is possible.
    """
    shapes, kinds, bindings, rows = problem
    g = rows.shape[s]
    a, b = programs.step_off[g], programs.step_off[g + 1]
    v0, v1 = shapes.var_off[g], shapes.var_off[g + 1]
    for v in range(v1 - v0):
        w.sum_step[v], found[v] = -1, 0
    for i in range(a, b):
        w.producer[programs.step[i, 3]] = i
        if programs.variable[i] >= 0:
            w.sum_step[programs.variable[i]] = i
    fill_tables(s, shapes, kinds, bindings, rows, potentials.weights, potentials.log_base, w.value)
    best = sweep_up(a, b, programs, patterns, w.value, w.top, w.every)
    if best > -np.inf:
        trace_back(a, b, programs, w.value, found)
        if wanted:
            _find_roots((a, b), programs, shapes.local_end[g], w)
            sweep_back(g, shapes, programs, patterns, w, maxima, row, turned)
    return best


@inner
def sweep_back(g, shapes, programs, patterns, w, maxima, row, turned):
    """Max-marginals of shape g; 0 for variables without a factor."""
    a, b = programs.step_off[g], programs.step_off[g + 1]
    v0, v1 = shapes.var_off[g], shapes.var_off[g + 1]
    for v in range(v0, v1):
        if w.sum_step[v - v0] < 0:
            maxima[shapes.state_off[v] : shapes.state_off[v] + shapes.card[v]] = 0.0
    spans = shapes.local_end[g], shapes.arena_end[g]
    sweep_down(a, b, programs, patterns, w.value, w.outside, w.top, spans, shapes.state_off[v0:v1], maxima, row, turned)


@inner
def is_wrong(found, wrong, at, width, card):
    """Whether a labelling contradicts the known labels of the sequence whose variables begin at `at`."""
    for v in range(len(card)):
        code = wrong.code[at + v]
        if code >= 0 and not wrong.allowed[wrong.off[v % width] + code * card[v] + found[v]]:
            return True
    return False


@inner
def best_wrong_state(maxima, state_off, wrong, at, width, card):
    """(max-marginal, variable, state) of the best wrong state of a sequence; the variable is -1 if there is none."""
    best, variable, state = -np.inf, -1, 0
    for v in range(len(card)):
        code = wrong.code[at + v]
        if code < 0:
            continue
        row = wrong.off[v % width] + code * card[v]
        for x in range(card[v]):
            if maxima[state_off[v] + x] > best and not wrong.allowed[row + x]:
                best, variable, state = maxima[state_off[v] + x], v, x
    return best, variable, state


@inner
def _find_roots(steps, programs, local_end, w):
    """Writes the root of every step's component."""
    for i in range(steps[1] - 1, steps[0] - 1, -1):
        if programs.step[i, 4]:
            w.root[i] = i
        for operand in (programs.step[i, 1], programs.step[i, 2]):
            if operand >= local_end:
                w.root[w.producer[operand]] = w.root[i]


@inner
def wrong_labelling(lattice, wrong_states, at, programs, patterns, w, labelling):
    """Writes the labelling with the best wrong state; returns whether there is one."""
    _, variable, state = best_wrong_state(
        lattice.maxima, lattice.state_off, wrong_states, at, lattice.width, lattice.card
    )
    if variable < 0:
        return False
    first, last = lattice.steps
    copy_run(lattice.found, 0, len(labelling), labelling)
    add_best_with(variable, state, 1.0, programs, patterns, lattice.local_end, w, False, labelling)
    pass_counts(first, last, programs, patterns, lattice.local_end, w, False, labelling)
    return True


@kernel
def exact_decode_wrong(first, last, problem, programs, patterns, potentials, wrong_states, status, labelling):
    """The best labelling of each sequence that contradicts its known labels, -1 and IMPOSSIBLE if there is none."""
    shapes, rows = problem.shapes, problem.rows
    w, maxima, found, row, turned = path_workspace(first, last, shapes, programs, patterns, rows)
    copy_run(potentials.log_base, 0, shapes.local_start, w.value)
    w.value[0] = 0.0
    for s in range(first, last):
        status[s] = OK
        g, length, at = rows.shape[s], rows.token_off[s + 1] - rows.token_off[s], labelling.off[s]
        result = labelling.value[at : labelling.off[s + 1]]
        v0, v1 = shapes.var_off[g], shapes.var_off[g + 1]
        num = v1 - v0
        if length == 0:
            status[s] = IMPOSSIBLE
            continue
        best = sweep_both(s, problem, programs, patterns, potentials, w, maxima, found, row, turned, False)
        is_found = best > -np.inf and is_wrong(found[:num], wrong_states, at, num // length, shapes.card[v0:v1])
        if is_found:
            copy_run(found, 0, num, result)
        elif best > -np.inf:
            sweep_back(g, shapes, programs, patterns, w, maxima, row, turned)
            lattice = Lattice(
                (programs.step_off[g], programs.step_off[g + 1]), shapes.local_end[g], length, num // length, result,
                found[:num], maxima, shapes.state_off[v0:v1], shapes.card[v0:v1],
            )  # fmt: skip
            is_found = wrong_labelling(lattice, wrong_states, at, programs, patterns, w, result)
        if not is_found:
            status[s] = IMPOSSIBLE
            result[:num] = -1


# losses of spans ------------------------------------------------------------------------------------------------------

WHOLE = -1  # label of a span that is a whole sequence


class JudgedLabels(NamedTuple):
    """The J labels whose spans are judged, and how their states encode segments (see `chain.span_losses`)."""

    variable: Ints32  # [J]  number at a position
    state_off: Ints  #  [J]  where `kind` and `opens` begin
    start_off: Ints  #  [J]  where `starts` begins, [states + 1, states]
    pair_off: Ints  #   [J]  where `goes_on` begins, [states, states]
    kind: Ints32
    opens: Mask
    starts: Mask
    goes_on: Mask


class LabelledSpans(NamedTuple):
    """Spans with a loss.   label [n]: of each span, an index into `JudgedLabels`; WHOLE: y* as a whole."""

    spans: Spans
    label: Ints32
    labels: JudgedLabels
    wrong: WrongStates
    smoothing: Smoothing
    find_false: bool
    shares: tuple[float, float]


class ErrorSums(NamedTuple):
    """Buffers that the gradient is added to, and loss [S], which is written."""

    gradient: Floats  # [cells]
    expected: Floats  # [shared cells]
    loss: Floats


@inner
def _settle(mass, steps, programs, w):
    """Adds to the best labelling what makes the mass of every component `mass` in all.

    Labellings that are compared have equal and opposite masses, and a path of their own only where they differ from
    the best one.
    """
    for i in range(steps[0], steps[1]):
        if programs.step[i, 4]:
            rest, w.covered[i] = mass - w.covered[i], 0.0
            if rest != 0.0:
                w.inside_mass[programs.step[i, 3]] += rest
                w.has_inside[i] = True


@inner
def _bounds(n, first, last, width, w):
    """The first and the last step that maximises over variable n of a range of positions; the former -1 if none."""
    begin, end = -1, -1
    for t in range(first, last + 1):
        i = w.sum_step[t * width + n]
        if i >= 0:
            begin, end = i if begin < 0 else min(begin, i), max(end, i)
    return begin, end


@inner
def _mix(n, label, at, labels, lattice, w, follows):
    """Lists in `mixed` the states of label variable n at a position that go on, or do not, after y* before it."""
    gold, card = lattice.gold, lattice.card[n]
    row, count = labels.pair_off[label] + gold[at - lattice.width] * card, 0
    for x in range(card):
        if labels.goes_on[row + x] == follows:
            w.mixed[count] = x
            count += 1
    return count


@inner
def _judge(label, first, last, checked, weight, share, judging, lattice, programs, patterns, w):
    """Adds `share` times the gradient of a span's loss, but for `_settle`; returns the loss."""
    labels, smoothing = judging.labels, judging.smoothing
    gold, found, maxima, state_off = lattice.gold, lattice.found, lattice.maxima, lattice.state_off
    width, local_end, n = lattice.width, lattice.local_end, labels.variable[label]
    card, nothing = lattice.card[n], found[:0]
    checked = checked and last + 1 < lattice.length
    follows, after = False, (last + 1) * width + n
    agrees = True
    for t in range(first, last + 1):
        agrees &= found[t * width + n] == gold[t * width + n]
    if checked:
        pairs = labels.pair_off[label] + gold[after - width] * card
        follows = labels.goes_on[pairs + gold[after]]
        agrees &= labels.goes_on[pairs + found[after]] == follows
    right, wrong, num_mixed, begin, end = 0.0, 0.0, 0, -1, -1
    variable, state = -1, 0  # of the best wrong state, or y* itself where a span of one position is not the best
    if agrees:
        wrong = -np.inf
        for t in range(first, last + 1):
            v = t * width + n
            for x in range(card):
                if maxima[state_off[v] + x] > wrong and x != gold[v]:
                    wrong, variable, state = maxima[state_off[v] + x], v, x
        if checked:
            num_mixed = _mix(n, label, after, labels, lattice, w, not follows)
            bound = -np.inf
            for j in range(num_mixed):
                bound = max(bound, maxima[state_off[after] + w.mixed[j]])
            if min(bound, maxima[state_off[after - width] + gold[after - width]]) > wrong:
                w.limit[after - width], w.limit[after] = gold[after - width], MIXED
                begin, last_step = _bounds(n, last, last + 1, width, w)
                score = 0.0
                if begin >= 0:
                    score, end = follow_range(begin, last_step, programs, patterns, local_end, w, num_mixed)
                if score > wrong:
                    wrong, variable = score, -1
    elif first == last and not checked:
        variable, state = first * width + n, gold[first * width + n]
        right = maxima[state_off[variable] + state]
    else:
        for t in range(first, last + 1):
            w.limit[t * width + n] = gold[t * width + n]
        if checked:
            num_mixed = _mix(n, label, after, labels, lattice, w, follows)
            w.limit[after] = MIXED
        begin, last_step = _bounds(n, first, last + checked, width, w)
        if begin >= 0:
            right, end = follow_range(begin, last_step, programs, patterns, local_end, w, num_mixed)
    value, slope = smooth(smoothing, wrong - right)
    pull = share * weight * slope if wrong > -np.inf and right > -np.inf else 0.0
    other = pull if agrees else -pull
    if other != 0.0 and variable >= 0:
        add_best_with(variable, state, other, programs, patterns, local_end, w, True, nothing)
    if begin >= 0:
        mass = other if variable < 0 else 0.0
        trace_range(begin, end, mass, programs, patterns, local_end, w, num_mixed)
    for t in range(first, min(last + 2, lattice.length)):
        w.limit[t * width + n] = FREE
    return weight * value


@inner
def _judge_all(s, best, weight, share, judging, lattice, at, problem, programs, patterns, w):
    """As `_judge`, for y* as a whole. Returns (loss, the mass that y* takes from the best labelling)."""
    shapes, g = problem.shapes, problem.rows.shape[s]
    gold, found, wrong_states, nothing = lattice.gold, lattice.found, judging.wrong, lattice.found[:0]
    right, wrong, variable, state = 0.0, 0.0, -1, 0
    agrees = not is_wrong(found, wrong_states, at, lattice.width, lattice.card)
    if agrees:
        wrong, variable, state = best_wrong_state(
            lattice.maxima, lattice.state_off, wrong_states, at, lattice.width, lattice.card
        )
    else:
        right = score_labelling(g, shapes, w.value, gold) - best
    value, slope = smooth(judging.smoothing, wrong - right)
    pull = share * weight * slope if wrong > -np.inf and right > -np.inf else 0.0
    if pull == 0.0:
        return weight * value, 0.0
    if agrees:
        add_best_with(variable, state, pull, programs, patterns, lattice.local_end, w, True, nothing)
        return weight * value, 0.0
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        w.inside_mass[shapes.fac_table[f] + entry_of(f, shapes, shapes.var_off[g], gold)] -= pull
    return weight * value, pull


@inner
def _starts(labels, label, card, states, at, width):
    """Whether a segment starts at a variable of a labelling."""
    before = states[at - width] if at >= width else card
    return labels.starts[labels.start_off[label] + before * card + states[at]]


@inner
def _end(labels, label, card, states, at, width, length):
    """The variable where the segment that starts at a variable ends."""
    while at // width + 1 < length:
        if not labels.goes_on[labels.pair_off[label] + states[at] * card + states[at + width]]:
            break
        at += width
    return at


@inner
def _judge_false(other, share, judging, lattice, programs, patterns, w):
    """As `_judge`, for all segments of a wrong labelling that are not in y*."""
    labels, width, length, gold = judging.labels, lattice.width, lattice.length, lattice.gold
    loss = 0.0
    for label in range(len(labels.variable)):
        n = labels.variable[label]
        card, kinds = lattice.card[n], labels.state_off[label]
        for t in range(length):
            at = t * width + n
            if not _starts(labels, label, card, other, at, width):
                continue
            end = _end(labels, label, card, other, at, width, length)
            same = _starts(labels, label, card, gold, at, width)
            same = same and labels.kind[kinds + gold[at]] == labels.kind[kinds + other[at]]
            if same and _end(labels, label, card, gold, at, width, length) == end:
                continue
            loss += _judge(
                label, t, end // width, labels.opens[kinds + gold[end]], 1.0, share, judging, lattice, programs,
                patterns, w,
            )  # fmt: skip
    return loss


@inner
def _collect(s, problem, programs, patterns, lattice, w, sums):
    """Passes all masses on, and adds the counts of tables to the sums; no mass is left."""
    shapes, kinds, bindings, rows = problem
    local_end, mass = lattice.local_end, w.inside_mass
    pass_counts(lattice.steps[0], lattice.steps[1], programs, patterns, local_end, w, True, lattice.found[:0])
    add_run(mass, 0, shapes.local_start, sums.expected)
    scatter_gradient(s, shapes, kinds, bindings, rows, mass, sums.expected, sums.gradient)
    mass[:local_end] = 0.0


@kernel
def exact_competitors(first, last, problem, programs, patterns, potentials, labelling, judging, right, wrong, status):
    """Σ weight · ℓ(d) over the spans of each sequence, and its gradient, into `right`; of false segments into `wrong`.

    labelling: y*; where it is a whole span, all variables are known.   status: IMPOSSIBLE where no labelling is
    possible; the loss is then nan.
    """
    shapes, rows = problem.shapes, problem.rows
    w, maxima, found, row, turned = path_workspace(first, last, shapes, programs, patterns, rows)
    other = np.empty(len(found), np.int32)
    copy_run(potentials.log_base, 0, shapes.local_start, w.value)
    w.value[0] = 0.0
    spans, wrong_states, (share, false_share) = judging.spans, judging.wrong, judging.shares
    for s in range(first, last):
        right.loss[s], wrong.loss[s], status[s] = 0.0, 0.0, OK
        g, length, at = rows.shape[s], rows.token_off[s + 1] - rows.token_off[s], labelling.off[s]
        if length == 0:
            continue
        v0, v1 = shapes.var_off[g], shapes.var_off[g + 1]
        num = v1 - v0
        best = sweep_both(s, problem, programs, patterns, potentials, w, maxima, found, row, turned, True)
        if best == -np.inf:
            right.loss[s], status[s] = np.nan, IMPOSSIBLE
            continue
        lattice = Lattice(
            (programs.step_off[g], programs.step_off[g + 1]), shapes.local_end[g], length, num // length,
            labelling.value[at : labelling.off[s + 1]], found[:num], maxima, shapes.state_off[v0:v1],
            shapes.card[v0:v1],
        )  # fmt: skip
        on_best = 0.0
        for i in range(spans.off[s], spans.off[s + 1]):
            if judging.label[i] == WHOLE:
                value, mass = _judge_all(
                    s, best, spans.weight[i], share, judging, lattice, at, problem, programs, patterns, w
                )
                right.loss[s] += value
                on_best += mass
            else:
                right.loss[s] += _judge(
                    judging.label[i], spans.first[i], spans.last[i], spans.checked[i], spans.weight[i], share, judging,
                    lattice, programs, patterns, w,
                )  # fmt: skip
        _settle(on_best, lattice.steps, programs, w)
        _collect(s, problem, programs, patterns, lattice, w, right)
        if not judging.find_false:
            continue
        competitor = found[:num]
        if not is_wrong(found[:num], wrong_states, at, lattice.width, lattice.card):
            competitor = other[:num]
            if not wrong_labelling(lattice, wrong_states, at, programs, patterns, w, competitor):
                continue
        wrong.loss[s] = _judge_false(competitor, false_share, judging, lattice, programs, patterns, w)
        _settle(0.0, lattice.steps, programs, w)
        _collect(s, problem, programs, patterns, lattice, w, wrong)
