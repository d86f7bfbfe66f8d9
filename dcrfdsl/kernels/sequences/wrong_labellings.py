"""The best wrong labelling of each sequence, on any graph with a contraction program: by max-marginals.

If the best labelling of all is right, the best wrong one has a wrong state somewhere: that with the highest
max-marginal (`exact.max_sweeps`). Not here: losses of spans (`span_competitors`), chains (`chain.two_best`), graphs
that are computed block by block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exact import (
    FREE,
    PathWorkspace,
    TurnedTables,
    add_best_with,
    pass_counts,
    sweep_down,
    sweep_up,
    trace_back,
)
from ..runtime import IMPOSSIBLE, LANES, OK, inner, kernel
from ..tables import copy_run, fill_tables

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class WrongStates(NamedTuple):
    """Which states contradict the known labels. A labelling with such a state is wrong.

    code [flat]: of each variable, a row of its table of allowed states; negative where no state is wrong.   off
    [width]: where the table of a variable begins.   allowed [..]: tables [rows, states], end to end.
    """

    code: Small
    off: Ints
    allowed: Mask


class Lattice(NamedTuple):
    """What is known of one sequence. width: variables at a position."""

    steps: tuple[int, int]
    local_end: int
    length: int
    width: int
    gold: Small  #    [V]
    found: Small  #   [V]  the best labelling
    maxima: Floats
    state_off: Ints
    card: Small


@kernel
def path_workspace(first, last, shapes, programs, patterns, rows):
    """A workspace for the sequences of a run; (maxima, labelling, row, turned) for the longest, see `sweep_both`."""
    arena, steps, variables, states, most = max(shapes.local_start, 1), 1, 1, 1, 1
    for s in range(first, last):
        g = rows.shape[s]
        arena, steps = max(arena, shapes.arena_end[g]), max(steps, programs.step_off[g + 1])
        v = shapes.var_off[g + 1] - 1
        variables = max(variables, v + 1 - shapes.var_off[g])
        if v >= shapes.var_off[g]:
            states = max(states, shapes.state_off[v] + shapes.card[v])
    for p in range(len(patterns.dims)):
        most = max(most, patterns.dims[p, 2])
    for v in range(len(shapes.card)):
        most = max(most, shapes.card[v])
    widest = 1
    for p in range(len(patterns.dims)):
        widest = max(widest, patterns.dims[p, 2], patterns.dims[p, 3])
    turned = TurnedTables(np.empty(shapes.local_start), np.zeros(shapes.local_start, np.int64))
    w = PathWorkspace(
        np.empty(arena), np.empty(arena), np.empty(steps), np.zeros(arena), np.zeros(arena), np.zeros(steps, np.bool_),
        np.zeros(steps, np.bool_), np.zeros(arena, np.int32), np.empty(steps, np.int32), np.zeros(steps),
        np.empty(variables, np.int32), np.empty(arena),
        np.zeros(steps, np.bool_), np.empty(steps, np.int32), np.full(variables, FREE, np.int32),
        np.arange(most).astype(np.int32), np.empty(most, np.int32),
    )  # fmt: skip
    return w, np.zeros(states), np.empty(variables, np.int32), np.empty(2 * (widest + 3 * LANES)), turned


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
            for x in range(shapes.card[v]):
                maxima[shapes.state_off[v] + x] = 0.0
    spans = shapes.local_end[g], shapes.arena_end[g]
    sweep_down(
        a, b, programs, patterns, w.value, w.outside, w.top, spans, shapes.state_off[v0:v1], maxima, row, turned
    )  # fmt: skip


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
    for v in range(len(labelling)):
        labelling[v] = lattice.found[v]
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
            for v in range(num):
                result[v] = found[v]
        elif best > -np.inf:
            sweep_back(g, shapes, programs, patterns, w, maxima, row, turned)
            lattice = Lattice(
                (programs.step_off[g], programs.step_off[g + 1]), shapes.local_end[g], length, num // length, result,
                found[:num], maxima, shapes.state_off[v0:v1], shapes.card[v0:v1],
            )  # fmt: skip
            is_found = wrong_labelling(lattice, wrong_states, at, programs, patterns, w, result)
        if not is_found:
            status[s] = IMPOSSIBLE
            for v in range(num):
                result[v] = -1
