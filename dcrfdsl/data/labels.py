"""The labels of a corpus as state numbers, known wholly or in part, and the problems that forbid training on them.

Not here: the states themselves (`states`), how a cell is read (`partial`), which states may follow each other
(`semantics.schema.segment_schemes`, `graph`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

import numpy as np

from ..foundation import Codes, DcrfError, Diagnostic, Ints, Mask, dataclass, did_you_mean
from ..semantics import ModelSpec, legal_moves, violations
from ..syntax import Label, Scheme
from .corpus import Corpus, InternedColumn, token_error
from .label_columns import (
    LabelCells,
    SoftStates,
    label_cells,
    label_column,
    mixed_values,
    places,
    value_of_sentence,
)
from .segment_marks import iob1_remedy, is_iob1
from .states import (
    declared_states as declared_states,
    learn_states as learn_states,
    scheme_with,
    variable_states as variable_states,
)

UNKNOWN = -1
SET_MARKS = ("|", "/", ",", ";")  # marks that may join the states of an ambiguous value
FIRST_SET = -2  # set number k has the code FIRST_SET - k
FREE = "_"  # `tag --given` reads this as "not given", whatever mark the label declares


@dataclass(frozen=True)
class EncodedLabels:
    """`codes[m, n]` tells what is known of label m at token n: a state, -1 (any), or -2 - k (one of `sets[m][k]`).

    `sets[m]` are the distinct sets of states that tokens of label m allow, in order of first appearance. Each set has
    at least two states, sorted, and not all of them. `unknown_values[m]` counts the tokens of each value (or member of
    a set) that is not a state of the label. Such a value allows nothing; a token without any other value has code -1.
    `soft[m]` are the distributions of label m, for training: the code of such a token allows what has a probability.
    """

    codes: Codes  # [labels, N]
    unknown_values: tuple[Mapping[str, int], ...]
    sets: tuple[tuple[tuple[int, ...], ...], ...]
    soft: Mapping[int, SoftStates] = field(default_factory=dict)

    @property
    def partial(self) -> Mask:
        """[N] tokens where some label is not a single known state."""
        mask: Mask = np.logical_or.reduce(self.codes < 0, axis=0)
        return mask


def encode_known_labels(spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus) -> EncodedLabels:
    """The labels that a corpus fixes before tagging: `_` and the label's mark of a missing value leave a token free.

    Raises DcrfError with all problems if a label has no column, a value is not a state, or a set has an empty member.
    """
    for label in spec.labels:
        label_column(label, corpus)
    encoded = encode_labels(spec, states, corpus, free=(FREE,))
    for label in spec.labels:
        soft = label_cells(label, states[label.name], corpus, free=(FREE,)).soft
        if soft is not None:
            token = int(soft.tokens[0])
            message = f"label `{label.name}` is given as a distribution, and only states can be given"
            raise token_error(corpus, token, "bad-distribution", message, f"write a state, or `{FREE}`")
    raise_if_any(
        [
            *_mixed(spec, states, corpus, (FREE,)),
            *(
                _unknown_label(label, states[label.name], corpus, tokens, encoded.unknown_values[m], fixed=True)
                for m, label, tokens in _unknown_label_tokens(spec, states, corpus, (FREE,))
            ),
        ]
    )
    return encoded


def encode_labels(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, *, free: Collection[str] = (),
    trains: bool = False,
) -> EncodedLabels:  # fmt: skip
    """The label columns of a corpus as states. An absent column is -1 throughout; `others` takes unknown values.

    free: further marks for "unknown".   trains: whether distributions are kept; else the likeliest state stands for
    each. Raises DcrfError if a set has an empty member, and as `label_cells` does.
    """
    soft: dict[int, SoftStates] = {}
    codes = np.full((len(spec.labels), corpus.num_tokens), UNKNOWN, np.int32)
    unknown_values: list[dict[str, int]] = [{} for _ in spec.labels]
    sets: list[dict[tuple[int, ...], int]] = [{} for _ in spec.labels]
    for m, label, cells, index in _cells(spec, states, corpus, free, trains):
        unknown, distinct = unknown_values[m], sets[m]
        counts = np.bincount(cells.codes, minlength=len(cells.readings)).tolist()
        lookup = np.full(len(cells.readings), UNKNOWN, np.int32)
        for n, reading in enumerate(cells.readings):
            if not counts[n]:
                continue
            allowed, odd = _as_states(label, index, reading)
            for text in odd:
                unknown[text] = unknown.get(text, 0) + counts[n]
            if len(allowed) == 1:
                lookup[n] = allowed[0]
            elif 1 < len(allowed) < len(index):
                lookup[n] = FIRST_SET - distinct.setdefault(allowed, len(distinct))
        codes[m] = lookup[cells.codes]
        if label.per == "sentence":
            codes[m], _ = value_of_sentence(codes[m], UNKNOWN, corpus)
        if trains and cells.soft is not None:
            soft[m] = cells.soft
            supports, which = np.unique(cells.soft.share > 0.0, axis=0, return_inverse=True)
            of_set = [
                UNKNOWN
                if one.all()
                else FIRST_SET - distinct.setdefault(tuple(np.flatnonzero(one).tolist()), len(distinct))
                for one in supports
            ]
            codes[m, cells.soft.tokens] = np.array(of_set, np.int32)[which.reshape(-1)]
    return EncodedLabels(codes, tuple(map(MappingProxyType, unknown_values)), tuple(map(tuple, sets)), soft)


def _cells(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, free: Collection[str], trains: bool = False
) -> Iterator[tuple[int, Label, LabelCells, dict[str, int]]]:
    """Of each label with values: its number, its cells, and the numbers of its states."""
    for m, label in enumerate(spec.labels):
        column = corpus.columns.get(label.name)
        if isinstance(column, InternedColumn) and len(column.values):
            index = {state: number for number, state in enumerate(states[label.name])}
            yield m, label, label_cells(label, states[label.name], corpus, free=free, trains=trains), index


def _mixed(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, free: Collection[str]
) -> Iterator[Diagnostic]:
    """The labels of sentences with several values in one."""
    for _, label, cells, _ in _cells(spec, states, corpus, free):
        if label.per == "sentence":
            numbers: dict[tuple[str, ...], int] = {(): UNKNOWN}
            of_value = [numbers.setdefault(tuple(sorted(one)), len(numbers)) for one in cells.readings]
            _, tokens = value_of_sentence(np.array(of_value, np.int32)[cells.codes], UNKNOWN, corpus)
            if len(tokens):
                yield mixed_values(label, corpus, tokens)


def _as_states(label: Label, index: Mapping[str, int], reading: Sequence[str]) -> tuple[tuple[int, ...], list[str]]:
    """The states that a cell allows, sorted, and its texts that are not states."""
    texts = [label.others if label.others is not None and text not in index else text for text in reading]
    return tuple(sorted({index[text] for text in texts if text in index})), [t for t in texts if t not in index]


def unknown_by_label(spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus) -> Mask:
    """[labels, N] tokens where a label has a value, or a member of a set, that is not one of its states."""
    mask = np.zeros((len(spec.labels), corpus.num_tokens), bool)
    for m, _, tokens in _unknown_label_tokens(spec, states, corpus, ()):
        mask[m, tokens] = True
    return mask


def _unknown_label_tokens(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, free: Collection[str]
) -> Iterator[tuple[int, Label, Ints]]:
    """Number, label and tokens of each label that has unknown values."""
    for m, label, cells, index in _cells(spec, states, corpus, free):
        odd = np.array([bool(_as_states(label, index, reading)[1]) for reading in cells.readings])
        tokens = np.flatnonzero(odd[cells.codes])
        if len(tokens):
            yield m, label, tokens


def check_gold(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, encoded: EncodedLabels
) -> list[Diagnostic]:
    """Problems that forbid training on the gold labels: values that are not states, moves that the scheme forbids.

    A move is checked where both of its states are known.
    """
    unknown_tokens = {m: tokens for m, _, tokens in _unknown_label_tokens(spec, states, corpus, ())}
    problems = [*_mixed(spec, states, corpus, ())]
    for m, label in enumerate(spec.labels):
        codes = encoded.codes[m]
        if m in unknown_tokens:
            tokens, values = unknown_tokens[m], encoded.unknown_values[m]
            problems.append(_unknown_label(label, states[label.name], corpus, tokens, values, fixed=False))
        elif isinstance(label.domain, Scheme) and label.constrain:
            bad = violations(legal_moves(label.domain.name, states[label.name]), codes, corpus.sentence_off)
            if len(bad):
                problems.append(_broken_scheme(spec, label, label.domain.name, states[label.name], corpus, codes, bad))
    return problems


def _unknown_label(
    label: Label, states: Sequence[str], corpus: Corpus, tokens: Ints, unknown_values: Mapping[str, int], *, fixed: bool
) -> Diagnostic:
    value = next(iter(unknown_values))
    near = did_you_mean(value, states)
    more = f" and {len(unknown_values) - 1} other unknown values" if len(unknown_values) > 1 else ""
    remedy = (
        f"write `{FREE}` where `{label.name}` is not given"
        if fixed
        else f"add it to the states of `{label.name}`, or `with others = STATE` to read unknown values as one state"
    )
    mark = next((mark for mark in SET_MARKS if label.ambiguous is None and set(value.split(mark)) <= set(states)), None)
    if mark is not None:
        near, remedy = None, f'if either state may be right here, declare it: `with ambiguous = "{mark}"`'
    verdict = "the model does not know" if fixed else "its declaration does not list"
    message = f"label `{label.name}` has the value `{value}`{more}, which {verdict} ({places(corpus, tokens)})"
    location = f"{corpus.file}:{corpus.token_line[tokens[0]]}"
    return Diagnostic(
        "unknown-label", message, location=location, help=(f"did you mean `{near}`? " if near else "") + remedy
    )


def _broken_scheme(
    spec: ModelSpec, label: Label, scheme: str, states: Sequence[str], corpus: Corpus, codes: Codes, bad: Ints
) -> Diagnostic:
    token = int(bad[0])
    start = int(corpus.sentence_off[corpus.sentence_of(token)])
    before = f"after `{states[codes[token - 1]]}`" if token > start else "at the start of a sentence"
    first = f"`{states[codes[token]]}` {before} ({places(corpus, bad)})"
    message = f"gold of `{label.name}` breaks `{scheme}`: {first}"
    remedy = f"correct the data, or declare `{label.name}` … `with constrain = no` to allow every move"
    if is_iob1(scheme, states, codes, corpus.sentence_off):
        message = f"gold of `{label.name}` is IOB1, and `{scheme}` is IOB2, where every segment begins with B: {first}"
        remedy = iob1_remedy(label, spec, corpus.file)
    elif scheme == "iob1" and not len(violations(legal_moves("bio", states), codes, corpus.sentence_off)):
        message = f"gold of `{label.name}` is IOB2, and in `iob1` B only parts neighbours of one type: {first}"
        remedy = f"write `label {label.name} in bio`"
    elif label.others is not None:
        values = label_column(label, corpus).values
        of_others = next(((value, other) for value in values if (other := scheme_with(scheme, value))), None)
        if of_others is not None:
            remedy = (
                f"`{label.others}` stands for `{of_others[0]}` too, as `others` says; the data are marked as in "
                f"`{of_others[1]}`: write `label {label.name} in {of_others[1]}`"
            )
    return Diagnostic("broken-scheme", message, location=f"{corpus.file}:{corpus.token_line[token]}", help=remedy)


def raise_if_any(problems: Sequence[Diagnostic]) -> None:
    if problems:
        raise DcrfError(problems)
