"""The weights that several parts of the training data call for together, and what one part counts of them.

A (feature, assignment) has a weight if it has one in some part, so the joined weights are those of the whole data.
Not here: the weights of one part (`parameters`).
"""

from __future__ import annotations

import numpy as np

from ..foundation import Floats, Ints
from .parameters import CliqueWeights, Parameters


def join_parameters(one: Parameters, other: Parameters) -> Parameters:
    """The weights that are in one or in the other; both have the same features."""
    return Parameters(tuple(map(_joined, one.cliques, other.cliques)))


def _joined(one: CliqueWeights, other: CliqueWeights) -> CliqueWeights:
    size = _size(one, other)
    keys = np.union1d(_keys(one, size), _keys(other, size))
    features = len(one.run_off) - 1
    run_off = np.searchsorted(keys, np.arange(features + 1, dtype=np.int64) * size).astype(np.int64)
    return CliqueWeights(np.union1d(one.bias, other.bias), run_off, (keys % size).astype(np.int32))


def _size(*weights: CliqueWeights) -> int:
    """More than any assignment of a feature."""
    return 1 + max(int(one.entry.max(initial=0)) for one in weights)


def _keys(weights: CliqueWeights, size: int) -> Ints:
    """A number for each (feature, assignment), ascending in the order of entries."""
    runs = np.diff(weights.run_off)
    return np.repeat(np.arange(len(runs), dtype=np.int64), runs) * size + weights.entry


def placed_counts(joined: Parameters, part: Parameters, counts: Floats) -> Floats:
    """The counts of a part as those of the joined weights, [joined weights].   counts: of the weights of the part."""
    out = np.zeros(joined.num_weights)
    for clique, (whole, own) in enumerate(zip(joined.cliques, part.cliques, strict=True)):
        start, mine = joined.bias_start(clique), part.bias_start(clique)
        out[start + np.searchsorted(whole.bias, own.bias)] = counts[mine : mine + len(own.bias)]
        start, mine, size = joined.entry_start(clique), part.entry_start(clique), _size(whole, own)
        places = np.searchsorted(_keys(whole, size), _keys(own, size))
        out[start + places] = counts[mine : mine + len(own.entry)]
    return out
