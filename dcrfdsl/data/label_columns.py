"""The columns of labels: the readings of their cells, and the one value of a label of whole sentences.

A cell may be a distribution over states (`soft`), or tell what a source annotates that covers some types alone.

A label of sentences is read from the cells of all tokens of a sentence. A cell may hold the value or say nothing (the
label's mark of a missing value); cells that say something have to agree. Not here: how a cell is read
(`semantics.schema.missing_values`), the numbers of states (`labels`, `metrics`), the unrolled variable
(`graph.unroll`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, data_error, did_you_mean, shortened
from ..semantics import BETWEEN, Reading as Reading, covered, hidden_states, read_cell, soft_parts, unmarked
from ..syntax import Label, Learned, Scheme
from .corpus import Corpus, InternedColumn, NumericColumn, token_error

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
        mark = label.ambiguous or BETWEEN
        found = f"label `{label.name}` has the value `{value}`, and `{mark}` in it splits off a member"
        several = (
            f"a set as `A{mark}B`" if label.soft is None else f"states as `A{label.soft}0.8{mark}B{label.soft}0.2`"
        )
        remedy = f"write {several}; if `{value}` is a state, declare the states of `{label.name}`"
        message = f"{found} without text ({places(corpus, where)})"
        raise token_error(corpus, where[0], "empty-member", message, remedy)
    return readings


def places(corpus: Corpus, tokens: Ints) -> str:
    """`line 3`, `lines 3, 8, 9, 12, 40 and 7 more`"""
    found = list(dict.fromkeys(corpus.token_line[tokens].tolist()))  # a line may hold a whole sentence
    lines = ", ".join(map(str, found[:SHOWN_LINES]))
    more = f" and {len(found) - SHOWN_LINES} more" if len(found) > SHOWN_LINES else ""
    return f"line{'s' if len(found) > 1 else ''} {lines}{more}"


class SoftStates(NamedTuple):
    """The distributions that a label has at some tokens.   tokens: [n].   share: [n, K], each row sums to 1."""

    tokens: Ints
    share: Floats


class LabelCells(NamedTuple):
    """What the cells of a label say, of which one with a distribution reads as its likeliest state.

    codes: [N], numbers of `readings`.   soft: the distributions that are not sure of one state; None without.
    """

    codes: Ints32
    readings: tuple[Reading, ...]
    soft: SoftStates | None = None


def label_cells(
    label: Label, states: Sequence[str], corpus: Corpus, *, free: Collection[str] = (), trains: bool = False
) -> LabelCells:
    """The cells of a label whose states are known; `free` are further marks for "unknown".

    trains: whether the columns that `source` and `soft` name have to be there; else, cells are read without them.
    Raises DcrfError as `read_cells` does, and where a distribution or a source is none.
    """
    codes, readings = label_column(label, corpus).codes, read_cells(label, frozenset(states), corpus, free=free)
    if label.source is not None and (trains or label.source in corpus.columns):
        codes, readings = _of_sources(label, states, corpus, codes, readings)
    is_column = label.soft_column is not None  # it says nothing of what is given before tagging
    if label.soft is None or (is_column and (free or not (trains or label.soft_column in corpus.columns))):
        return LabelCells(codes, readings)
    missing = np.flatnonzero(np.array([not reading for reading in readings], bool)[codes])
    soft = _soft_states(label, states, corpus, missing)
    codes = codes.copy()
    codes[soft.tokens] = len(readings) + soft.share.argmax(axis=1)
    unsure = SoftStates(*(part[soft.share.max(axis=1) < 1.0] for part in soft))
    return LabelCells(codes, (*readings, *((one,) for one in states)), unsure if len(unsure.tokens) else None)


def _of_sources(
    label: Label, states: Sequence[str], corpus: Corpus, codes: Ints32, readings: tuple[Reading, ...]
) -> tuple[Ints32, tuple[Reading, ...]]:
    """The cells with what their sources leave open: where one marks nothing, what it does not cover is possible."""
    nothing, column = unmarked(label), corpus.columns.get(label.source or "")
    if not isinstance(column, InternedColumn):
        message = f"the data has no column `{label.source}` of texts, which says who annotated `{label.name}`"
        raise data_error("missing-column", message, file=corpus.file)
    hidden = {source: hidden_states(label, states, types) for source, types in covered(label).items()}
    pairs = codes.astype(np.int64) * len(column.values) + column.codes
    distinct, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    found = []
    for token, pair in zip(first.tolist(), distinct.tolist(), strict=True):
        source, reading = column.values[pair % len(column.values)], readings[pair // len(column.values)]
        if source not in hidden:
            guess = did_you_mean(source, hidden)
            message = f"`{source}` in `{label.source}` is a source of which `covers` of `{label.name}` says nothing"
            remedy = (f"did you mean `{guess}`? " if guess else "") + f'add what it annotates, as in `"{source}: all"`'
            raise token_error(corpus, token, "unknown-source", message, remedy)
        odd = [text for text in reading if text in hidden[source] and text != nothing]
        if odd:
            message = f"`{label.name}` is `{odd[0]}` in a token of source `{source}`, which does not cover this type"
            remedy = f'add the type to `"{source}: …"` in `covers`, or correct the data'
            raise token_error(corpus, token, "uncovered-type", message, remedy)
        texts = (text for one in reading for text in (hidden[source] if one == nothing else (one,)))
        found.append(tuple(dict.fromkeys(texts)))
    return inverse.astype(np.int32), tuple(found)


MOST_OFF = 1e-3  # by which the weights of a distribution may miss 1


def _soft_states(label: Label, states: Sequence[str], corpus: Corpus, missing: Ints) -> SoftStates:
    """The distributions in the cells of a label; or, at the tokens where it is missing, those of the column that `soft`
    names. DcrfError for the first one that is none.
    """
    name, written = label.soft_column or label.name, ""
    if label.soft_column is not None:
        tokens, share = missing, _probabilities(label, states, corpus)[missing]
    else:
        column, index = label_column(label, corpus), {state: number for number, state in enumerate(states)}
        others, of_value = index.get(label.others or ""), np.full(len(column.values), -1)
        rows = list[Floats]()
        for n, value in enumerate(column.values):
            parts = () if value == label.missing else soft_parts(label, value, index) or ()
            found = (index.get(state, others) for state, _ in parts)
            places = [place for place in found if place is not None]
            if parts and len(places) == len(parts):  # a text that is no state is reported with the others
                of_value[n] = len(rows)
                rows.append(np.bincount(places, [_weight(text) for _, text in parts], len(states)).astype(np.float64))
        tokens = np.flatnonzero(of_value[column.codes] >= 0)
        share = np.array(rows).reshape(-1, len(states))[of_value[column.codes[tokens]]]
    total = share.sum(axis=1)
    bad = np.flatnonzero((share < 0.0).any(axis=1) | ~(np.abs(total - 1.0) <= MOST_OFF))
    if len(bad):
        at, row = int(tokens[bad[0]]), share[bad[0]]
        odd = np.flatnonzero(~(np.isfinite(row) & (row >= 0.0)))
        why = f"the weight {row[odd[0]]:g} of `{states[odd[0]]}`" if len(odd) else f"weights that sum to {row.sum():g}"
        if label.soft_column is None:
            if len(odd) and np.isnan(row[odd[0]]):
                why = f"a weight of `{states[odd[0]]}` that is no number"
            written = f" in `{shortened(corpus.text_column(name).text(at))}`"
        message = f"column `{name}` has {why}{written}, which is no distribution"
        raise token_error(corpus, at, "bad-distribution", message, "give numbers of 0 or more that sum to 1")
    return SoftStates(tokens, share / total[:, None])


def _weight(text: str) -> float:
    """The weight that a text spells; NaN where it spells none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _probabilities(label: Label, states: Sequence[str], corpus: Corpus) -> Floats:
    """The column of probabilities of a label, in the order of its states, [N, K]."""
    column, name = corpus.columns.get(label.soft_column or ""), label.soft_column
    if not isinstance(column, NumericColumn):
        raise data_error("missing-column", f"the data has no column `{name}` of probabilities", file=corpus.file)
    numbers = np.asarray(column.values, np.float64).reshape(corpus.num_tokens, -1)
    if {*column.names} == {*states}:
        return numbers[:, [column.names.index(state) for state in states]]
    is_learned = isinstance(label.domain, Learned) or (isinstance(label.domain, Scheme) and not label.domain.types)
    if column.names or is_learned or numbers.shape[1] != len(states):
        found = " ".join(column.names) or f"{numbers.shape[1]:,} numbers a token"
        message = f"column `{name}` has {found}, and the states are {' '.join(states)}"
        remedy = "give the probability of each state, by its name where states are learned from data"
        raise token_error(corpus, 0, "bad-distribution", message, remedy)
    return numbers


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
