"""The weights of an earlier model where a new one has the same clique, feature and states.

    earlier model, new model -> clique by clique: states matched by name, features by text -> weights [W], and counts

So training continues on the same data, and adapts to new data, labels or features. A clique is the same if it joins the
same variables at the same offsets. What is new begins at 0. Not here: how training treats a start (`stage`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np

from ..features import FeatureExtractor
from ..foundation import Floats, Ints, data_error
from ..graph import CliqueTemplate
from ..model import StartRecord, TrainedModel

NONE = -1  # there is no counterpart


def carried_weights(earlier: TrainedModel, model: TrainedModel) -> tuple[Floats, StartRecord]:
    """The weights [W] with which `model` begins, and how many of them come from `earlier`.

    Raises DcrfError if no weight of the earlier model has a counterpart, or if that model has dual weights.
    """
    if earlier.extractor.observation_kernels:
        message = "the model to start from has weights of support vectors, which mean nothing without them"
        remedy = "start from a model without `kernel.CLIQUE`"
        raise data_error("cannot-start-from", message, help=remedy)
    weights, is_carried = np.zeros(model.num_weights), np.zeros(model.num_weights, bool)
    origins, goals = _weights_of_cliques(earlier), _weights_of_cliques(model)
    feature_of = _feature_map(earlier.extractor, model.extractor)
    for old, new in _same_cliques(earlier, model):
        source, goal = earlier.graph.templates[old], model.graph.templates[new]
        assignments = _assignment_map(_sites(earlier, source), _sites(model, goal))
        where, feature, assignment = origins[old]
        keys = _keys(feature_of(source.feature_set, goal.feature_set, feature), assignments[assignment], goal)
        there, known_feature, known_assignment = goals[new]
        known = _keys(known_feature, known_assignment, goal)
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known[order], keys), max(len(known) - 1, 0))
        found = np.flatnonzero((keys != NONE) & (known[order][place] == keys)) if len(known) else np.zeros(0, np.int64)
        target = there[order[place[found]]]
        weights[target], is_carried[target] = earlier.weights[where[found]], True
    carried = int(is_carried.sum())
    if not carried:
        message = "no weight of the model to start from has a clique, feature and states that this template has as well"
        remedy = "`dcrfdsl show MODEL` lists them; train without it, or with its template"
        raise data_error("cannot-start-from", message, help=remedy)
    record = earlier.record
    return weights, StartRecord(
        carried, model.num_weights - carried, earlier.num_weights - carried, record.stage, record.data_sha256
    )


def _weights_of_cliques(model: TrainedModel) -> list[tuple[Ints, Ints, Ints]]:
    """Of each clique the numbers of its weights, their features (-1 for the bias), and their assignments."""
    cliques, features, assignments = model.parameters.origins()
    order = np.argsort(cliques, kind="stable")
    ends = np.searchsorted(cliques[order], np.arange(1, len(model.parameters.cliques)))
    return [(where, features[where], assignments[where]) for where in np.split(order, ends)]


def _same_cliques(earlier: TrainedModel, model: TrainedModel) -> Iterable[tuple[int, int]]:
    """Pairs of cliques of both models over the same sites; of several, those of the same name, then in order."""
    waiting: dict[object, list[tuple[str, int]]] = {}
    for number in range(len(earlier.parameters.cliques)):
        template = earlier.graph.templates[number]
        waiting.setdefault(_place_of(earlier, template), []).append((template.name, number))
    left: list[tuple[int, list[tuple[str, int]]]] = []
    for number in range(len(model.parameters.cliques)):
        template = model.graph.templates[number]
        candidates = waiting.get(_place_of(model, template), [])
        named = next((pair for pair in candidates if pair[0] == template.name), None)
        if named is None:
            left.append((number, candidates))
            continue
        candidates.remove(named)
        yield named[1], number
    for number, candidates in left:
        if candidates:
            yield candidates.pop(0)[1], number


def _place_of(model: TrainedModel, template: CliqueTemplate) -> object:
    names = tuple(model.graph.variables[variable] for variable in template.variables)
    return names, template.offsets, template.ends, template.position


Site = Sequence[object]  # the states that weights distinguish, as names; START and STOP as numbers


def _sites(model: TrainedModel, template: CliqueTemplate) -> list[Site]:
    states = list(model.states.values())
    views = template.views or (None,) * len(template.variables)
    sites: list[Site] = []
    for variable, view in zip(template.variables, views, strict=True):
        names: Sequence[str] = states[variable] if view is None else view.states
        sites.append((*names, -1, +1) if template.pad else names)
    return sites


def _assignment_map(earlier: Sequence[Site], later: Sequence[Site]) -> Ints:
    """The new number of each assignment of a clique, -1 where one of its states is gone; [assignments]."""
    numbers = np.zeros(1, np.int64)
    for before, now in zip(earlier, later, strict=True):
        index = {state: n for n, state in enumerate(now)}
        moved = np.array([index.get(state, NONE) for state in before], np.int64)
        joined = numbers[:, None] * len(now) + moved
        numbers = np.where((numbers[:, None] == NONE) | (moved == NONE), NONE, joined).ravel()
    return numbers


def _keys(features: Ints, assignments: Ints, goal: CliqueTemplate) -> Ints:
    """One number for each feature, from -1 on, with an assignment; -1 where one of them has no counterpart (-2, -1)."""
    keys = (features + 1) * goal.num_assignments + assignments
    return np.where((features < NONE) | (assignments < 0), NONE, keys)


def _feature_map(earlier: FeatureExtractor, later: FeatureExtractor) -> Callable[[int, int, Ints], Ints]:
    """The features of set `goal` of one model that have the texts of these features of set `source` of another; -2
    where there is none. -1, the bias, stays -1.
    """

    @cache  # the texts of a feature set are built once
    def numbers(source: int, goal: int) -> Ints:
        ids = {text: number for number, text in enumerate(later.told_apart(goal))}
        return np.array([ids.get(text, NONE - 1) for text in earlier.told_apart(source)], np.int64)

    def mapped(source: int, goal: int, features: Ints) -> Ints:
        if source < 0 or goal < 0 or not (features >= 0).any():
            return np.where(features < 0, features, NONE - 1)
        return np.where(features < 0, features, numbers(source, goal)[features])

    return mapped
