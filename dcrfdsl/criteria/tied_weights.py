"""Which weights of two cliques are counterparts: those of the same feature and the same states.

Features are matched by their texts, states by their names, site by site. Not here: the penalty on their differences
(`penalties`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..features import FeatureExtractor
from ..foundation import Ints
from ..graph import CliqueTemplate, ModelGraph, Parameters


def counterparts(
    graph: ModelGraph, parameters: Parameters, states: Sequence[Sequence[str]], extractor: FeatureExtractor,
    clique: int, other: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """The weights of `clique` that have a counterpart in `other`, and these counterparts, [n] each.

    states: of each variable.   Both cliques have as many sites.
    """
    here, there = graph.templates[clique], graph.templates[other]
    cliques, features, assignments = parameters.origins()
    own, others = (np.flatnonzero(cliques == number) for number in (clique, other))
    feature = _feature_map(extractor, here.feature_set, there.feature_set)[features[own]]
    assignment = _assignment_map(_sites(here, states), _sites(there, states))[assignments[own]]
    size = there.num_assignments
    wanted = np.where((feature > -2) & (assignment >= 0), (feature + 1) * size + assignment, -1)
    known = (features[others] + 1) * size + assignments[others]
    order = np.argsort(known, kind="stable")
    if not len(known):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    found = (wanted >= 0) & (known[place] == wanted)
    return own[found], others[place[found]]


def _feature_map(extractor: FeatureExtractor, here: int, there: int) -> Ints:
    """The feature of set `there` for each of set `here`, -2 where there is none; the last entry is the bias, -1."""
    if here < 0:
        return np.array([-1], np.int64)
    ids = {} if there < 0 else {text: n for n, text in enumerate(extractor.told_apart(there))}
    return np.array([*(ids.get(text, -2) for text in extractor.told_apart(here)), -1], np.int64)


def _sites(template: CliqueTemplate, states: Sequence[Sequence[str]]) -> list[Sequence[object]]:
    """The states that weights tell apart at each site: those of the variable or of a view; padding as numbers."""
    views = template.views or (None,) * len(template.variables)
    sites: list[Sequence[object]] = []
    for variable, view in zip(template.variables, views, strict=True):
        names: Sequence[str] = states[variable] if view is None else view.states
        sites.append((*names, -1, +1) if template.pad else tuple(names))
    return sites


def _assignment_map(here: Sequence[Sequence[object]], there: Sequence[Sequence[object]]) -> Ints:
    """The assignment of the other clique for each one of this, -1 where a state is not there."""
    numbers = np.zeros(1, np.int64)
    for before, now in zip(here, there, strict=True):
        index = {state: n for n, state in enumerate(now)}
        moved = np.array([index.get(state, -1) for state in before], np.int64)
        joined = numbers[:, None] * len(now) + moved
        numbers = np.where((numbers[:, None] < 0) | (moved < 0), -1, joined).ravel()
    return numbers
