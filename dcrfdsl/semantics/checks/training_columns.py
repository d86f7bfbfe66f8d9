"""Columns that training alone reads, such as the numbers of `importance`: other data may be without them.

Not here: reading files (`data.readers`).
"""

from __future__ import annotations

from ..schema import ModelSpec, Reference
from ..settings import SentenceImportance, TokenImportance, stage_settings
from .walk import every_node


def spare_columns(spec: ModelSpec) -> tuple[str, ...]:
    """The columns of a valid specification that some stage counts sentences or tokens by, and nothing else reads."""
    counted = set[str]()
    for stage in spec.stages:
        importance = stage_settings(spec, stage.label).importance
        if isinstance(importance, SentenceImportance | TokenImportance):
            counted.update(importance.columns)
    read = {node.name for _, node in every_node(spec) if isinstance(node, Reference)} if counted else set()
    columns = spec.data.columns if spec.data else ()
    return tuple(column.name for column in columns if column.name in counted - read)
