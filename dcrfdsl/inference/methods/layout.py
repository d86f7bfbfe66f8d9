"""The tables of one factor graph laid end to end in an arena, as kernels take them, and cut apart again."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...graph import FactorGraph
from ..run_status import GraphResult, RunStatus

__all__ = ["impossible", "split_states", "split_tables", "table_arena"]


def table_arena(graph: FactorGraph, size: int) -> Floats:
    """Log tables laid out from cell 1; cell 0 is log 1."""
    arena = np.zeros(size)
    at = 1
    for table in graph.log_tables:
        arena[at : at + table.size] = table.ravel()
        at += table.size
    return arena


def split_tables(graph: FactorGraph, arena: Floats) -> tuple[Floats, ...]:
    """The arena's tables, one array a factor in its table's shape."""
    out, at = [], 1
    for table in graph.log_tables:
        out.append(arena[at : at + table.size].reshape(table.shape))
        at += table.size
    return tuple(out)


def split_states(graph: FactorGraph, states: Floats) -> tuple[Floats, ...]:
    """Numbers of all states, one array a variable."""
    ends = np.cumsum(graph.cards, dtype=np.int64)
    return tuple(states[end - card : end] for end, card in zip(ends, graph.cards, strict=True))


def impossible(status: RunStatus) -> GraphResult:
    """The answer about a graph that no labelling satisfies."""
    return GraphResult(status + RunStatus(impossible=(0,)), log_z=-np.inf, score=-np.inf)
