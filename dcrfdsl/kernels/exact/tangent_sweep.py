"""log p(y_v | x) of every known variable, and the gradient of their sum, by a tangent sweep of a contraction program.

    L = −Σ_v log μ_v(y*_v)        ∂L/∂θ = −Σ_v u_v ∂μ_v(y*_v)/∂θ,   u_v = 1 / μ_v(y*_v) held constant

Σ_v u_v μ_v(y*_v) is the derivative of log Z in the direction that raises the log potential of each y*_v by u_v. A
forward sweep that carries this tangent beside each value, and the reverse of both, therefore give the gradient
(Pearlmutter 1994: a Hessian-vector product). With dots for tangents and bars for derivatives, for a step C = Σ_k A B
that sums out v:

    Ċ = Σ_k (Ȧ B + A Ḃ) + u_v A[y*_v] B[y*_v]
    Ā += C̄ B + Ċ̄ Ḃ + Ċ̄ u_v B[y*_v],      Ǡ += Ċ̄ B        and likewise for B

The tangents lie in the same arena, `half` cells further on. A sequence that leaves the range of linear space is
computed in log space, with tangents of logarithms. Sources: Kakade, Teh & Roweis 2002; Altun
2003 eq. 10. Not here: chains (`chain.label_tangents`), the program (`contraction`).
"""

from __future__ import annotations

import numpy as np

from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, fast_inner, inner, kernel
from ..tables import copy_run, exponentiate, fill_tables, scale_run, scatter_gradient
from .contraction import backward_log, forward_log
from .linear_sweeps import backward_linear, contract, forward_linear, pull, sweep_memory

__all__ = ["exact_tangents"]

LEAST = 1e-200  # probability whose reciprocal can still be multiplied by other numbers


@inner
def _lifts(shapes, g, labelling, marginal, lift):
    """Writes u_v of every known variable, 0 of the others. Returns (−Σ log μ_v(y*_v), whether all u_v fit)."""
    v0, risk = shapes.var_off[g], 0.0
    for v in range(shapes.var_off[g + 1] - v0):
        lift[v] = 0.0
        if labelling[v] < 0:
            continue
        at, card, whole = shapes.state_off[v0 + v], shapes.card[v0 + v], 0.0
        for x in range(card):
            whole += marginal[at + x]
        if whole == 0.0:  # it is in no factor
            risk += np.log(card)
            continue
        p = marginal[at + labelling[v]]
        if not p > LEAST:
            return np.inf, False
        lift[v] = 1.0 / p
        risk -= np.log(p)
    return risk, True


@fast_inner
def _add_lift(pattern, dims, start, index, value, a, b, c, half, state, u):
    """Ċ[b, l, r] += u A[b, l, state] B[b, state, r]"""
    num_b, num_l, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 3]
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
    out = c + half
    for ib in range(num_b):
        right = b + index[b_b + ib] + index[b_k + state]
        for il in range(num_l):
            weighted = u * value[a + index[a_b + ib] + index[a_l + il] + index[a_k + state]]
            for r in range(num_r):
                value[out + r] += weighted * value[right + index[b_r + r]]
            out += num_r


