"""The classes and weights of a `segment` statement, as kernels take them. Not here: inference (`methods`)."""

from __future__ import annotations

import numpy as np

from ...foundation import DcrfError, data_error
from ...graph import ModelGraph, Parameters
from ...kernels.segments import SegmentKinds


def bind_segments(graph: ModelGraph, parameters: Parameters) -> SegmentKinds | None:
    """None for a model without such a statement. The row of longer segments depends on the data, and is 0 here."""
    template = graph.segmental
    if template is None or template.segments is None:
        return None
    shape, clique = template.segments, template.clique
    states = np.array([one[1:] for one in shape.classes], np.int64)
    starts, ends = np.zeros((2, graph.cards[template.variables[0]]), np.bool_)
    starts[states[:, :2]] = True
    ends[states[:, [0, 3]]] = True
    bias, own = np.full(shape.named, -1), parameters.cliques[clique].bias
    bias[own] = parameters.bias_start(clique) + np.arange(len(own))
    return SegmentKinds(
        states, shape.named, shape.maximal, shape.limit, shape.together, template.feature_set,
        parameters.run_base()[clique], 0, bias, starts, ends,
    )  # fmt: skip


def without_segments(what: str) -> DcrfError:
    """The error where a model with a `segment` statement meets what knows tokens only."""
    message = f"{what}: not for a model with a `segment` statement, whose weights are of whole segments"
    return data_error("cannot-segment", message, help="leave the statement out, or ask for something else")
