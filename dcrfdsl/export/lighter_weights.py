"""Lighter weights: the small ones left out, the others rounded to fewer bits. Not here: what that costs (`metrics`)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..foundation import data_error
from ..model import TrainedModel

WIDTHS = (64, 32, 16)  # bits of a weight


class Lighter(NamedTuple):
    """What `lighter` makes.

    model: with the lighter weights.   threshold: weights of features below it are left out.   pruned: how many.
    """

    model: TrainedModel
    threshold: float
    pruned: int


def lighter(model: TrainedModel, *, bits: int = 64, threshold: float = 0.0, share: float = 0.0) -> Lighter:
    """The model without the weights of features whose magnitude is below `threshold`, rounded to `bits`.

    The weights of stages that prune for the model are treated in the same way.

    share: from 0 to 1, of these weights that are not 0, to be left out, the smallest first; raises `threshold`. Biases
    are kept. Raises DcrfError if a weight is too large for 16 bits, if all are too small for them, or if labels go by
    the votes of many weight vectors, which stay as they are.
    """
    if model.voters is not None and (bits < 64 or threshold > 0 or share > 0):
        message = "many weight vectors vote on labels (`vote = yes`), and these are neither rounded nor pruned"
        raise data_error("cannot-export", message, help="leave out `--bits` and `--prune`, or train without `vote`")
    first = model.parameters.num_bias
    weights = model.weights.copy()
    of_features = weights[first:]
    if share > 0 and len(of_features):
        sizes = np.sort(np.abs(of_features[of_features != 0]))
        dropped = int(share * len(sizes))
        threshold = max(threshold, float(sizes[dropped]) if dropped < len(sizes) else np.inf)
    small = np.abs(of_features) < threshold
    pruned = int(np.count_nonzero(small & (of_features != 0)))
    of_features[small] = 0.0
    kind = np.dtype(f"f{bits // 8}")
    guides = {stage: own.copy() for stage, own in model.guides.items()}
    for own in guides.values():
        own[first:][np.abs(own[first:]) < threshold] = 0.0
    finite = np.concatenate([own[np.isfinite(own)] for own in (weights, *guides.values())])
    largest = float(np.abs(finite).max(initial=0.0))
    most, least = float(np.finfo(kind).max), float(np.finfo(kind).tiny)
    if largest > most:
        message = f"a weight is {largest:.6g}, and {bits} bits hold at most {most:,.0f}"
        raise data_error("cannot-export", message, help="export with `--bits 32`")
    if bits < 64 and 0.0 < largest < least:  # below, digits go one after another, until all weights are 0
        message = f"the largest weight is {largest:.6g}, and {bits} bits keep all their digits from {least:.2g} on"
        raise data_error("cannot-export", message, help=f"export with `--bits {2 * bits}`")
    if bits < 64:
        weights = weights.astype(kind).astype(np.float64)
        guides = {stage: own.astype(kind).astype(np.float64) for stage, own in guides.items()}
    made = replace(model.with_weights(weights, model.record, model.voters), guides=guides)
    return Lighter(made, threshold, pruned)