@fast_inner
def _pull_lift(pattern, dims, start, index, value, adjoint, a, b, c, half, state, u):
    """The reverse of `_add_lift`."""
    num_b, num_l, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 3]
    a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
    b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
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
def _forward(first, last, programs, patterns, value, scale, half, local_end, labelling, lift):
    """Tangents of every result of a finished `forward_linear`, `half` cells after it; tangents of tables are 0."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    spare = 2 * half
    for i in range(first, last):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(size):
                other = b + index[at + j]
                value[half + c + j] = value[half + a + j] * value[other] + value[a + j] * value[half + other]
            continue
        if a >= local_end:
            contract(pattern, patterns, value, a + half, b, c + half)
        else:
            value[half + c : half + c + size] = 0.0
        if b >= local_end:
            contract(pattern, patterns, value, a, b + half, spare)
            for j in range(size):
                value[half + c + j] += value[spare + j]
        v = programs.variable[i]
        if v >= 0 and lift[v] > 0.0:
            _add_lift(pattern, dims, start, index, value, a, b, c, half, labelling[v], lift[v])
        scale_run(value, half + c, size, scale[i])


@fast_inner
def _backward(first, last, programs, patterns, value, scale, adjoint, half, local_end, labelling, lift, memory):
    """Adds the derivative of L by every table entry to `adjoint`, which must be 0."""
    nothing = value[:0]
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        size = dims[pattern, 0] * dims[pattern, 1] * dims[pattern, 3]
        if programs.step[i, 4]:  # −Ż / Z, where Z is 1
            adjoint[c], adjoint[half + c] = value[half + c], -1.0
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(size):
                x, y = a + j, b + index[at + j]
                bar, dot_bar = adjoint[c + j], adjoint[half + c + j]
                adjoint[x] += bar * value[y] + dot_bar * value[half + y]
                adjoint[y] += bar * value[x] + dot_bar * value[half + x]
                adjoint[half + x] += dot_bar * value[y]
                adjoint[half + y] += dot_bar * value[x]
            continue
        scale_run(adjoint, c, size, scale[i])
        scale_run(adjoint, half + c, size, scale[i])
        pull(pattern, patterns, value, adjoint, a, b, c, nothing, np.int64(-1), memory, False)
        if a >= local_end:
            pull(pattern, patterns, value, adjoint, a + half, b, c + half, nothing, np.int64(-1), memory, False)
        if b >= local_end:
            pull(pattern, patterns, value, adjoint, a, b + half, c + half, nothing, np.int64(-1), memory, False)
        v = programs.variable[i]
        if v >= 0 and lift[v] > 0.0:
            _pull_lift(pattern, dims, start, index, value, adjoint, a, b, c, half, labelling[v], lift[v])


@inner
def _normaliser(value, index, left, a_k, right, b_k, num_k):
    """(maximum, Σ exp) of A + B over the states that are summed out."""
    peak, total = -np.inf, 0.0
    for k in range(num_k):
        peak = max(peak, value[left + index[a_k + k]] + value[right + index[b_k + k]])
    if peak > -np.inf:
        for k in range(num_k):
            total += np.exp(value[left + index[a_k + k]] + value[right + index[b_k + k]] - peak)
    return peak, total


@inner
def _forward_log(first, last, programs, patterns, value, dot, labelling, lift):
    """Tangents of every result of a finished `forward_log`: averages of the terms' tangents, weighted by the terms."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(first, last):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                dot[c + j] = dot[a + j] + dot[b + index[at + j]]
            continue
        a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
        b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
        v = programs.variable[i]
        raised = labelling[v] if v >= 0 and lift[v] > 0.0 else -1
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    right = b + index[b_b + ib] + index[b_r + r]
                    peak, total = _normaliser(value, index, left, a_k, right, b_k, num_k)
                    mean = 0.0
                    for k in range(num_k if total > 0.0 else 0):
                        x, y = left + index[a_k + k], right + index[b_k + k]
                        share = np.exp(value[x] + value[y] - peak) / total
                        if share > 0.0:
                            mean += share * (dot[x] + dot[y] + (lift[v] if k == raised else 0.0))
                    dot[out] = mean
                    out += 1


@inner
def _backward_log(first, last, programs, patterns, value, dot, belief, change, labelling, lift):
    """Adds the marginals of all tables to `belief` and their tangents to `change`; both must be 0."""
    dims, start, index = patterns.dims, patterns.start, patterns.offsets
    for i in range(last - 1, first - 1, -1):
        pattern, a, b, c = programs.step[i, 0], programs.step[i, 1], programs.step[i, 2], programs.step[i, 3]
        num_b, num_l, num_k, num_r = dims[pattern, 0], dims[pattern, 1], dims[pattern, 2], dims[pattern, 3]
        if programs.step[i, 4]:
            belief[c] = 1.0
        if dims[pattern, 5]:
            at = start[pattern, 0]
            for j in range(num_b * num_l * num_r):
                for x in (a + j, b + index[at + j]):
                    belief[x] += belief[c + j]
                    change[x] += change[c + j]
            continue
        a_b, a_l, a_k = start[pattern, 0], start[pattern, 1], start[pattern, 2]
        b_b, b_k, b_r = start[pattern, 3], start[pattern, 4], start[pattern, 5]
        v = programs.variable[i]
        raised = labelling[v] if v >= 0 and lift[v] > 0.0 else -1
        out = c
        for ib in range(num_b):
            for il in range(num_l):
                left = a + index[a_b + ib] + index[a_l + il]
                for r in range(num_r):
                    right = b + index[b_b + ib] + index[b_r + r]
                    peak, total = _normaliser(value, index, left, a_k, right, b_k, num_k)
                    for k in range(num_k if total > 0.0 else 0):
                        x, y = left + index[a_k + k], right + index[b_k + k]
                        share = np.exp(value[x] + value[y] - peak) / total
                        if share == 0.0:
                            continue
                        tangent = dot[x] + dot[y] + (lift[v] if k == raised else 0.0)
                        p = belief[out] * share
                        moved = change[out] * share + p * (tangent - dot[out])
                        belief[x] += p
                        belief[y] += p
                        change[x] += moved
                        change[y] += moved
                    out += 1


