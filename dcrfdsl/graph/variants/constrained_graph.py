"""A graph with hard constraints that read codes: a code says which states a label may have at a position.

Not here: decoding (`inference.decoding`), the known values of training data (`clamping`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Integers, Mask
from ..unroll import ModelGraph
from .clamping import restricted_graph

ANY_STATE = 0  # the code that forbids nothing


def only_state(state: Integers) -> Integers:
    """The code that allows one state alone."""
    return 1 + state


def any_but(state: Integers, card: int) -> Integers:
    """The code that allows every state but one."""
    return 1 + card + state


def state_set(number: Integers, card: int) -> Integers:
    """The code that allows a set of states."""
    return 1 + 2 * card + number


def constrained_graph(graph: ModelGraph, sets: Sequence[Mask], first_set: int) -> ModelGraph:
    """`graph` with one factor per label that reads a code. sets[m] [n, card]: sets of states of label m with a code.

    Its feature sets are numbered from `first_set` on, one per label.
    """
    allowed = {}
    for variable in range(graph.num_labels):
        card = graph.cards[variable]
        allowed[variable] = np.concatenate(
            [np.ones((1, card), np.bool_), np.eye(card, dtype=np.bool_), ~np.eye(card, dtype=np.bool_), sets[variable]]
        )
    return restricted_graph(graph, allowed, first_set, "constrained")
