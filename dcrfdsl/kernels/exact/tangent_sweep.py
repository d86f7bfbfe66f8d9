"""log p(y_v | x) of every known variable, and the gradient of their sum, by tangents of both sweeps of a program.

    L = −Σ_v log μ_v(y*_v)        ∂L/∂θ = −Σ_v u_v ∂μ_v(y*_v)/∂θ,   u_v = 1 / μ_v(y*_v) held constant

Σ_v u_v μ_v(y*_v) is the derivative of log Z in the direction that raises the log potential of each y*_v by u_v. In
this direction all numbers of both sweeps have a tangent; those of the derivatives by the tables are the gradient
(Pearlmutter 1994: a Hessian-vector product). With dots for tangents and bars for derivatives, for a step C = Σ_k A B
that sums out v, where A stands for A (1 + ε u_v) at y*_v:

    Ċ = Σ_k Ȧ B + A Ḃ,        Ā' = Σ_r C̄' B + C̄ Ḃ,        B̄' = Σ_l A C̄' + Ȧ C̄,        ' for tangents of derivatives

So the work is that of two forward sweeps, two sweeps back to A, and two products for B̄', whose terms wait as those of
B̄ do: six products, where the likelihood has three. Tangents of values lie `half` cells after them; derivatives lie
`half` cells after their tangents, which are what the sweep adds up. A sequence that leaves the range of linear space
is computed in log space, with tangents of logarithms. Sources: Kakade, Teh & Roweis 2002; Altun 2003 eq. 10.
Not here: chains (`chain.label_tangents`), the program (`contraction`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints32
from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, fast_inner, inlined, inner, kernel
from ..tables import add_run, copy_run, exponentiate, fill_tables, multiply_run, scale_run, scatter_gradient
from .contraction import backward_log, forward_log
from .contraction_steps import group_sizes, log_normaliser, offset_lists, operands, pull_runs, tangents_of_runs
from .linear_sweeps import (
    backward_linear,
    clear_operands,
    contract,
    forward_linear,
    pull_tangents,
    settle_all,
    sweep_memory,
)

LEAST = 1e-200  # probability whose reciprocal is still a number in log space …
LEAST_LINEAR = 1e-100  # … and one that can still be multiplied by other numbers


class _Lifts(NamedTuple):
    """The direction in which tangents are taken: the log potential of y*_v is raised by u_v."""

    state: Ints32  #      [V] y*_v; negative where it is unknown
    by: Floats  #         [V] u_v; 0 where it is unknown
    importance: Floats  # [V] c_v; 1 if empty


@inner
def _find_lifts(shapes, g, marginal, lifts, least):
    """Writes u_v of every known variable, and 0 for the others.

    Returns (−Σ c_v log μ_v(y*_v), whether all μ_v are greater than `least`).
    """
    v0, risk = shapes.var_off[g], 0.0
    for v in range(shapes.var_off[g + 1] - v0):
        lifts.by[v] = 0.0
        c = lifts.importance[v] if len(lifts.importance) > 0 else 1.0
        if lifts.state[v] < 0 or c == 0.0:
            continue
        at, card, whole = shapes.state_off[v0 + v], shapes.card[v0 + v], 0.0
        for x in range(card):
            whole += marginal[at + x]
        if whole == 0.0:  # it is in no factor
            risk += c * np.log(card)
            continue
        p = marginal[at + lifts.state[v]]
        if not p > least:
            return np.inf, False
        lifts.by[v] = c / p
        risk -= c * np.log(p)
    return risk, True


@inlined
def _lift_state(pattern, patterns, values, source, target, state, u):
    """values[target + i] += u · values[source + i] for the entries i of A where the variable summed out has a state."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    a_b, a_l, shift = start[pattern, 0], start[pattern, 1], index[start[pattern, 2] + state]
    for ib in range(dims[pattern, 0]):
        if ib > 0 and index[a_b + ib] == index[a_b + ib - 1]:  # A is the same for all of these
            continue
        for il in range(dims[pattern, 1]):
            at = shift + index[a_b + ib] + index[a_l + il]
            values[target + at] += u * values[source + at]


@fast_inner
def _add_lift(pattern, patterns, value, places, half, state, u):
    """Ċ[b, l, r] += u A[b, l, state] B[b, state, r], where A is a table."""
    index = patterns.offsets
    num_b, num_l, _, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    a, b, c = places
    out = c + half
    for ib in range(num_b):
        right = b + index[b_b + ib] + index[b_k + state]
        for il in range(num_l):
            weighted = u * value[a + index[a_b + ib] + index[a_l + il] + index[a_k + state]]
            for r in range(num_r):
                value[out + r] += weighted * value[right + index[b_r + r]]
            out += num_r


