"""The graph of all wrong labellings: the same model with a further variable that records a difference from the gold.

Each label variable that the loss looks at is followed by a variable D with two states, the disjunction of all
differences so far:

    D_v = D_{v-1} or (y_v ∉ Y*_v),    and D = 1 at the end

These are hard constraints with a code at each position for the set Y*_v: the known state, one of several, or any. Sums
and maxima over this graph run over all labellings that contradict the known values somewhere. They hold for any method,
exact if the method is, and no difference of large numbers is taken. If everything is known the set is Y \\ {y*};
variables without a known value, such as latent ones, cannot be wrong.
Source: the pairs (a, b) of agreement and disagreement are the two states of D. Not here: the use of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...features import FeatureRows
from ...foundation import Mask
from ..known_labels import Gold
from ..templates import LAST, CliqueTemplate
from ..unroll import ModelGraph


def graph_excluding_gold(graph: ModelGraph, gold: Gold, loss_labels: Sequence[int], first_set: int) -> ModelGraph:
    """`graph` without the labellings that agree with the known values of all label variables `loss_labels`.

    Its feature sets are numbered from `first_set` on, one per variable in that order; its new variables come last.
    """
    before, width = list(range(len(graph.cards), len(graph.cards) + len(loss_labels))), len(loss_labels)
    templates = []
    for n, variable in enumerate(loss_labels):
        card, feature_set = graph.cards[variable], first_set + n
        name = f"differs in {graph.variables[variable]}"
        differs = ~gold.allowed(variable, card)
        if n == 0:
            templates.append(
                CliqueTemplate(
                    name=f"{name} at first", clique=-1, variables=(variable, before[0]), offsets=(0, 0),
                    cards=(card, 2), feature_set=feature_set, coded=_is(differs), position=0,
                )
            )  # fmt: skip
        templates.append(
            CliqueTemplate(
                name=name,
                clique=-1,
                variables=(before[n - 1], variable, before[n]),
                offsets=(-1 if n == 0 else 0, 0, 0),
                cards=(2, card, 2),
                feature_set=feature_set,
                coded=np.stack([_is(differs), _is(np.ones_like(differs))], axis=1),
            )
        )
    templates.append(
        CliqueTemplate(
            name="differs", clique=-1, variables=(before[width - 1],), offsets=(0,), cards=(2,),
            allowed=np.array([False, True]), position=LAST,
        )
    )  # fmt: skip
    return replace(
        graph,
        variables=(*graph.variables, *(f"differs.{graph.variables[variable]}" for variable in loss_labels)),
        cards=(*graph.cards, *(2 for _ in loss_labels)),
        templates=(*graph.templates, *templates),
    )


def _is(value: Mask) -> Mask:
    """[..., 2]: whether D is `value`."""
    return np.stack([~value, value], axis=-1)


def known_label_rows(graph: ModelGraph, gold: Gold, loss_labels: Sequence[int]) -> tuple[FeatureRows, ...]:
    """The rows of the new feature sets: the known value of each label at each token, as a run of `Gold.choices`."""
    rows = []
    for variable in loss_labels:
        code = gold.runs(variable, graph.cards[variable])
        row_off = np.arange(len(code) + 1, dtype=np.int64)
        rows.append(FeatureRows(row_off, code, np.zeros(0)))
    return tuple(rows)
