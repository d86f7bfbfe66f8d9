"""Unrolls a template over a sequence: the only place where offsets are applied.

A clique index is a set of sites (variable, Δt). Its instance at anchor t has the variables y_{t+Δt}; it exists where
all its sites lie in the sequence (`edges = inside`), or where at least one does (`edges = pad`; the other sites are in
the states START or STOP). Weights are the same at every anchor (Sutton 2004 §3.1). A relational clique has an instance
for each pair of positions that the data joins (`features.relation_instances` finds them). Hard constraints fold into a
clique over the same sites if there is one, so that they add no loop; otherwise they are separate factors.

Variables of a sequence of length T with M variables per position (labels, latents, memories) are numbered t·M + m.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from ..foundation import Paragraph, cached_property, dataclass, notebook_html
from ..kernels.tables import Kinds
from ..semantics import ModelSpec, RunMemory, SegmentMemory, unrolled_spec
from .clique_kinds import CliqueKind
from .drawing import FactorMark, GraphDrawing, VariableMark, drawing_blocks
from .elimination import OrderCost, joined_order, order_cost, slice_order
from .segment_factors import with_memory_factors
from .shape_bank import ShapeBank
from .shapes import GraphShape, Run, by_position, in_order
from .shared_tables import SharedTables, TableProduct, axis_orders, candidate_products, cheaper_product
from .templates import CliqueTemplate, Pattern, clique_templates, variable_names

Pairs = Sequence[Sequence[tuple[int, int]]]  # for each relational template, positions in the sequence
TOKENS = 4  # for which a graph without a sentence is drawn


@dataclass(eq=False)
class ModelGraph:
    """The templates of a model over its variables, and the graphs that they unroll to.

    `variables` are labels, latents and memories in this order, the first `num_labels` of them labels; `cards[m]` is the
    number of states of variable m. Tables shared by all sequences come first in the arena (`shared`). A kind with
    features has a separate table in every sequence.

    A variable in `of_sentence` is one for a sequence: that of the first position. At the others it has one state and no
    factor, and so acts as a constant; layouts by position stay.

    sweeps: that messages need on the first sentences of the training data; None where that was not learned.
    """

    variables: tuple[str, ...]
    cards: tuple[int, ...]
    templates: tuple[CliqueTemplate, ...] = field(repr=False)
    num_labels: int
    num_latents: int = 0
    unary_only: bool = False
    of_sentence: frozenset[int] = frozenset()
    sweeps: float | None = None
    kinds: list[CliqueKind] = field(init=False, repr=False)
    shared: SharedTables = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.of_sentence:  # a clique over nothing else lies once in a sequence, at its beginning
            self.templates = tuple(
                replace(t, position=0) if self.of_sentence.issuperset(t.variables) else t for t in self.templates
            )
        positions = [t.position for t in self.templates if t.position is not None]
        longest = self._span() + 2 + max(positions, default=0)  # long enough to show all patterns at the ends
        kinds = {
            (number, pattern): None
            for number, template in enumerate(self.templates)
            for pattern in template.patterns(longest)
        }
        kinds |= {(number, t.inside): None for number, t in enumerate(self.templates) if t.relational}
        self.kinds = [CliqueKind(self.templates[number], pattern) for number, pattern in kinds]
        self._kind_of = {key: index for index, key in enumerate(kinds)}
        left_out = frozenset(number for number, kind in enumerate(self.kinds) if self.leaves_out(kind.template))
        again = [] if self.unary_only or self._is_read_one_way() else self.kinds
        turned = [(number, axes) for number, kind in enumerate(again) for axes in axis_orders(kind)]
        self._inside: list[int] | None = None
        self.shared = SharedTables(self.kinds, left_out, turned)
        products = () if self.unary_only else self._products()
        self.shared = replace(self.shared, products=products)

    def _repr_html_(self) -> str:
        """For notebooks: the templates unrolled over a few tokens. Cliques that only data joins are named."""
        length = max(TOKENS, self.sample_lengths[0])
        sites = [(t, m) for t in range(length) for m in range(len(self.cards)) if self.is_there(t, m)]
        variables = tuple(VariableMark(self.variables[m], t, self.cards[m]) for t, m in sites)
        number = {t * len(self.cards) + m: n for n, (t, m) in enumerate(sites)}
        shape = self.shape(length)
        factors = tuple(
            FactorMark(self.kinds[kind].template.name, anchor, tuple(number[v] for v in scope))
            for kind, anchor, scope in zip(shape.kinds, shape.anchors, shape.scopes, strict=True)
        )
        words = tuple("t" if t == 0 else f"t+{t}" for t in range(length))
        blocks = list(drawing_blocks(GraphDrawing(f"unrolled over {length} tokens", words, variables, factors)))
        joined = [self.templates[number].name for number in self.relational]
        if joined:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(joined))
            blocks.append(Paragraph(f"Not drawn: {names}, which join positions that only data tell.", kind="note"))
        return notebook_html(blocks)

    def leaves_out(self, template: CliqueTemplate) -> bool:
        """Whether a template has no tables here."""
        return self.unary_only and len(template.offsets) > 1

    def thin(self) -> ModelGraph:
        """The same graph without tables for cliques of several sites."""
        return self if self.unary_only else self._thin

    @cached_property
    def _thin(self) -> ModelGraph:
        return replace(self, unary_only=True)

    @cached_property
    def exact_cost(self) -> OrderCost:
        """The cost of exact inference: multiply-adds per *token* (far from the ends), largest table, width."""
        costs, lengths = [], self.sample_lengths
        for length in lengths:
            shape = self.shape(length)
            costs.append(order_cost(shape.scopes, shape.cards, self.elimination_order(shape)))
        work = math.inf  # if the longer sequence does not fit
        if costs[1].work < math.inf:
            work = (costs[1].work - costs[0].work) / (lengths[1] - lengths[0])
        return OrderCost(work, costs[1].largest, costs[1].width, costs[1].culprit)

    def kind_of(self, number: int, pattern: Pattern) -> int:
        return self._kind_of[number, pattern]

    def _products(self) -> tuple[TableProduct, ...]:
        """The products of shared tables by which exact inference gets cheaper."""
        candidates = candidate_products(self.kinds, self.cards, self.of_sentence)
        if not candidates:
            return ()
        sample = self.shape(2 * self._span() + 3)
        order = self.elimination_order(sample)
        found = (cheaper_product(one, sample, order, self.shared) for one in candidates)
        return tuple(product for product in found if product is not None)

    def _is_read_one_way(self) -> bool:
        """Whether programs gain nothing by tables in other layouts: on a chain of one label, also on one by triples."""
        is_plain = self._span() < 2 and not self.relational
        return len(self.cards) == 1 and (is_plain or any(len(t.cards) > 2 for t in self.templates))

    def _span(self) -> int:
        """Positions from the first to the last site of the widest static clique."""
        return max((t.span for t in self.templates if not t.relational), default=0)

    @property
    def sample_lengths(self) -> tuple[int, int]:
        """Two lengths of sequences; the additional positions of the second one lie far from the ends."""
        length = max(8, 2 * self._span() + 2)
        return length, 2 * length

    @property
    def num_shared(self) -> int:
        return self.shared.num_cells

    @classmethod
    def of(
        cls,
        spec: ModelSpec,
        states: Mapping[str, Sequence[str]],
        set_of_clique: Sequence[int],
        bias_of_clique: Sequence[bool],
    ) -> ModelGraph:
        """The graph of a specification; `clique_templates` describes the arguments."""
        spec, states = unrolled_spec(spec, states)
        templates = clique_templates(spec, states, set_of_clique, bias_of_clique)
        for memory in spec.memories:
            if isinstance(memory, SegmentMemory | RunMemory):
                templates = with_memory_factors(templates, memory, variable_names(spec), states[memory.label])
        cards = tuple(len(states[name]) for name in variable_names(spec))
        whole = frozenset(m for m, label in enumerate(spec.labels) if label.per == "sentence")
        return cls(variable_names(spec), cards, templates, len(spec.labels), len(spec.latents), of_sentence=whole)

    def is_there(self, position: int, variable: int) -> bool:
        """Whether a position has a variable: one of the sentence is at the first alone."""
        return position == 0 or variable not in self.of_sentence

    @property
    def latents(self) -> range:
        return range(self.num_labels, self.num_labels + self.num_latents)

    @property
    def coded(self) -> list[CliqueTemplate]:
        """The hard constraints that read observations, and given scores, in the order of their feature sets."""
        return [template for template in self.templates if template.num_codes]

    @property
    def has_fixed_scores(self) -> bool:
        """Whether something without a weight adds to scores, and does not only forbid."""
        return any(
            one.given is not None or (one.coded is not None and one.coded.dtype != np.bool_) for one in self.coded
        )

    @property
    def relational(self) -> tuple[int, ...]:
        return tuple(number for number, template in enumerate(self.templates) if template.relational)

    def _joined(self, pairs: Pairs) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """The instances of relational templates."""
        for number, template_pairs in zip(self.relational, pairs, strict=False):
            template = self.templates[number]
            for anchor, ends in enumerate(template_pairs):
                sites = zip(template.variables, template.offsets, template.ends, strict=True)
                scope = tuple((ends[end] + offset) * len(self.cards) + variable for variable, offset, end in sites)
                yield self._kind_of[number, template.inside], anchor, scope

    def _scope(self, template: CliqueTemplate, anchor: int, pattern: Pattern) -> tuple[int, ...]:
        if self.of_sentence.issuperset(template.variables):
            return template.variables
        return tuple(
            variable if variable in self.of_sentence else (anchor + offset) * len(self.cards) + variable
            for variable, offset, outside in zip(template.variables, template.offsets, pattern, strict=True)
            if not outside
        )

    def _runs(self, length: int, pairs: Pairs) -> Iterator[Run]:
        """Every factor of a sequence, clique by clique, from left to right; consecutive ones with all sites in the
        sequence are one run. The place of a table is that of its kind's base table.
        """
        starts = self.shared.starts
        for kind, anchor, scope in self._joined(pairs):
            yield Run(scope, int(starts[kind]), kind, anchor)
        for number, template in enumerate(self.templates):
            if self.leaves_out(template):
                continue
            anchors = template.anchors(length)
            inside = range(
                max(anchors.start, -min(template.offsets)), min(anchors.stop, length - max(template.offsets))
            )
            border = (*range(anchors.start, inside.start), *inside[:1], *range(inside.stop, anchors.stop))
            for anchor in border if inside else anchors:
                pattern = template.pattern(anchor, length)
                if 0 not in pattern:  # all sites lie outside
                    continue
                kind = self._kind_of[number, pattern]
                if anchor in inside and not self.of_sentence.isdisjoint(template.variables):
                    for at in inside:  # one by one: a part of their scopes stays where it is
                        yield Run(self._scope(template, at, pattern), int(starts[kind]), kind, at)
                    continue
                count = len(inside) if anchor in inside else 1
                yield Run(self._scope(template, anchor, pattern), int(starts[kind]), kind, anchor, count)

    def shape(self, length: int, pairs: Pairs = ()) -> GraphShape:
        """The unrolled graph of a sequence of `length` positions: its factors clique by clique, from left to right.

        pairs: the positions that each relational template joins, in the order of `relational`; the anchor of such a
        factor is the number of its pair.
        """
        runs = list(self._runs(length, pairs))
        is_local = [self.kinds[run.kind].template.feature_set >= 0 for run in runs]
        sizes = [self.kinds[run.kind].size for run in runs]
        width = len(self.cards)
        cards, room = self._cards(length), self.cards if self.of_sentence else ()
        if any(len(joined) for joined in pairs):
            return GraphShape(cards, in_order(runs, is_local, sizes, self.num_shared), width, room=room)
        laid = by_position(runs, is_local, sizes, self.num_shared, width)
        return GraphShape(cards, laid, width, length, room)

    def _cards(self, length: int) -> tuple[int, ...]:
        """The states of every variable of a sequence."""
        if not self.of_sentence or not length:
            return self.cards * length
        later = tuple(1 if m in self.of_sentence else card for m, card in enumerate(self.cards))
        return self.cards + later * (length - 1)

    def elimination_order(self, shape: GraphShape) -> list[int]:
        """Left to right, with the best order inside a position (chosen once, on a short sequence).

        A graph with joined pairs has a separate order; DcrfError if its tables cannot fit.
        """
        num_labels = len(self.cards)
        if any(self.kinds[run.kind].template.relational for run in shape.runs):
            return joined_order(shape)
        if self._inside is None:
            sample = self.shape(2 * self._span() + 3)
            self._inside = slice_order(sample.scopes, sample.cards, num_labels, sorted(self.of_sentence))
        length = len(shape.cards) // num_labels
        order = [t * num_labels + label for t in range(length) for label in self._inside]
        return order + sorted(self.of_sentence) if length else order

    def latents_first_order(self, shape: GraphShape) -> list[int]:
        """All latent variables before the others: the rest is the graph of the labels with the latents summed out.

        Summing and maximising do not commute, so the best labelling with its latents summed out needs this order.
        """
        hidden, width = self.latents, len(self.cards)
        first = [v for v in range(len(shape.cards)) if v % width in hidden]
        return [*first, *(v for v in self.elimination_order(shape) if v % width not in hidden)]

    def bank(self, *, programs: bool, latents_first: bool = False) -> ShapeBank:
        """An empty bank for this model's shapes, with or without contraction programs."""
        order = self.latents_first_order if latents_first else self.elimination_order
        turned, products = self.shared.turned_places(), [] if latents_first else self.shared.product_places()
        return ShapeBank(self.num_shared, order if programs else None, self.shape, turned, products)

    def kind_arrays(self, run_base: Sequence[int]) -> Kinds:
        """The kinds as kernels take them. `run_base[c]`: index of the first feature of clique c of the specification in
        `Bindings.run_off`; the last one is that of the first template with codes.
        """
        coded = self.coded
        code_base = run_base[-1] + np.cumsum([0, *(template.num_codes for template in coded)])
        base_of = {id(template): int(base) for template, base in zip(coded, code_base, strict=False)}
        return self.shared.kind_arrays(run_base, base_of)
