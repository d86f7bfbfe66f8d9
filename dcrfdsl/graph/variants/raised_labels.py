"""The same graph with a factor on every known label, so that its potential can be raised a little.

The response of expectations to that is the derivative of marginals by parameters, under any method of inference. A
factor of a single variable at every position adds no loop. Not here: by how much, and the use of the derivative.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...features import FeatureRows
from ..known_labels import Gold
from ..parameters import CliqueWeights, Parameters
from ..templates import CliqueTemplate
from ..unroll import ModelGraph


def perturbed_graph(graph: ModelGraph, num_cliques: int, first_set: int) -> ModelGraph:
    """`graph` with one more clique per label, numbered from `num_cliques` on; feature sets from `first_set` on."""
    templates = [
        CliqueTemplate(
            name=f"raised {graph.variables[variable]}",
            clique=num_cliques + variable,
            variables=(variable,),
            offsets=(0,),
            cards=(graph.cards[variable],),
            feature_set=first_set + variable,
        )
        for variable in range(graph.num_labels)
    ]
    return replace(graph, templates=(*graph.templates, *templates))


def raised_parameters(graph: ModelGraph, parameters: Parameters) -> Parameters:
    """With a weight for each state of each label, after all others; a code without a state has no weight."""
    raised = []
    for card in graph.cards[: graph.num_labels]:
        run_off = np.minimum(np.arange(card + 2), card).astype(np.int64)
        raised.append(CliqueWeights(np.zeros(0, np.int32), run_off, np.arange(card, dtype=np.int32)))
    return Parameters((*parameters.cliques, *raised))


def raised_rows(graph: ModelGraph, gold: Gold) -> tuple[FeatureRows, ...]:
    """The rows of the new feature sets: the known state of each label at each token, with a value to be set."""
    rows = []
    for variable in range(graph.num_labels):
        codes = gold.codes[variable]
        code = np.where(codes >= 0, codes, graph.cards[variable]).astype(np.int32)
        rows.append(FeatureRows(np.arange(len(codes) + 1, dtype=np.int64), code, np.zeros(len(codes))))
    return tuple(rows)
