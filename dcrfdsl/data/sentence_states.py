"""Labels of whole sentences: the one value of a sentence, read from the cells of all its tokens.

A cell may hold the value or say nothing (the label's mark of a missing value); cells that say something have to agree.
Not here: how a cell is read (`partial`), the unrolled variable (`graph.unroll`).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ..foundation import DcrfError, Diagnostic, Ints, Ints32
from ..semantics import Label
from .corpus import Corpus

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
    """DcrfError if there are such tokens."""
    if len(tokens):
        raise DcrfError([mixed_values(label, corpus, tokens)])
