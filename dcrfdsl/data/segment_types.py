"""Segments as conlleval reads them (Tjong Kim Sang & Buchholz 2000, with S as in its later ports), vectorised.

The marks and types of two neighbouring tokens alone decide whether a segment starts or ends between them. One table
therefore reads IOB1, IOB2, IOBES, BILOU and BMES, and output that breaks its scheme. Not
here: which states are marks (`semantics.schema.segment_schemes`), scores (`metrics.segment_scores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..foundation import Integers, Ints, Offsets
from ..semantics import OUTSIDE, bare_marks, split_mark

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
