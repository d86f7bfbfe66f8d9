"""The functions of users that conditions read: called on the training data, so that what they give is known.

A model file says which functions its model needs, and what each gives; those that constraints, memories or `where`
alone read must be among them. Not here: the calls (`values.own_functions`), what conditions are (`values.observed`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..semantics import Apply, Condition, ModelSpec, Reference, nodes, terms
from .plan import fixed_condition, leaves, moved
from .relation_instances import relate
from .values import CorpusValues


def learn_condition_kinds(values: CorpusValues) -> None:
    """Adds to `values.kinds` those of the user's functions that conditions call."""
    spec = values.spec
    for term in (term for condition in _conditions(spec) for term in terms(condition)):
        read = {node.name for _, node in nodes(term) if isinstance(node, Reference)}
        if _calls_own(values, term) and not spec.hidden_names & read:
            placed = fixed_condition(spec, term)
            ((_, offset),) = leaves(spec, placed)
            values.evaluate(moved(placed, -offset))
    for clique in spec.cliques:
        if clique.where is not None and _calls_own(values, clique.where):
            relate(clique, values)


def _conditions(spec: ModelSpec) -> Iterator[Condition]:
    """Those of constraints and memories."""
    for rule in spec.constraints:
        yield from (part for part in (rule.condition, rule.when) if part is not None)
    for one in spec.memories:
        yield from (part for part in (one.value.value, one.value.condition, one.value.otherwise) if part is not None)


def _calls_own(values: CorpusValues, condition: Condition) -> bool:
    return any(isinstance(node, Apply) and node.function in values.registered for _, node in nodes(condition))