@fast_inner
def _pull_lift(pattern, patterns, value, adjoint, places, half, state, u):
    """The reverse of `_add_lift`."""
    index = patterns.offsets
    num_b, num_l, _, num_r = group_sizes(pattern, patterns)
    a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
    a, b, c = places
    out = c + half
    for ib in range(num_b):
        right = b + index[b_b + ib] + index[b_k + state]
        for il in range(num_l):
            left = a + index[a_b + ib] + index[a_l + il] + index[a_k + state]
            weighted, mass = u * value[left], 0.0
            for r in range(num_r):
                at = right + index[b_r + r]
                mass += adjoint[out + r] * value[at]
                adjoint[at] += weighted * adjoint[out + r]
            adjoint[left] += u * mass
            out += num_r


@fast_inner
def _forward(first, last, programs, patterns, value, scale, peak, half, local_end, lifts):
    """Tangents of every result of a finished `forward_linear`; those of tables are 0.

    peak: set to 1 / scale, where the result begins.
    """
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    spare = 2 * half
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        peak[c] = 1.0 / scale[i]
        if dims[pattern, 5]:
            run, at = dims[pattern, 6], start[pattern, 0]
            if run >= 0:
                tangents_of_runs(value, a, b, c, size, run, index, at, half)
                continue
            for j in range(size):
                other = b + index[at + j]
                value[half + c + j] = value[half + a + j] * value[other] + value[a + j] * value[half + other]
            continue
        v = programs.variable[i]
        u = lifts.by[v] if v >= 0 else 0.0
        if a >= local_end:
            if u > 0.0:
                _lift_state(pattern, patterns, value, a, a + half, lifts.state[v], u)
            contract(pattern, patterns, value, a + half, b, c + half)
        else:
            value[half + c : half + c + size] = 0.0
            if u > 0.0:
                _add_lift(pattern, patterns, value, (a, b, c), half, lifts.state[v], u)
        if b >= local_end:
            contract(pattern, patterns, value, a, b + half, spare)
            add_run(value, spare, size, value[half + c :])
        if scale[i] != 1.0:
            scale_run(value, half + c, size, scale[i])


@fast_inner
def _backward(first, last, programs, patterns, value, scale, peak, adjoint, half, local_end, lifts, memory):
    """Adds the tangents of the derivatives by every table entry to `adjoint`, which must be 0 there."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = operands(i, programs)
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if programs.step[i, 4]:  # of 1 / Z, where Z is 1
            adjoint[c] = -value[half + c]
        clear_operands(pattern, patterns, adjoint, a, b, local_end, False)
        if dims[pattern, 5]:
            run, at = dims[pattern, 6], start[pattern, 0]
            for shift in range(0, 1 + half if a >= local_end or b >= local_end else 1, half):
                if run >= 0:
                    pull_runs(value, adjoint, a, b, c, size, run, index, at, shift, False)
                    continue
                for j in range(size):
                    x, y, bar = a + j, b + index[at + j], adjoint[c + shift + j]
                    adjoint[x] += bar * value[y + shift]
                    adjoint[y] += bar * value[x + shift]
            continue
        if scale[i] != 1.0:
            scale_run(adjoint, c, size, scale[i])
        v = programs.variable[i]
        u = lifts.by[v] if v >= 0 else 0.0
        pull_tangents(pattern, patterns, value, adjoint, (a, b, c), half, local_end, memory)
        if u > 0.0 and a >= local_end:
            _lift_state(pattern, patterns, adjoint, a + half, a, lifts.state[v], u * peak[a])
        elif u > 0.0:
            # the derivative by C itself stands in for its tangent
            _pull_lift(pattern, patterns, value, adjoint, (a, b, c), half, lifts.state[v], u)
    settle_all(patterns, value, adjoint, memory)


@inner
def _forward_log(first, last, programs, patterns, value, dot, lifts):
    """Tangents of every result of a finished `forward_log`: averages of the terms' tangents, weighted by the terms."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(first, last):
        pattern, a, b, c = operands(i, programs)
        num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                dot[c + j] = dot[a + j] + dot[b + index[at + j]]
            continue
        a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
        v = programs.variable[i]
        raised = lifts.state[v] if v >= 0 and lifts.by[v] > 0.0 else -1
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    right = b + index[b_b + ib] + index[b_r + r]
                    peak, total = log_normaliser(value, index, left, a_k, right, b_k, num_k)
                    mean = 0.0
                    for k in range(num_k if total > 0.0 else 0):
                        x, y = left + index[a_k + k], right + index[b_k + k]
                        share = np.exp(value[x] + value[y] - peak) / total
                        if share > 0.0:
                            mean += share * (dot[x] + dot[y] + (lifts.by[v] if k == raised else 0.0))
                    dot[out] = mean
                    out += 1


