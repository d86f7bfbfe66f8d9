"""Which weights are one group under a prior on groups: those of a feature template of a clique, or of a feature.

The biases of a clique are one group in both ways. Induced features are one template together. Not here: the penalty
(`penalties`), what it does to training (`optimizers.corners`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..features import FeatureExtractor
from ..foundation import Floats, Ints
from ..graph import ModelGraph, Parameters

INDUCED = "induced features"
BIAS = "bias"


def group_numbers(
    graph: ModelGraph, parameters: Parameters, extractor: FeatureExtractor, kinds: Mapping[int, str]
) -> Ints:
    """The group of each weight, [W], -1 for those in none; groups are numbered in the order of cliques.

    kinds: `templates` or `features` for the cliques whose weights are in groups, by their numbers.
    """
    cliques, features, _ = parameters.origins()
    groups, count = np.full(parameters.num_weights, -1, np.int64), 0
    for clique, kind in sorted(kinds.items()):
        own = np.flatnonzero(cliques == clique)
        if not len(own):  # a piece may be without the clique
            continue
        parts = features[own] + 1  # 0: the biases
        if kind == "templates":
            parts = _templates(graph, extractor, clique)[parts]
        _, number = np.unique(parts, return_inverse=True)
        groups[own] = number + count
        count += int(number.max()) + 1
    return groups


class TemplateWeights(NamedTuple):
    """The weights of a template of a clique: its name, how many there are, and how many are not 0."""

    clique: str
    template: str
    weights: int
    used: int


def weights_by_template(
    graph: ModelGraph, parameters: Parameters, extractor: FeatureExtractor, weights: Floats
) -> list[TemplateWeights]:
    """Every template of every clique that has weights, in the order of the model; biases stand first."""
    cliques, features, _ = parameters.origins()
    found = []
    for clique in range(len(parameters.cliques)):
        template = graph.templates[clique]
        own = np.flatnonzero(cliques == clique)
        parts = _templates(graph, extractor, clique)[features[own] + 1]
        names = [BIAS, *(extractor.sets[template.feature_set].templates if template.feature_set >= 0 else ()), INDUCED]
        counts = np.bincount(parts, minlength=len(names))
        used = np.bincount(parts, weights[own] != 0.0, len(names)).astype(np.int64)
        found += [
            TemplateWeights(template.name, name, int(count), int(left))
            for name, count, left in zip(names, counts, used, strict=True)
            if count
        ]
    return found


def _templates(graph: ModelGraph, extractor: FeatureExtractor, clique: int) -> Ints:
    """For the bias and each feature of a clique: 0, or 1 + the number of its template."""
    feature_set = next(template.feature_set for template in graph.templates if template.clique == clique)
    if feature_set < 0:
        return np.zeros(1, np.int64)
    return np.append(0, 1 + extractor.template_of_feature(feature_set))
