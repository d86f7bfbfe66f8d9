"""Segments beside unknown gold labels, against every completion of these, read tag by tag."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.metrics import AMBIGUOUS, MISSING, compared_segments

Segment = tuple[int, int, str]
Cell = frozenset[str]  # what a cell may hold
OTHER = "O"

SCHEMES = {
    "bio": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "bioes": ["O", "B-X", "I-X", "E-X", "S-X"],
    "no outside": ["B-X", "I-X"],
    "no inside": ["O", "B-X", "E-X", "S-X"],
    "runs": ["O", "X", "Y"],
    "runs without O": ["X", "Y"],
}


def marked(tag: str, *, runs: bool) -> tuple[str, str]:
    if tag == OTHER:
        return "O", ""
    if runs:
        return "I", tag
    mark, _, kind = tag.partition("-")
    return mark, kind


def goes_on(before: str, tag: str, *, runs: bool) -> bool:
    """Whether conlleval reads two neighbours as parts of one segment."""
    (mark, kind), (after, other) = marked(before, runs=runs), marked(tag, runs=runs)
    return mark in "BI" and after in "IE" and kind == other


def read(tags: Sequence[str], *, runs: bool) -> set[Segment]:
    """The segments of a sentence, tag by tag."""
    found: set[Segment] = set()
    start = 0
    for t, tag in enumerate(tags):
        if t == 0 or not goes_on(tags[t - 1], tag, runs=runs):
            start = t
        ends = t + 1 == len(tags) or not goes_on(tag, tags[t + 1], runs=runs)
        if ends and tag != OTHER:
            found.add((start, t, marked(tag, runs=runs)[1]))
    return found


def bridged(cells: Sequence[Cell], *, runs: bool) -> list[Cell]:
    """Each gap filled whose sides belong together, if all of its cells may hold that."""
    out = list(cells)
    t = 0
    while t < len(cells):
        end = t
        while end < len(cells) and len(cells[end]) > 1:
            end += 1
        if end > t and t > 0 and end < len(cells):
            ((left,), (right,)) = cells[t - 1], cells[end]
            fill = None
            if left == right == OTHER:
                fill = OTHER
            elif goes_on(left, right, runs=runs):
                kind = marked(left, runs=runs)[1]
                fill = kind if runs else f"I-{kind}"
            if fill is not None and all(fill in cell for cell in cells[t:end]):
                out[t:end] = [frozenset([fill])] * (end - t)
        t = max(end, t + 1)
    return out


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[list[Cell]], list[list[str]]]:
    name = draw(st.sampled_from(list(SCHEMES)))
    states = SCHEMES[name]
    everything = frozenset([*states, OTHER])
    known = st.sampled_from(states).map(lambda state: frozenset([state]))
    several = st.sets(st.sampled_from(states), min_size=2).map(frozenset)
    cell = st.one_of(known, known, known, st.just(everything), several)
    gold = draw(st.lists(st.lists(cell, max_size=6), min_size=1, max_size=3))
    # sets of all states are missing values, as the reader of gold labels has it
    gold = [[everything if everything - {OTHER} <= one else one for one in sentence] for sentence in gold]
    predicted = [draw(st.lists(st.sampled_from(states), min_size=len(s), max_size=len(s))) for s in gold]
    return name, gold, predicted


@pytest.mark.long
@settings(max_examples=300)
@given(cases())
def test_what_counts_is_what_every_completion_agrees_on(case: tuple[str, list[list[Cell]], list[list[str]]]) -> None:
    name, gold, predicted = case
    states, runs = SCHEMES[name], name.startswith("runs")
    everything = frozenset([*states, OTHER])
    sets: list[list[int]] = []

    def code(cell: Cell) -> int:
        if cell == everything:
            return MISSING
        if len(cell) == 1:
            return states.index(next(iter(cell)))
        sets.append(sorted(states.index(state) for state in cell))
        return AMBIGUOUS - (len(sets) - 1)

    codes = np.array([code(cell) for sentence in gold for cell in sentence], np.int64)
    ours = np.array([states.index(tag) for sentence in predicted for tag in sentence], np.int64)
    off = np.cumsum([0, *map(len, gold)])
    found = compared_segments(codes, ours, states, off, runs=runs, sets=sets)

    certain, right, wrong, unclear = set[Segment](), set[Segment](), set[Segment](), set[Segment]()
    for begin, cells, tags in zip(off.tolist(), gold, predicted, strict=False):
        readings = [read(tags_of, runs=runs) for tags_of in product(*map(sorted, bridged(cells, runs=runs)))]
        always, ever = set.intersection(*readings), set.union(*readings)
        placed = {(begin + a, begin + b, kind): (a, b, kind) for a, b, kind in read(tags, runs=runs)}
        certain |= {(begin + a, begin + b, kind) for a, b, kind in always}
        right |= {at for at, one in placed.items() if one in always}
        wrong |= {at for at, one in placed.items() if one not in ever}
        unclear |= {at for at, one in placed.items() if one in ever - always}

    def listed(segments: object, mask: object = None) -> set[Segment]:
        start, end, kind = (part if mask is None else part[mask] for part in segments)  # type: ignore[attr-defined]
        return {(int(a), int(b), found.types[k]) for a, b, k in zip(start, end, kind, strict=True)}

    assert listed(found.golds) == certain
    assert listed(found.ours, found.right) == right
    assert listed(found.ours, ~found.right) == wrong
    assert listed(found.open) == unclear


# gold (`?`: missing, `*`: one of B-A and I-A), predicted: right, predicted, gold that count; gold, predicted left out
MARKS = {
    "a gap at the edge": ("? O B-A", "B-A O B-A", (1, 1, 1), (0, 1)),
    "a segment whose end is unknown": ("B-A ? O", "B-A I-A O", (0, 0, 0), (1, 1)),
    "a segment goes on behind a gap": ("B-A ? ? I-A", "B-A I-A I-A I-A", (1, 1, 1), (0, 0)),
    "and a prediction that ends in the gap is wrong": ("B-A ? ? I-A", "B-A I-A O O", (0, 1, 1), (0, 0)),
    "over what may go on": ("B-A * I-A", "B-A I-A I-A", (1, 1, 1), (0, 0)),
    "two segments that B tells apart": ("B-A ? B-A", "B-A B-A I-A", (0, 1, 1), (1, 1)),
    "nothing begins between two O": ("O ? ? O", "O B-A O O", (0, 1, 0), (0, 0)),
    "a segment with a certain end beside a gap": ("S-A ? ? S-A", "S-A O B-A E-A", (1, 2, 2), (0, 0)),
    "a whole sentence is unknown": ("? ? ?", "B-A I-A O", (0, 0, 0), (0, 1)),
    "wrong however the gap is filled": ("B-A ? ? B-B", "B-A I-A I-A I-A", (0, 1, 1), (1, 0)),
    "the first cell may begin or go on": ("* I-A", "B-B I-B", (0, 1, 1), (0, 0)),
}
RUNS = {
    "three gaps bridged": ("A A ? A ? A ? A A A B B", "A A A A A A A A A B B B", (0, 2, 2), (0, 0)),
    "between two types both ends are unknown": ("A A ? B B", "A A A B B", (0, 0, 0), (2, 2)),
    "beside O too": ("O O ? B B", "O O O B B", (0, 0, 0), (1, 1)),
    "neighbours of such events count": ("A B ? A B", "A B B A B", (2, 2, 2), (2, 2)),
    "a prediction across both is wrong": ("A A ? B B", "A A A A B", (0, 2, 0), (2, 0)),
    "gaps at both edges": ("? A A ?", "A A A O", (0, 0, 0), (1, 1)),
}


@pytest.mark.parametrize(
    ("gold", "predicted", "counted", "left_out", "runs"),
    [(*case, runs) for cases_, runs in ((MARKS, False), (RUNS, True)) for case in cases_.values()],
    ids=[*MARKS, *RUNS],
)
def test_the_rule_by_example(
    gold: str, predicted: str, counted: tuple[int, int, int], left_out: tuple[int, int], *, runs: bool
) -> None:
    states = ["O", "A", "B"] if runs else ["O", *(f"{mark}-{kind}" for kind in "AB" for mark in "BIES")]
    codes = {"?": MISSING, "*": AMBIGUOUS, **{state: code for code, state in enumerate(states)}}
    golds, ours = (np.array([codes[tag] for tag in text.split()]) for text in (gold, predicted))
    off, sets = np.array([0, len(golds)]), [] if runs else [[codes["B-A"], codes["I-A"]]]
    assert compared_segments(golds, ours, states, off, runs=runs, sets=sets).counts == counted
    found = compared_segments(golds, ours, states, off, runs=runs, sets=sets)
    assert (len(found.unsure.start), len(found.open.start)) == left_out