@kernel
def exact_tangents(first, last, problem, programs, patterns, potentials, labelling, totals, results):
    """−Σ_v log p(y*_v | x) over the known variables of each sequence, into `results.log_z`; adds the gradient.

    labelling: states of variables, negative where unknown.   Where a probability underflows even in log space, the
    risk is inf and nothing is added. Long sequences are not cut into blocks: the arena must hold all of their results.
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
    value, adjoint, scale = np.zeros(3 * half), np.zeros(2 * half), np.empty(steps)
    logs, dot, change, memory = np.empty(0), np.empty(0), np.empty(0), sweep_memory(patterns, shared)
    marginal, lift = np.empty(states), np.empty(variables)
    copy_run(base, 0, shared, value)
    linear, logarithmic = np.zeros(shared), np.zeros(shared)  # derivatives by the shared tables and by their logarithms
    for s in range(first, last):
        g = rows.shape[s]
        a, b = programs.step_off[g], programs.step_off[g + 1]
        local_end, arena_end = shapes.local_end[g], shapes.arena_end[g]
        state_off = shapes.state_off[shapes.var_off[g] : shapes.var_off[g + 1]]
        known = labelling.value[labelling.off[s] : labelling.off[s + 1]]
        state = UNDERFLOW
        if potentials.fits:
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
            _, fits = exponentiate(g, shapes, value)
            if fits:
                _, state = forward_linear(a, b, programs, patterns, value, scale)
        if state == OK:
            adjoint[:arena_end] = 0.0
            marginal[:] = 0.0
            backward_linear(a, b, programs, patterns, value, scale, adjoint, state_off, marginal, 1.0, memory)
            risk[s], fits = _lifts(shapes, g, known, marginal, lift)
            state = OK if fits else UNDERFLOW
        if state == OK:
            value[half + shared : half + local_end] = 0.0
            _forward(a, b, programs, patterns, value, scale, half, local_end, known, lift)
            adjoint[:arena_end] = 0.0
            adjoint[half : half + arena_end] = 0.0
            _backward(a, b, programs, patterns, value, scale, adjoint, half, local_end, known, lift, memory)
            for j in range(shared, local_end):
                adjoint[j] *= value[j]
            for j in range(shared):
                linear[j] += adjoint[j]
        elif state == UNDERFLOW:
            results.redone[s] = True
            if len(logs) == 0:
                logs, dot, change = np.empty(half), np.zeros(half), np.zeros(half)
                copy_run(log_base, 0, shared, logs)
                logs[0] = 0.0
            fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
            state = OK if forward_log(a, b, programs, patterns, logs) > -np.inf else IMPOSSIBLE
            if state == OK:
                adjoint[:arena_end] = 0.0
                marginal[:] = 0.0
                backward_log(a, b, programs, patterns, logs, adjoint, state_off, marginal, 1.0)
                risk[s], fits = _lifts(shapes, g, known, marginal, lift)
                if not fits:
                    status[s] = OK
                    continue
                dot[:local_end] = 0.0
                _forward_log(a, b, programs, patterns, logs, dot, known, lift)
                adjoint[:arena_end] = 0.0
                change[:arena_end] = 0.0
                _backward_log(a, b, programs, patterns, logs, dot, adjoint, change, known, lift)
                for j in range(shared, local_end):
                    adjoint[j] = -change[j]
                for j in range(shared):
                    logarithmic[j] -= change[j]
        status[s] = state
        if state == OK:
            scatter_gradient(s, shapes, kinds, bindings, rows, adjoint, expected, totals.gradient)
        else:
            risk[s] = np.inf
    for j in range(shared):
        expected[j] += linear[j] * base[j] + logarithmic[j]
