"""The likelihood of a linear chain whose features and weights come as arrays, not from a template and data.

The chain has two cliques, the states of its labels are numbers, and its features are items with values. Not here: the
likelihood (`likelihood`), any penalty.
"""

from __future__ import annotations

import numpy as np

from ..features import FeatureRows
from ..foundation import Floats, Ints, Ints32, dataclass
from ..graph import CliqueWeights, Gold, ModelGraph, Parameters
from ..inference import Workers
from ..semantics import load_text, stage_settings
from .criteria_table import CRITERIA
from .criterion import Criterion
from .training_problem import TrainingProblem

_TEMPLATE = """dcrf 1
data crfsuite(y, attributes: weighted_bag)
label y in {{{}}}
clique y: attributes
clique y[-1], y
infer exact
train likelihood: prior = none
"""


@dataclass(frozen=True, eq=False)
class ChainData:
    """Labelled sequences of N items, S of them.

    labels [N]: states by number.   sequence_off [S + 1]: where the items of a sequence begin.   item_off [N + 1]: where
    the attributes of an item begin.   attributes, values: of all items in turn; an attribute of value 0 is as none.
    """

    labels: Ints32
    sequence_off: Ints
    item_off: Ints
    attributes: Ints32
    values: Floats


@dataclass(frozen=True, eq=False)
class ChainWeights:
    """The weights of a chain: first those of moves, then those of an attribute with a state.

    num_labels: K.   moves: from · K + to of each move that has a weight.   state_off, states: the states that each
    attribute has a weight with.   counts [W]: how often each fires in the data.
    """

    num_labels: int
    moves: Ints32
    state_off: Ints
    states: Ints32
    counts: Floats


def chain_likelihood(data: ChainData, weights: ChainWeights) -> Criterion:
    """−Σ_i log p(y_i | x_i), a function of the weights [W]."""
    states = tuple(f"s{n}" for n in range(weights.num_labels))
    spec = load_text(_TEMPLATE.format(", ".join(states))).require()
    graph = ModelGraph.of(spec, {"y": states}, (0, -1), (False, True))
    nothing = np.zeros(0, np.int32)
    of_states = CliqueWeights(nothing, weights.state_off, weights.states)
    of_moves = CliqueWeights(weights.moves, np.zeros(1, np.int64), nothing)
    problem = TrainingProblem(
        spec, graph, Parameters((of_states, of_moves)), (_rows(data),), {}, data.sequence_off,
        Gold(data.labels[None, :], ((),)), weights.counts, Workers(None),
    )  # fmt: skip
    return CRITERIA["likelihood"](problem, stage_settings(spec))


def _rows(data: ChainData) -> FeatureRows:
    """The attributes of each item. Those with the value 0 are left out: they add nothing to a score.

    Python's `False` is one. Rows whose values are all 1 need none, and take the fastest kernels.
    """
    fires = data.values != 0.0
    off = np.append(0, np.cumsum(fires))[data.item_off]
    value = data.values[fires]
    return FeatureRows(off, data.attributes[fires], value if (value != 1.0).any() else np.zeros(0))
