"""Scores that data gives: `offset(logits)` in a clique adds a column's score of each assignment, without a weight;
`offset(logits, scale = 0.5)` adds half of it.

Not here: reading the column (`data`), its numbers (`features.values`), the factors (`graph.templates`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...foundation import dataclass
from ...syntax import CliqueSpec, nodes as ex
from ..schema import FUNCTIONS, ModelSpec, bind
from .condition_tables import Observed

OFFSET = "offset"


@dataclass(frozen=True)
class GivenTerm:
    """One `offset(column, scale)`, which counts where all tests of `when` are true."""

    column: str
    scale: float
    when: tuple[Observed, ...]


@dataclass(frozen=True)
class GivenScores:
    """The sum of the offsets of a clique.

    states: the names of the states of each site, the first site slowest.   is_learned: whether data teaches some of
    these, so that only data with names says which scores are theirs.
    """

    terms: tuple[GivenTerm, ...]
    states: tuple[tuple[str, ...], ...]
    is_learned: bool = False


Reads: TypeAlias = tuple[Observed, ...] | GivenScores  # what the rows of a table without weights are made from


def is_offset(node: ex.Node) -> bool:
    """Whether it is `offset(…)`."""
    return isinstance(node, ex.Apply) and node.function == OFFSET


def factors_of(feature: ex.Feature) -> tuple[ex.Condition, ...]:
    """The members of a cross, or the feature alone."""
    return feature.factors if isinstance(feature, ex.Cross) else (feature,)


def has_offset(feature: ex.Feature) -> bool:
    """Whether a feature of a list is an offset, alone or crossed with tests."""
    return any(map(is_offset, factors_of(feature)))


def learns(clique: CliqueSpec) -> bool:
    """Whether a clique has weights: a list of nothing but offsets has none."""
    return not clique.features or not all(map(has_offset, clique.features))


def given_terms(spec: ModelSpec, clique: CliqueSpec) -> Iterator[GivenTerm]:
    """The offsets of a clique that has been checked."""
    for feature in filter(has_offset, clique.features):
        factors = factors_of(feature)
        (offset,) = (factor for factor in factors if isinstance(factor, ex.Apply) and is_offset(factor))
        bound, _ = bind(FUNCTIONS[OFFSET], offset.arguments, spec.settled)
        column, scale = bound["scores"], bound["scale"]
        assert isinstance(column, ex.Reference) and isinstance(scale, ex.Number)
        tests = tuple(Observed(factor, ()) for factor in factors if factor is not offset)
        yield GivenTerm(column.name, float(scale.value), tests)
