"""The orders in which sums over an automaton take its states and transitions, see `Automaton`.

What is read together lies together, and the lengths of loops can be predicted. Two states of a block are taken at once
if they are reached from much the same classes: α of a class is then loaded once for both. Where only one of the two has
a transition, the other gets a factor of 0.
"""

import numpy as np

from ...foundation import Ints, Ints32, Mask
from ..runtime import LANES
from .transitions import REGISTERS, Automaton

# Cycles, measured: a slot that two states share, a transition of one state, and what a pair saves besides.
SHARED_SLOT, OWN_SLOT, SAVED = 4.0, 3.1, 5.0
NEAREST = 8  # states with as many transitions or somewhat less, among which the second state of a pair is looked for


def automaton_of(
    labels: Ints, cards: Ints, scored: Ints, scored_variable: Ints, source: Ints, target: Ints,
    source_group: Ints, reached: Ints, source_class: Ints | None = None, visible: int | None = None,
    scored_label: Ints | None = None, *, counts_ends: bool = True, observed: Ints | None = None,
    at_first: Mask | None = None,
) -> Automaton:  # fmt: skip
    """The automaton with these states and transitions.

    labels [S, V]: the labels of each state; no two states need differ.   cards [V].   scored, scored_variable [n]:
    kinds of factors with features, and the variable of each.   scored_label [n]: the label of that variable which
    stands for assignment 0 of the kind; without it label 0.   source, target [M]: transitions from a class to a
    state, by target, then by source, none twice.   source_group [classes]: -1 for none.   reached [n, 2]: (state,
    group), ascending: which states are reached from which groups.   source_class [S]: the class of each state; without
    it each state is its own.   visible, counts_ends, observed, at_first: see `Automaton`; without `visible` all are.
    ValueError for anything else.

    Fast where states with the same labels and classes with the same group have neighbouring numbers.
    """
    labels, cards = np.asarray(labels, np.int64), np.asarray(cards, np.int64)
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    source_group, reached = np.asarray(source_group, np.int64), np.asarray(reached, np.int64).reshape(-1, 2)
    states, classes = len(labels), len(source_group)
    own = np.arange(states)
    class_of = own if source_class is None else np.asarray(source_class, np.int64)
    if (np.diff(target * classes + source) <= 0).any():
        raise ValueError("transitions are not ordered by target and source")
    if ((labels < 0) | (labels >= cards)).any() or ((source < 0) | (source >= classes) | (target >= states)).any():
        raise ValueError("a label or a state is out of range")
    if len(class_of) != states or ((class_of < 0) | (class_of >= classes)).any():
        raise ValueError("a state has no class")
    groups = int(max(source_group.max(initial=-1), reached[:, 1].max(initial=-1))) + 1
    if (reached < 0).any() or (reached[:, 0] >= states).any() or (np.diff(reached @ (groups, 1)) <= 0).any():
        raise ValueError("states and their groups are out of range, or not ordered")
    padded = -(-cards // LANES) * LANES
    row_start = np.cumsum(padded) - padded
    parts = (labels + row_start).astype(np.int32).ravel()
    lanes = len(REGISTERS) * LANES
    several, combination = np.unique(parts.reshape(states, -1), axis=0, return_inverse=True)
    if len(cards) == 1:
        several, combination = several[:0], parts.astype(np.int64)
    member_off, member = _members(source_group, groups)
    reached_off, which = _members(reached[:, 1], groups)
    target_off = np.searchsorted(target, np.arange(states + 1))
    block_of, block_off, block_group_off, block_group, by_size = _blocks(states, reached, target_off, source)
    pairs_end, into_state = _paired(block_off, by_size, target_off, source)
    step_of = np.empty(states, np.int64)
    step_of[into_state] = np.arange(states)
    of_block = np.repeat(np.arange(len(block_group_off) - 1), np.diff(block_group_off))
    class_group = np.where(source_group < 0, groups, source_group)
    own_group = class_group[class_of]
    into_off, into_move = _chosen_runs(target_off, into_state)
    by_source = np.lexsort((target, source))
    source_off = np.searchsorted(source[by_source], np.arange(classes + 1))
    out_class = np.lexsort((-np.diff(source_off), source_group))
    first_equal = _first_equal(source_off, target[by_source], out_class)
    out_class = out_class[np.lexsort((first_equal[out_class], source_group[out_class]))]
    out_off, out = _chosen_runs(source_off, out_class)
    out_move = by_source[out]
    rank = np.empty(classes, np.int64)
    rank[out_class] = np.arange(classes)
    class_off, class_state = _members(rank[class_of], classes)
    step_off, slot_at, slot_move = _slots(pairs_end, block_off, into_off, source[into_move])
    labels_at = (combination.ravel() * lanes).astype(np.int32)
    into_step = np.stack([step_off, into_state * lanes, own_group[into_state] * lanes, labels_at[into_state]], axis=1)
    step_back = np.repeat(np.arange(classes), np.diff(class_off))
    back_group = class_group[out_class[step_back]]
    is_new = np.diff(step_back, prepend=-1) != 0
    back_step = np.stack(
        [
            np.where(is_new, out_off[step_back], -1), out_off[step_back + 1], out_class[step_back] * lanes,
            class_state * lanes, step_of[class_state] * lanes, labels_at[class_state], step_back,
        ],
        axis=1,
    )  # fmt: skip
    run_off = np.flatnonzero(_is_new(back_group))
    run_of = np.full(groups + 1, -1)
    run_of[back_group[run_off]] = np.arange(len(run_off))
    run_block_off, which_block = _members(run_of[block_group], len(run_off))
    run_block = of_block[which_block]
    return Automaton(
        registers=REGISTERS,
        states=states,
        width=int(padded.sum()),
        cards=cards,
        visible=len(cards) if visible is None else visible,
        observed=np.zeros(0, np.int64) if observed is None else observed,
        row_start=row_start,
        parts=parts,
        part_at=parts * np.int32(lanes),
        combination_at=labels_at,
        combination_parts=(several * lanes).astype(np.int32).ravel(),
        scored=np.asarray(scored, np.int64),
        scored_at=row_start[np.asarray(scored_variable, np.int64)] + (0 if scored_label is None else scored_label),
        at_first=np.zeros(len(scored), np.bool_) if at_first is None else at_first,
        listed_off=np.zeros(0, np.int64),
        listed_cell=np.zeros(0, np.int32),
        listed_at=np.zeros(0, np.int16),
        classes=classes,
        counts_ends=counts_ends,
        is_split=classes != states or bool((class_of != own).any()),
        class_of=class_of.astype(np.int32),
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        is_shared=np.isin(target * groups + source_group[source], reached @ (groups, 1)) & (source_group[source] >= 0),
        target_off=target_off,
        source_group=source_group.astype(np.int32),
        groups=groups,
        member_off=member_off,
        member=member,
        reached_off=reached_off,
        reached=reached[which, 0].astype(np.int32),
        block_of=block_of.astype(np.int32),
        block_off=block_off,
        block_group_off=block_group_off,
        block_group=block_group.astype(np.int32),
        run_off=np.append(run_off, states),
        run_block_off=run_block_off,
        run_block=run_block.astype(np.int32),
        is_new_block=_is_new(run_block),
        into_state=into_state.astype(np.int32),
        step_of=step_of.astype(np.int32),
        into_off=into_off,
        into_move=into_move.astype(np.int32),
        into_at=(source[into_move] * lanes).astype(np.int32),
        into_step=into_step.astype(np.int32).ravel(),
        pairs_end=pairs_end,
        slot_at=(slot_at * lanes).astype(np.int32),
        slot_move=slot_move.astype(np.int32),
        out_class=out_class.astype(np.int32),
        class_step=rank.astype(np.int32),
        out_off=out_off,
        out_move=out_move.astype(np.int32),
        out_at=(step_of[target[out_move]] * lanes).astype(np.int32),
        class_off=class_off,
        class_state=class_state,
        back_step=back_step.astype(np.int32).ravel(),
    )


def _members(group: Ints, groups: int) -> tuple[Ints, Ints32]:
    """The members of each group, ascending: offsets [groups + 1], members."""
    order = np.argsort(group, kind="stable")
    order = order[np.sum(group < 0) :]
    return np.searchsorted(group[order], np.arange(groups + 1)), order.astype(np.int32)


def _is_new(items: Ints) -> Mask:
    """Whether each item is none of those before."""
    out = np.zeros(len(items), np.bool_)
    out[np.unique(items, return_index=True)[1]] = True
    return out


def _chosen_runs(off: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Offsets of the runs `chosen`, one after the other, and their items."""
    sizes = np.diff(off)[chosen]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, np.arange(new[-1]) + np.repeat(off[chosen] - new[:-1], sizes)


def _first_equal(off: Ints, items: Ints, order: Ints) -> Ints:
    """For each run of `items`, the place in `order` of the first one with the same items."""
    first: dict[bytes, int] = {}
    place = np.empty(len(order), np.int64)
    for n, k in enumerate(order.tolist()):
        place[k] = first.setdefault(items[off[k] : off[k + 1]].tobytes(), n)
    return place


def _blocks(states: int, reached: Ints, target_off: Ints, source: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """`block_of`, `block_off`, `block_group_off`, `block_group` and `into_state`: see `Automaton`."""
    off = np.searchsorted(reached[:, 0], np.arange(states + 1))
    number: dict[bytes, int] = {}
    sets: list[Ints] = []
    block = np.zeros(states, np.int64)
    for k in range(states):
        groups = np.ascontiguousarray(reached[off[k] : off[k + 1], 1])
        block[k] = number.setdefault(groups.tobytes(), len(number))
        if block[k] == len(sets):
            sets.append(groups)
    order = np.lexsort((-np.diff(target_off), block))
    order = order[np.lexsort((_first_equal(target_off, source, order)[order], block[order]))]
    group_off = np.concatenate([[0], np.cumsum([len(groups) for groups in sets])])
    return (
        block,
        np.searchsorted(block[order], np.arange(len(sets) + 1)),
        group_off.astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *sets]),
        order,
    )


def _paired(block_off: Ints, by_size: Ints, target_off: Ints, source: Ints) -> tuple[Ints, Ints]:
    """`pairs_end` and `into_state`: see `Automaton`. by_size: states by block, those with more transitions first."""
    sources = [frozenset(source[target_off[k] : target_off[k + 1]].tolist()) for k in range(len(target_off) - 1)]
    ends, order = [], []
    for begin, end in zip(block_off[:-1].tolist(), block_off[1:].tolist(), strict=True):
        left, alone = by_size[begin:end].tolist(), []
        while left:
            k, saved, nearest = left.pop(0), 0.0, -1
            for n, other in enumerate(left[:NEAREST]):
                both = len(sources[k]) + len(sources[other])
                gain = OWN_SLOT * both + SAVED - SHARED_SLOT * len(sources[k] | sources[other])
                if gain > saved:
                    saved, nearest = gain, n
            if nearest < 0:
                alone.append(k)
            else:
                order += [k, left.pop(nearest)]
        ends.append(len(order))
        order += alone
    return np.array(ends, np.int64), np.array(order, np.int64)


def _slots(pairs_end: Ints, block_off: Ints, into_off: Ints, sources: Ints) -> tuple[Ints, Ints, Ints]:
    """The end of each step's slots [S], the source of each slot, and `slot_move`: see `Automaton`.

    sources [M]: those of the transitions in the order of `into_move`; those of a step ascend.
    """
    none = len(sources)
    count, ends, at, moves = 0, np.zeros(len(into_off) - 1, np.int64), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for begin, alone, end in zip(block_off[:-1].tolist(), pairs_end.tolist(), block_off[1:].tolist(), strict=True):
        for n in range(begin, alone, 2):
            first, middle, last = into_off[n : n + 3].tolist()
            both = np.union1d(sources[first:middle], sources[middle:last])
            move = np.full((len(both), 2), none)
            move[np.searchsorted(both, sources[first:middle]), 0] = np.arange(first, middle)
            move[np.searchsorted(both, sources[middle:last]), 1] = np.arange(middle, last)
            at.append(both)
            moves.append(move.ravel())
            count += len(both)
            ends[n : n + 2] = count
        first, last = into_off[alone], into_off[end]
        at.append(sources[first:last])
        moves.append(np.arange(first, last))
        ends[alone:end] = count + into_off[alone + 1 : end + 1] - first
        count += last - first
    return ends, np.concatenate(at), np.concatenate(moves)
