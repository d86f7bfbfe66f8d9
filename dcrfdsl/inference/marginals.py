"""Clique marginals p(y_c | x) at every instance of a clique in a sentence.

Training needs only their sums over instances, so the kernels for data sets keep nothing else. Here each sentence
becomes a factor graph with one table per clique instance, and `infer_graph` runs any method on it. This is meant for
inspecting sentences and is slow on large corpora. Not here: marginals of single variables (`methods`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..foundation import Floats
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