@inner
def _backward_log(first, last, programs, patterns, value, dot, belief, change, lifts):
    """Adds the tangents of the marginals of all tables to `change`, which must be 0.   belief: of `backward_log`."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = operands(i, programs)
        num_b, num_l, num_k, num_r = group_sizes(pattern, patterns)
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                change[a + j] += change[c + j]
                change[b + index[at + j]] += change[c + j]
            continue
        a_b, a_l, a_k, b_b, b_k, b_r = offset_lists(pattern, patterns)
        v = programs.variable[i]
        raised = lifts.state[v] if v >= 0 and lifts.by[v] > 0.0 else -1
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    right = b + index[b_b + ib] + index[b_r + r]
                    peak, total = log_normaliser(value, index, left, a_k, right, b_k, num_k)
                    for k in range(num_k if total > 0.0 else 0):
                        x, y = left + index[a_k + k], right + index[b_k + k]
                        share = np.exp(value[x] + value[y] - peak) / total
                        if share == 0.0:
                            continue
                        tangent = dot[x] + dot[y] + (lifts.by[v] if k == raised else 0.0)
                        moved = share * (change[out] + belief[out] * (tangent - dot[out]))
                        change[x] += moved
                        change[y] += moved
                    out += 1


@kernel
def exact_tangents(first, last, problem, programs, patterns, potentials, labelling, importance, totals, results):
    """−Σ_v c_v log p(y*_v | x) over the known variables of each sequence, into `results.log_z`; adds the gradient.

    labelling: states of variables, negative where unknown.   importance: c, laid out as they are; 1 if empty.   Where a
    probability underflows even in log space, the risk is inf and nothing is added. Long sequences are not cut into
    blocks: the arena must hold all of their results.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, base = potentials.weights, potentials.log_base, potentials.base
    expected, risk, status = totals.expected, results.log_z, results.status
    half, steps, states, variables = max(shapes.local_start, 1), 0, 1, 1
    for s in range(first, last):
        g = rows.shape[s]
        half, steps = max(half, shapes.arena_end[g]), max(steps, programs.step_off[g + 1])
        v = shapes.var_off[g + 1] - 1
        variables = max(variables, v + 1 - shapes.var_off[g])
        if v >= shapes.var_off[g]:
            states = max(states, shapes.state_off[v] + shapes.card[v])
    shared = shapes.local_start
    value, adjoint, scale, peak = np.zeros(3 * half), np.zeros(2 * half), np.empty(steps), np.empty(half)
    bar = adjoint[half:]
    logs, dot, change, belief = np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    memory = sweep_memory(patterns, shared)
    marginal, lift = np.empty(states), np.empty(variables)
    copy_run(base, 0, shared, value)
    logarithmic = np.zeros(shared)  # derivatives by the logarithms of the shared tables
    for s in range(first, last):
        g = rows.shape[s]
        a, b = programs.step_off[g], programs.step_off[g + 1]
        local_end, arena_end = shapes.local_end[g], shapes.arena_end[g]
        state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
        begin, end = labelling.off[s], labelling.off[s + 1]
        of_sequence = importance[begin:end] if len(importance) > 0 else importance
        lifts = _Lifts(labelling.value[begin:end], lift, of_sequence)
        state = UNDERFLOW
        if potentials.fits and potentials.products_fit:
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
            _, fits = exponentiate(g, shapes, value)
            if fits:
                _, state = forward_linear(a, b, programs, patterns, value, scale)
        if state == OK:
            bar[shared:local_end] = 0.0
            marginal[:] = 0.0
            backward_linear(
                a, b, programs, patterns, value, scale, bar, (state_off, marginal), 1.0, memory, local_end, False
            )
            risk[s], fits = _find_lifts(shapes, g, marginal, lifts, LEAST_LINEAR)
            state = OK if fits else UNDERFLOW
        if state == OK:
            value[half + shared : half + local_end] = 0.0
            _forward(a, b, programs, patterns, value, scale, peak, half, local_end, lifts)
            adjoint[shared:local_end] = 0.0
            _backward(a, b, programs, patterns, value, scale, peak, adjoint, half, local_end, lifts, memory)
            multiply_run(value, shared, local_end - shared, adjoint[shared:local_end])
            scale_run(adjoint, shared, local_end - shared, -1.0)
            scatter_gradient(s, shapes, kinds, bindings, rows, adjoint, expected, totals.gradient)
        elif state == UNDERFLOW:
            results.redone[s] = True
            if len(logs) == 0:
                logs, dot, change, belief = np.empty(half), np.zeros(half), np.zeros(half), np.zeros(half)
                copy_run(log_base, 0, shared, logs)
                logs[0] = 0.0
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
            state = OK if forward_log(a, b, programs, patterns, logs, True) > -np.inf else IMPOSSIBLE
            if state == OK:
                belief[:arena_end] = 0.0
                marginal[:] = 0.0
                backward_log(a, b, programs, patterns, logs, belief, state_off, marginal, 1.0)
                risk[s], fits = _find_lifts(shapes, g, marginal, lifts, LEAST)
                if not fits:
                    status[s] = OK
                    continue
                dot[:local_end] = 0.0
                _forward_log(a, b, programs, patterns, logs, dot, lifts)
                change[:arena_end] = 0.0
                _backward_log(a, b, programs, patterns, logs, dot, belief, change, lifts)
                for j in range(local_end):
                    change[j] = -change[j]
                scatter_gradient(s, shapes, kinds, bindings, rows, change, expected, totals.gradient)
                add_run(change, 0, shared, logarithmic)
        status[s] = state
        if state != OK:
            risk[s] = np.inf
    for j in range(shared):
        expected[j] += logarithmic[j] - adjoint[j] * base[j]
