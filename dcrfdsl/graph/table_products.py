"""Products of shared tables: the cliques without features inside a position have one more table together.

Exact inference multiplies the tables of such cliques (upos – case, upos – number, …) into the large table of every
position, one by one. Their product is the same at all positions, so it lies in the shared cells as well, and programs
multiply by it once. Its log potentials are the sums of those of its parts, so the weights of all parts are added to its
cells.

A product is made where the programs of a sample get cheaper by it: not where a part would otherwise be summed out
before it meets the others. Not here: where the cells lie (`shared_tables`), programs (`graph.programs`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..foundation import Floats, Ints
from .clique_kinds import CliqueKind
from .programs import ContractionProgram, ProductPlace, ProgramBuilder, order_cost
from .shapes import GraphShape

if TYPE_CHECKING:
    from .shared_tables import SharedTables

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
        """The entries of its table."""
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
        template.feature_set < 0 and template.position is None and template.segments is None
        and not template.relational and not template.segment_length
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
