"""Gibbs sampling: one variable at a time from its distribution given all others (Geman & Geman 1984).

A sweep visits every variable once. After `burn_in` sweeps every `thin`-th is kept. Marginals of variables are averages
of the conditional distributions that were drawn from, which vary less than counts of the draws do (Rao–Blackwell;
Gelfand & Smith 1990); those of factors are counts. The standard error comes from batch means: about √n batches of
consecutive samples, whose means are nearly independent if the chain forgets within a batch.

The samples come from several chains. The first starts at a good labelling that breaks no hard constraint
(`feasible_search`), each other one at a local optimum near random states. Where the chains' marginals differ by more
than their standard errors explain (Gelman & Rubin 1992), single changes do not lead from one region of the labellings
to another. The run has then not converged, and its error is that of the chains' average. Nor has it where a state that
no chain could take has a labelling that is nearly as likely as the best one seen: hard constraints tie variables, so
that no single one can change. Other regions in which no chain starts stay unseen. There is no estimate of log Z. The
generator's state is an integer, so a sequence's draws depend on its seed alone.
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Floats
from ..runtime import IMPOSSIBLE, OK, fast_inner, inner, kernel, next_random
from ..tables import add_run, copy_run, entry_of, fill_tables
from .feasible_search import conditional, feasible_labelling, find_hard, largest_sequence, start_labelling
from .sum_product import largest_shape, node_potentials, score_labelling

STRIDE = 7919  # between the seeds of neighbouring sequences, so that seeds 0 and 1 share no chain
CHAINS = 4
APART = 4.0  # chains disagree if the error of their average is this many times the standard error within chains …
FAR = 0.05  # … and the standard deviation of a marginal between chains exceeds this
TIED = 64  # states without any draw for which a labelling is sought, spread over all of them


class Sampling(NamedTuple):
    """Length of chains: samples in total, sweeps before the first one, sweeps per sample; and the seed."""

    samples: int
    burn_in: int
    thin: int
    seed: int


class Tally(NamedTuple):
    """Buffers that a chain adds its samples to."""

    marginal: Floats  # [states]  of all chains
    mean: Floats  #     [states]  set to the chain's marginals
    squares: Floats  #  [states]  squared distances of the means of its batches from their mean
    belief: Floats  #   arena layout, or empty
    share: float  #     of one sample in `belief`


@fast_inner
def _draw(potential, states, state):
    """Turns log potentials [states] into probabilities and draws one. Returns (generator's state, drawn)."""
    peak, total = -np.inf, 0.0
    for x in range(states):
        peak = max(peak, potential[x])
    for x in range(states):
        potential[x] = np.exp(potential[x] - peak)
        total += potential[x]
    state, draw = next_random(state)
    left = np.float64(draw >> np.uint64(11)) * 2.0**-53
    drawn = -1
    for x in range(states):
        potential[x] /= total
        if potential[x] > 0.0 and left >= 0.0:
            drawn = x  # where rounding makes the sum less than 1, the last possible state is drawn
            left -= potential[x]
    return state, drawn


@inner
def _random_preference(preference, state):
    """A number in [0, 1) for each state of the shape. Returns the generator's state."""
    for x in range(len(preference)):
        state, draw = next_random(state)
        preference[x] = np.float64(draw >> np.uint64(11)) * 2.0**-53
    return state


@kernel
def gibbs(g, shapes, edges, logs, node, sampling, labelling, best, marginal, belief):
    """Runs `CHAINS` chains, which share the samples; each has a burn-in of its own.

    Returns (largest standard error of a marginal, whether the chains agree, score of the best labelling seen, status).
    node: log unary potentials. labelling, best: [variables] int32, a chain's state and the best labelling seen.
    marginal: [states], overwritten. belief: arena layout, added to; pass an empty array if it is not wanted.
    """
    samples, burn_in, thin, seed = sampling
    count = shapes.var_off[g + 1] - shapes.var_off[g]
    hard = find_hard(g, shapes, logs)
    marginal[:] = 0.0
    status = start_labelling(g, shapes, edges, logs, node, hard, labelling)
    if status != OK:
        return np.inf, True, -np.inf, status
    start, preference = labelling.copy(), np.empty(len(marginal))
    best[:] = labelling
    highest = score_labelling(g, shapes, logs, best)
    means = np.zeros((CHAINS, len(marginal)))
    squares, batches, chains = np.zeros(len(marginal)), 0, min(CHAINS, samples)
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(count)
    for chain in range(chains):
        if chain > 0:
            state = _random_preference(preference, state)
            if feasible_labelling(g, shapes, edges, logs, node, preference, hard, labelling) != OK:
                labelling[:] = start
        chain_sampling = Sampling(samples // chains + (1 if chain < samples % chains else 0), burn_in, thin, seed)
        tally = Tally(marginal, means[chain], squares, belief, 1.0 / samples)
        state, highest, chain_batches = _run_chain(
            g, shapes, edges, logs, node, chain_sampling, state, labelling, best, highest, tally
        )
        batches += chain_batches
    marginal /= samples
    if batches <= chains:
        return np.inf, True, highest, OK
    error, agree = 0.0, True
    for x in range(len(marginal)):
        mean = means[:chains, x].mean()
        inside = squares[x] / ((batches - chains) * batches)
        between = ((means[:chains, x] - mean) ** 2).sum() / max(1, chains - 1)
        if between > FAR**2 and between / chains > APART**2 * inside:
            agree, inside = False, between / chains
        error = max(error, inside)
    share = _share_out_of_reach(g, shapes, edges, logs, node, hard, marginal, highest, labelling)
    if share > FAR:
        agree, error = False, max(error, share**2)
    return np.sqrt(error), agree, highest, OK


@kernel
def _share_out_of_reach(g, shapes, edges, logs, node, hard, marginal, highest, labelling):
    """How likely a labelling is beside the best one seen if it has a state that no chain could take: φ / (φ + best).

    That of the first such labelling that exceeds `FAR`, else the largest found; 0 if there is none. labelling:
    overwritten.
    """
    v0, v1 = shapes.var_off[g], shapes.var_off[g + 1]
    without = 0
    for x in range(len(marginal)):
        if marginal[x] == 0.0 and node[x] > -np.inf:
            without += 1
    if without == 0 or not hard.any():
        return 0.0
    every, number, share = (without + TIED - 1) // TIED, 0, 0.0
    fixed = node.copy()
    for v in range(v0, v1):
        at = shapes.state_off[v]
        for x in range(shapes.card[v]):
            if marginal[at + x] > 0.0 or node[at + x] == -np.inf:
                continue
            number += 1
            if number % every > 0:
                continue
            for other in range(shapes.card[v]):
                if other != x:
                    fixed[at + other] = -np.inf
            if feasible_labelling(g, shapes, edges, logs, fixed, fixed.copy(), hard, labelling) == OK:
                score = score_labelling(g, shapes, logs, labelling)
                share = max(share, 1.0 / (1.0 + np.exp(highest - score)))
            copy_run(node, at, shapes.card[v], fixed[at:])
            if share > FAR:
                return share
    return share


@kernel
def _run_chain(g, shapes, edges, logs, node, sampling, state, labelling, best, highest, tally):
    """One chain from `labelling` on, which adds its samples to the tally.

    Returns (state of the generator, score of the best labelling seen, number of batches).
    """
    samples, burn_in, thin, _ = sampling
    marginal, mean, squares, belief, share = tally
    v0, count = shapes.var_off[g], shapes.var_off[g + 1] - shapes.var_off[g]
    largest, _ = largest_shape(g, shapes)
    probability, batch, total = np.empty(largest), np.zeros(len(mean)), np.zeros(len(mean))
    own_squares = np.zeros(len(mean))
    size = max(1, int(np.sqrt(samples)))  # samples of a batch
    batches = 0
    for sweep in range(burn_in + samples * thin):
        taken = sweep - burn_in + 1  # the sweep's number after the burn-in
        keep = taken > 0 and taken % thin == 0
        for v in range(count):
            conditional(g, v0 + v, shapes, edges, logs, node, labelling, probability)
            states, at = shapes.card[v0 + v], shapes.state_off[v0 + v]
            state, labelling[v] = _draw(probability, states, state)
            if keep:
                add_run(probability, 0, states, batch[at:])
        score = score_labelling(g, shapes, logs, labelling)
        if score > highest:
            highest = score
            best[:] = labelling
        if not keep:
            continue
        for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
            if len(belief) > 0:
                belief[shapes.fac_table[f] + entry_of(f, shapes, v0, labelling)] += share
        if (taken // thin) % size == 0:
            total += batch
            own_squares += (batch / size) ** 2
            batch[:] = 0.0
            batches += 1
    for x in range(len(mean)):
        squares[x] += max(0.0, own_squares[x] - total[x] ** 2 / (batches * size**2))
        total[x] += batch[x]  # the samples after the last whole batch
        mean[x] = total[x] / samples
        marginal[x] += total[x]
    return state, highest, batches


@kernel
def gibbs_sequences(first, last, problem, edges, potentials, sampling, results, marginals, labelling, belief):
    """Chains for each sequence, seeded by its number: marginals, and the best labelling seen (-1 if none).

    The number of iterations is negative where chains do not agree, or no start was found.   belief [shared cells]: the
    share of samples in each cell is added to it, of data whose tables are all shared; empty if it is not wanted.
    """
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    samples, burn_in, thin, seed = sampling
    arena, states = largest_sequence(shapes, rows, first, last)
    logs, node, marginal = np.empty(arena), np.empty(states), np.empty(states)
    logs[: shapes.local_start] = log_base
    for s in range(first, last):
        g, count = rows.shape[s], marginals.off[s + 1] - marginals.off[s]
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        _, state = node_potentials(g, shapes, logs, True, node)
        current = np.empty(labelling.off[s + 1] - labelling.off[s], np.int32)
        best = np.full(len(current), np.int32(-1))
        error, agree = np.inf, True
        if state == OK:
            seeded = Sampling(samples, burn_in, thin, seed + STRIDE * s)
            error, agree, _, state = gibbs(
                g, shapes, edges, logs, node[:count], seeded, current, best, marginal[:count], belief
            )
        results.status[s] = IMPOSSIBLE if state == IMPOSSIBLE else OK
        sweeps = burn_in * CHAINS + samples * thin
        results.iterations[s] = sweeps if state == OK and agree else -sweeps
        results.residual[s] = error
        if len(marginals.value) > 0 and state == OK:
            marginals.value[marginals.off[s] : marginals.off[s + 1]] = marginal[:count]
        if len(labelling.value) > 0:
            labelling.value[labelling.off[s] : labelling.off[s + 1]] = best
