"""Clamping: the same graph with further factors for the known values of its labels.

log Z of the clamped graph sums the scores of all labellings that agree with the known values, so that

    log p(known | x) = log Z clamped − log Z

holds for latent, missing and ambiguous labels alike, and its expectations are conditional on the known values. One
factor of a single variable at every position suffices: it adds no loop, and kernels need not know. Not here: criteria.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...features import FeatureRows
from ...foundation import Codes, Mask
from ..known_labels import Gold
from ..templates import CliqueTemplate
from ..unroll import ModelGraph

FREE = 0  # the code of an unknown variable


def clamped_graph(graph: ModelGraph, gold: Gold, first_set: int) -> ModelGraph:
    """`graph` with a factor on each label for its known values. Their feature sets are numbered from `first_set` on.

    Memories follow from the labels, and latents are never known: neither is clamped. Codes: 0 free, 1 + s known to be
    in state s, 1 + card + k in one of the states sets[variable][k].
    """
    allowed = {}
    for variable in range(graph.num_labels):
        card = graph.cards[variable]
        table = gold.allowed(variable, card)
        # `choices` has the states, then all of them together, then the sets; code 0 means all of them
        allowed[variable] = table[[card, *range(card), *range(card + 1, len(table))]]
    return restricted_graph(graph, allowed, first_set, "given")


def restricted_graph(graph: ModelGraph, allowed: Mapping[int, Mask], first_set: int, name: str) -> ModelGraph:
    """`graph` with a factor on some variables that reads a code at each position.

    allowed: by variable, which states each code allows [codes, card].   first_set: number of the first new feature set;
    they follow the order of `allowed`.   name: of the factors, before that of the variable.
    """
    factors = [
        CliqueTemplate(
            name=f"{name} {graph.variables[variable]}",
            clique=-1,
            variables=(variable,),
            offsets=(0,),
            cards=(graph.cards[variable],),
            feature_set=first_set + n,
            coded=table,
        )
        for n, (variable, table) in enumerate(allowed.items())
    ]
    return replace(graph, templates=(*graph.templates, *factors))


def clamp_rows(graph: ModelGraph, gold: Gold) -> tuple[FeatureRows, ...]:
    """The rows of the clamps' feature sets: the code of the known value at each token."""
    rows = []
    for variable in range(graph.num_labels):
        codes: Codes = gold.codes[variable]
        card = graph.cards[variable]
        code = np.where(codes >= 0, codes + 1, np.where(codes == -1, FREE, card - 1 - codes))
        row_off = np.arange(len(codes) + 1, dtype=np.int64)
        rows.append(FeatureRows(row_off, code.astype(np.int32), np.zeros(0)))
    return tuple(rows)
