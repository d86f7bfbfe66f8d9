"""What a clique over segments has beside other cliques: how long its segments are, and the states that make one.

A segment of a label in `bio` or `bioes` is what the scheme marks; the state outside is none. A segment of a label
without a scheme is a longest run of one state. Not here: features of segments (`features`), inference (`kernels`).
Source: Sarawagi & Cohen (2004), semi-Markov conditional random fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...syntax import CliqueSpec, Domain, Number, Reference, Scheme
from .model_spec import ModelSpec
from .segment_schemes import OUTSIDE, SCHEMES, split_state

LENGTH = "length"  # alone in the list of a `segment`: the number of tokens
SEGMENT_FUNCTIONS = {
    "joined": "the values of all tokens of the segment, joined by blanks",
    "any": "each value that some token of the segment has, once however many have it",
    "first": "the value of the first token of the segment; `first(word[-1])` is the one before it",
    "last": "the value of the last token of the segment; `last(word[1])` is the one after it",
}


def longest_segment(spec: ModelSpec, clique: CliqueSpec) -> int:
    """The most tokens of a segment of a `segment` statement that fires features of its own."""
    value = clique.up_to
    if isinstance(value, Reference):
        settled = spec.settled(value)
        value = settled.value if isinstance(settled, Number) and isinstance(settled.value, int) else 1
    return value or 1


class SegmentClass(NamedTuple):
    """The states, by number, of the tokens of a kind of segment: a single one, or the first, inner and last ones.

    name: its type, or its state; empty for what is no segment and always a token long.
    """

    name: str
    single: int
    first: int
    inside: int
    last: int


def segment_classes(domain: Domain, states: Sequence[str]) -> tuple[SegmentClass, ...]:
    """The kinds of segments of a label with these states: those with a name first."""
    if not isinstance(domain, Scheme):
        return tuple(SegmentClass(state, n, n, n, n) for n, state in enumerate(states))
    found: dict[str, dict[str, int]] = {}
    outside = []
    for n, state in enumerate(states):
        mark, kind = split_state(domain.name, state) or (OUTSIDE, "")
        if mark != OUTSIDE:
            found.setdefault(kind, {})[mark] = n
        else:
            outside.append(SegmentClass("", n, n, n, n))
    classes = []
    for kind, marks in found.items():
        begin, inside, *rest = (marks[mark] for mark in SCHEMES[domain.name].marks)
        last, single = rest or (inside, begin)
        classes.append(SegmentClass(kind or "segment", single, begin, inside, last))
    return (*classes, *outside)
