"""Which columns of the data a model needs, where sentences come from elsewhere than from a file."""

from __future__ import annotations

from ..semantics import ModelSpec, every_node
from ..syntax import Column, Reference


def read_columns(spec: ModelSpec) -> tuple[Column, ...]:
    """The columns that some statement reads, without those of labels."""
    read = {node.name for _, node in every_node(spec) if isinstance(node, Reference)}
    labels = {label.name for label in spec.labels}
    return tuple(column for column in (spec.data.columns if spec.data else ()) if column.name in read - labels)


def unread_columns(spec: ModelSpec) -> tuple[str, ...]:
    """The names of the others, labels aside."""
    needed = {*(column.name for column in read_columns(spec)), *(label.name for label in spec.labels)}
    return tuple(column.name for column in (spec.data.columns if spec.data else ()) if column.name not in needed)
