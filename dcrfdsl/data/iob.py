"""The ways to mark segments, and from one to another: IOB2 (`bio`), IOB1 (`iob1`), IOBES (`bioes`), BILOU, BMES.

IOB1: a segment begins with I-X, and with B-X only directly after another segment of type X. IOB2: every segment begins
with B-X. IOBES also marks ends and single tokens (Tjong Kim Sang & Veenstra 1999); BILOU (Ratinov
& Roth 2009) and BMES do so in other letters. Not here: which moves a scheme
allows (`semantics.schema.segment_schemes`), what a segment is (`segment_types`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from ..foundation import Codes, Offsets, data_error
from ..semantics import (
    SCHEMES,
    WITH_ENDS,
    Label,
    ModelSpec,
    Scheme,
    bare_marks,
    split_mark,
    split_state,
    state_text,
    statement_text,
)
from .corpus import Corpus, InternedColumn
from .partial import places
from .segment_types import Segments, mark_table, segments_of

SCHEME = "bio"
ABSENT = ("_", "")  # cells without a label, which stay as they are and end a segment


def remarked(corpus: Corpus, column: str, scheme: str) -> Corpus:
    """The corpus with the segments of a column marked as `scheme` does; conlleval's rules say what they are.

    DcrfError `missing-column`, or `not-a-segment` with the line of the first other value.
    """
    old = corpus.columns.get(column)
    if not isinstance(old, InternedColumn):
        known = ", ".join(f"`{name}`" for name, one in corpus.columns.items() if isinstance(one, InternedColumn))
        message = f"there is no column `{column}` of texts, whose segments could be marked anew"
        raise data_error("missing-column", message, file=corpus.file, help=f"the columns of texts are {known}")
    bare = bare_marks(old.values)
    odd = np.array([split_mark(v, bare=bare) is None and v not in ABSENT for v in old.values], np.bool_)
    if len(old.values) and odd[old.codes].any():
        where = np.flatnonzero(odd[old.codes])
        message = f"column `{column}` has `{old.text(int(where[0]))}`, which marks no segment ({places(corpus, where)})"
        raise data_error(
            "not-a-segment", message, file=corpus.file, line=int(corpus.token_line[where[0]]),
            help="`B-X`, `I-X`, `E-X`, `S-X` and `O` mark segments, `L-X` and `U-X` in `bilou`, `M-X` in `bmes`",
        )  # fmt: skip
    mark, kind, names = mark_table(old.values)
    segments = segments_of(old.codes, mark, kind, np.asarray(corpus.sentence_off, np.int64))
    marks = MARKS[scheme](segments, np.asarray(corpus.sentence_off, np.int64), corpus.num_tokens)
    texts: dict[str, int] = {}
    codes = np.empty(corpus.num_tokens, np.int32)
    for n, (sign, code) in enumerate(zip(marks.tolist(), old.codes.tolist(), strict=True)):
        text = state_text(sign, names[kind[code]]) if sign else old.values[code]
        codes[n] = texts.setdefault(text, len(texts))
    return replace(corpus, columns={**corpus.columns, column: InternedColumn(codes, tuple(texts))})


def _filled(segments: Segments, num_tokens: int) -> np.ndarray:
    """`I` in segments, nothing outside, [N]."""
    depth = np.zeros(num_tokens + 1, np.int64)
    np.add.at(depth, segments.start, 1)
    np.add.at(depth, segments.end + 1, -1)
    return np.where(np.cumsum(depth)[:-1] > 0, "I", "")


def _bio(segments: Segments, sentence_off: Offsets, num_tokens: int) -> np.ndarray:
    marks = _filled(segments, num_tokens)
    marks[segments.start] = "B"
    return marks


def _iob1(segments: Segments, sentence_off: Offsets, num_tokens: int) -> np.ndarray:
    marks = _filled(segments, num_tokens)
    follows = (segments.start[1:] == segments.end[:-1] + 1) & (segments.kind[1:] == segments.kind[:-1])
    second = segments.start[1:][follows]
    marks[second[~np.isin(second, sentence_off)]] = "B"
    return marks


def _with_ends(begin: str, inside: str, end: str, single: str) -> _Marks:
    """`bioes`, in these letters."""

    def marked(segments: Segments, sentence_off: Offsets, num_tokens: int) -> np.ndarray:
        marks = _filled(segments, num_tokens)
        marks[marks == "I"] = inside
        marks[segments.start] = begin
        marks[segments.end] = end
        marks[segments.start[segments.start == segments.end]] = single
        return marks

    return marked


_Marks: TypeAlias = Callable[[Segments, Offsets, int], np.ndarray]
MARKS: Mapping[str, _Marks] = {
    "bio": _bio,
    "iob1": _iob1,
    **{name: _with_ends(*SCHEMES[name].marks) for name in WITH_ENDS},
}


# IOB1 where the template says `bio` -----------------------------------------------------------------------------------


def is_iob1(scheme: str, states: Sequence[str], codes: Codes, sentence_off: Offsets) -> bool:
    """Whether each B-X directly follows a segment of type X. For gold that breaks `bio`; `codes` [N] index `states`."""
    if scheme != SCHEME:
        return False
    parts = [split_state(scheme, state) or ("O", "") for state in states]
    kinds = {kind: n for n, kind in enumerate(dict.fromkeys(kind for _, kind in parts))}
    kind_of = np.array([kinds[kind] if mark != "O" else -1 for mark, kind in parts] + [-2])  # the last: unknown
    begins_of = np.array([mark == "B" for mark, _ in parts] + [False])
    known = np.where(codes >= 0, codes, len(parts))
    kind, begins = kind_of[known], begins_of[known]
    before = np.concatenate([[-3], kind[:-1]])
    before[sentence_off[:-1][np.diff(sentence_off) > 0]] = -3  # nothing stands before a sentence
    return bool((before[begins] == kind[begins]).all())


def iob1_remedy(label: Label, spec: ModelSpec, file: str) -> str:
    """Advice for a file in IOB1: the scheme that reads it, and a command that converts it."""
    assert isinstance(label.domain, Scheme)
    declared = statement_text(
        label.model_copy(update={"domain": Scheme(name="iob1", types=label.domain.types), "doc": ()})
    )
    remedy = f"write `{declared}`, which reads and writes it as it is"
    if spec.data is None or label.name not in {column.name for column in spec.data.columns}:
        return remedy
    source = statement_text(spec.data.model_copy(update={"doc": ()})).removeprefix("data ")
    command = ["dcrfdsl", "convert", file, "--from", source, "--scheme", f"{label.name}=bio", "-o", "iob2.txt"]
    return f"{remedy}; or convert it:\n{shlex.join(command)}"
