"""The best labellings with the latent variables summed out: max over labels of the sum over latents.

    score(y) = log Σ_h exp(Σ log φ(y, h)),      probability exp(score − log Z)

The program must sum out every latent variable before it maximises over the first label. The sweep then leaves
tables over labels alone, and the search for the best labellings continues as in a model without latent variables.
Not here: the order (`graph`), models whose programs would not fit in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..exact import decision_order, forward_log, forward_max, sum_forward
from ..runtime import IMPOSSIBLE, inner, kernel
from ..tables import fill_tables
from .nbest import Candidates, Decisions, search_labellings


class Latents(NamedTuple):
    """Which variables are latent: v where first ≤ v % width < end."""

    first: int
    end: int
    width: int


@inner
def _is_latent(latents, v):
    return latents.first <= v % latents.width < latents.end


@inner
def _first_label_step(first, last, programs, latents):
    """The step after the last one that sums out a latent variable."""
    after = first
    for i in range(first, last):
        v = programs.variable[i]
        if v >= 0 and _is_latent(latents, v):
            after = i + 1
    return after


@kernel
def summed_nbest(first, last, problem, programs, patterns, potentials, latents, lists, results, value, logs):
    """As `exact_nbest`; the latent variables are left at state 0."""
    shapes, kinds, bindings, rows = problem
    weights, log_base = potentials.weights, potentials.log_base
    labelling, off, length, score = lists
    count, most = len(labelling), 1
    for s in range(first, last):
        most = max(most, off[s + 1] - off[s])
    step, variable = np.empty(most, np.int64), np.empty(most, np.int64)
    candidates, scale = Candidates(np.empty(count), np.empty((count, 3), np.int64)), np.empty(len(programs.step))
    value[: shapes.local_start] = potentials.base
    logs[: shapes.local_start] = log_base
    logs[0] = 0.0
    for s in range(first, last):
        g = rows.shape[s]
        results.log_z[s], results.redone[s], results.status[s] = sum_forward(
            s, problem, programs, patterns, potentials, value, logs, scale
        )
        length[s] = 0
        fill_tables(s, shapes, kinds, bindings, rows, weights, log_base, logs)
        begin, end = programs.step_off[g], programs.step_off[g + 1]
        after = _first_label_step(begin, end, programs, latents)
        summed = forward_log(begin, after, programs, patterns, logs, False)
        best = summed + forward_max(after, end, programs, patterns, logs)
        if best == -np.inf:
            results.status[s] = IMPOSSIBLE
            continue
        free = _isolated_latents(g, shapes, programs, latents)
        decisions = Decisions(step, variable, _labels_in_front(g, shapes, programs, step, variable, latents))
        sequence_rows = labelling[:, off[s] : off[s + 1]]
        sequence_rows[:] = 0
        length[s] = search_labellings(
            g, shapes, programs, logs, decisions, sequence_rows, score[s], candidates, np.inf
        )  # fmt: skip
        for n in range(length[s]):
            score[s, n] = best + free - score[s, n]


@inner
def _isolated_latents(g, shapes, programs, latents):
    """log of the number of states of latent variables that no step sums out."""
    total = 0.0
    for v in range(shapes.var_off[g + 1] - shapes.var_off[g]):
        if _is_latent(latents, v):
            total += np.log(shapes.card[shapes.var_off[g] + v])
    for i in range(programs.step_off[g], programs.step_off[g + 1]):
        v = programs.variable[i]
        if v >= 0 and _is_latent(latents, v):
            total -= np.log(shapes.card[shapes.var_off[g] + v])
    return total


@inner
def _labels_in_front(g, shapes, programs, step, variable, latents):
    """`decision_order` with the latent variables left out. Returns the number of decisions."""
    decision_order(g, shapes, programs, step, variable)
    kept = 0
    for d in range(shapes.var_off[g + 1] - shapes.var_off[g]):
        v = variable[d]
        if not _is_latent(latents, v):
            step[kept], variable[kept] = step[d], v
            kept += 1
    return kept
