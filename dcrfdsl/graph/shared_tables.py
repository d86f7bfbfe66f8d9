"""The tables that all sequences share, and where they lie in the arena: cell by cell, with their biases and hard zeros.

Cell 0 holds the constant 1. The base table of each kind follows, then some of them again with their axes in other
orders, for programs whose vectors run along another axis, then products of some.

Products: exact inference multiplies the tables of the cliques without features inside a position (upos – case, upos –
number, …) into the large table of every position, one by one. Their product is the same at all positions, so it lies
in the shared cells as well, and programs multiply by it once. Its log potentials are the sums of those of its parts,
so the weights of all parts are added to its cells. A product is made where the programs of a sample get cheaper by it:
not where a part would otherwise be summed out before it meets the others. Not here: graphs (`unroll`), programs
(`contraction_programs`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..foundation import Floats, Ints, Ints32, cached_property, dataclass
from ..kernels.tables import Kinds
from .clique_kinds import CliqueKind
from .contraction_programs import ContractionProgram, Turned
from .elimination import order_cost
from .sequence_programs import ProductPlace, ProgramBuilder
from .shapes import GraphShape
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
        places = zip(self.products, self._product_starts, strict=True)
        return [product.placed(self.of_kinds, at) for product, at in places]

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
            fixed=np.array([*(kind.template.num_codes > 0 for kind in kinds), *none], np.bool_),
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


MOST_CELLS = 2**15  # of a product
LARGEST = 2**18  # entries of the largest table of elimination where products are looked for
NOWHERE = 0  # the place of a product in the programs that it is tried in, which are never run
RESULT = 4.0  # writing a result, and reading it back, costs as much as so many multiply-adds


@dataclass(frozen=True)
class TableProduct:
    """The product of the tables of some kinds over variables of one position, slowest first."""

    kinds: tuple[int, ...]
    variables: tuple[int, ...]
    cards: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.cards)

    def entries(self, kind: CliqueKind) -> Ints:
        """For each entry of the product, the entry of the table of one of its kinds, [size]."""
        axes = [self.variables.index(variable) for variable in kind.template.variables]
        states = np.indices(self.cards, dtype=np.int64).reshape(len(self.cards), -1)
        entries: Ints = np.ravel_multi_index([states[axis] for axis in axes], kind.cards)
        return entries

    def hard(self, kinds: Sequence[CliqueKind]) -> Floats:
        """The hard zeros of its kinds: 0 or -inf, [size]."""
        total = np.zeros(self.size)
        for number in self.kinds:
            total += kinds[number].hard()[self.entries(kinds[number])]
        return total

    def placed(self, starts: Ints, at: int) -> ProductPlace:
        """Where its table and those of its kinds lie.   starts: of each kind."""
        return ProductPlace(frozenset(int(starts[kind]) for kind in self.kinds), self.variables, at)


def candidate_products(
    kinds: Sequence[CliqueKind], cards: Sequence[int], of_sentence: Iterable[int]
) -> list[TableProduct]:
    """For each set of variables that cliques without features tie at every position: the product of these."""
    whole = frozenset(of_sentence)
    plain = [number for number, kind in enumerate(kinds) if _is_plain(kind, cards, whole)]
    groups: list[set[int]] = []  # of variables that are tied to each other
    for number in plain:
        tied = set(kinds[number].template.variables)
        apart = [group for group in groups if group.isdisjoint(tied)]
        groups = [*apart, tied.union(*(group for group in groups if not group.isdisjoint(tied)))]
    products = []
    for group in groups:
        members = tuple(number for number in plain if group.issuperset(kinds[number].template.variables))
        ties = sum(len(kinds[number].template.variables) > 1 for number in members)
        variables = tuple(sorted(group))
        product = TableProduct(members, variables, tuple(cards[variable] for variable in variables))
        if ties > 1 and product.size <= MOST_CELLS:
            products.append(product)
    return products


def _is_plain(kind: CliqueKind, cards: Sequence[int], of_sentence: frozenset[int]) -> bool:
    """Whether every position has a factor of this kind, with one table for all."""
    template = kind.template
    return (
        template.feature_set < 0 and template.position is None and template.is_regular
        and not template.segment_length
        and not any(template.offsets) and not any(kind.pattern)
        and len(set(template.variables)) == len(template.variables) and of_sentence.isdisjoint(template.variables)
        and kind.cards == tuple(cards[variable] for variable in template.variables)
    )  # fmt: skip


def cheaper_product(
    product: TableProduct, sample: GraphShape, order: Sequence[int], shared: SharedTables
) -> TableProduct | None:
    """The product with its axes in the order of the tables that it meets; None if programs do not get cheaper by it.

    sample: a graph of a few positions, with these shared tables.   order: of elimination there.
    """
    if order_cost(sample.scopes, sample.cards, order).largest > LARGEST:
        return None

    def program(*products: ProductPlace) -> tuple[ContractionProgram, float]:
        builder = ProgramBuilder(shared.num_cells, lambda shape: order, None, shared.turned_places(), products)
        built = builder.build_in_steps(sample)
        sizes = builder.patterns.arrays().dims[built.step[:, 0], :4]
        results = sizes[:, 0] * sizes[:, 1] * sizes[:, 3]
        return built, float((results * (sizes[:, 2] + RESULT)).sum())

    _, without = program()
    built, work = program(product.placed(shared.of_kinds, NOWHERE))
    return replace(product, **_met(built, product)) if work < without else None


def _met(program: ContractionProgram, product: TableProduct) -> dict[str, tuple[int, ...]]:
    """The variables of a product in the order in which they lie in most of the tables that it is multiplied into."""
    bounds = [0, *itertools.accumulate(program.axis_count.tolist())]
    met = Counter[tuple[int, ...]]()
    for step, (_, _, right, _, _) in enumerate(program.step.tolist()):
        left_axes, right_axes = (program.axis_var[bounds[i] : bounds[i + 1]].tolist() for i in (2 * step, 2 * step + 1))
        axes = tuple(right_axes.index(v) for v in left_axes if v in right_axes)
        if right == NOWHERE and len(axes) == len(product.variables):
            met[axes] += 1
    order = met.most_common(1)[0][0] if met else tuple(range(len(product.variables)))
    return {
        "variables": tuple(product.variables[axis] for axis in order),
        "cards": tuple(product.cards[axis] for axis in order),
    }
