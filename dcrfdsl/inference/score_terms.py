"""The terms of Σ log φ in which two labellings of a sentence differ: bias and feature weights, factor by factor.

    s(y) − s(y′) = Σ_f Σ_k x_k [λ_k(y_f) − λ_k(y′_f)]        over factors f with y_f ≠ y′_f, features k that fire there

Not here: the names of features and states, which labellings are worth comparing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Ints32
from ..graph import FactorGraph
from ..kernels.tables import Potentials
from .bound import BoundData
from .marginals import sequence_graph

BIAS = -1  # in place of the number of a feature


class ScoreTerm(NamedTuple):
    """A summand of the score difference of two labellings.

    factor: its number in the sentence's graph.   kind: of the factor, in `ModelGraph.kinds`.   anchor: the position
    that offsets count from, or the number of a joined pair.   scope: the factor's variables.   feature: its number in
    its feature set; `BIAS` for the bias and for constraints without features.   value: x.   assignments: of the factor
    in either labelling, as weights distinguish them.   weights: λ of either assignment, 0 where it has none.
    """

    factor: int
    kind: int
    anchor: int
    scope: tuple[int, ...]
    feature: int
    value: float
    assignments: tuple[int, int]
    weights: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.value * (self.weights[0] - self.weights[1])


def differing_terms(
    data: BoundData, potentials: Potentials, sequence: int, first: Ints, second: Ints
) -> Iterator[ScoreTerm]:
    """The terms at factors where the labellings `first` and `second` [V] of one sequence differ.

    data: not packed. Both labellings are possible. The differences of the terms sum to s(first) − s(second).
    """
    kinds, rows = data.kinds, data.rows
    shape = data.bank.shapes[int(rows.shape[sequence])]
    for number, (kind, anchor, scope) in enumerate(zip(shape.kinds, shape.anchors, shape.scopes, strict=True)):
        cards, at = [shape.cards[v] for v in scope], list(scope)
        cells = [int(np.ravel_multi_index(labelling[at], cards)) for labelling in (first, second)]
        if cells[0] == cells[1]:
            continue
        full = data.graph.kinds[kind].full_assignments()
        assignments = int(full[cells[0]]), int(full[cells[1]])
        base = [float(potentials.log_base[kinds.base[kind] + cell]) for cell in cells]
        yield ScoreTerm(number, kind, anchor, scope, BIAS, 1.0, assignments, (base[0], base[1]))
        for feature, value, entries, weights in _firing(data, potentials, sequence, kind, anchor):
            of = [float(weights[entries == assignment].sum()) for assignment in assignments]
            yield ScoreTerm(number, kind, anchor, scope, feature, value, assignments, (of[0], of[1]))


def _firing(
    data: BoundData, potentials: Potentials, sequence: int, kind: int, anchor: int
) -> Iterator[tuple[int, float, Ints32, Floats]]:
    """The features that fire at a factor: number, value, the assignments that have weights, and these."""
    kinds, rows, bindings = data.kinds, data.rows, data.bindings
    feature_set = int(kinds.feature_set[kind])
    if feature_set < 0:
        return
    row, shift = int(rows.first_row[feature_set, sequence]) + anchor, int(rows.packed.entry_shift[kind])
    for i in range(int(rows.row_off[row]), int(rows.row_off[row + 1])):
        feature = int(rows.feature[i])
        run = int(kinds.run_base[kind]) + feature
        first, last = int(bindings.run_off[run]), int(bindings.run_off[run + 1])
        value = float(rows.value[i]) if len(rows.value) else 1.0
        yield feature, value, bindings.entry[first:last], potentials.weights[shift + first : shift + last]


def graph_without(data: BoundData, potentials: Potentials, sequence: int, terms: Iterable[ScoreTerm]) -> FactorGraph:
    """The graph of a sequence in which the features of `terms` do not fire at their factors."""
    graph = sequence_graph(data, potentials, sequence)
    left_out = {(term.factor, term.feature) for term in terms}
    shape = data.bank.shapes[int(data.rows.shape[sequence])]
    tables = [table.copy() for table in graph.log_tables]
    for factor in {factor for factor, _ in left_out}:
        kind, anchor = shape.kinds[factor], shape.anchors[factor]
        full = data.graph.kinds[kind].full_assignments()
        flat = tables[factor].reshape(-1)
        for feature, value, entries, weights in _firing(data, potentials, sequence, kind, anchor):
            if (factor, feature) in left_out:
                by_assignment = dict(zip(entries.tolist(), weights.tolist(), strict=True))
                flat -= value * np.array([by_assignment.get(assignment, 0.0) for assignment in full.tolist()])
    return FactorGraph(graph.cards, graph.scopes, tuple(tables), graph.constant)
