"""The graph of all wrong labellings: the same model, with a further variable that has noticed a difference.

Behind each label variable that is looked at stands one of two states, D, the disjunction of all differences so far:

    D_v = D_{v-1} or (y_v ∉ Y*_v),    and D = 1 at the end

as hard constraints with a code a position that says which states Y*_v may be: the known one, one of several, or any.
Sums and maxima over what is left are those over all labellings that contradict what is known somewhere, by any method,
exact where that one is; no difference of large numbers is ever taken. Where everything is known they are Y \\ {y*};
variables of which nothing is known, as latent ones, cannot be wrong.
Source: the pairs (a, b) of what agrees and what does not are the two states of D. Not here: what is done with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Mask
from ...features import FeatureRows
from ..known_labels import Gold
from ..templates import LAST, CliqueTemplate
from ..unroll import ModelGraph

__all__ = ["graph_excluding_gold", "known_label_rows"]


def graph_excluding_gold(graph: ModelGraph, gold: Gold, looked_at: Sequence[int], first_set: int) -> ModelGraph:
    """`graph` without the labellings that agree with what is known of all label variables `looked_at`.

    Its feature sets are numbered from `first_set` on, one a variable in that order; its new variables come last.
    """
    before, width = list(range(len(graph.cards), len(graph.cards) + len(looked_at))), len(looked_at)
    templates = []
    for n, variable in enumerate(looked_at):
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
        variables=(*graph.variables, *(f"differs.{graph.variables[variable]}" for variable in looked_at)),
        cards=(*graph.cards, *(2 for _ in looked_at)),
        templates=(*graph.templates, *templates),
    )


def _is(value: Mask) -> Mask:
    """[..., 2]: whether D is `value`."""
    return np.stack([~value, value], axis=-1)


def known_label_rows(graph: ModelGraph, gold: Gold, looked_at: Sequence[int]) -> tuple[FeatureRows, ...]:
    """The rows of the new feature sets: what is known of each label at each token, as a run of `Gold.choices`."""
    found = []
    for variable in looked_at:
        code = gold.runs(variable, graph.cards[variable])
        row_off = np.arange(len(code) + 1, dtype=np.int64)
        found.append(FeatureRows(row_off, code, np.zeros(0)))
    return tuple(found)
