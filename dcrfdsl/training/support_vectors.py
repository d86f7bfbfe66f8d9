"""Training with an observation kernel on a clique: the clique's features become positions of the training data.

Every position begins as a candidate, with a dual weight for each state. A feature row of the training data then holds
only the number of its position, and the criterion has the kernel of all pairs of positions. After training, positions
whose weights are all 0 are dropped; the others are the support vectors. Not here: kernels
(`features.observation_kernels`), the criterion (`criteria.margin`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..features import FeatureRows, ObservationKernel
from ..foundation import DcrfError, Diagnostic
from ..graph import CliqueWeights, ModelGraph, Parameters
from ..model import TrainedModel
from .stage import Stage

__all__ = ["with_candidate_vectors", "with_support_vectors_only"]

MOST_BYTES = 2**32  # of the Gram matrix of all positions


def with_candidate_vectors(stage: Stage) -> Stage:
    """The stage with a dual weight for each position and state. DcrfError where the Gram matrix would be too large."""
    model, supervision = stage.model, stage.supervision
    (name, kernel), *_ = stage.settings.clique_kernels.items()
    clique = next(n for n, each in enumerate(model.spec.cliques) if each.label == name)
    source = model.extractor.set_of_clique[clique]
    rows = supervision.rows[source]
    count, states = len(rows.row_off) - 1, supervision.graph.templates[clique].num_assignments
    if 8 * count**2 > MOST_BYTES:
        message = f"a kernel compares all pairs of {count:,} positions, which takes {8 * count**2 / 2**30:,.0f} GB"
        remedy = f"train on at most {int((MOST_BYTES / 8) ** 0.5):,} positions, or without `kernel.{name}`"
        raise DcrfError(Diagnostic("too-many-positions", message, help=remedy))
    observation_kernel = ObservationKernel(clique, source, model.extractor.sets[source].num_features, kernel, rows)
    extractor = model.extractor.with_observation_kernels([observation_kernel])
    graph = ModelGraph.of(model.spec, model.states, extractor.set_of_clique, extractor.bias_of_clique)
    parameters = _with_dual_weights(model.parameters, clique, count, states)
    position = FeatureRows(
        np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int32), np.zeros(0), rows.pad_left,
        rows.pad_right,
    )  # fmt: skip
    sets = len(model.extractor.sets)
    weights = np.zeros(parameters.num_weights)
    supervision = replace(
        supervision, graph=graph, parameters=parameters, counts=weights, weights=weights, extractor=extractor,
        rows=(*supervision.rows[:sets], position, *supervision.rows[sets:]),
        compared=(clique, observation_kernel.gram(rows)),
    )  # fmt: skip
    model = replace(model, extractor=extractor, graph=graph, parameters=parameters, weights=weights, voters=None)
    return replace(stage, model=model, supervision=supervision)


def _with_dual_weights(parameters: Parameters, clique: int, count: int, states: int) -> Parameters:
    """The parameters with a weight for each position and state in place of a clique's features."""
    cliques = list(parameters.cliques)
    cliques[clique] = CliqueWeights(
        parameters.cliques[clique].bias,
        np.arange(count + 1, dtype=np.int64) * states,
        np.tile(np.arange(states, dtype=np.int32), count),
    )
    return Parameters(tuple(cliques))


def with_support_vectors_only(model: TrainedModel) -> TrainedModel:
    """The model without the positions whose weights are all 0."""
    (observation_kernel,) = model.extractor.observation_kernels
    clique, parameters = observation_kernel.clique, model.parameters
    begin, size = parameters.entry_start(clique), observation_kernel.size
    states = model.graph.templates[clique].num_assignments
    end = begin + size * states
    dual = model.weights[begin:end].reshape(size, states)
    kept = np.flatnonzero(dual.any(axis=1))
    return replace(
        model,
        extractor=model.extractor.with_observation_kernels([observation_kernel.only(kept)]),
        parameters=_with_dual_weights(parameters, clique, len(kept), states),
        weights=np.concatenate([model.weights[:begin], dual[kept].ravel(), model.weights[end:]]),
        voters=None,
    )
