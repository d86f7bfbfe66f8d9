"""Inference on one factor graph with explicit tables: the `infer` command, and the tests against known answers.

Runs the same kernels as sequences do, one graph at a time. Every method returns its status; a graph without any
labelling has log Z = -inf and no marginals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import data_error
from ...graph import (
    CHEAP,
    FactorGraph,
    GraphShape,
    ShapeBank,
    best_order,
    draw_pool,
    exact_pays,
    order_cost,
    pool_arrays,
)
from ...kernels.exact import backward_linear, backward_log, forward_linear, forward_log, forward_max, trace_back
from ...kernels.messages import (
    FLOOD,
    ORDERED,
    RANDOM,
    RESIDUAL,
    message_labelling,
    node_potentials,
    propagate,
    read_beliefs,
)
from ...kernels.runtime import GAVE_UP, OK, UNDERFLOW
from ...kernels.tables import exponentiate
from ...registry import Table
from ...semantics import AutoSettings, BpSettings, ExactSettings, MethodSettings, TrpSettings
from ..run_status import GraphResult, RunStatus
from .layout import impossible, split_states, split_tables, table_arena
from .variational import single_gibbs, single_mean_field, single_trw

__all__ = ["SINGLE_METHODS", "infer_graph"]

SCHEDULES = {"random": RANDOM, "flood": FLOOD, "residual": RESIDUAL}
AUTO_SECONDS = 0.02  # exact inference may take so long even where messages take less


def infer_graph(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """Answers `task` (`pr`: log Z, `mar`: marginals and log Z, `map`: best labelling) about `graph`.

    Raises DcrfError where `exact` would need a larger table than its `max_table`.
    """
    return SINGLE_METHODS[settings.method](graph, task, settings)


def _exact(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    assert isinstance(settings, ExactSettings | AutoSettings)
    order = best_order(graph.scopes, graph.cards)
    cost = order_cost(graph.scopes, graph.cards, order)
    if cost.largest > settings.max_table:
        raise data_error(
            "too-wide",
            f"exact inference would build a table of {cost.largest:.3g} entries over {cost.width} variables when it "
            f"eliminates variable {cost.culprit}; `max_table` allows {settings.max_table}",
            help="use `trp` or `bp`, or raise `max_table` if there is memory for it",
        )
    bank = ShapeBank(1, lambda shape: order)
    bank.add(graph.shape())
    shapes, programs, patterns = bank.shape_arrays(), bank.program_arrays(), bank.patterns.arrays()
    steps = (0, len(programs.step))
    logs = table_arena(graph, int(shapes.arena_end[0]))
    constant = graph.constant + float(shapes.log_const[0])
    if task == "map":
        best = forward_max(*steps, programs, patterns, logs)
        if best == -np.inf:
            return impossible(RunStatus(graphs=1))
        assignment = np.zeros(len(graph.cards), np.int64)
        trace_back(*steps, programs, logs, assignment)
        return GraphResult(RunStatus(graphs=1), assignment=assignment, score=graph.score(assignment))
    value, scale = logs.copy(), np.empty(steps[1])
    value[0] = 1.0
    shift, fits = exponentiate(0, shapes, value)
    state, log_z = UNDERFLOW, 0.0
    if fits:
        log_z, state = forward_linear(*steps, programs, patterns, value, scale)
    adjoint = np.zeros_like(value)
    redone = state == UNDERFLOW
    if redone:
        log_z, shift = forward_log(*steps, programs, patterns, logs), 0.0
    elif state != OK:
        log_z = -np.inf
    status = RunStatus(graphs=1, redone=int(redone))
    if log_z == -np.inf:
        return impossible(status)
    if task == "pr":
        return GraphResult(status, log_z=log_z + shift + constant)
    marginals = np.zeros(sum(graph.cards))
    if redone:
        backward_log(*steps, programs, patterns, logs, adjoint, shapes.state_off, marginals, 1.0)
    else:
        backward_linear(*steps, programs, patterns, value, scale, adjoint, shapes.state_off, marginals, 1.0)
        adjoint *= value
    for v in set(range(len(graph.cards))).difference(*graph.scopes):
        marginals[shapes.state_off[v] : shapes.state_off[v] + graph.cards[v]] = 1.0 / graph.cards[v]
    return GraphResult(
        status,
        log_z=log_z + shift + constant,
        marginals=split_states(graph, marginals),
        factor_marginals=split_tables(graph, adjoint),
    )


def _trp(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    assert isinstance(settings, TrpSettings | AutoSettings)
    shape = graph.shape()
    return _message_passing(graph, shape, task, settings, ORDERED, [draw_pool(shape, settings.seed)])


def _bp(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    assert isinstance(settings, BpSettings)
    return _message_passing(graph, graph.shape(), task, settings, SCHEDULES[settings.schedule], [[]])


def _message_passing(
    graph: FactorGraph,
    shape: GraphShape,
    task: str,
    settings: TrpSettings | BpSettings | AutoSettings,
    kind: int,
    pools: list[list[list[int]]],
) -> GraphResult:
    bank = ShapeBank(1)
    bank.add(shape)
    shapes, edges, schedules = bank.shape_arrays(), bank.edge_arrays(), pool_arrays(pools)
    node, message = np.empty(sum(shape.cards)), np.empty(int(edges.messages[0]))
    logs = table_arena(graph, int(shapes.local_end[0]))
    maximise, too = task == "map", True if kind == RESIDUAL else None
    value, log_space, shift, status = logs, True, 0.0, UNDERFLOW
    run = (settings.tolerance, settings.max_iterations, settings.damping, settings.seed)
    converged, iterations, residual, damped, taken = False, 0, np.inf, False, 0.0
    if not maximise:
        value = logs.copy()
        value[0] = 1.0
        shift, fits = exponentiate(0, shapes, value)
        if fits:
            log_space = False
            taken, status = node_potentials(0, shapes, value, log_space, node)
            if status == OK:
                converged, iterations, residual, status, damped = propagate(
                    0, shapes, edges, schedules, value, node, message, kind, *run, log_space, maximise, False, too
                )
    redone = status == UNDERFLOW
    if redone:
        value, log_space, shift = logs, True, 0.0
        taken, status = node_potentials(0, shapes, value, log_space, node)
        if status == OK:
            converged, iterations, residual, status, damped = propagate(
                0, shapes, edges, schedules, value, node, message, kind, *run, log_space, maximise, False, too
            )
    assignment = np.zeros(len(graph.cards), np.int64)
    if maximise and status == OK:
        status = message_labelling(0, shapes, edges, logs, node, message, assignment)
        if status == GAVE_UP:
            converged, residual, status = False, np.inf, OK
    outcome = RunStatus(
        1, int(not converged), int(iterations), float(residual), int(redone and not maximise), approximate=True,
        damped=int(damped),
    )  # fmt: skip
    if status != OK:
        return impossible(outcome)
    if maximise:
        return GraphResult(outcome, assignment=assignment, score=graph.score(assignment))
    var_belief, belief = np.empty_like(node), np.zeros_like(value)
    scratch = np.empty(int(shapes.fac_size.max(initial=1)))
    log_z = read_beliefs(0, shapes, edges, value, node, message, log_space, var_belief, belief, scratch)
    if log_z == -np.inf:
        return impossible(outcome)
    return GraphResult(
        outcome,
        log_z=log_z + taken + shift + graph.constant,
        marginals=split_states(graph, var_belief),
        factor_marginals=split_tables(graph, belief),
    )


def _auto(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """`exact` where it pays, else `trp`."""
    assert isinstance(settings, AutoSettings)
    cost = order_cost(graph.scopes, graph.cards, best_order(graph.scopes, graph.cards))
    larger = [table for table in graph.log_tables if table.ndim > 1]
    sweep, messages = sum(table.size * table.ndim for table in larger), sum(table.ndim for table in larger)
    pays = exact_pays(cost, settings.max_table, sweep, messages, AUTO_SECONDS / CHEAP)
    return (_exact if pays else _trp)(graph, task, settings)


SINGLE_METHODS: Table[Callable[[FactorGraph, str, MethodSettings], GraphResult]] = Table(
    "inference method",
    {
        "exact": _exact,
        "trp": _trp,
        "bp": _bp,
        "auto": _auto,
        "mean_field": single_mean_field,
        "trw": single_trw,
        "gibbs": single_gibbs,
    },
)
