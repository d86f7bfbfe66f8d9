"""Small models for penalties with corners, and what optimizers call after each iteration. Not here: the penalties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from template_cases import CASES, Case, sentences

from dcrfdsl.optimizers.objective import Iteration

# Odd numbers of states: with two, adding to the weights of one what is taken off the other changes no penalty.
MODELS = {
    "chain": Case(
        "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1]\nclique y[-1], y as chain\n",
        CASES["chain"].sentences,
    ),
    "factorial": Case(
        "data conll(word, y, z)\nlabel y\nlabel z\nclique y: word\nclique z: word\n"
        "clique y[-1], y as chain\nclique y, z: word\n",
        sentences("PQR", "STU", count=12, longest=3),
    ),
}


def watch(step: Iteration, weights: NDArray[np.float64]) -> bool:
    """Nothing to stop for."""
    return False
