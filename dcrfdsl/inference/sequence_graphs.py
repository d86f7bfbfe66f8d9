"""One sentence as a factor graph with a table for each clique instance: clique marginals, and the terms of its scores.

Training needs only sums of clique marginals over instances, so the kernels for data sets keep nothing else. Here each
sentence becomes a factor graph, and `infer_graph` runs any method on it. This is meant for inspecting sentences and is
slow on large corpora. Two labellings of a sentence differ in bias and feature weights, factor by factor:

    s(y) − s(y′) = Σ_f Σ_k x_k [λ_k(y_f) − λ_k(y′_f)]        over factors f with y_f ≠ y′_f, features k that fire there

Not here: marginals of single variables (`methods`), the names of features and states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Ints32, dataclass
from ..graph import CliqueTemplate, FactorGraph, ModelGraph, instances_of
from ..kernels.tables import Potentials, local_tables
from ..semantics import MethodSettings
from .bound import BoundData
from .run_status import RunStatus
from .single_graph import infer_graph


@dataclass(frozen=True, eq=False)
class CliqueMarginal:
    """Probabilities of the states of a clique's sites. Sites outside the sentence (`edges = pad`) are left out."""

    clique: str
    sites: tuple[tuple[str, int], ...]  #  (label, position from 0)
    table: Floats  #          [states of each site]


def sequence_graph(data: BoundData, potentials: Potentials, sequence: int) -> FactorGraph:
    """The unrolled graph of one sequence with its log tables, factors as in its shape."""
    g = int(data.rows.shape[sequence])
    shape = data.bank.shapes[g]
    arena = np.empty(int(data.shapes.local_end[g]))
    arena[: data.shapes.local_start] = potentials.log_base
    local_tables(
        sequence, data.shapes, data.kinds, data.bindings, data.rows, potentials.weights, potentials.log_base, arena
    )
    tables = []
    for scope, at in zip(shape.scopes, shape.tables, strict=True):
        cards = tuple(shape.cards[v] for v in scope)
        tables.append(arena[at : at + math.prod(cards)].reshape(cards))
    return FactorGraph(shape.cards, shape.scopes, tuple(tables))


def clique_marginals(
    data: BoundData, potentials: Potentials, settings: MethodSettings
) -> Iterator[tuple[tuple[CliqueMarginal, ...], RunStatus]]:
    """Yields the marginals of all clique instances of each sequence, clique by clique, and the status of inference.

    Leaves out factors of hard constraints alone. A sequence without any labelling has no marginals.
    """
    labels = data.graph.variables
    for sequence in range(data.num_sequences):
        shape = data.bank.shapes[int(data.rows.shape[sequence])]
        result = infer_graph(sequence_graph(data, potentials, sequence), "mar", settings)
        clique_tables = []
        for kind, scope, table in zip(shape.kinds, shape.scopes, result.factor_marginals or (), strict=False):
            template = data.graph.kinds[kind].template
            if template.clique >= 0 and not template.segment_length:
                sites = tuple((labels[v % len(labels)], v // len(labels)) for v in scope)
                clique_tables.append(_over_labels(CliqueMarginal(template.name, sites, table), data.graph, template))
        yield tuple(clique_tables), result.status


def _over_labels(found: CliqueMarginal, graph: ModelGraph, template: CliqueTemplate) -> CliqueMarginal:
    """The marginal of a clique that is over the memory of segments, over the label of these."""
    if template.plain is None or template.label_states is None:
        return found
    memory = next(m for m, own in zip(template.variables, template.plain.variables, strict=True) if m != own)
    label = next(own for m, own in zip(template.variables, template.plain.variables, strict=True) if m != own)
    table, states = found.table, np.arange(graph.cards[label])
    for axis, (name, _) in enumerate(found.sites):
        if name == graph.variables[memory]:
            sums = (template.label_states[:, None] == states).astype(np.float64)
            table = np.moveaxis(np.tensordot(table, sums, (axis, 0)), -1, axis)
    sites = tuple((graph.variables[label] if name == graph.variables[memory] else name, t) for name, t in found.sites)
    return CliqueMarginal(found.clique, sites, table)


def assignment_marginals(data: BoundData, potentials: Potentials, settings: MethodSettings, clique: int) -> Floats:
    """p(assignment | x) at every instance of a clique, [instances, assignments], ordered by sentence and anchor.

    Assignments are those that weights distinguish: states of views, START and STOP outside. Not for relational cliques.
    """
    width, template = len(data.graph.variables), data.graph.templates[clique]
    sentence, anchors = instances_of(template, data.rows.token_off)
    probabilities = np.zeros((len(sentence), template.num_assignments))
    first = np.searchsorted(sentence, np.arange(data.num_sequences))
    for sequence in range(data.num_sequences):
        shape = data.bank.shapes[int(data.rows.shape[sequence])]
        result = infer_graph(sequence_graph(data, potentials, sequence), "mar", settings)
        for number, scope, table in zip(shape.kinds, shape.scopes, result.factor_marginals or (), strict=False):
            kind = data.graph.kinds[number]
            if kind.template.clique == clique:
                inside = kind.pattern.index(0)
                anchor = scope[0] // width - kind.template.offsets[inside]
                row = first[sequence] + anchor - anchors[first[sequence]]
                np.add.at(probabilities[row], kind.full_assignments(), table.ravel())
    return probabilities


BIAS = -1  # in place of the number of a feature


class ScoreTerm(NamedTuple):
    """A summand of the score difference of two labellings.

    factor: its number in the sentence's graph.   kind: of the factor, in `ModelGraph.kinds`.   anchor: the position
    that offsets count from, or the number of a joined pair.   scope: the factor's variables.   feature: its number in
    its feature set; `BIAS` for the bias and for constraints without features.   value: x.   assignments: of the factor
    in either labelling, as weights distinguish them.   weights: λ of either assignment, 0 where it has none; of given
    scores, which have none, the scores.
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
        if data.graph.kinds[kind].template.given is not None:  # one score, whatever the number of assignments
            first_entry = int(rows.row_off[int(rows.first_row[kinds.feature_set[kind], sequence]) + anchor])
            given = [float(rows.value[first_entry + assignment]) for assignment in assignments]
            yield ScoreTerm(number, kind, anchor, scope, 0, 1.0, assignments, (given[0], given[1]))
            continue
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
