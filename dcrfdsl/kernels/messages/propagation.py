"""Schedules of belief propagation on one unrolled graph: which message is sent next, and when a run has converged.

A run has converged when no message that was sent since every edge was last sent has moved by the tolerance or more
(`sum_product` says what the change of a message is).

A run that oscillates is damped. When the residual has not fallen for `PATIENCE` rounds, new messages are mixed with
half of the old ones, then with three quarters, and so on up to `MOST_DAMPING`. Changes are measured before damping, so
they remain comparable; damping does not move fixed points. Not here: the trees of TREES and COVER (`random_trees`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import IMPOSSIBLE, OK, direct_edges, inner, kernel, shuffle
from ..tables import copy_run
from .random_trees import draw_tree, prepare_growth
from .sum_product import Limits, Scratch, largest_shape, send, send_pair

ORDERED, RANDOM, FLOOD, RESIDUAL, TREES, COVER = 0, 1, 2, 3, 4, 5  # how the next edges to send are chosen
PATIENCE = 100  # rounds within which the residual must fall; runs that converge by themselves need fewer …
FALL = 0.99  # … to this share of its value; in a run that approaches a cycle it falls ever less
MOST_DAMPING = 0.95


class Turn(NamedTuple):
    """One iteration: its number, the range of listed edges that it sends, whether those of the schedule, and how."""

    number: int
    first: int
    last: int
    listed: bool
    tolerance: float
    limits: Limits


class Queue(NamedTuple):
    """A tournament tree: best[1] is the largest change of all edges.   trial: messages computed but not sent."""

    best: NDArray[np.float64]
    trial: NDArray[np.float64]


class Visits(NamedTuple):
    """For the edges of a graph: an order to send, the iteration when each was last sent, and its change then."""

    order: NDArray[np.int64]
    updated: NDArray[np.int64]
    recent: NDArray[np.float64]
    scratch: Scratch


@inner
def _dampened(damping):
    """The next stronger damping: halves the share of new messages, up to `MOST_DAMPING` (or the initial damping)."""
    return max(damping, min(MOST_DAMPING, 0.5 * (1.0 + damping)))


@inner
def _send_all(g, shapes, edges, value, node, message, pending, sweeps, turn, visits, log_space, maximise):
    """Sends the messages of an iteration into `pending`; records the edges and their changes in `visits`.

    Returns (whether one moved by the tolerance or more, status).
    """
    kind, limits, scratch = sweeps.kind, turn.limits, visits.scratch
    moved = False
    for i in range(turn.first, turn.last):
        e = sweeps.passes.send[i] if turn.listed else (i if kind == FLOOD else visits.order[i])
        f = shapes.fac_off[g] + edges.edge_factor[edges.edge_off[g] + e]
        if not log_space and limits.damping == 0.0 and shapes.scope_off[f + 1] - shapes.scope_off[f] == 2:
            change, status = send_pair(
                g, e, shapes, edges, value, node, message, pending, limits.floor, scratch.q, scratch.new
            )
        else:
            change, status = send(
                g, e, shapes, edges, value, node, message, pending, log_space, maximise, limits, scratch
            )
        if status != OK:
            return moved, status
        visits.updated[e], visits.recent[e] = turn.number, change
        moved |= not change < turn.tolerance
    return moved, OK


@kernel
def propagate(g, shapes, edges, value, node, message, sweeps, control, log_space, maximise, warm):
    """Sends messages until they converge.

    Returns (converged, iterations, residual, status, whether it was damped more than `control` says).

    sweeps: a schedule in rounds, or None for RESIDUAL: always the message that would change most. Its type decides
    which of the two is compiled. `message` is first filled with uniform messages, unless `warm` says that it already
    holds messages. An iteration is a pass of the schedule, over and over (ORDERED), a new tree (TREES, COVER; the
    schedule holds the first ones), all edges one way and then the other (RANDOM), all edges at once (FLOOD), or as many
    sends as there are edges (RESIDUAL).
    """
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    (largest, arity), degree = largest_shape(g, shapes), 1
    for v in range(shapes.var_off[g], shapes.var_off[g + 1]):
        degree = max(degree, edges.var_edge_off[v + 1] - edges.var_edge_off[v])
    for e in range(count):
        m, states = edges.message_off[e0 + e], shapes.card[shapes.var_off[g] + edges.edge_var[e0 + e]]
        if not warm:
            message[m : m + states] = 0.0 if log_space else 1.0 / states
    if count == 0:
        return True, 0, 0.0, OK, False
    # products of `degree` messages, a potential and a table entry must stay normal doubles
    floor = 10.0 ** (-180.0 / (degree * (arity - 1) + 1))
    scratch = Scratch(np.empty((arity + 1, largest)), np.empty(largest))
    if sweeps is None:
        return _propagate_residual(g, shapes, edges, value, node, message, control, log_space, maximise, floor, scratch)
    kind, schedules = sweeps
    tolerance, max_iterations, damping, seed = control
    order = np.empty(count, np.int64)
    half = 0
    state = np.uint64(seed) * np.uint64(0x2545F4914F6CDD1D) + np.uint64(count)
    if kind == RANDOM:
        half = direct_edges(g, shapes, edges, order, state)
    by_trees = kind in (TREES, COVER)
    passes = schedules.pass_off[g + 1] - schedules.pass_off[g] if kind == ORDERED or by_trees else 0
    growth = prepare_growth(g, shapes, edges, False)
    updated = np.full(count, -1, np.int64)  # iteration in which an edge was last sent
    pending = message.copy() if kind == FLOOD else message
    last_moved = -1
    recent = np.full(count, np.inf)  # change of each edge when last sent
    visits = Visits(order, updated, recent, scratch)
    asked, lowest, waited, begun = damping, np.inf, 0, 0
    for iteration in range(max_iterations):
        first, last = 0, count
        listed = kind == ORDERED or (by_trees and iteration < passes)
        if listed:
            p = schedules.pass_off[g] + iteration % passes
            first, last = schedules.send_off[p], schedules.send_off[p + 1]
        elif by_trees:
            if iteration == passes:
                growth = prepare_growth(g, shapes, edges, True)
                for number in range(passes if kind == COVER else 0):
                    draw_tree(number, seed, True, growth, order)
            last = draw_tree(iteration, seed, kind == COVER, growth, order)
        elif kind == RANDOM:
            state = shuffle(order[:half], half, state)
            state = shuffle(order[half:], count - half, state)
        turn = Turn(iteration, first, last, listed, tolerance, Limits(damping, floor))
        moved, status = _send_all(
            g, shapes, edges, value, node, message, pending, sweeps, turn, visits, log_space, maximise
        )
        if status != OK:
            return False, iteration + 1, np.inf, status, damping > asked
        if moved:
            last_moved = iteration
        if kind == FLOOD:
            copy_run(pending, 0, len(message), message)
        oldest, residual = iteration, 0.0
        for e in range(count):
            oldest, residual = min(oldest, updated[e]), max(residual, recent[e])
        if oldest > last_moved:
            return True, iteration + 1, residual, OK, damping > asked
        if oldest < begun:
            continue  # a round ends when every edge has been sent in it
        waited, begun = waited + 1, iteration + 1
        if residual < FALL * lowest:
            lowest, waited = residual, 0
        elif waited >= PATIENCE:
            damping, lowest, waited = _dampened(damping), np.inf, 0
    return False, max_iterations, recent.max(), OK, damping > asked


@kernel
def _propagate_residual(g, shapes, edges, value, node, message, control, log_space, maximise, floor, scratch):
    """Always sends the message that would change most. A tournament tree over edges finds it in log time."""
    tolerance, max_iterations, damping, _ = control
    e0, count = edges.edge_off[g], edges.edge_off[g + 1] - edges.edge_off[g]
    leaves = 1
    while leaves < count:
        leaves *= 2
    best = np.full(2 * leaves, -1.0)  # best[1] is the largest change of all edges
    trial, undamped = np.empty_like(message), Limits(0.0, floor)
    queue = Queue(best, trial)
    for e in range(count):
        change, status = send(g, e, shapes, edges, value, node, message, trial, log_space, maximise, undamped, scratch)
        if status != OK:
            return False, 1, np.inf, status, False
        best[leaves + e] = change
    for i in range(leaves - 1, 0, -1):
        best[i] = max(best[2 * i], best[2 * i + 1])
    asked, lowest, waited, watched = damping, np.inf, 0, 0
    sends = 0
    while sends < max_iterations * count:
        if sends >= watched + count:
            watched, waited = sends, waited + 1
            if best[1] < FALL * lowest:
                lowest, waited = best[1], 0
            elif waited >= PATIENCE:
                damping, lowest, waited = _dampened(damping), np.inf, 0
        if best[1] < tolerance:
            # changes too small to be sent may still add up: before stopping, everything is sent both ways
            moved, limits = 0.0, Limits(damping, floor)
            for i in range(2 * count):
                e = i if i < count else 2 * count - 1 - i
                change, status = send(
                    g, e, shapes, edges, value, node, message, message, log_space, maximise, limits, scratch
                )
                if status != OK:
                    return False, sends // count + 1, np.inf, status, damping > asked
                moved = max(moved, change)
            sends += 2 * count
            if moved < tolerance:
                return True, sends // count, moved, OK, damping > asked
            for e in range(count):
                _refresh(g, e, shapes, edges, value, node, message, log_space, maximise, undamped, scratch, queue)
            continue
        sends += 1
        i = 1
        while i < leaves:
            i = 2 * i if best[2 * i] >= best[2 * i + 1] else 2 * i + 1
        e = i - leaves
        change, status = send(
            g, e, shapes, edges, value, node, message, message, log_space, maximise, Limits(damping, floor), scratch
        )
        if status != OK:
            return False, sends // count + 1, np.inf, status, damping > asked
        # this message affects the other edges of the other factors at its variable, and itself if damped
        _refresh(g, e, shapes, edges, value, node, message, log_space, maximise, undamped, scratch, queue)
        v = shapes.var_off[g] + edges.edge_var[e0 + e]
        for j in range(edges.var_edge_off[v], edges.var_edge_off[v + 1]):
            entry = edges.var_edge[j]
            f = shapes.fac_off[g] + edges.edge_factor[e0 + entry]
            if edges.edge_factor[e0 + entry] == edges.edge_factor[e0 + e]:
                continue
            for i in range(shapes.scope_off[f + 1] - shapes.scope_off[f]):
                other = edges.first_edge[f] + i
                if other != entry:
                    _refresh(
                        g, other, shapes, edges, value, node, message, log_space, maximise, undamped, scratch, queue
                    )
    return False, max_iterations, best[1], OK, damping > asked


@inner
def _refresh(g, other, shapes, edges, value, node, message, log_space, maximise, limits, scratch, queue):
    """Recomputes the change that sending `other` would make and repairs the tournament tree."""
    best = queue.best
    change, status = send(
        g, other, shapes, edges, value, node, message, queue.trial, log_space, maximise, limits, scratch
    )
    i = len(best) // 2 + other
    best[i] = change if status != IMPOSSIBLE else np.inf
    while i > 1:
        i //= 2
        best[i] = max(best[2 * i], best[2 * i + 1])
