"""Unrolls a template over a sequence: the only place where offsets are applied.

A clique index is a set of sites (variable, Δt). Its instance at anchor t holds the variables y_{t+Δt}; it exists where
all its sites lie in the sequence (`edges = inside`) or where at least one does (`edges = pad`, the others in the states
START or STOP). Weights are the same at every anchor (Sutton 2004 §3.1). A relational clique has an instance for each
pair of positions that the data joins (`features.relations` finds them). Hard constraints fold into a clique over the
same sites where there is one, so that they add no loop; else they are factors of their own.

Variables of a sequence of length T with M labels are numbered t·M + label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import data_error
from ..kernels.wiring import Kinds
from .bank import GraphShape, ShapeBank
from .elimination import best_order, order_cost, slice_order
from .templates import CliqueTemplate, Pattern

__all__ = ["ModelGraph"]

Pairs = Sequence[Sequence[tuple[int, int]]]  # of each relational template, positions in the sequence
MOST_ENTRIES = 2**24  # of a table, on graphs with joined pairs


@dataclass(frozen=True)
class _Kind:
    """A template together with a pattern of sites outside: its tables range over the sites inside."""

    template: CliqueTemplate
    pattern: Pattern

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(c for c, outside in zip(self.template.cards, self.pattern, strict=True) if not outside)

    def full_assignments(self) -> NDArray[np.int64]:
        """The assignment, as weights tell them apart, that each entry of the table stands for, [size]."""
        template = self.template
        full, counts = template.full_cards, template.weight_cards
        strides = [math.prod(full[i + 1 :]) for i in range(len(full))]
        places = np.zeros(1, np.int64)
        views = template.views or (None,) * len(counts)
        for card, count, view, stride, outside in zip(
            template.cards, counts, views, strides, self.pattern, strict=True
        ):
            inside = np.arange(card) if view is None else view.of
            states = inside if not outside else np.array([count if outside < 0 else count + 1])
            places = (places[:, None] + stride * states[None, :]).ravel()
        return places

    def hard(self) -> NDArray[np.float64]:
        """0 where an entry is allowed, -inf where it is not, [size]."""
        size = math.prod(self.cards)
        if self.template.allowed is None or any(self.pattern):
            return np.zeros(size)
        return np.where(self.template.allowed.ravel(), 0.0, -np.inf)


@dataclass
class ModelGraph:
    """The templates of a model over its label variables, and the graphs that they unroll to.

    `cards[m]` are the states of label m. Tables shared by all sequences come first in the arena: cell 0 (the constant
    1), then the base table of each kind. A kind with features has a table of its own in every sequence.
    """

    labels: tuple[str, ...]
    cards: tuple[int, ...]
    templates: tuple[CliqueTemplate, ...]
    kinds: list[_Kind] = field(init=False)

    def __post_init__(self) -> None:
        # every pattern of sites outside shows in some sequence of at most span + 2 positions
        found = {
            (number, template.pattern(anchor, length)): None
            for number, template in enumerate(self.templates)
            for length in range(1, self._span() + 3)
            for anchor in template.anchors(length)
        }
        found |= {(number, t.inside): None for number, t in enumerate(self.templates) if t.relational}
        self.kinds = [_Kind(self.templates[number], pattern) for number, pattern in found]
        self._kind_of = {key: index for index, key in enumerate(found)}
        sizes = [math.prod(kind.cards) for kind in self.kinds]
        self._base = np.cumsum([1, *sizes], dtype=np.int64)
        self._inside: list[int] | None = None

    def _span(self) -> int:
        """Positions from the first to the last site of the widest static clique."""
        return max((max(t.offsets) - min(t.offsets) for t in self.templates if not t.relational), default=0)

    @property
    def num_shared(self) -> int:
        """Shared cells of the arena."""
        return int(self._base[-1])

    @property
    def relational(self) -> tuple[int, ...]:
        """The numbers of the relational templates."""
        return tuple(number for number, template in enumerate(self.templates) if template.relational)

    def instances(self, length: int, pairs: Pairs = ()) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(kind, anchor, variables) of every factor of a sequence, clique by clique, from left to right.

        pairs: positions that each relational template joins, in the order of `relational`; the anchor of such an
        instance is its number among them.
        """
        for number, own in zip(self.relational, pairs, strict=False):
            template = self.templates[number]
            for anchor, ends in enumerate(own):
                yield (
                    self._kind_of[number, template.inside],
                    anchor,
                    tuple(
                        (ends[end] + offset) * len(self.cards) + variable
                        for variable, offset, end in zip(
                            template.variables, template.offsets, template.ends, strict=True
                        )
                    ),
                )
        for number, template in enumerate(self.templates):
            for anchor in template.anchors(length):
                pattern = template.pattern(anchor, length)
                scope = tuple(
                    (anchor + offset) * len(self.cards) + variable
                    for variable, offset, outside in zip(template.variables, template.offsets, pattern, strict=True)
                    if not outside
                )
                yield self._kind_of[number, pattern], anchor, scope

    def shape(self, length: int, pairs: Pairs = ()) -> GraphShape:
        """The unrolled graph of a sequence of `length` positions; for `pairs` see `instances`."""
        kinds, anchors, scopes, tables = [], [], [], []
        at = self.num_shared
        for kind, anchor, scope in self.instances(length, pairs):
            kinds.append(kind)
            anchors.append(anchor)
            scopes.append(scope)
            if self.kinds[kind].template.feature_set < 0:
                tables.append(int(self._base[kind]))
            else:
                tables.append(at)
                at += math.prod(self.kinds[kind].cards)
        return GraphShape(self.cards * length, tuple(scopes), tuple(tables), tuple(kinds), tuple(anchors))

    def elimination_order(self, shape: GraphShape) -> list[int]:
        """Left to right, the best order inside a position (chosen once, on a short sequence).

        A graph with joined pairs has an order of its own; DcrfError where its tables cannot fit.
        """
        num_labels = len(self.cards)
        if any(self.kinds[kind].template.relational for kind in shape.kinds):
            return _order_of_its_own(shape)
        if self._inside is None:
            sample = self.shape(2 * self._span() + 3)
            self._inside = slice_order(sample.scopes, sample.cards, num_labels)
        length = len(shape.cards) // num_labels
        return [t * num_labels + label for t in range(length) for label in self._inside]

    def bank(self, *, programs: bool) -> ShapeBank:
        """An empty bank for this model's shapes, with contraction programs or without."""
        return ShapeBank(self.num_shared, self.elimination_order if programs else None)

    def kind_arrays(self, run_base: Sequence[int]) -> Kinds:
        """`run_base[c]`: index of the first feature of the specification's clique c in `Bindings.run_off`."""
        inverse: list[NDArray[np.int32]] = []
        inverse_off, at = [], 0
        for kind in self.kinds:
            if kind.template.views:
                # one assignment is several entries: lists, which negative offsets announce
                cells = kind.full_assignments()
                order, count = np.argsort(cells, kind="stable"), kind.template.num_assignments
                ends = count + 1 + np.searchsorted(cells[order], np.arange(count + 1))
                inverse_off.append(-2 - at)
                inverse.append(np.concatenate([ends, order]).astype(np.int32))
                at += len(inverse[-1])
                continue
            if not kind.template.pad:
                inverse_off.append(-1)
                continue
            lookup = np.full(kind.template.num_assignments, -1, np.int32)
            lookup[kind.full_assignments()] = np.arange(math.prod(kind.cards))
            inverse_off.append(at)
            inverse.append(lookup)
            at += len(lookup)
        return Kinds(
            base=self._base[:-1].copy(),
            size=np.diff(self._base),
            feature_set=np.array([kind.template.feature_set for kind in self.kinds], np.int32),
            run_base=np.array(
                [run_base[k.template.clique] if k.template.clique >= 0 else 0 for k in self.kinds], np.int64
            ),
            has_bias=np.array([kind.template.has_bias for kind in self.kinds], np.bool_),
            inverse_off=np.array(inverse_off, np.int64),
            inverse=np.concatenate([np.zeros(0, np.int32), *inverse]),
        )

    def hard_cells(self) -> NDArray[np.float64]:
        """Hard zeros of all base tables in the layout of the shared cells, [num_shared]; 0 or -inf."""
        return np.concatenate([np.zeros(1), *(kind.hard() for kind in self.kinds)])

    def bias_cells(self, clique: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """(assignments of the full clique, shared cells) of each kind of the specification's clique."""
        for number, kind in enumerate(self.kinds):
            if kind.template.clique == clique:
                assignments = kind.full_assignments()
                yield assignments, self._base[number] + np.arange(len(assignments))


def _order_of_its_own(shape: GraphShape) -> list[int]:
    order = best_order(shape.scopes, shape.cards)
    cost = order_cost(shape.scopes, shape.cards, order)
    if cost.largest > MOST_ENTRIES:
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {cost.largest:.3g} entries over {cost.width} variables on the graph of a "
            f"sentence, {MOST_ENTRIES:,} are possible",
            help="use `infer trp`, or join fewer positions (`max_gap`, `link = next`, a stricter `where`)",
        )
    return order
