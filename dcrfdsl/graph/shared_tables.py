"""The tables that all sequences share, and where they lie in the arena: cell by cell, with their biases and hard zeros.

Cell 0 holds the constant 1. The base table of each kind follows, then some of them again with their axes in other
orders, for programs whose vectors run along another axis, then products of some (`table_products`).
Not here: graphs (`unroll`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..foundation import Floats, Ints, Ints32, cached_property
from ..kernels.tables import Kinds
from .clique_kinds import CliqueKind
from .programs import ProductPlace, Turned
from .table_products import TableProduct
from .templates import CliqueTemplate

MOST_TURNED = 2**16  # entries of a table in all orders of its axes but the first


def axis_orders(kind: CliqueKind) -> list[tuple[int, ...]]:
    """The orders of axes, but the first, in which a kind's table is there again."""
    count = len(kind.cards)
    if kind.template.feature_set >= 0 or min(kind.cards) == 1:
        return []
    orders = [*itertools.permutations(range(count))][1:] if count in (2, 3) else []
    return orders if len(orders) * math.prod(kind.cards) <= MOST_TURNED else []


@dataclass(frozen=True, eq=False)
class SharedTables:
    """The shared tables of a model: of its kinds, of some again (kind, order of axes), and products.

    left_out: the kinds that have no tables.
    """

    kinds: Sequence[CliqueKind]
    left_out: frozenset[int]
    turned: Sequence[tuple[int, tuple[int, ...]]]
    products: Sequence[TableProduct] = ()

    @cached_property
    def sizes(self) -> Ints:
        """The entries of every table, [tables]: kinds, turned ones, products."""
        of_kinds = [0 if number in self.left_out else kind.size for number, kind in enumerate(self.kinds)]
        again = [of_kinds[number] for number, _ in self.turned]
        return np.array([*of_kinds, *again, *(product.size for product in self.products)], np.int64)

    @cached_property
    def starts(self) -> Ints:
        """The cell where each table begins, and the end of the last one, [tables + 1]."""
        return np.cumsum([1, *self.sizes.tolist()], dtype=np.int64)

    @property
    def num_cells(self) -> int:
        """The shared cells of the arena."""
        return int(self.starts[-1])

    @property
    def of_kinds(self) -> Ints:
        """The cell where the base table of each kind begins."""
        return self.starts[: len(self.kinds)].copy()

    @property
    def _turned_starts(self) -> list[int]:
        return [int(start) for start in self.starts[len(self.kinds) : len(self.kinds) + len(self.turned)]]

    @property
    def _product_starts(self) -> list[int]:
        return [int(start) for start in self.starts[len(self.kinds) + len(self.turned) : -1]]

    def turned_places(self) -> Turned:
        """Where tables lie again, see `programs.build_program`."""
        places: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        for (number, axes), place in zip(self.turned, self._turned_starts, strict=True):
            places.setdefault(int(self.starts[number]), []).append((axes, place))
        return places

    def product_places(self) -> list[ProductPlace]:
        """Where products and their parts lie."""
        return [
            product.placed(self.of_kinds, at)
            for product, at in zip(self.products, self._product_starts, strict=True)
        ]  # fmt: skip

    def hard_cells(self) -> Floats:
        """Hard zeros of all tables in the layout of the shared cells, [num_cells]; 0 or -inf."""
        hard = [np.zeros(0) if number in self.left_out else kind.hard() for number, kind in enumerate(self.kinds)]
        turned = [
            hard[number].reshape(self.kinds[number].cards).transpose(axes).ravel() for number, axes in self.turned
        ]
        return np.concatenate([np.zeros(1), *hard, *turned, *(product.hard(self.kinds) for product in self.products)])

    def bias_cells(self, clique: int) -> Iterator[tuple[Ints, Ints]]:
        """(assignments of the full clique, shared cells) of each table that a clique of the specification adds to."""
        for number, kind in enumerate(self.kinds):
            if kind.template.clique == clique and number not in self.left_out:
                assignments = kind.full_assignments()
                yield assignments, self.starts[number] + np.arange(len(assignments))
        for (number, axes), base in zip(self.turned, self._turned_starts, strict=True):
            kind = self.kinds[number]
            if kind.template.clique == clique:
                places = np.arange(math.prod(kind.cards)).reshape([kind.cards[axis] for axis in axes])
                yield kind.full_assignments(), base + places.transpose(np.argsort(axes)).ravel()
        for product, base in zip(self.products, self._product_starts, strict=True):
            for number in product.kinds:
                kind = self.kinds[number]
                if kind.template.clique == clique:
                    yield kind.full_assignments()[product.entries(kind)], base + np.arange(product.size)

    def kind_arrays(self, run_base: Sequence[int], code_base: Mapping[int, int]) -> Kinds:
        """The tables as kernels take them: turned tables and products are kinds of their own.

        run_base: of each clique of the specification.   code_base: of templates with codes, by their identity. Both are
        the index of the first feature in `Bindings.run_off`.
        """
        listed = [*range(len(self.kinds)), *(number for number, _ in self.turned)]
        kinds, none = [self.kinds[number] for number in listed], [0] * len(self.products)
        inverse: list[Ints32] = []
        inverse_off, at = [], 0
        for number, kind in zip(listed, kinds, strict=True):
            of_kind, lists = (-1, None) if number in self.left_out else _inverse(kind, at)
            inverse_off.append(of_kind)
            if lists is not None:
                inverse.append(lists)
                at += len(lists)

        def first_feature(template: CliqueTemplate) -> int:
            return run_base[template.clique] if template.clique >= 0 else code_base.get(id(template), 0)

        parts = [np.array(product.kinds, np.int32) for product in self.products]
        return Kinds(
            base=self.starts[:-1].copy(),
            size=self.sizes.copy(),
            feature_set=np.array([*(kind.template.feature_set for kind in kinds), *(-1 for _ in none)], np.int32),
            run_base=np.array([*(first_feature(kind.template) for kind in kinds), *none], np.int64),
            has_bias=np.array([*(kind.template.has_bias for kind in kinds), *none], np.bool_),
            fixed=np.array([*(kind.template.coded is not None for kind in kinds), *none], np.bool_),
            inverse_off=np.array([*inverse_off, *(-1 for _ in none)], np.int64),
            inverse=np.concatenate([np.zeros(0, np.int32), *inverse]),
            part_off=np.cumsum([0] * (len(kinds) + 1) + [len(part) for part in parts], dtype=np.int64),
            part=np.concatenate([np.zeros(0, np.int32), *parts]),
        )


def _inverse(kind: CliqueKind, at: int) -> tuple[int, Ints32 | None]:
    """What `Kinds.inverse_off` says of a kind, and its part of `Kinds.inverse`, which begins at `at`, if it has one."""
    if kind.template.views:
        # an assignment has several entries: lists, marked by negative offsets
        cells = kind.full_assignments()
        order, count = np.argsort(cells, kind="stable"), kind.template.num_assignments
        ends = count + 1 + np.searchsorted(cells[order], np.arange(count + 1))
        return -2 - at, np.concatenate([ends, order]).astype(np.int32)
    if not kind.template.pad:
        return -1, None
    lookup = np.full(kind.template.num_assignments, -1, np.int32)
    lookup[kind.full_assignments()] = np.arange(math.prod(kind.cards))
    return at, lookup
