"""Segments in a column of marks: which there are, and how each scheme marks them.

They are read as conlleval does (Tjong Kim Sang & Buchholz 2000, with S as in its later ports): the marks and types of
two neighbouring tokens alone decide whether a segment starts or ends between them. One table therefore reads IOB1,
IOB2, IOBES, BILOU and BMES, and output that breaks its scheme.

They are marked as IOB2 (`bio`), where every segment begins with B-X; as IOB1 (`iob1`), where it begins with I-X, and
with B-X only directly after another segment of type X; as IOBES (`bioes`), which also marks ends and single tokens
(Tjong Kim Sang & Veenstra 1999); as BILOU (Ratinov & Roth 2009) or BMES, which do so in other letters. Not here: which
states are marks and which moves a scheme allows (`semantics.schema.segment_schemes`), scores
(`metrics.segment_scores`).
"""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from ..foundation import Codes, Integers, Ints, Offsets, data_error
from ..semantics import OUTSIDE, SCHEMES, ModelSpec, bare_marks, split_mark, split_state, state_text
from ..syntax import Label, Scheme, statement_text
from .columns import interned
from .corpus import Corpus, InternedColumn, token_error
from .label_columns import places

State = TypeVar("State", bound=Hashable)
_OUTSIDE = 0
_MARKS = "OBIES"  # outside; begin, inside, end of a segment; a segment of one token
#                  O  B  I  E  S    the mark here; a row is the mark before
STARTS = np.array([
                  [0, 1, 1, 1, 1],  # O
                  [0, 1, 0, 0, 1],  # B
                  [0, 1, 0, 0, 1],  # I
                  [0, 1, 1, 1, 1],  # E
                  [0, 1, 1, 1, 1],  # S
], np.bool_)  # fmt: skip
ENDS = np.array([
                  [0, 0, 0, 0, 0],  # O
                  [1, 1, 0, 0, 1],  # B
                  [1, 1, 0, 0, 1],  # I
                  [1, 1, 1, 1, 1],  # E
                  [1, 1, 1, 1, 1],  # S
], np.bool_)  # fmt: skip


class Segments(NamedTuple):
    start: Ints  # [G]  first token
    end: Ints  #   [G]  last token
    kind: Ints  #  [G]  type


def mark_table(states: Sequence[str]) -> tuple[Ints, Ints, list[str]]:
    """Mark and type of each state, [K+2], and the names of the types. States without a mark count as outside."""
    mark, kind = (np.zeros(len(states) + 2, np.int64) for _ in range(2))  # the last two: MISSING = -2, UNSEEN = -1
    number: dict[str, int] = {}
    bare = bare_marks(states)
    for code, state in enumerate(states):
        parts = split_mark(state, bare=bare)
        if parts is not None and state != OUTSIDE:
            mark[code] = _MARKS.index(parts[0])
            kind[code] = number.setdefault(parts[1], len(number))
    return mark, kind, list(number)


def run_table(states: Sequence[str]) -> tuple[Ints, Ints, list[str]]:
    """The same for states without marks: a run of one state is a segment whose type is the state. `O` is outside."""
    mark, kind = (np.zeros(len(states) + 2, np.int64) for _ in range(2))
    for code, state in enumerate(states):
        mark[code] = _MARKS.index("O" if state == "O" else "I")
        kind[code] = code
    return mark, kind, list(states)


def runs_of(states: Sequence[State]) -> list[tuple[State, int, int]]:
    """Runs of one state: it, and the first and the last position, from 0."""
    runs, first = [], 0
    for state, tokens in groupby(states):
        size = len(list(tokens))
        runs.append((state, first, first + size - 1))
        first += size
    return runs


def segments_of(codes: Integers, mark: Ints, kind: Ints, sentence_off: Offsets) -> Segments:
    """The segments by conlleval's rules: a pair of marks or a change of type starts or ends one."""
    full = np.diff(sentence_off) > 0
    firsts, lasts = sentence_off[:-1][full], sentence_off[1:][full] - 1
    marks, kinds = mark[codes], kind[codes]
    before, after = np.roll(marks, 1), np.roll(marks, -1)
    before[firsts], after[lasts] = _OUTSIDE, _OUTSIDE
    changed = kinds != np.roll(kinds, 1)
    starts = STARTS[before, marks] | (marks != _OUTSIDE) & changed
    ends = ENDS[marks, after] | (marks != _OUTSIDE) & np.roll(changed, -1)
    start = np.flatnonzero(starts)
    return Segments(start, np.flatnonzero(ends), kinds[start])


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
        remedy = "`B-X`, `I-X`, `E-X`, `S-X` and `O` mark segments, `L-X` and `U-X` in `bilou`, `M-X` in `bmes`"
        raise token_error(corpus, where[0], "not-a-segment", message, remedy)
    mark, kind, names = mark_table(old.values)
    segments = segments_of(old.codes, mark, kind, np.asarray(corpus.sentence_off, np.int64))
    texts = [old.values[code] for code in old.codes.tolist()]
    for start, end, number in zip(*(column.tolist() for column in segments), strict=True):
        texts[start : end + 1] = marks_of_segment(scheme, names[number], end - start + 1)
    for first, last in pairwise(corpus.sentence_off.tolist()) if scheme == "iob1" else ():
        texts[first:last] = as_iob1(texts[first:last])
    return replace(corpus, columns={**corpus.columns, column: interned(texts, len(texts))})


def marks_of_segment(scheme: str, kind: str, length: int) -> list[str]:
    """The marks of a segment of a type; for `iob1` those of `bio`, of which `as_iob1` makes IOB1."""
    begin, inside, *ends = list(SCHEMES[scheme].marks)
    letters = [begin, *[inside] * (length - 1)]
    if ends:
        end, single = ends
        letters = [single] if length == 1 else [*letters[:-1], end]
    return [state_text(letter, kind) for letter in letters]


def as_iob1(marks: Sequence[str]) -> list[str]:
    """Marks of `bio` as IOB1: B-X only directly after another segment of type X."""
    again = [before[:1] in ("B", "I") and before[1:] == mark[1:] for before, mark in pairwise(["", *marks])]
    both = zip(marks, again, strict=True)
    return [f"I{mark[1:]}" if mark[:1] == "B" and not follows else mark for mark, follows in both]


# IOB1 where the template says `bio` -----------------------------------------------------------------------------------


def is_iob1(scheme: str, states: Sequence[str], codes: Codes, sentence_off: Offsets) -> bool:
    """Whether each B-X directly follows a segment of type X. For gold that breaks `bio`; `codes` [N] index `states`."""
    if scheme != "bio":
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
    domain = Scheme(name="iob1", types=label.domain.types)
    declared = statement_text(label.model_copy(update={"domain": domain, "doc": ()}))
    remedy = f"write `{declared}`, which reads and writes it as it is"
    if spec.data is None or label.name not in {column.name for column in spec.data.columns}:
        return remedy
    source = statement_text(spec.data.model_copy(update={"doc": ()})).removeprefix("data ")
    command = ["dcrfdsl", "convert", file, "--from", source, "--scheme", f"{label.name}=bio", "-o", "iob2.txt"]
    return f"{remedy}; or convert it:\n{shlex.join(command)}"
