"""A data set bound to a model: everything that inference over sequences reads, built once.

`BoundData` holds the wiring of each distinct length, the feature rows and the weight bindings; `Potentials` are the
shared tables at given weights. Not here: running inference (`methods`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..features.rows import FeatureRows
from ..graph.bank import ShapeBank
from ..graph.parameters import Parameters
from ..graph.unroll import ModelGraph
from ..kernels.tables import base_tables, exponentiate_base
from ..kernels.wiring import Bindings, Kinds, Rows, Shapes

__all__ = ["Binder", "BoundData", "Potentials"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundData:
    """S sequences as kernels see them. `num_labels` variables a position."""

    graph: ModelGraph
    bank: ShapeBank
    shapes: Shapes
    kinds: Kinds
    bindings: Bindings
    rows: Rows
    hard: Floats  # [shared cells]
    num_weights: int

    @property
    def num_sequences(self) -> int:
        return len(self.rows.shape)

    @property
    def labelling_off(self) -> NDArray[np.int64]:
        """Where each sequence's variables lie in a flat labelling, [S+1]."""
        return self.rows.token_off * len(self.graph.cards)

    @property
    def marginal_off(self) -> NDArray[np.int64]:
        """Where each sequence's states lie in flat marginals, [S+1]."""
        return self.rows.token_off * sum(self.graph.cards)

    def potentials(self, weights: Floats) -> Potentials:
        """The shared tables at `weights` [W]."""
        log_base = base_tables(weights, self.bindings, self.hard)
        base, peaks, fits = exponentiate_base(log_base, self.kinds)
        return Potentials(weights, log_base, base, peaks, fits)

    def chunks(self, count: int) -> list[tuple[int, int]]:
        """At most `count` runs of whole sequences of about equally many tokens; the cut depends on the data only."""
        tokens = self.rows.token_off
        goals = np.linspace(0, tokens[-1], count + 1)
        cuts = np.unique(np.concatenate([[0], np.searchsorted(tokens, goals[1:-1]), [self.num_sequences]]))
        return list(itertools.pairwise(cuts.tolist()))


@dataclass(frozen=True, eq=False)
class Potentials:
    """Weights [W] with the base tables that they give: logarithms, and linear with each table's maximum taken out."""

    weights: Floats
    log_base: Floats
    base: Floats
    peaks: Floats
    fits: bool


class Binder:
    """Binds data sets to a model; `programs` asks for contraction programs. Keeps the wiring of all lengths it met."""

    def __init__(self, graph: ModelGraph, parameters: Parameters, *, programs: bool):
        self.graph, self.num_weights = graph, parameters.num_weights
        self._bank = graph.bank(programs=programs)
        self._kinds = graph.kind_arrays(parameters.run_base())
        self._bindings = parameters.bindings(graph)
        self._hard = graph.hard_cells()
        self._shape_of: dict[int, int] = {}
        self._shapes: Shapes | None = None

    def bind(self, rows: Sequence[FeatureRows], sentence_off: NDArray[np.int64]) -> BoundData:
        """The data set of these feature rows, one a feature set. Unrolls the lengths that are new."""
        distinct, position = np.unique(np.diff(sentence_off), return_inverse=True)
        for length in distinct.tolist():
            if length not in self._shape_of:
                self._shape_of[length] = self._bank.add(self.graph.shape(length))
                self._shapes = None
        if self._shapes is None:
            self._shapes = self._bank.shape_arrays()
        shape_of = np.array([self._shape_of[length] for length in distinct.tolist()], np.int32)
        return BoundData(
            graph=self.graph,
            bank=self._bank,
            shapes=self._shapes,
            kinds=self._kinds,
            bindings=self._bindings,
            rows=_join_rows(rows, sentence_off, shape_of[position]),
            hard=self._hard,
            num_weights=self.num_weights,
        )


def _join_rows(rows: Sequence[FeatureRows], sentence_off: NDArray[np.int64], shape_of: NDArray[np.int32]) -> Rows:
    """Feature sets laid end to end; values are kept only if some value is not 1."""
    starts = np.cumsum([0, *(len(r.row_off) - 1 for r in rows)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(r.feature) for r in rows)], dtype=np.int64)
    valued = any(len(r.value) for r in rows)
    row_off = [r.row_off[:-1] + start for r, start in zip(rows, offsets, strict=False)]
    return Rows(
        set_start=starts[:-1].copy(),
        pad_left=np.array([r.pad_left for r in rows], np.int64),
        pad_right=np.array([r.pad_right for r in rows], np.int64),
        row_off=np.concatenate([*row_off, offsets[-1:]]),
        feature=rows[0].feature
        if len(rows) == 1
        else np.concatenate([np.zeros(0, np.int32), *(r.feature for r in rows)]),
        value=np.concatenate([r.value if len(r.value) else np.ones(len(r.feature)) for r in rows])
        if valued
        else np.zeros(0),
        token_off=sentence_off,
        shape=shape_of,
    )
