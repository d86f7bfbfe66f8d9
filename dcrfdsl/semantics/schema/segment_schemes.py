"""Segment schemes: their states, and the states that may follow each other.

`bio` (IOB2): a segment of type X is B-X I-X …; `bioes` (IOBES): B-X I-X … E-X, or S-X alone; O is outside. `bilou` and
`bmes` are `bioes` in other letters, B I L U and B M E S; in `bmes` marks may be bare letters, of segments of one kind.
An I-X that no B-X began is illegal, also at the first position. `iob1`: a segment is I-X …, and B-X I-X … directly
after one of its type; any other B-X is illegal. A `segment` statement weights the segments that the scheme marks; of a
label without a scheme, the longest runs of one state (Sarawagi & Cohen 2004, semi-Markov conditional random fields).
Not here: features of segments (`features`), reading segments from labels (`data.segment_types`, which
follows conlleval and accepts illegal output).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...foundation import Integers, Ints, Mask, Offsets, Table, dataclass, np
from ...syntax import Domain, Enumerated, Scheme, other_words

OUTSIDE = "O"


@dataclass(frozen=True)
class SegmentScheme:
    """The marks of a scheme, in the order of its states (begin, inside, end, single), and their order inside a segment.

    `inside` marks continue a segment of the same type, `must_go_on` marks need a continuation.
    A mark that is not in `inside` begins a segment. `apart` marks begin one only directly after another of its type,
    and where there are such, an `inside` mark may begin one too.
    """

    marks: str
    inside: frozenset[str]
    may_go_on: frozenset[str]
    must_go_on: frozenset[str]
    apart: frozenset[str] = frozenset()
    bare: bool = False  # whether marks may be letters without a type


SCHEMES: Table[SegmentScheme] = Table(
    "segment scheme",
    {
        "bio": SegmentScheme("BI", frozenset("I"), frozenset("BI"), frozenset()),
        "iob1": SegmentScheme("BI", frozenset("I"), frozenset("BI"), frozenset(), frozenset("B")),
        "bioes": SegmentScheme("BIES", frozenset("IE"), frozenset("BI"), frozenset("BI")),
        "bilou": SegmentScheme("BILU", frozenset("IL"), frozenset("BI"), frozenset("BI")),
        "bmes": SegmentScheme("BMES", frozenset("ME"), frozenset("BM"), frozenset("BM"), bare=True),
    },
    other_words("segment scheme"),
)


def scheme_states(name: str, types: Sequence[str]) -> tuple[str, ...]:
    """The states in order: every mark of the first type, of the second …, then `O`.

    >>> scheme_states("bio", ["NP", "VP"])
    ('B-NP', 'I-NP', 'B-VP', 'I-VP', 'O')
    """
    return (*(state_text(mark, kind) for kind in types for mark in SCHEMES[name].marks), OUTSIDE)


def listed_states(domain: Domain | None) -> tuple[str, ...] | None:
    """The states that a domain names, one by one or by a scheme and types; None for any other domain."""
    match domain:
        case Enumerated(states=states):
            return tuple(dict.fromkeys(states))
        case Scheme(name=name, types=types) if types and name in SCHEMES:
            return scheme_states(name, types)
    return None


def state_text(mark: str, kind: str) -> str:
    """`B-NP`, and `B` without a type."""
    return f"{mark}-{kind}" if kind else mark


def split_state(name: str, state: str) -> tuple[str, str] | None:
    """Mark and type of a state of the scheme, `("O", "")` for `O`, None for a text that is not such a state."""
    if state == OUTSIDE:
        return OUTSIDE, ""
    mark, dash, kind = state.partition("-")
    fits = len(mark) == 1 and mark in SCHEMES[name].marks and (bool(kind) or (SCHEMES[name].bare and not dash))
    return (mark, kind) if fits else None


def split_mark(state: str, *, bare: bool = False) -> tuple[str, str] | None:
    """Mark and type of a state of any scheme, the mark in the letters of `bioes`; None for a state without a mark.

    bare: whether letters without a type are marks.
    """
    mark, _, kind = state.partition("-")
    if state == OUTSIDE:
        return OUTSIDE, ""
    if bare and state in SCHEMES["bmes"].marks and len(state) == 1:
        return _AS_BIOES[state], ""
    return (_AS_BIOES[mark], kind) if kind and mark in _AS_BIOES else None


WITH_ENDS = ("bioes", "bilou", "bmes")  # schemes with marks for the end and for a segment of one, in other letters

_AS_BIOES = {
    letter: same for name in WITH_ENDS for letter, same in zip(SCHEMES[name].marks, SCHEMES["bioes"].marks, strict=True)
}


def bare_marks(states: Iterable[str]) -> bool:
    """Whether states are bare marks of `bmes`: `B`, `E`, and `M` or `S`; others may be among them."""
    letters = {state for state in states if len(state) == 1}
    return {"B", "E"} <= letters and bool({"M", "S"} & letters)


def unmarked_state(states: Sequence[str]) -> str | None:
    """The first state that marks no segment: that is neither `O` nor a mark of a scheme."""
    bare = bare_marks(states)
    return next((state for state in states if split_mark(state, bare=bare) is None), None)


def has_segments(states: Sequence[str]) -> bool:
    """Whether these are segment states: each is `O` or a mark, and not all are `O`."""
    return unmarked_state(states) is None and any(state != OUTSIDE for state in states)


def learn_types(name: str, values: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Types in order of first appearance in the observed `values`, and the values that fit no state of the scheme.

    >>> learn_types("bio", ["O", "B-NP", "I-NP", "B-VP", "NP"])
    (('NP', 'VP'), ('NP',))
    """
    types: dict[str, None] = {}
    others: dict[str, None] = {}
    for value in values:
        parts = split_state(name, value)
        if parts is None:
            others[value] = None
        elif parts[0] != OUTSIDE:
            types[parts[1]] = None
    return tuple(types), tuple(others)


