"""Every feature, condition, term and value of a specification, each with its path and its owner.

For rules on one kind of node wherever it occurs (regexes, places). Not here: the meaning of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schema import (
    Constraint,
    Feature,
    ModelSpec,
    Node,
    Path,
    nodes,
    value_if_nodes,
)


def every_feature(spec: ModelSpec) -> Iterator[tuple[Path, Feature]]:
    """The entries of all feature lists: of the groups, then of the cliques."""
    lists = [(("groups", n), group.features) for n, group in enumerate(spec.groups)]
    lists += [(("cliques", n), clique.features) for n, clique in enumerate(spec.cliques)]
    for path, features in lists:
        for f, feature in enumerate(features):
            yield (*path, "features", f), feature


def every_node(spec: ModelSpec) -> Iterator[tuple[Path, Node]]:
    """Every node in features, conditions, memories and views, outermost first."""
    for path, feature in every_feature(spec):
        yield from nodes(feature, path)
    for n, clique in enumerate(spec.cliques):
        if clique.where is not None:
            yield from nodes(clique.where, ("cliques", n, "where"))
    for n, constraint in enumerate(spec.constraints):
        yield from constraint_nodes(constraint, ("constraints", n))
    for n, memory in enumerate(spec.memories):
        yield from value_if_nodes(memory.value, ("memories", n, "value"))
    for n, view in enumerate(spec.views):
        yield from value_if_nodes(view.value, ("views", n, "value"))


def constraint_nodes(constraint: Constraint, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """Everything in the conditions of a constraint."""
    yield from nodes(constraint.condition, (*path, "condition"))
    if constraint.when is not None:
        yield from nodes(constraint.when, (*path, "when"))
