"""The cost-augmented graph, in which wrong labels get a higher score: loss-augmented decoding maximises over it.

Each label that the loss looks at gets a factor that adds `amount` to the score of every state that contradicts the gold
label. Unknown labels cost nothing; a label known to be one of several states costs outside of them. Source: margin
rescaling, Taskar, Guestrin & Koller 2003. Not here: decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..known_labels import Gold
from ..templates import CliqueTemplate
from ..unroll import ModelGraph

__all__ = ["cost_augmented_graph"]


def cost_augmented_graph(
    graph: ModelGraph, gold: Gold, loss_labels: Sequence[int], amount: float, first_set: int
) -> ModelGraph:
    """`graph` with these factors. Their feature sets have the rows of `known_label_rows` and are numbered from
    `first_set` on in the order of `loss_labels`.
    """
    templates = []
    for n, variable in enumerate(loss_labels):
        card = graph.cards[variable]
        cost = np.where(gold.allowed(variable, card), 0.0, amount)
        templates.append(
            CliqueTemplate(
                name=f"cost of {graph.variables[variable]}", clique=-1, variables=(variable,), offsets=(0,),
                cards=(card,), feature_set=first_set + n, coded=cost,
            )
        )  # fmt: skip
    return replace(graph, templates=(*graph.templates, *templates))
