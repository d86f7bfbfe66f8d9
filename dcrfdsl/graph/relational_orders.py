"""Elimination orders of graphs in which the data joins positions: every sentence has a graph of its own.

Not here: orders of regular sequences (`programs.elimination`), the graphs (`unroll`).
"""

from __future__ import annotations

from ..foundation import data_error
from .programs import best_order, forest_order, least_table, order_cost
from .shapes import GraphShape

MOST_ENTRIES = 2**24  # of a table


def joined_order(shape: GraphShape) -> list[int]:
    """A good order for one graph; DcrfError if its tables cannot fit."""
    order = forest_order(shape.scopes, len(shape.cards))
    if order is not None:
        return order
    least = least_table(shape.scopes, shape.cards)
    order = best_order(shape.scopes, shape.cards) if least <= MOST_ENTRIES else []
    largest = order_cost(shape.scopes, shape.cards, order).largest if order else least
    if largest > MOST_ENTRIES:
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {largest:.3g} entries on the graph of a sentence, "
            f"{MOST_ENTRIES:,} are possible",
            help="use `infer trp`, or join fewer positions (`max_gap`, `link = next`, a stricter `where`)",
        )
    return order
