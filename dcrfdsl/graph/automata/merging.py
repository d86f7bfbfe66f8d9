"""Merges states of an automaton that nothing tells apart: the contexts that were seen remain, and their suffixes.

A state that holds several positions may be told from others only by what is forgotten without having had an effect.
States with the same symbol at the newest position, the same potentials of their own and the same moves out are one
state, which is reached from all groups from which its members are; groups that reach the same states are one group.
Merged states may make others equal, so this is repeated until nothing changes. Of a chain of higher order, the states
that are left are the contexts that were seen and, where none was seen, the longest suffix of one. Source: Ye et al.
2009 and Cuong et al. 2014, who build these states from the contexts; here they are found by merging, so that other
models than chains profit too. Not here: which moves are listed (`automaton_graphs`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...foundation import Ints, Mask


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
    while True:
        count = len(states.codes)
        states = _equal_groups(_equal_states(states))
        if len(states.codes) == count:
            return states


def _equal_states(states: ListedStates) -> ListedStates:
    """Merges states of one class with the same symbol and the same cells of their own."""
    key = np.concatenate([classes_of(states)[:, None], states.symbol[:, None], states.local, states.end], axis=1)
    _, chosen, of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    if len(chosen) == len(states.codes):
        return states
    order = np.argsort(chosen)  # numbered as the first of each
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    of, chosen = rank[of.ravel()], chosen[order]
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
