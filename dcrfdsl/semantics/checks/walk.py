"""Every feature, condition, term and value of a specification, each with its path and what it belongs to.

For rules that look at one kind of node wherever it stands (regexes, places). Not here: what the nodes mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ..schema import (
    And,
    Apply,
    Argument,
    Cross,
    Equals,
    Feature,
    Has,
    InLexicon,
    InSet,
    Is,
    Matches,
    ModelSpec,
    Not,
    Or,
    Path,
    Value,
    ValueIf,
)

__all__ = ["Node", "every_feature", "every_node", "nodes", "value_if_nodes"]

Node: TypeAlias = Feature | Value


def every_feature(spec: ModelSpec) -> Iterator[tuple[Path, Feature]]:
    """The entries of all feature lists: of the groups, then of the cliques."""
    lists = [(("groups", n), group.features) for n, group in enumerate(spec.groups)]
    lists += [(("cliques", n), clique.features) for n, clique in enumerate(spec.cliques)]
    for path, features in lists:
        for f, feature in enumerate(features):
            yield (*path, "features", f), feature


def every_node(spec: ModelSpec) -> Iterator[tuple[Path, Node]]:
    """Everything in features, conditions, memories and views, outermost first."""
    for path, feature in every_feature(spec):
        yield from nodes(feature, path)
    for n, clique in enumerate(spec.cliques):
        if clique.where is not None:
            yield from nodes(clique.where, ("cliques", n, "where"))
    for n, constraint in enumerate(spec.constraints):
        yield from nodes(constraint.condition, ("constraints", n, "condition"))
        if constraint.when is not None:
            yield from nodes(constraint.when, ("constraints", n, "when"))
    for n, memory in enumerate(spec.memories):
        yield from value_if_nodes(memory.value, ("memories", n, "value"))
    for n, view in enumerate(spec.views):
        yield from value_if_nodes(view.value, ("views", n, "value"))


def value_if_nodes(value: ValueIf, path: Path) -> Iterator[tuple[Path, Node]]:
    for part, node in (("value", value.value), ("condition", value.condition), ("otherwise", value.otherwise)):
        if node is not None:
            yield from nodes(node, (*path, part))


def nodes(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    """`node` and everything inside it."""
    yield path, node
    for inner_path, inner in _inside(node, path):
        yield from nodes(inner, inner_path)


def _inside(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    match node:
        case Apply(arguments=arguments):
            yield from _arguments(arguments, path)
        case Matches(term=term, regex=regex) | Has(term=term, regex=regex):
            yield (*path, "term"), term
            yield (*path, "regex"), regex
        case Is(term=term) | InLexicon(term=term) | InSet(term=term):
            yield (*path, "term"), term
        case Equals(left=left, right=right):
            yield (*path, "left"), left
            yield (*path, "right"), right
        case Not(inner=inner):
            yield (*path, "inner"), inner
        case And(parts=parts) | Or(parts=parts):
            yield from (((*path, "parts", n), part) for n, part in enumerate(parts))
        case Cross(factors=factors):
            yield from (((*path, "factors", n), factor) for n, factor in enumerate(factors))


def _arguments(arguments: Sequence[Argument], path: Path) -> Iterator[tuple[Path, Node]]:
    for n, argument in enumerate(arguments):
        yield (*path, "arguments", n, "value"), argument.value
