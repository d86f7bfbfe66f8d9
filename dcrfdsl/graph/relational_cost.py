"""The cost of exact inference where the data joins positions: every sentence has a graph of its own.

All numbers are those of the elimination orders that inference takes. Not here: the orders (`relational_orders`),
regular sequences (`model_cost`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..features import Pairs
from ..foundation import Offsets
from .programs import best_order, forest_order, least_table, order_cost
from .relational_orders import MOST_ENTRIES
from .unroll import ModelGraph

MOST_SENTENCES = 100  # that have loops: their orders are searched for


class JoinedCost(NamedTuple):
    """forests: sentences without a loop, of all.   sample: sentences with loops that were looked at.   too_wide: those
    of them whose tables do not fit.   work: multiply-adds a token where they do.   median, most: entries of the largest
    table of a sentence, also where it does not fit.
    """

    sentences: int
    forests: int
    sample: int
    too_wide: int
    work: float
    median: float
    most: float


def joined_costs(graph: ModelGraph, sentence_off: Offsets, relations: Mapping[int, Pairs]) -> JoinedCost:
    """The cost on a data set; of sentences with loops on the first ones.   relations: see `Binder.bind`."""
    clique = [graph.templates[number].clique for number in graph.relational]
    lengths = np.diff(sentence_off).tolist()
    forests = loops = too_wide = tokens = 0
    work, largest = 0.0, []
    for s, length in enumerate(lengths):
        shape = graph.shape(length, [relations[number].local(s, sentence_off) for number in clique])
        order = forest_order(shape.scopes, len(shape.cards))
        forests += order is not None
        if order is None:
            loops += 1
            if loops > MOST_SENTENCES:
                continue
            least = least_table(shape.scopes, shape.cards)
            order = best_order(shape.scopes, shape.cards) if least <= MOST_ENTRIES else []
            if not order:
                largest.append(least)
                too_wide += 1
                continue
        cost = order_cost(shape.scopes, shape.cards, order)
        largest.append(cost.largest)
        if cost.largest > MOST_ENTRIES:
            too_wide += 1
        else:
            work, tokens = work + cost.work, tokens + length
    return JoinedCost(
        len(lengths), forests, min(loops, MOST_SENTENCES), too_wide, work / tokens if tokens else math.inf,
        float(np.median(largest)) if largest else 1.0, max(largest, default=1.0),
    )  # fmt: skip
