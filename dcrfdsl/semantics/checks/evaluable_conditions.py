"""Conditions that can be evaluated: only these are judged; the terms of others have problems of their own.

Not here: reporting these problems (`term_rules`, `position_rules`, `regex_rules`).
"""

from __future__ import annotations

from ..schema import Apply, Constraint, Memory, Node, Reference, Regex, place_offset, value_if_nodes
from .context import Context
from .regex_rules import compile_error
from .term_rules import TermReader
from .walk import constraint_nodes


def constraint_can_be_tried(context: Context, constraint: Constraint) -> bool:
    reader = TermReader(context, labels=True)
    reader.test(constraint.condition, (), constraint.action)
    if constraint.when is not None:
        reader.test(constraint.when, (), "when")
    return _is_fine(reader) and all(_is_one_value(node) for _, node in constraint_nodes(constraint))


def memory_can_be_tried(context: Context, memory: Memory) -> bool:
    reader = TermReader(context, labels=True)
    reader.value_if(memory.value, (), context.states(memory.name))
    return _is_fine(reader) and all(_is_one_value(node) for _, node in value_if_nodes(memory.value))


def _is_fine(reader: TermReader) -> bool:
    return not reader.problems and not reader.unknown


def _is_one_value(node: Node) -> bool:
    """Whether a term is read at one position, and a regex is one."""
    if isinstance(node, Reference | Apply):
        return place_offset(node.place) is not None
    return not isinstance(node, Regex) or compile_error(node) is None
