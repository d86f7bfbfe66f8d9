"""Training with observation kernels on cliques: the features of each become positions of the training data.

Every position begins as a candidate, with a dual weight for each state. A feature row of the training data then holds
only the number of its position, and the criterion has the kernel of all pairs of positions. The sum over cliques is a
kernel too, of whole labellings (Altun & Hofmann 2003 eq. 12). After training, positions whose weights are all 0 are
dropped; the others are the support vectors. Not here: kernels (`features.observation_kernels`), the criterion
(`criteria.margin_objective`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..features import FeatureRows, ObservationKernel
from ..foundation import data_error
from ..graph import CliqueWeights, ModelGraph, Parameters
from ..model import TrainedModel
from .stage import Stage

MOST_BYTES = 2**32  # of the Gram matrix of all positions


def with_candidate_vectors(stage: Stage) -> Stage:
    """The stage with a dual weight for each position and state. DcrfError where Gram matrices would be too large."""
    model, problem = stage.model, stage.problem
    numbers = {clique.label: n for n, clique in enumerate(model.spec.cliques)}
    _check_size(stage)
    kernels, parameters = [], model.parameters
    for name, kernel in stage.settings.clique_kernels.items():
        clique = numbers[name]
        source = model.extractor.set_of_clique[clique]
        rows = problem.rows[source]
        kernels.append(ObservationKernel(clique, source, model.extractor.sets[source].num_features, kernel, rows))
        states = problem.graph.templates[clique].num_assignments
        parameters = _with_dual_weights(parameters, clique, len(rows.row_off) - 1, states)
    extractor = replace(model.extractor, observation_kernels=tuple(kernels))
    graph = ModelGraph.of(model.spec, model.states, extractor.set_of_clique, extractor.bias_of_clique)
    sets, weights = len(model.extractor.sets), np.zeros(parameters.num_weights)
    problem = replace(
        problem, graph=graph, parameters=parameters, counts=weights, weights=weights, extractor=extractor,
        rows=(*problem.rows[:sets], *(_positions(one.support) for one in kernels), *problem.rows[sets:]),
        compared={one.clique: one.gram(one.support) for one in kernels},
    )  # fmt: skip
    model = replace(model, extractor=extractor, graph=graph, parameters=parameters, weights=weights, voters=None)
    return replace(stage, model=model, problem=problem)


def _check_size(stage: Stage) -> None:
    """DcrfError where the Gram matrices of all positions would be too large."""
    names = list(stage.settings.clique_kernels)
    count = stage.problem.gold.codes.shape[1]
    size = 8 * len(names) * count**2
    if size > MOST_BYTES:
        what = "a kernel compares" if len(names) == 1 else f"{len(names)} kernels compare"
        message = f"{what} all pairs of {count:,} positions, which takes {size / 2**30:,.0f} GB"
        most = int((MOST_BYTES / 8 / len(names)) ** 0.5)
        remedy = f"train on at most {most:,} positions, or without `kernel.{names[-1]}`"
        raise data_error("too-many-positions", message, help=remedy)


def _positions(rows: FeatureRows) -> FeatureRows:
    """Rows that hold their own numbers alone."""
    count = len(rows.row_off) - 1
    own = np.arange(count, dtype=np.int32)
    return FeatureRows(np.arange(count + 1, dtype=np.int64), own, np.zeros(0), rows.pad_left, rows.pad_right)


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
    kernels = list(model.extractor.observation_kernels)
    parameters, weights = model.parameters, model.weights
    for number, kernel in enumerate(kernels):
        begin = parameters.entry_start(kernel.clique)
        states = model.graph.templates[kernel.clique].num_assignments
        end = begin + kernel.size * states
        dual = weights[begin:end].reshape(kernel.size, states)
        kept = np.flatnonzero(dual.any(axis=1))
        kernels[number] = kernel.only(kept)
        parameters = _with_dual_weights(parameters, kernel.clique, len(kept), states)
        weights = np.concatenate([weights[:begin], dual[kept].ravel(), weights[end:]])
    extractor = replace(model.extractor, observation_kernels=tuple(kernels))
    return replace(model, extractor=extractor, parameters=parameters, weights=weights, voters=None)
