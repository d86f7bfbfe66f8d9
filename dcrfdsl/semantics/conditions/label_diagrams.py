"""Sets of labellings as decision diagrams, and their parts as disjoint cases.

A diagram asks for the state of one site after another, in the order of positions, until it is certain whether the
labelling belongs to the set:

    node = (site, (states, node), (states, node), …)        the sets of states are disjoint, and together all states

Equal parts are one node, so equal sets are the same number. A path to the end is a case, a set of states for each site
that it asks for; cases of different paths are disjoint, and the probability of the set is the sum over its cases.
Source: Bryant (1986), with many states in place of two. Not here: conditions as tables (`condition_tables`), the
probability of a case (`inference`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ...foundation import DcrfError, Diagnostic, Mask, np

Place: TypeAlias = tuple[int, int]  # position, variable
Case: TypeAlias = Mapping[Place, int]  # of each place a set of states: bit s for state s
_Branches: TypeAlias = tuple[tuple[int, int], ...]  # (states, node)

NONE, ALL = 0, 1  # the diagrams of the empty set and of the set of all labellings
MOST_NODES = 200_000


def state_bits(mask: Mask) -> int:
    """A set of states [K] as the bits of a number."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


class LabelDiagrams:
    """Makes diagrams over the variables of one model. cards: the number of states of each variable."""

    def __init__(self, cards: Sequence[int]):
        self._every = [(1 << card) - 1 for card in cards]
        self._nodes: list[tuple[Place, _Branches]] = [((-1, -1), ()), ((-1, -1), ())]
        self._number: dict[tuple[Place, _Branches], int] = {}
        self._done: dict[tuple[str, int, int], int] = {}

    # making ---------------------------------------------------------------------------------------------------

    def case(self, states: Case) -> int:
        """The labellings with one of these states at each of these places."""
        node = ALL
        for place in sorted(states, reverse=True):
            bits = states[place]
            node = self._node(place, {node: bits, NONE: self._every[place[1]] & ~bits})
        return node

    def table(self, places: Sequence[Place], allowed: Mask) -> int:
        """The labellings that a table [states of each place] allows."""
        if not places:
            return ALL if allowed.all() else NONE
        order = sorted(range(len(places)), key=places.__getitem__)
        return self._of_table([places[n] for n in order], np.transpose(allowed, order))

    def _of_table(self, places: Sequence[Place], allowed: Mask) -> int:
        if allowed.all() or not allowed.any():
            return ALL if allowed.all() else NONE
        rows: dict[bytes, list[int]] = {}  # states that leave the same table
        for state, row in enumerate(allowed):
            rows.setdefault(row.tobytes(), []).append(state)
        branches: dict[int, int] = {}
        for states in rows.values():
            child = self._of_table(places[1:], allowed[states[0]])
            branches[child] = branches.get(child, 0) | sum(1 << state for state in states)
        return self._node(places[0], branches)

    def negation(self, node: int) -> int:
        return self._combined("without", ALL, node)

    def conjunction(self, nodes: Sequence[int]) -> int:
        return self._folded("and", ALL, nodes)

    def disjunction(self, nodes: Sequence[int]) -> int:
        return self._folded("or", NONE, nodes)

    def _folded(self, operator: str, start: int, nodes: Sequence[int]) -> int:
        result = start
        for node in reversed(nodes):  # later positions first: then little is walked twice
            result = self._combined(operator, node, result)
        return result

    def _node(self, place: Place, branches: Mapping[int, int]) -> int:
        """branches: node -> states."""
        kept = tuple(sorted((states, child) for child, states in branches.items() if states))
        if len(kept) == 1:
            return kept[0][1]
        key = place, kept
        if key not in self._number:
            if len(self._nodes) >= MOST_NODES:
                raise _too_large(f"it has more than {MOST_NODES:,} different parts")
            self._number[key] = len(self._nodes)
            self._nodes.append(key)
        return self._number[key]

    def _combined(self, operator: str, first: int, second: int) -> int:
        """The set operation on two diagrams; by a stack, as a sentence may be longer than Python recurses."""
        done, waiting = self._done, [(first, second)]
        while waiting:
            one, other = waiting[-1]
            if (operator, one, other) in done:
                waiting.pop()
                continue
            end = _ENDS[operator](one, other)
            if end is not None:
                done[operator, one, other] = end
                continue
            place = min(self._nodes[node][0] for node in (one, other) if node > ALL)
            pairs = [
                (states & others, child, against)
                for states, child in self._branches(one, place)
                for others, against in self._branches(other, place)
                if states & others
            ]
            missing = [pair[1:] for pair in pairs if (operator, *pair[1:]) not in done]
            if missing:
                waiting += missing
                continue
            branches: dict[int, int] = {}
            for states, child, against in pairs:
                node = done[operator, child, against]
                branches[node] = branches.get(node, 0) | states
            done[operator, one, other] = self._node(place, branches)
        return done[operator, first, second]

    def _branches(self, node: int, place: Place) -> _Branches:
        at, branches = self._nodes[node]
        return branches if node > ALL and at == place else ((self._every[place[1]], node),)

    # reading --------------------------------------------------------------------------------------------------

    def count(self, node: int, end: int = ALL) -> int:
        """How many cases the set has; with end NONE, its complement."""
        counts = {ALL: int(end == ALL), NONE: int(end == NONE)}
        for number in self._below(node):
            counts[number] = sum(counts[child] for _, child in self._nodes[number][1])
        return counts[node]

    def depth(self, node: int) -> int:
        """How many places the set depends on: no case has more."""
        return len({self._nodes[number][0] for number in self._below(node)})

    def _below(self, node: int) -> list[int]:
        """The nodes of a diagram without the two ends, each after all below it."""
        met, waiting = {NONE, ALL}, [node]
        while waiting:
            number = waiting.pop()
            if number not in met:
                met.add(number)
                waiting += [child for _, child in self._nodes[number][1]]
        return sorted(met - {NONE, ALL})  # a node is numbered after its children

    def cases(self, node: int, end: int = ALL) -> Iterator[Case]:
        """The disjoint cases of the set; with end NONE, of its complement."""
        waiting: list[tuple[int, dict[Place, int]]] = [(node, {})]
        while waiting:
            number, states = waiting.pop()
            if number <= ALL:
                if number == end:
                    yield states
                continue
            place, branches = self._nodes[number]
            waiting += [(child, {**states, place: bits}) for bits, child in branches]


# The result of an operation where one of the two sets decides it.
_ENDS: Mapping[str, Callable[[int, int], int | None]] = {
    "and": lambda one, other: NONE if NONE in (one, other) else other if one == ALL else one if other == ALL else None,
    "or": lambda one, other: ALL if ALL in (one, other) else other if one == NONE else one if other == NONE else None,
    "without": lambda one, other: NONE if one == NONE or other == ALL else one if other == NONE else None,
}


def _too_large(reason: str) -> DcrfError:
    remedy = "ask for several smaller events"
    return DcrfError(Diagnostic("reads-too-much", f"the event reads too much at once: {reason}", help=remedy))