def legal_moves(name: str, states: Sequence[str]) -> Mask:
    """`allowed[a, b]`, [K+1, K+1]: whether state b may follow state a.

    Row K is the start of a sequence (`allowed[K, b]`: b may come first) and column K its end. A state outside the
    scheme (`others` may add one) counts as `O`.
    """
    scheme = SCHEMES[name]
    parts = [split_state(name, state) or (OUTSIDE, "") for state in states]
    parts.append((OUTSIDE, ""))  # both ends of a sequence behave like the outside of a segment
    allowed = np.ones((len(parts), len(parts)), dtype=np.bool_)
    for a, (mark, kind) in enumerate(parts):
        for b, (next_mark, next_kind) in enumerate(parts):
            if next_mark in (scheme.apart or scheme.inside):
                allowed[a, b] = mark in scheme.may_go_on and kind == next_kind
            else:
                allowed[a, b] = mark not in scheme.must_go_on
    return allowed


def violations(
    allowed: Mask,
    codes: Integers,
    sentence_off: Offsets,
) -> Ints:
    """Tokens, [V], whose state is illegal at their position.

    `codes` [N] are states 0 … K-1, negative if unknown (any state is legal there); `sentence_off` [S+1] are the bounds
    of the sentences. A token counts if the move into it, or the end of its sentence after it, is illegal.
    """
    num_states = len(allowed) - 1
    codes = np.asarray(codes, dtype=np.int64)
    lengths = np.diff(sentence_off)
    starts, ends = sentence_off[:-1][lengths > 0], sentence_off[1:][lengths > 0] - 1
    before = np.empty_like(codes)
    before[1:] = codes[:-1]
    before[starts] = num_states
    known = codes >= 0
    bad = known & (before >= 0)
    bad[bad] = ~allowed[before[bad], codes[bad]]
    last = ends[known[ends]]
    bad[last] |= ~allowed[codes[last], num_states]
    return np.flatnonzero(bad)


LENGTH = "length"  # alone in the list of a `segment`: the number of tokens
SEGMENT_FUNCTIONS = {
    "joined": "the values of all tokens of the segment, joined by blanks",
    "any": "each value that some token of the segment has, once however many have it",
    "first": "the value of the first token of the segment; `first(word[-1])` is the one before it",
    "last": "the value of the last token of the segment; `last(word[1])` is the one after it",
}


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
