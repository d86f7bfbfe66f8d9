"""Forward and backward over a lattice, and the best path.

With the local potential ψ(b) of node b and E(a, b) of an edge, α(b) = ψ(b) Σ_a α(a) E(a, b) and
β(a) = Σ_b E(a, b) ψ(b) β(b), scaled at every position. p(a, b) ∝ α(a) E(a, b) ψ(b) β(b).

The sums are taken in linear space as long as every positive number is at least `FLOOR`; else in log space, where
nothing is lost. Source: Rabiner 1989 §III. Not here: which nodes there are (`lattice_levels`).
"""

import numpy as np

from ..runtime import IMPOSSIBLE, OK, UNDERFLOW, inner, kernel
from ..tables import copy_run

FLOOR = 1e-70  # products of four numbers are normal doubles
CEILING = 1e70


@inner
def edge_potentials(cell, tables, log_base, out):
    """Log potentials of edges: sums over the tables of their level. Negative cells: see `contexts`."""
    for e in range(len(out)):
        total = 0.0
        for i in range(tables):
            c = cell[e * tables + i]
            if c >= 0:
                total += log_base[c]
            elif c == -2:
                total = -np.inf
        out[e] = total


@inner
def _forward_backward(lattice, edge_log, weight, edge_weight, alpha, beta):
    """α and β in linear space. Returns (log Z, status)."""
    node_off, first_out, edge_off, local = lattice.node_off, lattice.first_out, lattice.edge_off, lattice.local
    length = len(node_off) - 1
    for e in range(len(edge_log)):
        if edge_log[e] == 0.0:
            edge_weight[e] = 1.0
            continue
        edge_weight[e] = np.exp(edge_log[e])
        if not (FLOOR < edge_weight[e] < CEILING) and edge_log[e] > -np.inf:
            return 0.0, UNDERFLOW
    log_z, least = 0.0, 1.0
    for t in range(length):
        peak = -np.inf
        for b in range(node_off[t], node_off[t + 1]):
            peak = max(peak, local[b])
        if peak == -np.inf:
            return 0.0, IMPOSSIBLE
        log_z += peak
        for b in range(node_off[t], node_off[t + 1]):
            weight[b] = np.exp(local[b] - peak)
            if weight[b] < least and local[b] > -np.inf:
                least = weight[b]
            alpha[b] = weight[b] if t == 0 else 0.0
    if not least > FLOOR:
        return 0.0, UNDERFLOW
    for t in range(length):
        total = 0.0
        for b in range(node_off[t], node_off[t + 1]):
            if t > 0:
                alpha[b] *= weight[b]
            total += alpha[b]
        if not total > 0.0:
            return 0.0, IMPOSSIBLE
        log_z += np.log(total)
        for a in range(node_off[t], node_off[t + 1]):
            alpha[a] /= total
            if 0.0 < alpha[a] < least:
                least = alpha[a]
            shift = first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                alpha[shift + e] += alpha[a] * edge_weight[e]
    if not least > FLOOR:
        return 0.0, UNDERFLOW
    beta[node_off[length - 1] : node_off[length]] = 1.0
    for t in range(length - 2, -1, -1):
        most = 0.0
        for a in range(node_off[t], node_off[t + 1]):
            total, shift = 0.0, first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                total += edge_weight[e] * weight[shift + e] * beta[shift + e]
            beta[a] = total
            most = max(most, total)
        for a in range(node_off[t], node_off[t + 1]):
            beta[a] /= most
            if 0.0 < beta[a] < least:
                least = beta[a]
    return log_z, OK if least > FLOOR else UNDERFLOW


