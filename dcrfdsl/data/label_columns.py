"""The columns of labels: the readings of their cells, and the one value of a label of whole sentences.

A label of sentences is read from the cells of all tokens of a sentence. A cell may hold the value or say nothing (the
label's mark of a missing value); cells that say something have to agree. Not here: how a cell is read
(`semantics.schema.missing_values`), the numbers of states (`labels`, `metrics`), the unrolled variable
(`graph.unroll`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import numpy as np

from ..foundation import DcrfError, Diagnostic, Ints, Ints32, data_error
from ..semantics import Reading as Reading, read_cell
from ..syntax import Label
from .corpus import Corpus, InternedColumn, token_error

SHOWN_LINES = 5  # line numbers that a message lists before it counts the rest


def label_column(label: Label, corpus: Corpus) -> InternedColumn:
    """The column of gold values; DcrfError names the label if the data has no such column."""
    column = corpus.columns.get(label.name)
    if not isinstance(column, InternedColumn):
        message = f"the data has no column for the label `{label.name}`, whose values are needed here"
        remedy = f"declare the column in the `data` statement and give values for `{label.name}`"
        raise data_error("missing-label", message, file=corpus.file, help=remedy)
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
        found = f"label `{label.name}` has the value `{value}`, and `{label.ambiguous}` in it splits off a member"
        remedy = f"write a set as `A{label.ambiguous}B`; if `{value}` is a state, declare the states of `{label.name}`"
        message = f"{found} without text ({places(corpus, where)})"
        raise token_error(corpus, where[0], "empty-member", message, remedy)
    return readings


def places(corpus: Corpus, tokens: Ints) -> str:
    """`line 3`, `lines 3, 8, 9, 12, 40 and 7 more`"""
    found = list(dict.fromkeys(corpus.token_line[tokens].tolist()))  # a line may hold a whole sentence
    lines = ", ".join(map(str, found[:SHOWN_LINES]))
    more = f" and {len(found) - SHOWN_LINES} more" if len(found) > SHOWN_LINES else ""
    return f"line{'s' if len(found) > 1 else ''} {lines}{more}"


Numbers = TypeVar("Numbers", Ints, Ints32)


def telling_tokens(codes: Numbers, nothing: int, corpus: Corpus) -> Ints:
    """For each token the first one in its sentence whose cell says something, [N]; itself where none does.

    codes [N]: of the cells, `nothing` where they say nothing.
    """
    off = np.asarray(corpus.sentence_off, np.int64)
    says = np.flatnonzero(codes != nothing)
    first = np.append(says, corpus.num_tokens)[np.searchsorted(says, off[:-1])]
    told = np.repeat(first, np.diff(off))
    return np.where(told < np.repeat(off[1:], np.diff(off)), told, np.arange(corpus.num_tokens))


def value_of_sentence(codes: Numbers, nothing: int, corpus: Corpus) -> tuple[Numbers, Ints]:
    """For each token the value of its sentence, [N], and the tokens that say something else.

    codes [N]: as `telling_tokens` takes them. The first cell that says something counts.
    """
    spread: Numbers = codes[telling_tokens(codes, nothing, corpus)]
    return spread, np.flatnonzero((codes != nothing) & (codes != spread))


def mixed_values(label: Label, corpus: Corpus, tokens: Ints) -> Diagnostic:
    """What is wrong where `tokens` say something else than the tokens before them in their sentence."""
    token, column = int(tokens[0]), corpus.text_column(label.name)
    start = int(corpus.sentence_off[corpus.sentence_of(token)])
    values = [column.values[code] for code in column.codes[start : token + 1].tolist()]
    other = next(value for value in values if value != values[-1] and value != label.missing)
    sentences = len({corpus.sentence_of(at) for at in tokens.tolist()})
    more = f", and {sentences - 1:,} more" if sentences > 1 else ""
    return Diagnostic(
        "mixed-sentence",
        f"`{label.name}` is of the sentence, and this one has the values `{other}` and `{values[-1]}` "
        f"(line {corpus.token_line[token]}{more})",
        location=f"{corpus.file}:{corpus.token_line[token]}",
        help=f"write the same value at all tokens of a sentence, or one at the first token and, with "
        f'`missing = "_"`, `_` at the others; a label that differs from token to token is `label {label.name}`',
    )


def refuse_mixed(label: Label, corpus: Corpus, tokens: Ints) -> None:
    if len(tokens):
        raise DcrfError([mixed_values(label, corpus, tokens)])
