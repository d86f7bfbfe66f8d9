"""Decoding for the F-score of segments: the labelling with the highest ratio of expectations, exactly.

    F(Y) = (1 + γ²) Σ_{s ∈ Y} p(s) / (|Y| + γ² E|Y*|)        p(s) = P(s is a segment of the gold labels Y* | x)

Dinkelbach (1967): Y with the largest Σ_{s ∈ Y} ((1 + γ²) p(s) − θ), where θ is the F of the last Y, until F grows no
more. Each Y is found by a Viterbi recursion over whole segments; a given θ takes one. All labellings that are possible
in the model are searched, and no other, so that Y keeps to the scheme and to all constraints.

The variables of one position are one state of a chain here. Where no factor reaches beyond the next position, the
posterior is a Markov chain, p(s) is a product of its moves, and all are summed by one sweep for each first token. A
first token is left out at a position where it has less than `NEGLECTED` of the probability that a segment of the type
is there. Source of the criterion: Jansche (2007), "A maximum expected utility framework for binary sequence labeling".
Segments are read as conlleval does. Not here: the other labels, which are decoded given these (`label_decoders`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...data import STARTS, mark_table
from ...foundation import Floats, Ints, Mask, data_error, dataclass
from ...graph import FactorGraph, ModelGraph
from ...semantics import has_segments

MOST_STATES = 300  # of all variables of a position together: tables have the square of it
NEGLECTED = 1e-15
LENGTH = 8  # of the sentence whose graph is looked at


def refuse_fscore(label: str, graph: ModelGraph, states: Mapping[str, Sequence[str]]) -> None:
    """DcrfError where the segments of a label cannot be summed along a chain. states: of each label."""
    if label not in states or not has_segments(states[label]):
        with_segments = [f"`{name}`" for name, own in states.items() if has_segments(own)]
        remedy = f"labels with segments are {', '.join(with_segments)}" if with_segments else "use `decode joint`"
        raise data_error("no-segments", f"`decode fscore({label})`: `{label}` is no label with segments", help=remedy)
    width, size, why = len(graph.cards), math.prod(graph.cards), ""
    if graph.relational:
        why = "a clique joins positions by `where`"
    elif graph.of_sentence:
        why = f"`{graph.variables[min(graph.of_sentence)]}` is a label of the whole sentence"
    elif any(max(scope) // width - min(scope) // width > 1 for scope in graph.shape(LENGTH).scopes if scope):
        why = "a clique, a constraint or a `segment` reaches beyond the next position"
    elif size > MOST_STATES:
        why = f"a position has {size:,} joint states of all variables, and {MOST_STATES} are the most"
    if why:
        message = f"`decode fscore({label})` sums all segments along a chain, and {why}"
        raise data_error("no-expected-f", message, help="use `decode joint` or `decode marginal`")


class SegmentReading(NamedTuple):
    """How segments are read off the K states of a chain; a state K, which never is, fills tables up.

    outside: [K+1] whether a state lies outside of segments.   members: [G, M] the states of each type.
    go_on: [K+1, K+1] whether a segment goes on from one state to the next.   label: [K] the label's state in each.
    """

    outside: Mask
    members: Ints
    go_on: Mask
    label: Ints

    @classmethod
    def of(cls, cards: Sequence[int], variable: int, states: Sequence[str]) -> SegmentReading:
        """Of the variables of a position, with these numbers of states, of which one is the label."""
        label = np.indices(cards)[variable].ravel()
        marks, kinds, types = mark_table(states)
        mark, kind = marks[label], kinds[label]
        inside = np.append(mark != 0, True)
        go_on = np.pad((kind[:, None] == kind) & ~STARTS[mark[:, None], mark] & inside[:-1, None] & inside[:-1], (0, 1))
        groups = [np.flatnonzero(inside[:-1] & (kind == number)) for number in range(len(types))]
        members = np.full((len(groups), max(map(len, groups), default=0)), len(label))
        for row, group in zip(members, groups, strict=True):
            row[: len(group)] = group
        return cls(~inside, members, go_on, label)


def posterior_chain(graph: FactorGraph, width: int) -> tuple[Floats, Floats] | None:
    """p of the first state [K] and of each move to the next [T-1, K, K]; None if no labelling is possible.

    graph: with `width` variables a position, whose factors reach one position further at most.
    """
    cards, length = graph.cards[:width], len(graph.cards) // width
    size = math.prod(cards)
    scores = np.zeros((length, 1, size))
    pairs = np.zeros((max(length - 1, 0), size, size))
    for scope, table in zip(graph.scopes, graph.log_tables, strict=True):
        if not scope:
            continue
        at, order = min(scope) // width, np.argsort(scope)
        shape = np.ones(2 * width, np.int64)
        shape[np.sort(scope) - at * width] = np.array(table.shape)[order]
        whole = table.transpose(order).reshape(shape)
        if max(scope) // width == at:
            scores[at] += np.broadcast_to(whole.reshape(*whole.shape[:width]), cards).reshape(1, size)
        else:
            pairs[at] += np.broadcast_to(whole, (*cards, *cards)).reshape(size, size)
    with np.errstate(invalid="ignore"):  # where nothing is possible
        rest = scores[-1, 0]
        for t in range(length - 2, -1, -1):
            pairs[t] += rest
            onward: Floats = np.logaddexp.reduce(pairs[t], axis=1)
            pairs[t] = np.where(np.isneginf(onward)[:, None], 0.0, np.exp(pairs[t] - onward[:, None]))
            rest = scores[t, 0] + onward
        total = float(np.logaddexp.reduce(rest))
        return None if np.isneginf(total) else (np.exp(rest - total), pairs)


@dataclass(frozen=True, eq=False)
class SegmentSearch:
    """The segments of one sentence. start [K+1], cuts [T-1, K+1, K+1], stays [T-1, G, M, M]: 0 where a first state, a
    move between segments, and one inside of a segment is possible, else -inf.   endings: of the segments with each last
    token their first tokens [n], and p of each type [n, G].   expected: E|Y*|.
    """

    reading: SegmentReading
    start: Floats
    cuts: Floats
    stays: Floats
    endings: Sequence[tuple[Ints, Floats]]
    expected: float

    @classmethod
    def of(cls, start: Floats, moves: Floats, reading: SegmentReading) -> SegmentSearch:
        """Sums the probabilities of all segments.   start, moves: as `posterior_chain` gives them."""
        members, state, moves = reading.members, np.append(start, 0.0), np.pad(moves, ((0, 0), (0, 1), (0, 1)))
        cuts, stays = np.where(reading.go_on, 0.0, moves), np.where(reading.go_on, moves, 0.0)
        stays, leaves = stays[:, members[:, :, None], members[:, None, :]], cuts.sum(axis=2)
        begun, first, endings, expected = state, np.zeros(0, np.int64), [], 0.0
        inner = np.zeros((0, *members.shape))  # [n, G, M] that a segment from a first token is in a state here
        for t in range(len(moves) + 1):
            if t:
                inner = (inner[..., None] * stays[t - 1]).sum(axis=2)
                begun, state = state @ cuts[t - 1], state @ moves[t - 1]
            inner, first = np.concatenate([inner, begun[members][None]]), np.append(first, t)
            expected += float(inner[-1].sum())
            kept = (inner.sum(axis=2) > NEGLECTED * state[members].sum(axis=1)).any(axis=1)
            inner, first = inner[kept], first[kept]
            ends = inner * leaves[t][members] if t < len(moves) else inner
            endings.append((first, ends.sum(axis=2)))
        possible = [np.where(p > 0.0, 0.0, -np.inf) for p in (np.append(start, 0.0), cuts, stays)]
        return cls(reading, possible[0], possible[1], possible[2], endings, expected)

    def best(self, gamma: float, overall: float | None) -> Ints:
        """The label's state at each token, [T].   overall: θ; by default that of the sentence itself."""
        if overall is not None:
            return self._labelled(gamma, overall)[0]
        reached, chosen = -1.0, np.concatenate([p[p > 0.5] for _, p in self.endings])
        found, chosen = self._labelled(gamma, self._ratio(gamma, chosen))
        while (theta := self._ratio(gamma, chosen)) > reached:
            reached, best = theta, found
            found, chosen = self._labelled(gamma, theta)
        return best

    def _ratio(self, gamma: float, chosen: Floats) -> float:
        """F of segments with these probabilities."""
        whole = len(chosen) + gamma**2 * self.expected
        return (1.0 + gamma**2) * float(chosen.sum()) / whole if whole else 0.0

    def _labelled(self, gamma: float, theta: float) -> tuple[Ints, Floats]:
        """The labelling with the largest Σ ((1 + γ²) p − θ), and p of its segments."""
        (outside, members, _, label), length, nothing = self.reading, len(self.endings), -np.inf
        came, opened = np.zeros((2, length, len(outside)), np.int64)  # from which state, at which first token
        inside: list[Ints] = []  # by token [n, G, M]: the member that a segment was in before
        firsts, value = np.zeros(0, np.int64), np.zeros((0, *members.shape))
        begun = closed = self.start  # the best where something begins, or ends, here
        for t, (first, probability) in enumerate(self.endings):
            if t:
                steps = closed[:, None] + self.cuts[t - 1]
                came[t], begun = steps.argmax(axis=0), steps.max(axis=0)
                rows = np.searchsorted(firsts, first[:-1] if t in first[-1:] else first)
                steps = value[rows][..., None] + self.stays[t - 1]
                inside, value = [*inside, steps.argmax(axis=2)], steps.max(axis=2)
            if t in first[-1:]:
                value = np.concatenate([value, begun[members][None]])
            firsts, closed = first, np.where(outside, begun, nothing)
            if value.size:
                ended = value + ((1.0 + gamma**2) * probability - theta)[..., None]
                closed[members], opened[t, members] = ended.max(axis=0), first[ended.argmax(axis=0)]
            closed[-1] = nothing
        state, t, states, chosen = int(closed.argmax()), length - 1, list[int](), list[float]()
        while t >= 0:
            if not outside[state]:
                kind, member = np.argwhere(members == state)[0].tolist()
                begin, (first, probability) = opened[t, state], self.endings[t]
                chosen.append(float(probability[first == begin, kind][0]))
                for before in range(t - 1, begin - 1, -1):
                    states.append(int(members[kind, member]))
                    row = int(np.searchsorted(self.endings[before + 1][0], begin))
                    member, t = int(inside[before][row, kind, member]), before
                state = int(members[kind, member])
            states.append(state)
            state, t = int(came[t, state]), t - 1
        return label[states[::-1]], np.array(chosen)
