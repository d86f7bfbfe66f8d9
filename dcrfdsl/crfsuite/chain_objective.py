"""CRFsuite's objective, by the engine of this package, and the best labels of sequences at some weights.

    f(λ) = −Σ_i log p(y_i | x_i) + c2 ‖λ‖²

The model is a linear chain whose weights are CRFsuite's features: its template has two cliques, the states of the
labels are numbers, and its features are the attributes as they come. Not here: the features (`training_data`), the
penalty c1 ‖λ‖₁ (`quasi_newton`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..criteria import ChainData, ChainWeights, Criterion, chain_likelihood
from ..foundation import Codes, Floats
from ..kernels.optimization import dot
from .dense_chain import best_path, transitions_of
from .training_data import Features, Sequences


def likelihood_of(data: Sequences, features: Features) -> Criterion:
    """−Σ log p(y_i | x_i), a function of the weights of all transitions, then of all state features."""
    chain = ChainData(data.labels, data.sequence_off, data.item_off, data.attributes, data.values)
    counts = np.concatenate([features.move_counts, features.state_counts])
    weights = ChainWeights(features.num_labels, features.moves, features.state_off, features.state_labels, counts)
    return chain_likelihood(chain, weights)


def penalised(criterion: Criterion, c2: float) -> Callable[[Floats], tuple[float, Floats]]:
    """The objective with its quadratic penalty: value and gradient at weights."""

    def evaluate(weights: Floats) -> tuple[float, Floats]:
        value, gradient = criterion.value_and_gradient(weights)
        if c2:
            value += c2 * float(dot(weights, weights))
            gradient += 2.0 * c2 * weights
        return value, gradient

    return evaluate


def decoder_of(data: Sequences, features: Features) -> Callable[[Floats], Codes]:
    """A function from weights to the best label of each item, [N]."""
    from scipy.sparse import csr_array  # only where labels are asked for during training

    num_labels, num_moves = features.num_labels, len(features.moves)
    shape = (len(features.state_off) - 1, num_labels)
    items = csr_array((data.values, data.attributes, data.item_off), (len(data.labels), shape[0]))
    off = data.sequence_off.tolist()

    def decode(weights: Floats) -> Codes:
        moves = np.zeros((num_labels, num_labels))
        moves.ravel()[features.moves] = weights[:num_moves]
        transitions = transitions_of(moves)
        states = csr_array((weights[num_moves:], features.state_labels, features.state_off), shape)
        scores = (items @ states).toarray()
        paths = [best_path(scores[first:last], transitions) for first, last in pairwise(off)]
        return np.array([label for path in paths for label in path], np.int32)

    return decode