@inner
def _log_forward_backward(lattice, edge_log, most, alpha, beta):
    """The same with logarithms. Returns (log Z, status)."""
    node_off, first_out, edge_off, local = lattice.node_off, lattice.first_out, lattice.edge_off, lattice.local
    length = len(node_off) - 1
    for b in range(len(local)):
        most[b], alpha[b], beta[b] = -np.inf, 0.0, -np.inf
    copy_run(local, node_off[0], node_off[1] - node_off[0], alpha[node_off[0] :])
    for t in range(length - 1):
        for a in range(node_off[t], node_off[t + 1]):
            shift = first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                most[shift + e] = max(most[shift + e], alpha[a] + edge_log[e])
        for a in range(node_off[t], node_off[t + 1]):
            shift = first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                if alpha[a] + edge_log[e] > -np.inf:
                    alpha[shift + e] += np.exp(alpha[a] + edge_log[e] - most[shift + e])
        for b in range(node_off[t + 1], node_off[t + 2]):
            alpha[b] = most[b] + np.log(alpha[b]) + local[b] if most[b] > -np.inf else -np.inf
    beta[node_off[length - 1] : node_off[length]] = 0.0
    for a in range(node_off[length - 1] - 1, -1, -1):
        peak, total, shift = -np.inf, 0.0, first_out[a] - edge_off[a]
        for e in range(edge_off[a], edge_off[a + 1]):
            peak = max(peak, edge_log[e] + local[shift + e] + beta[shift + e])
        if peak > -np.inf:
            for e in range(edge_off[a], edge_off[a + 1]):
                total += np.exp(edge_log[e] + local[shift + e] + beta[shift + e] - peak)
            beta[a] = peak + np.log(total)
    peak, total = -np.inf, 0.0
    for b in range(node_off[length - 1], node_off[length]):
        peak = max(peak, alpha[b])
    if peak == -np.inf:
        return 0.0, IMPOSSIBLE
    for b in range(node_off[length - 1], node_off[length]):
        total += np.exp(alpha[b] - peak)
    return peak + np.log(total), OK


@kernel
def sum_lattice(lattice, edge_log):
    """(log Z, status, whether it was computed in log space, p of every node [N], p of every edge [E])."""
    node_off, first_out, edge_off = lattice.node_off, lattice.first_out, lattice.edge_off
    length = len(node_off) - 1
    weight, edge_belief = np.empty(len(lattice.run)), np.empty(len(edge_log))
    alpha, beta = np.empty(len(lattice.run)), np.empty(len(lattice.run))
    log_z, status = _forward_backward(lattice, edge_log, weight, edge_belief, alpha, beta)
    redone = status == UNDERFLOW
    if redone:
        log_z, status = _log_forward_backward(lattice, edge_log, weight, alpha, beta)
    if status != OK:
        return -np.inf, status, redone, alpha, edge_belief
    for t in range(length):
        total, pairs = 0.0, 0.0
        for a in range(node_off[t], node_off[t + 1]):
            shift = first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                if redone:
                    p = np.exp(alpha[a] + edge_log[e] + lattice.local[shift + e] + beta[shift + e] - log_z)
                else:
                    p = alpha[a] * edge_belief[e] * weight[shift + e] * beta[shift + e]
                edge_belief[e] = p
                pairs += p
        for a in range(node_off[t], node_off[t + 1]):
            alpha[a] = np.exp(alpha[a] + beta[a] - log_z) if redone else alpha[a] * beta[a]
            total += alpha[a]
        for a in range(node_off[t], node_off[t + 1]):
            alpha[a] /= total
            for e in range(edge_off[a], edge_off[a + 1]):
                edge_belief[e] /= pairs
    return log_z, OK, redone, alpha, edge_belief


@kernel
def best_path(lattice, edge_log, labels):
    """Writes the labels of the best path; ties to the lowest label. Returns its score, -inf if there is no path."""
    node_off, first_out, edge_off, local = lattice.node_off, lattice.first_out, lattice.edge_off, lattice.local
    length = len(node_off) - 1
    score, source = np.full(len(lattice.run), -np.inf), np.full(len(lattice.run), -1, np.int64)
    copy_run(local, node_off[0], node_off[1] - node_off[0], score[node_off[0] :])
    for t in range(length):
        for a in range(node_off[t], node_off[t + 1]):
            if t > 0:
                score[a] += local[a]
            shift = first_out[a] - edge_off[a]
            for e in range(edge_off[a], edge_off[a + 1]):
                if score[a] + edge_log[e] > score[shift + e]:
                    score[shift + e], source[shift + e] = score[a] + edge_log[e], a
    best = node_off[length - 1]
    for b in range(best, node_off[length]):
        if score[b] > score[best]:
            best = b
    top = score[best]
    if top == -np.inf:
        return top
    for t in range(length - 1, -1, -1):
        labels[t] = lattice.last[best]
        best = source[best]
    return top
