"""Where products of shared tables lie, and the factors of a graph with products in place of their parts.

Not here: which tables are multiplied (`graph.table_products`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..shapes import GraphShape


class ProductPlace(NamedTuple):
    """A product over variables of a position, slowest first; the places of its parts and its own, all in the arena."""

    parts: frozenset[int]
    variables: tuple[int, ...]
    at: int


def multiplied(shape: GraphShape, products: Sequence[ProductPlace]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The scopes and tables of a regular graph's factors; a position that has all parts of a product has it instead."""
    of_part = {part: number for number, product in enumerate(products) for part in product.parts}
    factors = list(zip(shape.scopes, shape.tables, strict=True))
    owners = [of_part.get(table) for _, table in factors]
    found: dict[tuple[int, int], set[int]] = {}
    for (scope, table), owner in zip(factors, owners, strict=True):
        if owner is not None:
            found.setdefault((owner, scope[0] // shape.width), set()).add(table)
    scopes, tables = [], []
    for (scope, table), owner in zip(factors, owners, strict=True):
        position = scope[0] // shape.width if owner is not None else 0
        if owner is None or found[owner, position] != products[owner].parts:
            scopes.append(scope)
            tables.append(table)
        elif table == min(products[owner].parts):
            scopes.append(tuple(position * shape.width + variable for variable in products[owner].variables))
            tables.append(products[owner].at)
    return scopes, tables
