"""A data set bound to a model: everything that inference over sequences reads, built once.

`BoundData` holds the wiring of each distinct length, the feature rows and the weight bindings; `Potentials`, which
kernels take, are the shared tables at given weights. Not here: running inference (`methods`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Floats, Ints, Ints32
from ...features import FeatureRows, Pairs
from ...graph import ModelGraph, Parameters, ShapeBank, fixed_weights
from ...kernels.runtime import aligned_zeros
from ...kernels.tables import (
    Bindings,
    Kinds,
    Packed,
    Potentials,
    Problem,
    Ragged,
    Rows,
    Shapes,
    base_tables,
    distribute_bundles,
    exponentiate_base,
    sum_bundles,
)
from ..workers import RUNS
from .packing import Packing, pack, unpacked

__all__ = ["Binder", "BoundData", "Potentials"]

PairsOf = tuple[tuple[tuple[int, int], ...], ...]  # of each relational clique, in a sequence


@dataclass(frozen=True, eq=False)
class BoundData:
    """S sequences as kernels see them."""

    graph: ModelGraph
    bank: ShapeBank
    shapes: Shapes
    kinds: Kinds
    bindings: Bindings
    rows: Rows
    hard: Floats  # [shared cells]
    num_weights: int
    fixed: Floats  # weights of the entries of codes, which are no parameters: -inf of hard constraints
    set_off: tuple[int, ...]  # [sets + 1] where the rows of each feature set begin
    packing: Packing | None = None

    @property
    def num_sequences(self) -> int:
        return len(self.rows.shape)

    @property
    def problem(self) -> Problem:
        return Problem(self.shapes, self.kinds, self.bindings, self.rows)

    def ragged(self, labelling: Ints32) -> Ragged:
        """A flat labelling as kernels take it."""
        return Ragged(labelling, self.labelling_off)

    @property
    def labelling_off(self) -> Ints:
        """Where each sequence's variables lie in a flat labelling, [S+1]."""
        return self.rows.token_off * len(self.graph.cards)

    @property
    def marginal_off(self) -> Ints:
        """Where each sequence's states lie in flat marginals, [S+1]."""
        return self.rows.token_off * sum(self.graph.cards)

    def by_variable(self, marginals: Floats) -> list[Floats]:
        """Flat marginals (see `marginal_off`) as one array [positions, states] a variable; one in no factor is uniform.

        Where all numbers of a position are 0, nothing is known of it and it seems uniform too.
        """
        cards = self.graph.cards
        table = marginals.reshape(-1, sum(cards))
        out = []
        for end, card in zip(itertools.accumulate(cards), cards, strict=True):
            own = table[:, end - card : end]
            own[~own.any(axis=1)] = 1.0 / card
            out.append(own)
        return out

    def packed(self, *, bundled: bool = False) -> BoundData:
        """The same data set laid out for working through it again and again.

        bundled: with rows for features that fire together. Then `pass_on` must follow where gradients were added to,
        and `sum_up` where cells were changed.
        """
        packing = pack(self.kinds, self.bindings, self.rows, self.set_off, bundled=bundled)
        if packing is None:
            return self
        return replace(self, rows=self.rows._replace(packed=packing.packed), packing=packing)

    def only(self, sequences: Ints) -> BoundData:
        """Some of the sequences, in this order."""
        lengths = np.diff(self.rows.token_off)[sequences]
        rows = self.rows._replace(
            first_row=np.ascontiguousarray(self.rows.first_row[:, sequences]),
            token_off=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
            shape=self.rows.shape[sequences],
        )
        return replace(self, rows=rows)

    def unbundled(self) -> BoundData:
        """A packed data set without rows for features that fire together: their upkeep is a pass over all of them."""
        if self.packing is None:
            return self
        plain = unpacked(len(self.kinds.base), self.bindings.num_bias)
        return replace(self, rows=self.rows._replace(packed=plain), packing=None).packed()

    @property
    def num_cells(self) -> int:
        """Length of the gradients that kernels add to."""
        return self.packing.num_cells if self.packing is not None else self.num_weights

    def partial_gradients(self, count: int) -> Floats:
        """Zeros [count, num_cells] for runs of sequences to add their expectations to."""
        return aligned_zeros(count * self.num_cells).reshape(count, -1)

    def pass_on(self, gradient: Floats) -> None:
        """Passes what bundles of features got on to single weights, in a gradient [num_cells]."""
        if self.packing is not None:
            distribute_bundles(self.packing.packed, gradient)

    def sum_up(self, cells: Floats) -> None:
        """Brings the sums that bundles of features hold up to date, where single weights of `cells` were changed."""
        if self.packing is not None:
            sum_bundles(self.packing.packed, cells)

    def cell_of_weight(self) -> Ints:
        """Where a gradient [num_cells] holds each weight, -1 for a bias that lies elsewhere, [W]."""
        return self.packing.cell_of[: self.num_weights] if self.packing is not None else np.arange(self.num_weights)

    def potentials(self, weights: Floats, cells: Floats | None = None) -> Potentials:
        """The shared tables at `weights` [W]. `cells` of potentials that are no longer needed are used again."""
        if len(self.fixed):
            weights = np.concatenate([weights, self.fixed])
        log_base = base_tables(weights, self.bindings, self.hard)
        base, peaks, fits = exponentiate_base(log_base, self.kinds)
        if self.packing is not None:
            weights = self.packing.pack(weights, cells)
        return Potentials(weights, log_base, base, peaks, fits)

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """The runs of sequences that threads share out where no run keeps sums of its own."""
        return self.chunks(RUNS)

    def chunks(self, count: int) -> list[tuple[int, int]]:
        """At most `count` runs of whole sequences of about equally many tokens; the cut depends on the data only."""
        tokens = self.rows.token_off
        goals = np.linspace(0, tokens[-1], count + 1)
        cuts = np.unique(np.concatenate([[0], np.searchsorted(tokens, goals[1:-1]), [self.num_sequences]]))
        return list(itertools.pairwise(cuts.tolist()))


