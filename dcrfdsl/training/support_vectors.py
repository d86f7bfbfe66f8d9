"""Training with an observation kernel on a clique: the clique's features become positions of the training data.

Before training every position supports, and has a dual weight a state; a row of the training data is then its own
number alone, and how alike positions are is left to the criterion. Afterwards the positions that all their weights are
0 of are dropped. Not here: kernels (`features.observation_kernels`), the criterion (`criteria.margin`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..criteria import Supervision
from ..errors import DcrfError, Diagnostic
from ..features import FeatureRows, Likeness
from ..graph import CliqueWeights, ModelGraph, Parameters
from ..model import TrainedModel
from ..semantics import TrainSettings

__all__ = ["supporting", "with_supports"]

MOST_BYTES = 2**32  # of how alike all positions are


def with_supports(
    trained: TrainedModel, given: Supervision, settings: TrainSettings
) -> tuple[TrainedModel, Supervision]:
    """The model and the problem of a stage that has a kernel; DcrfError where the data is too large for one."""
    (name, kernel), *_ = settings.clique_kernels.items()
    clique = next(n for n, own in enumerate(trained.spec.cliques) if own.label == name)
    source = trained.extractor.set_of_clique[clique]
    rows = given.rows[source]
    count, states = len(rows.row_off) - 1, given.graph.templates[clique].num_assignments
    if 8 * count**2 > MOST_BYTES:
        message = f"a kernel compares all pairs of {count:,} positions, which takes {8 * count**2 / 2**30:,.0f} GB"
        remedy = f"train on at most {int((MOST_BYTES / 8) ** 0.5):,} positions, or without `kernel.{name}`"
        raise DcrfError(Diagnostic("too-many-positions", message, help=remedy))
    likeness = Likeness(clique, source, trained.extractor.sets[source].num_features, kernel, rows)
    extractor = trained.extractor.with_likenesses([likeness])
    graph = ModelGraph.of(trained.spec, trained.states, extractor.set_of_clique, extractor.bias_of_clique)
    parameters = _with_weights(trained.parameters, clique, count, states)
    position = FeatureRows(
        np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int32), np.zeros(0), rows.pad_left,
        rows.pad_right,
    )  # fmt: skip
    sets = len(trained.extractor.sets)
    weights = np.zeros(parameters.num_weights)
    begun = replace(
        given, graph=graph, parameters=parameters, rows=(*given.rows[:sets], position, *given.rows[sets:]),
        counts=weights, weights=weights, extractor=extractor, compared=(clique, likeness.gram(rows)),
    )  # fmt: skip
    model = TrainedModel(
        trained.spec, trained.states, extractor, trained.known_values, graph, parameters, weights, trained.record
    )
    return model, begun


def _with_weights(parameters: Parameters, clique: int, count: int, states: int) -> Parameters:
    """With a weight a position and state in the place of a clique's features."""
    own = CliqueWeights(
        parameters.cliques[clique].bias,
        np.arange(count + 1, dtype=np.int64) * states,
        np.tile(np.arange(states, dtype=np.int32), count),
    )
    cliques = list(parameters.cliques)
    cliques[clique] = own
    return Parameters(tuple(cliques))


def supporting(trained: TrainedModel) -> TrainedModel:
    """The model without the positions that do not support it."""
    (likeness,) = trained.extractor.likenesses
    clique, parameters = likeness.clique, trained.parameters
    begin, size = parameters.entry_start(clique), likeness.size
    states = trained.graph.templates[clique].num_assignments
    dual = trained.weights[begin : begin + size * states].reshape(size, states)
    kept = np.flatnonzero(dual.any(axis=1))
    weights = np.concatenate([trained.weights[:begin], dual[kept].ravel(), trained.weights[begin + size * states :]])
    return TrainedModel(
        trained.spec,
        trained.states,
        trained.extractor.with_likenesses([likeness.only(kept)]),
        trained.known_values,
        trained.graph,
        _with_weights(parameters, clique, len(kept), states),
        weights,
        trained.record,
    )
