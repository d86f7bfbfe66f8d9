"""Gibbs sampling: one variable at a time from its distribution given all others (Geman & Geman 1984).

A sweep visits every variable once. After `burn_in` sweeps every `thin`-th is kept. Marginals of variables are averages
of the conditional distributions that were drawn from, which vary less than counts of the draws do (Rao–Blackwell;
Gelfand & Smith 1990); those of factors are counts. The standard error comes from batch means: about √n batches of
consecutive samples, whose means are nearly independent if the chain forgets within a batch.

The chain begins at a good labelling that breaks no hard constraint (`search`). With hard zeros or strong ties it may
not reach every other one by single changes; then the answers are those of a part of the model, and nothing here can
tell. There is no estimate of log Z. The generator's state is a number, so a sequence's draws depend on its seed alone.
"""

from __future__ import annotations

import numpy as np

from .beliefs import score_labelling
from .compiling import fast_inner, kernel
from .contraction import IMPOSSIBLE, OK
from .messages import node_potentials
from .search import conditional, find_hard, start_labelling
from .shuffle import next_random
from .tables import fill_tables

__all__ = ["gibbs", "gibbs_sequences"]

STRIDE = 7919  # between the seeds of neighbouring sequences, so that seeds 0 and 1 share no chain


@fast_inner
def _draw(room, states, state):
    """Turns log potentials `room` [states] into probabilities and draws one. Returns (generator's state, drawn)."""
    peak, total = -np.inf, 0.0
    for x in range(states):
        peak = max(peak, room[x])
    for x in range(states):
        room[x] = np.exp(room[x] - peak)
        total += room[x]
    state, draw = next_random(state)
    left = np.float64(draw >> np.uint64(11)) * 2.0**-53
    drawn = -1
    for x in range(states):
        room[x] /= total
        if room[x] > 0.0 and left >= 0.0:
            drawn = x  # a sum below 1 by rounding leaves the last possible state
            left -= room[x]
    return state, drawn


@kernel
def gibbs(g, shapes, edges, logs, node, samples, burn_in, thin, seed, labelling, best, marginal, belief):
    """Runs one chain. Returns (largest standard error of a marginal, score of the best labelling seen, status).

    node: log unary potentials. labelling, best: [variables] int32, the chain's state and the best one seen.
    marginal: [states], overwritten. belief: arena layout, added to; pass an empty array if it is not wanted.
    """
    v0, count = shapes.var_off[g], shapes.var_off[g + 1] - shapes.var_off[g]
    largest = 1
    for v in range(v0, v0 + count):
        largest = max(largest, shapes.card[v])
    marginal[:] = 0.0
    found = start_labelling(g, shapes, edges, logs, node, find_hard(g, shapes, logs), labelling)
    if found != OK:
        return np.inf, -np.inf, found
    best[:] = labelling
    highest = score_labelling(g, shapes, logs, best)
    room, batch, squares = np.empty(largest), np.zeros(len(marginal)), np.zeros(len(marginal))
    size = max(1, int(np.sqrt(samples)))  # samples of a batch
    batches, share = 0, 1.0 / samples
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(count)
    for sweep in range(burn_in + samples * thin):
        taken = sweep - burn_in + 1  # the sweep's number after the burn-in
        keep = taken > 0 and taken % thin == 0
        for v in range(count):
            conditional(g, v0 + v, shapes, edges, logs, node, labelling, room)
            states, at = shapes.card[v0 + v], shapes.state_off[v0 + v]
            state, labelling[v] = _draw(room, states, state)
            if keep:
                for x in range(states):
                    batch[at + x] += room[x]
        score = score_labelling(g, shapes, logs, labelling)
        if score > highest:
            highest = score
            best[:] = labelling
        if not keep:
            continue
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            if len(belief) > 0:
                entry = 0
                for s in range(shapes.scope_off[f], shapes.scope_off[f + 1]):
                    entry = entry * shapes.card[v0 + shapes.scope[s]] + labelling[shapes.scope[s]]
                belief[shapes.fac_table[f] + entry] += share
        if (taken // thin) % size == 0:
            marginal += batch
            squares += (batch / size) ** 2
            batch[:] = 0.0
            batches += 1
    mean = marginal / (batches * size)
    marginal += batch  # the samples after the last whole batch
    marginal /= samples
    if batches < 2:
        return np.inf, highest, OK
    error = 0.0
    for x in range(len(marginal)):
        error = max(error, (squares[x] / batches - mean[x] ** 2) / (batches - 1))
    return np.sqrt(error), highest, OK


@kernel
def gibbs_sequences(
    first, last, shapes, kinds, bindings, rows, edges, weights, log_base, arena, states,
    samples, burn_in, thin, seed, status, iterations, residual, marginals, marginal_off, labelling, off,
):  # fmt: skip
    """A chain for each sequence, seeded by its number: marginals, and the best labelling seen (-1 if none).

    marginals and labelling may be empty. arena, states: the most cells and states that a sequence has.
    """
    logs, node, marginal, nothing = np.empty(arena), np.empty(states), np.empty(states), np.empty(0)
    logs[: shapes.local_start] = log_base
    for s in range(first, last):
        g, count = rows.shape[s], marginal_off[s + 1] - marginal_off[s]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        _, state = node_potentials(g, shapes, logs, True, node)
        current = np.empty(off[s + 1] - off[s], np.int32)
        best = np.full(len(current), np.int32(-1))
        error = np.inf
        if state == OK:
            error, _, state = gibbs(
                g, shapes, edges, logs, node[:count], samples, burn_in, thin, seed + STRIDE * s, current, best,
                marginal[:count], nothing,
            )  # fmt: skip
        status[s] = IMPOSSIBLE if state == IMPOSSIBLE else OK
        iterations[s] = burn_in + samples * thin if state == OK else -1
        residual[s] = error
        if len(marginals) > 0 and state == OK:
            marginals[marginal_off[s] : marginal_off[s + 1]] = marginal[:count]
        if len(labelling) > 0:
            labelling[off[s] : off[s + 1]] = best