class Binder:
    """Binds data sets to a model; `programs` asks for contraction programs, with the latent variables summed out before
    all others if `latents_first`. Keeps the wiring of all lengths it met.
    """

    def __init__(self, graph: ModelGraph, parameters: Parameters, *, programs: bool, latents_first: bool = False):
        self.graph, self.num_weights = graph, parameters.num_weights
        self._bank = graph.bank(programs=programs, latents_first=latents_first)
        self._kinds = graph.kind_arrays(parameters.run_base())
        self._bindings = parameters.bindings(graph)
        self._hard, self._fixed = graph.hard_cells(), fixed_weights(graph)
        self._shape_of: dict[tuple[int, PairsOf], int] = {}
        self._shapes: Shapes | None = None

    def bind(
        self,
        rows: Sequence[FeatureRows],
        sentence_off: Ints,
        relations: Mapping[int, Pairs] | None = None,
    ) -> BoundData:
        """The data set of these feature rows, one a feature set. Unrolls the graphs that are new.

        relations: the pairs of each relational clique, by its number.
        """
        lengths = np.diff(sentence_off).tolist()
        joined = [(relations or {})[self.graph.templates[number].clique] for number in self.graph.relational]
        keys = [(length, tuple(pairs.local(s, sentence_off) for pairs in joined)) for s, length in enumerate(lengths)]
        for key in dict.fromkeys(keys):
            if key not in self._shape_of:
                self._shape_of[key] = self._bank.add(self.graph.shape(*key))
                self._shapes = None
        if self._shapes is None:
            self._shapes = self._bank.shape_arrays()
        shape_of = np.array([self._shape_of[key] for key in keys], np.int32)
        return BoundData(
            graph=self.graph,
            bank=self._bank,
            shapes=self._shapes,
            kinds=self._kinds,
            bindings=self._bindings,
            rows=_join_rows(rows, sentence_off, shape_of, unpacked(len(self._kinds.base), self._bindings.num_bias)),
            hard=self._hard,
            num_weights=self.num_weights,
            fixed=self._fixed,
            set_off=(0, *np.cumsum([len(own.row_off) - 1 for own in rows]).tolist()),
        )


def _join_rows(rows: Sequence[FeatureRows], sentence_off: Ints, shape_of: Ints32, packed: Packed) -> Rows:
    """Feature sets laid end to end; values are kept only if some value is not 1."""
    starts = np.cumsum([0, *(len(r.row_off) - 1 for r in rows)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(r.feature) for r in rows)], dtype=np.int64)
    valued = any(len(r.value) for r in rows)
    row_off = [r.row_off[:-1] + start for r, start in zip(rows, offsets, strict=False)]
    return Rows(
        first_row=np.array(
            [start + r.first_row(sentence_off) for r, start in zip(rows, starts, strict=False)], np.int64
        ).reshape(len(rows), len(shape_of)),
        row_off=np.concatenate([*row_off, offsets[-1:]]),
        feature=rows[0].feature
        if len(rows) == 1
        else np.concatenate([np.zeros(0, np.int32), *(r.feature for r in rows)]),
        value=np.concatenate([r.value if len(r.value) else np.ones(len(r.feature)) for r in rows])
        if valued
        else np.zeros(0),
        token_off=sentence_off,
        shape=shape_of,
        packed=packed,
    )
