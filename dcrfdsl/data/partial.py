"""The readings of the cells of a label column, one per distinct value.

Not here: how a cell is read (`semantics.schema.label_cells`), the numbers of states (`labels`, `metrics`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..foundation import Ints, data_error
from ..semantics import Label, Reading as Reading, read_cell
from .corpus import Corpus, InternedColumn

SHOWN_LINES = 5  # line numbers that a message lists before it counts the rest


def label_column(label: Label, corpus: Corpus) -> InternedColumn:
    """The column of gold values; DcrfError names the label if the data has no such column."""
    column = corpus.columns.get(label.name)
    if not isinstance(column, InternedColumn):
        raise data_error(
            "missing-label",
            f"the data has no column for the label `{label.name}`, whose values are needed here",
            file=corpus.file,
            help=f"declare the column in the `data` statement and give values for `{label.name}`",
        )
    return column


def read_cells(
    label: Label, states: Collection[str], corpus: Corpus, *, free: Collection[str] = ()
) -> tuple[Reading, ...]:
    """The reading of each distinct value [V] of the label's column; `free` are further marks for "unknown".

    Raises DcrfError if the column is absent, or a set has an empty member.
    """
    column = label_column(label, corpus)
    marks = {label.missing, *free}
    readings = tuple(read_cell(label, value, states, marks) for value in column.values)
    torn = np.array([bool(v) and "" in reading for v, reading in zip(column.values, readings, strict=True)], bool)
    where = np.flatnonzero(torn[column.codes]) if torn.any() else np.zeros(0, np.int64)
    if len(where):
        value = column.text(int(where[0]))
        raise data_error(
            "empty-member",
            f"label `{label.name}` has the value `{value}`, and `{label.ambiguous}` in it splits off a member without "
            f"text ({places(corpus, where)})",
            file=corpus.file,
            line=int(corpus.token_line[where[0]]),
            help=f"write a set as `A{label.ambiguous}B`; if `{value}` is a state, declare the states of `{label.name}`",
        )
    return readings


def places(corpus: Corpus, tokens: Ints) -> str:
    """`line 3`, `lines 3, 8, 9, 12, 40 and 7 more`"""
    found = list(dict.fromkeys(corpus.token_line[tokens].tolist()))  # a line may hold a whole sentence
    lines = ", ".join(map(str, found[:SHOWN_LINES]))
    more = f" and {len(found) - SHOWN_LINES} more" if len(found) > SHOWN_LINES else ""
    return f"line{'s' if len(found) > 1 else ''} {lines}{more}"
