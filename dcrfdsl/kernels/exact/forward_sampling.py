"""Draws labellings from p(y | x) by the contraction program: filter forward, sample backward.

After the forward sweep the product of a step's two tables, at the states of its other variables, weighs the states of
the variable that it sums out: p(x_v | later) ∝ A[…, x_v] · B[x_v, …]. Drawing the variables from the last one summed
out to the first is exact for every elimination order (on a chain: Scott 2002). Variables in no factor are uniform.

Also here: log Z by the forward sweep alone, and the order in which a program's variables are decided.
"""

import numpy as np

from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, inner, kernel, next_random
from ..tables import exponentiate, fill_tables, shared_peaks
from .contraction import forward_log
from .contraction_steps import operand_places
from .linear_sweeps import forward_linear

IN_NO_FACTOR = -1


@inner
def sum_forward(s, problem, programs, patterns, potentials, value, logs, scale):
    """log Z of sequence s. Leaves the forward sweep in the arena `value`, or in `logs` if linear space is too narrow.

    The shared cells of `value` must hold the base tables, those of `logs` their logarithms. scale: [steps], scratch.
    Returns (log Z, whether `logs` holds the sweep, status).
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base, peaks = potentials.weights, potentials.log_base, potentials.peaks
    g = rows.shape[s]
    a, b = programs.step_off[g], programs.step_off[g + 1]
    total, state = 0.0, UNDERFLOW
    if potentials.fits and potentials.products_fit:
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, value)
        shift, fits = exponentiate(g, shapes, value)
        if fits:
            total, state = forward_linear(a, b, programs, patterns, value, scale)
            total += shift + shared_peaks(g, shapes, peaks)
    log_space = state == UNDERFLOW
    if log_space:
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        logs[0] = 0.0
        total = forward_log(a, b, programs, patterns, logs, True)
        state = OK if total > -np.inf else IMPOSSIBLE
    return total + shapes.log_const[g] if state == OK else -np.inf, log_space, state


@inner
def decision_order(g, shapes, programs, step, variable):
    """The order in which variables are decided after a sweep: last summed out first, then those in no factor.

    Writes to `step` [V] the step that sums the d-th variable out (or `IN_NO_FACTOR`) and to `variable` [V] which it is.
    """
    first, last, decided = programs.step_off[g], programs.step_off[g + 1], 0
    num_variables = shapes.var_off[g + 1] - shapes.var_off[g]
    step[:num_variables] = IN_NO_FACTOR  # by variable for now, to find those that no step sums out
    for i in range(first, last):
        if programs.variable[i] >= 0:
            step[programs.variable[i]] = i
            decided += 1
    at = decided
    for v in range(num_variables):
        if step[v] == IN_NO_FACTOR:
            variable[at] = v
            at += 1
    step[decided:num_variables] = IN_NO_FACTOR
    at = decided
    for i in range(first, last):
        if programs.variable[i] >= 0:
            at -= 1
            step[at], variable[at] = i, programs.variable[i]


@inner
def draw_labelling(g, shapes, programs, value, log_space, step, variable, share, assignment, random):
    """One labelling into `assignment` [V] from a finished sweep. share: scratch [states of a variable].

    `random` is the state of the generator; returns its next state.
    """
    for d in range(shapes.var_off[g + 1] - shapes.var_off[g]):
        v = variable[d]
        at_a, stride_a, at_b, stride_b = operand_places(step[d], v, programs, assignment)
        states = shapes.card[shapes.var_off[g] + v]
        total, peak = 0.0, -np.inf
        if log_space:
            for x in range(states):
                peak = max(peak, value[at_a + x * stride_a] + value[at_b + x * stride_b])
        for x in range(states):
            left, right = value[at_a + x * stride_a], value[at_b + x * stride_b]
            share[x] = np.exp(left + right - peak) if log_space else left * right
            total += share[x]
        random, bits = next_random(random)
        left_over = total * (np.float64(bits >> np.uint64(11)) * 2.0**-53)  # uniform in [0, total)
        chosen = 0
        for x in range(states):
            if share[x] > 0.0:  # an impossible state is never chosen, whatever rounding leaves over
                chosen = x
                left_over -= share[x]
                if left_over < 0.0:
                    break
        assignment[v] = chosen
    return random


@kernel
def exact_samples(first, last, problem, programs, patterns, potentials, seeds, samples, results, value, logs):
    """Labellings drawn for each sequence into `samples`, whose value is [n, variables]; -1 if there is none.

    seeds [S]: of each sequence's generator.   value, logs: two arenas, overwritten.
    """
    shapes, rows, drawn, off = problem.shapes, problem.rows, samples.value, samples.off
    most, states = 1, 1
    for s in range(first, last):
        most = max(most, off[s + 1] - off[s])
    for v in range(len(shapes.card)):
        states = max(states, shapes.card[v])
    step, variable = np.empty(most, np.int64), np.empty(most, np.int64)
    share, scale = np.empty(states), np.empty(len(programs.step))
    value[: shapes.local_start] = potentials.base
    logs[: shapes.local_start] = potentials.log_base
    for s in range(first, last):
        results.log_z[s], redone, state = sum_forward(s, problem, programs, patterns, potentials, value, logs, scale)
        results.redone[s], results.status[s] = redone, state
        if state != OK:
            drawn[:, off[s] : off[s + 1]] = -1
            continue
        decision_order(rows.shape[s], shapes, programs, step, variable)
        random = seeds[s]
        for n in range(len(drawn)):
            random = draw_labelling(
                rows.shape[s], shapes, programs, logs if redone else value, redone, step, variable, share,
                drawn[n, off[s] : off[s + 1]], random,
            )  # fmt: skip
