"""Segments as conlleval reads them (Tjong Kim Sang & Buchholz 2000, with S as in its later ports), vectorised.

The marks and types of two neighbouring tokens alone decide whether a segment starts or ends between them. One table
therefore reads IOB1, IOB2 and IOBES, and output that breaks its scheme. Not here: scores (`metrics.segment_scores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..foundation import Integers, Ints, Offsets

__all__ = ["ENDS", "STARTS", "Segments", "has_segments", "mark_table", "run_table", "segments_of", "split_mark"]


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


def has_segments(states: Sequence[str]) -> bool:
    """Whether these are segment states: each is `O`, or `B-`, `I-`, `E-` or `S-` with a type, and not all are `O`."""
    return all(split_mark(state) is not None for state in states) and any(state != "O" for state in states)


def split_mark(state: str) -> tuple[str, str] | None:
    """Mark and type; None for a state without a segment mark."""
    mark, _, kind = state.partition("-")
    if state == "O":
        return "O", ""
    return (mark, kind) if kind and len(mark) == 1 and mark in "BIES" else None


def mark_table(states: Sequence[str]) -> tuple[Ints, Ints, list[str]]:
    """Mark and type of each state, [K+2], and the names of the types. States without a mark count as outside."""
    mark, kind = (np.zeros(len(states) + 2, np.int64) for _ in range(2))  # the last two: MISSING = -2, UNSEEN = -1
    number: dict[str, int] = {}
    for code, state in enumerate(states):
        parts = split_mark(state)
        if parts is not None and state != "O":
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
