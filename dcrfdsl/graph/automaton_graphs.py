"""The automaton of a model: its states, the moves with a potential of their own, and the shared cells that both read.

A possible move whose cells have no weight has potential 1. Where that is so for some moves into a state, they are not
listed: the state is then reached from groups, each of all states that may be followed by the same ones, and only the
other moves are listed. States that nothing tells apart are merged; those with the same moves out form a class, from
which moves start, where that saves many: what is past and forgotten costs nothing. So the cost follows what was seen
and what is possible.

Merging: a state that holds several positions may be told from others only by what is forgotten without having had an
effect. States with the same symbol at the newest position, the same potentials of their own and the same moves out are
one state, which is reached from all groups from which its members are; groups that reach the same states are one group.
Merged states may make others equal, so this is repeated until nothing changes. Of a chain of higher order, the states
that are left are the contexts that were seen and, where none was seen, the longest suffix of one.

Sources: Ye et al. 2009 and Cuong et al. 2014 (chains of higher order with few contexts, whose states they build from
the contexts; here they are found by merging, so that other models than chains profit too); Siddiqi & Moore 2005 (a
background and exceptions). Not here: the search for states (`automaton_states`), weights and sums (`inference.bound`,
`kernels.automaton`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from ..foundation import Ints, Ints32, Mask, cached_property, dataclass
from .automaton_states import (
    FIRST,
    LAST_STATE,
    MOVE,
    OF_SEGMENTS,
    STATE,
    Conditions,
    Moves,
    Placement,
    StateCodes,
    is_condition,
    placements,
    search,
    window_of,
)
from .clique_kinds import CliqueKind
from .segment_factors import of_lengths
from .unroll import ModelGraph


@dataclass(frozen=True, eq=False)
class ListedStates:
    """States, their groups and their listed moves.

    codes, symbol [S]: the window and its newest position.   local, end [S, ..]: shared cells of the state, and of the
    last position.   initial [S].   first [S, ..]: shared cells at the first position, of initial states.
    group [S]: the source group, -1 for none.   reached [n, 2]: (state, group), ascending: from which groups a state is
    reached.   source, target [moves]: states, ordered by source, then target.   cells [moves, ..]: shared cells.
    """

    codes: Ints
    symbol: Ints
    local: Ints
    end: Ints
    initial: Mask
    first: Ints
    group: Ints
    reached: Ints
    source: Ints
    target: Ints
    cells: Ints


def merged_states(states: ListedStates) -> ListedStates:
    """The same automaton with as few states as merging finds."""
    count = len(states.codes) + 1
    while len(states.codes) < count:
        count = len(states.codes)
        states = _equal_groups(_equal_states(states))
    return states


def _equal_states(states: ListedStates) -> ListedStates:
    """Merges states of one class with the same symbol and the same cells of their own."""
    key = np.concatenate([classes_of(states)[:, None], states.symbol[:, None], states.local, states.end], axis=1)
    _, chosen, of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    if len(chosen) == len(states.codes):
        return states
    order = np.argsort(chosen)  # numbered as the first of each
    return _renumbered(states, chosen[order], np.argsort(order)[of.ravel()])


def _renumbered(states: ListedStates, chosen: Ints, of: Ints) -> ListedStates:
    """The states `chosen`; state k becomes number `of[k]` and is merged with the others that do."""
    initial = np.zeros(len(chosen), np.bool_)
    first = states.first[chosen]
    begins = np.flatnonzero(states.initial)  # no two of them have the same symbol
    initial[of[begins]], first[of[begins]] = True, states.first[begins]
    reached = np.stack([of[states.reached[:, 0]], states.reached[:, 1]], axis=1)
    kept = np.zeros(len(states.codes), np.bool_)
    kept[chosen] = True
    moves = kept[states.source]  # those of one member say it for all
    source, target, cells = of[states.source[moves]], of[states.target[moves]], states.cells[moves]
    order = np.lexsort((target, source))
    return ListedStates(
        states.codes[chosen], states.symbol[chosen], states.local[chosen], states.end[chosen], initial, first,
        states.group[chosen], np.unique(reached, axis=0), source[order], target[order], cells[order],
    )  # fmt: skip


def _equal_groups(states: ListedStates) -> ListedStates:
    """Merges groups from which the same states are reached."""
    order = np.lexsort((states.reached[:, 0], states.reached[:, 1]))
    state, group = states.reached[order].T
    groups = int(max(states.group.max(initial=-1), group.max(initial=-1))) + 1
    off = np.searchsorted(group, np.arange(groups + 1)).tolist()
    number: dict[bytes, int] = {}
    of = np.array([number.setdefault(state[off[g] : off[g + 1]].tobytes(), len(number)) for g in range(groups)])
    if len(number) == groups:
        return states
    reached = np.unique(np.stack([state, of[group]], axis=1), axis=0)
    return replace(states, group=np.where(states.group < 0, -1, of[states.group]), reached=reached)


def classes_of(states: ListedStates) -> Ints:
    """The class of each state, numbered by their first states: the same listed moves out, and the same group."""
    off = np.searchsorted(states.source, np.arange(len(states.codes) + 1)).tolist()
    rows = np.concatenate([states.target[:, None], states.cells], axis=1)
    number: dict[tuple[int, bytes], int] = {}
    return np.array(
        [
            number.setdefault((group, rows[off[k] : off[k + 1]].tobytes()), len(number))
            for k, group in enumerate(states.group.tolist())
        ],
        np.int64,
    )


NO_CELL = 0  # the shared cell of the constant 1
GROUP_COST = 2  # groups cost a state as much as so many moves
UNSHARED = 1.1  # with at most so many times the moves, each state is its own class


@dataclass(frozen=True, eq=False)
class AutomatonGraph:
    """S states and their moves. The log potential of a state or move is the sum of the shared cells that it reads; the
    cell after the last one is that of what is impossible.

    labels [S, V]: the state of each variable; after those of the model come codes that constraints read, then joint
    values of several variables of a position and values of views, for cliques with features on these.   visible: how
    many variables the model has.   observed: the feature set of each variable that is a code.
    scored, scored_variable, scored_label, at_first [n]: kinds of factors with features, the variable of each, the label
    of it that stands for assignment 0, and whether they are of first positions alone.
    source_class [S]: the class of each state.   source, target [moves]: from a class to a state, ordered by target,
    then by source.   source_group [classes]: -1 for none.   reached [n, 2]: (state, group), ascending: the state is
    reached from all of the group.   state_cells, first_cells, last_cells [.., S], move_cells [.., moves]: shared cells,
    0 where there is none.   initial [S]: whether a sequence can begin in a state.   weighted [shared cells]: which have
    weights.
    """

    labels: Ints32
    cards: tuple[int, ...]
    visible: int
    observed: tuple[int, ...]
    scored: tuple[int, ...]
    scored_variable: tuple[int, ...]
    scored_label: tuple[int, ...]
    at_first: tuple[bool, ...]
    source_class: Ints
    source: Ints
    target: Ints
    source_group: Ints
    reached: Ints
    state_cells: Ints
    first_cells: Ints
    last_cells: Ints
    move_cells: Ints
    initial: Mask
    weighted: Mask

    @property
    def states(self) -> int:
        return len(self.labels)

    @property
    def moves(self) -> int:
        return len(self.source)

    @cached_property
    def terms(self) -> int:
        """The listed moves and the groups of sums; states that are reached from the same groups share a sum."""
        ends = np.flatnonzero(np.diff(self.reached[:, 0], prepend=-1, append=-1)).tolist()
        return self.moves + sum(map(len, {tuple(self.reached[a:b, 1].tolist()) for a, b in itertools.pairwise(ends)}))


_FOUND = WeakKeyDictionary[ModelGraph, tuple[Ints, AutomatonGraph | None]]()  # of each graph at its last weights


def automaton_graph(graph: ModelGraph, weighted: Ints) -> AutomatonGraph | None:
    """The automaton of a model; None if it has none, or too large a one.

    weighted: the shared cells that have weights, in any order, as in `Bindings.bias_cell`.
    """
    known = _FOUND.get(graph)
    if known is None or not (known[0] is weighted or np.array_equal(known[0], weighted)):
        known = _FOUND[graph] = weighted, _automaton_graph(graph, weighted)
    return known[1]


def _automaton_graph(graph: ModelGraph, cells: Ints) -> AutomatonGraph | None:
    conditions = Conditions(graph)
    places = placements(conditions)
    if places is None:
        return None
    most = OF_SEGMENTS if of_lengths(graph.templates) else 1
    found = search(places, window_of(graph), conditions, most)
    if found is None or not len(found[1].states):
        return None
    codes, moves = found
    weighted = np.zeros(len(conditions.hard), np.bool_)
    weighted[cells] = True
    pads = codes.pads(moves.states)

    def telling(place: str, windows: Ints, pads: Ints) -> Ints:
        """The cells that can differ from 0 of each state or move, one for all that forbid, in ascending order,
        [.., most]: 0 comes first, without columns that tell nothing.
        """
        cells = _cells(codes, places, place, windows, pads)
        weighing = np.where(weighted[cells], cells, NO_CELL)
        told = np.sort(np.where(np.isneginf(conditions.hard[cells]), graph.num_shared, weighing), axis=0)
        rows: Ints = told[(told != NO_CELL).any(axis=1)].T
        return rows

    order = np.lexsort((moves.target, moves.source))
    moves = replace(moves, source=moves.source[order], target=moves.target[order], codes=moves.codes[order])
    told = np.zeros(len(order), np.bool_)  # has a potential of its own
    for placement in places:
        if placement.place == MOVE:
            chosen = np.flatnonzero((pads[moves.source] == placement.pads) & ~told)
            told[chosen] = weighted[codes.cells(placement, moves.codes[chosen])]
    common = _common(moves, told, telling(MOVE, moves.codes[told], pads[moves.source[told]]))
    told[np.isin(moves.target, common.nonzero()[0])] = False
    kept, source_group, reached = _listed(moves, pads, told)
    source, target, listed = moves.source[kept], moves.target[kept], moves.codes[kept]
    states = ListedStates(
        codes=moves.states,
        symbol=codes.digit(moves.states, 0),
        local=np.concatenate([telling(STATE, moves.states, pads), common], axis=1),
        end=telling(LAST_STATE, moves.states, pads),
        initial=moves.initial,
        first=telling(FIRST, moves.states, np.where(moves.initial, pads, -1)),
        group=source_group,
        reached=reached,
        source=source,
        target=target,
        cells=telling(MOVE, listed, pads[source]),
    )
    return _as_graph(conditions, codes, _in_order(codes, merged_states(states)), weighted)


def _in_order(codes: StateCodes, states: ListedStates) -> ListedStates:
    """States by their newest positions, groups by their first states: neighbours share labels and groups.

    Those of a group with more moves come first, as they do in sums (`kernels.automaton`): a row of states is then read
    from its beginning to its end.
    """
    slots = [codes.digit(states.codes, slot) for slot in range(1 - codes.window, 0)]
    moves = np.bincount(states.source, minlength=len(states.codes))
    order = np.lexsort((*slots, -moves, states.group, states.symbol))
    used, begin = np.unique(states.group[order], return_index=True)
    used, begin = used[used >= 0], begin[used >= 0]
    most = int(max(states.group.max(initial=-1), states.reached[:, 1].max(initial=-1)))
    number = np.full(most + 2, -1, np.int64)  # the last one stands for no group
    number[used[np.argsort(begin)]] = np.arange(len(used))
    reached = np.stack([states.reached[:, 0], number[states.reached[:, 1]]], axis=1)
    return _renumbered(replace(states, group=number[states.group], reached=reached), order, np.argsort(order))


def _as_graph(conditions: Conditions, codes: StateCodes, states: ListedStates, weighted: Mask) -> AutomatonGraph:
    of = classes_of(states)
    _, first = np.unique(of, return_index=True)
    chosen = np.isin(states.source, first)  # the moves of one state of each class
    if len(states.source) <= UNSHARED * np.count_nonzero(chosen):
        of, first = np.arange(len(of)), np.arange(len(of))
        chosen = np.ones(len(states.source), np.bool_)
    source, target = of[states.source[chosen]], states.target[chosen]
    order = np.lexsort((source, target))
    labels = codes.symbols[states.symbol]
    rows = _ScoreRows(conditions, labels)
    return AutomatonGraph(
        labels=np.stack([*labels.T, *rows.joint], axis=1),
        cards=tuple(rows.cards),
        visible=len(conditions.graph.cards),
        observed=conditions.feature_set,
        scored=tuple(rows.place),
        scored_variable=tuple(row for row, _ in rows.place.values()),
        scored_label=tuple(label for _, label in rows.place.values()),
        at_first=tuple(conditions.graph.kinds[number].template.position == 0 for number in rows.place),
        source_class=of,
        source=source[order],
        target=target[order],
        source_group=states.group[first],
        reached=states.reached,
        state_cells=states.local.T,
        first_cells=states.first.T,
        last_cells=states.end.T,
        move_cells=states.cells[chosen][order].T,
        initial=states.initial,
        weighted=weighted,
    )


def _cells(codes: StateCodes, places: Sequence[Placement], place: str, windows: Ints, pads: Ints) -> Ints:
    """The shared cells that states or moves read at a place, [.., windows]."""
    rows = []
    for placement in places:
        chosen = pads == placement.pads
        if placement.place == place and chosen.any():
            rows.append(np.where(chosen, codes.cells(placement, np.where(chosen, windows, 0)), NO_CELL))
    return np.array(rows, np.int64).reshape(len(rows), len(windows))


def _common(moves: Moves, told: Mask, cells: Ints) -> Ints:
    """The shared cells that all moves into a state read, where these become its own, [S, ..]; 0 elsewhere.

    So moves into the state need not be listed: of a memory that changes after commas, the states right after one.
    told: which moves have a potential of their own.   cells [told moves, ..].
    """
    count, target = len(moves.states), moves.target[told]
    order = np.argsort(target, kind="stable")
    first = order[np.searchsorted(target[order], target)]  # for each move, one into the same state
    differs = np.bincount(target, (cells != cells[first]).any(axis=1), count) > 0
    possible = np.bincount(moves.target, minlength=count)
    owns = (possible > GROUP_COST) & (possible == np.bincount(target, minlength=count))
    owns[moves.initial | differs] = False
    out = np.zeros((count, cells.shape[1]), np.int64)
    out[target] = np.where(owns[target, None], cells, NO_CELL)
    return out


def _listed(moves: Moves, pads: Ints, told: Mask) -> tuple[Mask, Ints, Ints]:
    """Which moves to list, the group of each state as a source, and `reached`.

    States that may be followed by the same ones are a group.   told: which moves have a potential of their own.
    """
    count, source, target = len(moves.states), moves.source, moves.target
    off, number = np.searchsorted(source, np.arange(count + 1)).tolist(), dict[bytes, int]()
    group = np.array([number.setdefault(target[a:b].tobytes(), len(number)) for a, b in itertools.pairwise(off)])
    plain, possible = np.bincount(target[~told], minlength=count), np.bincount(target, minlength=count)
    # near the beginning, states are as later ones whose contexts were not seen, and can be merged with these
    grouped = (plain > GROUP_COST) | ((pads > 0) & (plain > 0) & (plain == possible))
    reached = np.unique(np.stack([target, group[source]], axis=1)[grouped[target]], axis=0)
    group = np.where(np.isin(group, reached[:, 1]), group, -1)
    return told | ~grouped[target], group, reached


class _ScoreRows:
    """The score rows beyond one for each variable of the model: joint values, views, segments.

    A clique with features on several variables of a position, or on views, has a row of the assignments that its
    weights distinguish. Segments of all lengths share one row, as a state is at the end of one of them at most: label 0
    for states at no end, which has no weight, then the classes of each length in turn.
    """

    def __init__(self, conditions: Conditions, labels: Ints32):
        graph, self.cards = conditions.graph, list(conditions.cards)
        self.joint: list[Ints32] = []  # of each further row, the label of each state [S]
        self.place: dict[int, tuple[int, int]] = {}  # by kind: its row, and where its assignments begin there
        kinds = [(number, kind) for number, kind in enumerate(graph.kinds) if kind.template.feature_set >= 0]
        scored = [(number, kind) for number, kind in kinds if not is_condition(kind.template)]
        rows = dict[tuple[tuple[int, ...], tuple[str | None, ...]], int]()
        rows |= {((variable,), (None,)): variable for variable in range(len(graph.cards))}
        for number, kind in scored:
            template = kind.template
            if template.segment_length:
                continue
            key = template.variables, tuple(None if view is None else view.name for view in template.seen_as)
            if key not in rows:
                cells = np.ravel_multi_index(tuple(labels[:, list(template.variables)].T), template.cards)
                rows[key] = self._add(kind.full_assignments()[cells], template.num_assignments)
            self.place[number] = rows[key], 0
        self._segments(labels, [(number, kind) for number, kind in scored if kind.template.segment_length])

    def _add(self, label: Ints, card: int) -> int:
        self.joint.append(label.astype(np.int32))
        self.cards.append(card)
        return len(self.cards) - 1

    def _segments(self, labels: Ints32, kinds: Sequence[tuple[int, CliqueKind]]) -> None:
        row, label, first = len(self.cards), np.zeros(len(labels), np.int64), 1
        for number, kind in kinds:
            none = kind.template.num_assignments - 1
            seen = kind.full_assignments()[labels[:, kind.template.variables[0]]]
            label[seen < none] = first + seen[seen < none]
            self.place[number] = row, first
            first += none
        if kinds:
            self._add(label, first)
