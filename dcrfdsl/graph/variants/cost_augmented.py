"""The cost-augmented graph, in which wrong labels get a higher score: loss-augmented decoding maximises over it.

Each label that the loss looks at gets a factor that adds a cost to the score of every state that contradicts the gold
label. Unknown labels cost nothing; a label known to be one of several states costs outside of them. Source: margin
rescaling, Taskar, Guestrin & Koller 2003. Not here: decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...foundation import Floats
from ..templates import CliqueTemplate
from ..unroll import ModelGraph


def cost_augmented_graph(graph: ModelGraph, costs: Mapping[int, Floats], first_set: int) -> ModelGraph:
    """`graph` with these factors. Their feature sets have the rows of `known_label_rows` and are numbered from
    `first_set` on in the order of `costs`: of each label, what is added for each kind of gold label and each state.
    """
    templates = []
    for n, (variable, cost) in enumerate(costs.items()):
        card = graph.cards[variable]
        templates.append(
            CliqueTemplate(
                name=f"cost of {graph.variables[variable]}", clique=-1, variables=(variable,), offsets=(0,),
                cards=(card,), feature_set=first_set + n, coded=cost,
            )
        )  # fmt: skip
    return replace(graph, templates=(*graph.templates, *templates))
