"""Clamping: the same graph with what is known of its labels as further factors.

log Z of the clamped graph sums the scores of all labellings that agree with what is known, so that

    log p(known | x) = log Z clamped − log Z

holds for latent, missing and ambiguous labels alike, and its expectations are those given what is known. One factor of
a single variable at every position does it: it adds no loop, and no kernel knows of it. Not here: the criterion.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Codes
from ...features import FeatureRows
from ..known_labels import Gold
from ..templates import CliqueTemplate
from ..unroll import ModelGraph

__all__ = ["clamp_rows", "clamped_graph"]

FREE = 0  # the code of a variable of which nothing is known


def clamped_graph(graph: ModelGraph, gold: Gold, first_set: int) -> ModelGraph:
    """`graph` with a factor for what is known of each label. Their feature sets are numbered from `first_set` on.

    Memories follow from the labels, and latents are never known: neither is clamped.
    """
    clamps = [_clamp(graph, gold, variable, first_set + variable) for variable in range(graph.num_labels)]
    return replace(graph, templates=(*graph.templates, *clamps))


def _clamp(graph: ModelGraph, gold: Gold, variable: int, feature_set: int) -> CliqueTemplate:
    """Codes: 0 free, 1 + s known to be in state s, 1 + card + k in one of the states sets[variable][k]."""
    card = graph.cards[variable]
    allowed = gold.allowed(variable, card)
    # `choices` has the states, then all of them together, then the sets; code 0 is all of them
    order = [card, *range(card), *range(card + 1, len(allowed))]
    return CliqueTemplate(
        name=f"given {graph.variables[variable]}",
        clique=-1,
        variables=(variable,),
        offsets=(0,),
        cards=(card,),
        feature_set=feature_set,
        coded=allowed[order],
    )


def clamp_rows(graph: ModelGraph, gold: Gold) -> tuple[FeatureRows, ...]:
    """The rows of the clamps' feature sets: the code of what is known at each token."""
    found = []
    for variable in range(graph.num_labels):
        codes: Codes = gold.codes[variable]
        card = graph.cards[variable]
        code = np.where(codes >= 0, codes + 1, np.where(codes == -1, FREE, card - 1 - codes))
        row_off = np.arange(len(codes) + 1, dtype=np.int64)
        found.append(FeatureRows(row_off, code.astype(np.int32), np.zeros(0)))
    return tuple(found)
