"""Exact inference on the sentences whose graphs make it cheap, message passing on the others.

With relational cliques every sentence has its own graph, and `auto` decides for each by its cost. So the method for a
sentence does not depend on the other sentences. Not here: the costs (`graph.model_cost`), the two methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import graph
from ...foundation import Floats, Ints, dataclass
from ...kernels.tables import Potentials, Results
from ...semantics import AutoSettings
from ..base import Decoded, Expectations, SequenceMethod
from ..bound import BoundData
from .exact_method import ExactMethod
from .message_method import MessageMethod

Part = tuple[Ints, BoundData]  # numbers of sequences, and their data; exact if that has contraction programs


def elimination_costs(data: BoundData) -> Iterator[tuple[int, list[int], graph.OrderCost]]:
    """Number, order and cost of each shape of the data, but of those for which an order would take long to find."""
    for g in np.unique(data.rows.shape).tolist():
        shape = data.bank.shapes[g]
        if graph.least_table(shape.scopes, shape.cards) <= graph.MOST_ENTRIES:
            order = graph.best_order(shape.scopes, shape.cards)
            yield g, order, graph.order_cost(shape.scopes, shape.cards, order)


def parts_by_cost(data: BoundData, fits: Callable[[graph.GraphShape, graph.OrderCost], bool]) -> list[Part]:
    """The sequences whose graphs `fits` accepts, with contraction programs, and the others without; no part is empty.

    data: bound without programs.
    """
    orders = {g: order for g, order, cost in elimination_costs(data) if fits(data.bank.shapes[g], cost)}
    chosen = np.isin(data.rows.shape, list(orders))
    narrow, wide = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    parts: list[Part] = []
    if len(narrow):
        pending = iter(orders.values())
        bank = graph.ShapeBank(data.bank.local_start, lambda shape: next(pending))
        number = {g: bank.add(data.bank.shapes[g]) for g in orders}
        rows = data.only(narrow).rows
        rows = rows._replace(shape=np.array([number[g] for g in rows.shape.tolist()], np.int32))
        parts.append((narrow, replace(data, bank=bank, shapes=bank.shape_arrays(), rows=rows)))
    if len(wide):
        parts.append((wide, data.only(wide)))
    return parts


@dataclass(eq=False)
class PerSentenceMethod:
    """A method for each part of the data. `methods[i]` is built for the data of `parts[i]`."""

    data: BoundData
    parts: Sequence[Part]
    methods: Sequence[SequenceMethod]
    together: ClassVar[int] = 1

    @classmethod
    def of(cls, data: BoundData, settings: AutoSettings) -> PerSentenceMethod:
        """Exact inference or messages for each sequence, by the cost of its graph. `data` is bound without programs."""
        largest, sweeps = settings.max_table, data.graph.sweeps
        parts = parts_by_cost(data, lambda shape, cost: exact_pays_on(shape, cost, largest, sweeps))
        methods = [
            MessageMethod.by_trees(bound, settings) if bound.bank.order_of is None else ExactMethod(bound, settings)
            for _, bound in parts
        ]
        return cls(data, parts, methods)

    @property
    def approximate(self) -> bool:
        return any(method.approximate for method in self.methods)

    def description(self) -> str:
        """`exact on 1,990 of 2,000 sentences, trp on the others`"""
        exact = sum(len(numbers) for numbers, data in self.parts if data.bank.order_of is not None)
        total = self.data.num_sequences
        if exact in (0, total):
            return "exact" if exact else "trp"
        return f"exact on {exact:,} of {total:,} sentences, trp on the others"

    def _runs(self, first: int, last: int) -> Iterator[tuple[SequenceMethod, BoundData, int, int, Ints]]:
        """The methods of sequences `first` to `last` - 1: each with its data, the run there, and the sequences' numbers
        here.
        """
        for (numbers, data), method in zip(self.parts, self.methods, strict=True):
            begin, end = np.searchsorted(numbers, [first, last]).tolist()
            if begin < end:
                yield method, data, begin, end, numbers[begin:end]

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        for method, data, begin, end, numbers in self._runs(first, last):
            part = out.empty(data, marginals=len(out.marginals) > 0)
            method.expectations(potentials, begin, end, part, gradient, expected)
            _write(part.results, begin, numbers, out.results)
            if len(out.marginals):
                _spread(part.marginals, data.marginal_off, begin, numbers, out.marginals, self.data.marginal_off)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        for method, data, begin, end, numbers in self._runs(first, last):
            part = out.empty(data)
            method.decode(potentials, begin, end, part)
            _write(part.results, begin, numbers, out.results)
            _spread(part.labelling, data.labelling_off, begin, numbers, out.labelling, self.data.labelling_off)


def exact_pays_on(shape: graph.GraphShape, cost: graph.OrderCost, max_table: int, sweeps: float | None) -> bool:
    """Whether exact inference pays on a graph. sweeps: those that messages need, if that was learned."""
    tables = (([shape.cards[v] for v in scope], 1.0) for scope in shape.scopes)
    messages = graph.MessageCost.of(tables, len(shape.cards), sweeps, joined=True)
    return graph.exact_pays(cost, max_table, messages, joined=True)


def _write(part: Results, begin: int, numbers: Ints, whole: Results) -> None:
    """Copies the results of a part from its sequence `begin` on to the sequences `numbers` of the whole."""
    for name in Results._fields:
        getattr(whole, name)[numbers] = getattr(part, name)[begin : begin + len(numbers)]


def _spread(part: NDArray, part_off: Ints, begin: int, numbers: Ints, out: NDArray, off: Ints) -> None:
    """The same for a flat array with one run per sequence."""
    for s, number in enumerate(numbers.tolist(), begin):
        out[off[number] : off[number + 1]] = part[part_off[s] : part_off[s + 1]]
