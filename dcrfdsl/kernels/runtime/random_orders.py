"""Random orders of edges for message passing, from a generator whose state is an integer held by the caller.

The same seed gives the same order in every thread and process; NumPy's generators in compiled code keep one state per
thread. Not here: sending the messages (`messages.propagation`).
"""

from __future__ import annotations

import numpy as np

from .compilation import inner


@inner
def next_random(state):
    """One step of the SplitMix64 generator: (next state, value). Steele, Lea & Flood 2014."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@inner
def shuffle(order, count, state):
    """Fisher and Yates: permutes `order[:count]` in place. Returns the generator's next state."""
    for i in range(count - 1, 0, -1):
        state, draw = next_random(state)
        j = np.int64(draw % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return state


@inner
def direct_edges(g, shapes, edges, order, state):
    """Gives every factor a random direction. Edges along it go into `order[:half]`, the others after. Returns half."""
    half, back = 0, edges.edge_off[g + 1] - edges.edge_off[g]
    for f in range(shapes.fac_off[g], shapes.fac_off[g + 1]):
        if edges.first_edge[f] < 0:
            continue
        arity = shapes.scope_off[f + 1] - shapes.scope_off[f]
        state, draw = next_random(state)
        chosen = np.int64(draw % np.uint64(arity))
        for i in range(arity):
            if i == chosen:
                order[half] = edges.first_edge[f] + i
                half += 1
            else:
                back -= 1
                order[back] = edges.first_edge[f] + i
    return half
