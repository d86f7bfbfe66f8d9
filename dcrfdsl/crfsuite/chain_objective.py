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

from ..criteria import CRITERIA, Criterion, Supervision
from ..features import FeatureRows
from ..foundation import Codes, Floats
from ..graph import CliqueWeights, Gold, ModelGraph, Parameters
from ..inference import Workers
from ..kernels.optimization import dot
from ..semantics import load_text, stage_settings
from .dense_chain import best_path, transitions_of
from .training_data import Features, Sequences

__all__ = ["decoder_of", "likelihood_of", "penalised"]

_TEMPLATE = """dcrf 1
data crfsuite(y, attributes: weighted_bag)
label y in {{{}}}
clique y: attributes
clique y[-1], y
infer exact
train likelihood: prior = none
"""


def likelihood_of(data: Sequences, features: Features) -> Criterion:
    """−Σ log p(y_i | x_i), a function of the weights of all transitions, then of all state features."""
    states = tuple(f"s{n}" for n in range(features.num_labels))
    spec = load_text(_TEMPLATE.format(", ".join(states))).require()
    graph = ModelGraph.of(spec, {"y": states}, (0, -1), (False, True))
    nothing = np.zeros(0, np.int32)
    of_states = CliqueWeights(nothing, features.state_off, features.state_labels)
    of_moves = CliqueWeights(features.moves, np.zeros(1, np.int64), nothing)
    supervision = Supervision(
        spec,
        graph,
        Parameters((of_states, of_moves)),
        (_rows(data),),
        {},
        data.sequence_off,
        Gold(data.labels[None, :], ((),)),
        np.concatenate([features.move_counts, features.state_counts]),
        Workers(None),
    )
    return CRITERIA["likelihood"](supervision, stage_settings(spec))


def _rows(data: Sequences) -> FeatureRows:
    """The attributes of each item. Those with the value 0 are left out: they add nothing to a score.

    Python's `False` is one. Rows whose values are all 1 need none, and take the fastest kernels.
    """
    fires = data.values != 0.0
    off = np.append(0, np.cumsum(fires))[data.item_off]
    value = data.values[fires]
    return FeatureRows(off, data.attributes[fires], value if (value != 1.0).any() else np.zeros(0))


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
