"""Automata: their structure, their tables at given weights, and the memory that kernels need for them.

An automaton has S composite states at every position. A state holds one label of each of V variables. Listed
transitions between neighbours have a potential of their own. Besides, states may belong to groups: a state that is
reached from group g is reached from every state whose source group is g with potential 1, unless the transition is
listed. What is neither listed nor in a group is impossible. States with the same ways out form a class: transitions
lead from a class to a state, so what many states share is listed once. With the local log score

    s_t(k) = Σ_v row_t[label of v in state k] + state[k]  (+ first[k] at the first position, + last[k] at the last)

a labelling's score is Σ_t s_t(k_t) plus the log potentials between neighbours. A first-order chain whose potentials
are 1 but for few pairs is such an automaton, as are chains of higher order (states are then contexts) and labels with
a deterministic memory (states are the pairs that can occur). Source: Siddiqi & Moore 2005 (a background and
exceptions); Ye et al. 2009 and Cuong et al. 2014 (higher orders by the contexts that were seen).

Not here: which models are automata, and what their states mean (`graph`, `inference`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime import LANES, aligned_zeros

__all__ = [
    "CANCELLED", "FLOOR", "LOG_FLOOR", "PENDING", "REGISTERS", "STEPS", "WINDOW", "Automaton", "AutomatonSums",
    "AutomatonTables", "AutomatonTotals", "AutomatonWorkspace", "LinearTables", "automaton_of", "linear_tables",
    "sums_of_automaton", "workspace_of_automaton",
]  # fmt: skip

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Floats = NDArray[np.float64]

CANCELLED = 1e-4  # of a sum over a group: less than that has lost digits to subtraction
FLOOR = 1e-100  # the least positive number: FLOOR³ is still a normal double
LOG_FLOOR = float(np.log(FLOOR))
# Of fewer, each instruction would serve fewer lanes; of more, the rows of a thousand states would leave the cache.
REGISTERS = (0,) * 4
STEPS = 64  # whose sums are kept at a time: they fit a nearest cache
PENDING = 256  # counts of moves that are kept, before they are added up
WINDOW = 8192  # sequences that are sorted by their lengths, so that those of similar length advance together


class Automaton(NamedTuple):
    """The structure of an automaton; see `automaton_of`.

    Sums take states in an order of their own, so that what is read together lies together: into the states, block by
    block, in which all are reached from the same groups; out of the classes, group by group. In a block or group, those
    with more transitions come first: then the lengths of loops can be predicted.
    """

    registers: tuple[int, ...]  # of a value for all sequences that advance together, see `machine_vectors`
    states: int
    width: int  #              cells of a score row: the labels of all variables, each variable in whole registers
    cards: Ints  #             [V]    labels of each variable
    visible: int  #                   how many of the variables, the first ones, are part of marginals and labellings
    row_start: Ints  #         [V]    where a variable's labels lie in a score row
    parts: Ints32  #           [S, V] flat; cell of the score row that a state reads
    part_at: Ints32  #         [S, V] flat; where that cell's lanes lie in a row
    combination_at: Ints32  #  [S]    where those of the state's labels together lie in a row of combinations; with one
    #                                 variable that is the score row
    combination_parts: Ints32  # [combinations, V] flat; where the cells' lanes lie; empty with one variable
    scored: Ints  #            [n]    kinds of one-variable factors with features
    scored_at: Ints  #         [n]    where their variable lies in a score row
    classes: int
    is_split: bool  #                 whether a class is not the state of the same number
    class_of: Ints32  #        [S]
    source: Ints32  #          [M]    class; transitions by target, then by source
    target: Ints32  #          [M]    state
    is_shared: NDArray[np.bool_]  # [M] whether a transition's target is reached from the group of its source as well
    target_off: Ints  #        [S+1]  the transitions into a state
    source_group: Ints32  #    [classes] -1: none
    groups: int
    member_off: Ints  #        [groups + 1]
    member: Ints32  #          [..]   the classes of each group, ascending
    reached_off: Ints  #       [groups + 1]
    reached: Ints32  #         [..]   the states that are reached from each group, ascending
    block_of: Ints32  #        [S]
    block_off: Ints  #         [blocks + 1] a block of steps into states
    block_group_off: Ints  #   [blocks + 1]
    block_group: Ints32  #     [..]   the groups from which the states of a block are reached
    group_block_off: Ints  #   [groups + 1]
    group_block: Ints32  #     [..]   the blocks that are reached from each group that has classes, ascending
    is_new_block: NDArray[np.bool_]  # [..] whether no group before has that block
    into_state: Ints32  #      [S]    the state of each step
    into_group: Ints32  #      [S]    where the lanes of its class's group lie in a row of groups; at its end: none
    step_of: Ints32  #         [S]    its inverse
    into_off: Ints  #          [S+1]  the transitions of each step
    into_move: Ints32  #       [M]    their numbers
    into_at: Ints32  #         [M]    where the lanes of their sources lie in a row of classes
    out_class: Ints32  #       [classes] the class of each step back
    class_step: Ints32  #      [classes] its inverse
    out_off: Ints  #           [classes + 1]
    out_move: Ints32  #        [M]    the transitions out of it, by target
    out_at: Ints32  #          [M]    where the lanes of their targets lie in a row of steps into states
    class_off: Ints  #         [classes + 1]
    class_state: Ints32  #     [S]    the states of the class of each step back, ascending


class AutomatonTables(NamedTuple):
    """Log potentials at some weights; -inf: impossible, for a listed transition too."""

    state: Floats  #      [S] at every position
    first: Floats  #      [S] added at the first position
    last: Floats  #       [S] added at the last position
    transition: Floats  # [M]


class LinearTables(NamedTuple):
    """`AutomatonTables` in linear space, divided by their maxima; that of a transition includes its target's."""

    start: Floats  #      [S] of a state at the first position
    state: Floats  #      [S] of a state that is reached from its group, in the order of `into_state`
    end: Floats  #        [S] added at the last position
    transition: Floats  # [M]
    into: Floats  #       [M] what it has beyond the background: less `state` of the target if it is reached from the
    #                         group of the source; in the order of `into_move`
    out: Floats  #        [M] the same in the order of `out_move`
    cancels: bool  #      whether a sum may lose digits to subtraction
    into_cancels: NDArray[np.bool_]  # [S] whether that into the state of a step may
    out_cancels: NDArray[np.bool_]  #  [classes] the same of a step back
    start_peak: float  #  logarithms of the maxima
    peak: float
    end_peak: float


class AutomatonSums(NamedTuple):
    """Expected counts, summed over sequences."""

    state: Floats  #      [S] of all positions
    first: Floats  #      [S]
    last: Floats  #       [S]
    transition: Floats  # [M]


class AutomatonTotals(NamedTuple):
    """Buffers that expected counts are added to."""

    gradient: Floats  #   packed cells of features; empty where only marginals are wanted
    sums: AutomatonSums


class AutomatonWorkspace(NamedTuple):
    """Memory for sequences of at most `longest` positions, of which as many as there are lanes advance together."""

    longest: int
    order: Ints  #      [WINDOW] sequences by length
    sequence: Ints  #   [lanes]  the sequence in each lane
    length: Ints  #     [lanes]  its positions; 0: none, or it has no answer
    state: Ints  #      [lanes]  its status
    lane: Floats  #     [8 · lanes] numbers of each lane, see `automaton_sums`
    label: Floats  #    [lanes, width] scores or marginals of one position, sequence by sequence
    rows: Floats  #     [longest, width, lanes] exp of scores; those of the first variable rescaled
    alpha: Floats  #    [longest, S, lanes]
    tail: Floats  #     [2, S, lanes] exp s_t(k) β_t(k), in the order of `into_state`
    origin: Floats  #   [longest, groups, lanes] the best class of each group
    inverse: Floats  #  [longest, lanes] what potentials of the next position are multiplied by
    marginal: Floats  # [width, lanes]
    combined: Floats  # [2, combinations, lanes] potentials and marginals of the labels of a state together
    shared: Floats  #   [2, groups + 1, lanes] sums over groups, and what has none; or maxima
    block: Floats  #    [blocks, lanes] sums over the states of each block
    front: Floats  #    [2, classes, lanes] α summed over classes, if they are not states
    partial: Floats  #  [1 + STEPS, lanes] what a group reaches, and β of some of its classes
    recent: Floats  #   [2, LANES, LANES] of states, [.., LANES] of moves: counts of each lane that are not in `counts`
    counts: Floats  #   [3 S + M] of states everywhere, first and last, in the order of `class_state`; of transitions,
    #                   in that of `out_move`; each padded


def automaton_of(
    labels: Ints, cards: Ints, scored: Ints, scored_variable: Ints, source: Ints, target: Ints,
    source_group: Ints, reached: Ints, source_class: Ints | None = None, visible: int | None = None,
) -> Automaton:  # fmt: skip
    """The automaton with these states and transitions.

    labels [S, V]: the labels of each state; no two states need differ.   cards [V].   scored, scored_variable [n]:
    kinds of factors with features, and the variable of each.   source, target [M]: transitions from a class to a
    state, by target, then by source, none twice.   source_group [classes]: -1 for none.   reached [n, 2]: (state,
    group), ascending: which states are reached from which groups.   source_class [S]: the class of each state; without
    it each state is its own.   visible: see `Automaton`; without it all are.   ValueError for anything else.

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
    block_of, block_off, block_group_off, block_group, into_state = _blocks(states, reached, np.diff(target_off))
    step_of = np.empty(states, np.int64)
    step_of[into_state] = np.arange(states)
    of_block = np.repeat(np.arange(len(block_group_off) - 1), np.diff(block_group_off))
    has_classes = np.flatnonzero(np.isin(block_group, source_group))
    group_block_off, which_block = _members(block_group[has_classes], groups)
    group_block = of_block[has_classes][which_block]
    own_group = np.where(source_group < 0, groups, source_group)[class_of]
    into_off, into_move = _chosen_runs(target_off, into_state)
    by_source = np.lexsort((target, source))
    source_off = np.searchsorted(source[by_source], np.arange(classes + 1))
    out_class = np.lexsort((-np.diff(source_off), source_group))
    out_off, out = _chosen_runs(source_off, out_class)
    out_move = by_source[out]
    rank = np.empty(classes, np.int64)
    rank[out_class] = np.arange(classes)
    class_off, class_state = _members(rank[class_of], classes)
    return Automaton(
        registers=REGISTERS,
        states=states,
        width=int(padded.sum()),
        cards=cards,
        visible=len(cards) if visible is None else visible,
        row_start=row_start,
        parts=parts,
        part_at=parts * np.int32(lanes),
        combination_at=(combination.ravel() * lanes).astype(np.int32),
        combination_parts=(several * lanes).astype(np.int32).ravel(),
        scored=np.asarray(scored, np.int64),
        scored_at=row_start[np.asarray(scored_variable, np.int64)],
        classes=classes,
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
        group_block_off=group_block_off,
        group_block=group_block.astype(np.int32),
        is_new_block=_is_new(group_block),
        into_state=into_state.astype(np.int32),
        into_group=(own_group[into_state] * lanes).astype(np.int32),
        step_of=step_of.astype(np.int32),
        into_off=into_off,
        into_move=into_move.astype(np.int32),
        into_at=(source[into_move] * lanes).astype(np.int32),
        out_class=out_class.astype(np.int32),
        class_step=rank.astype(np.int32),
        out_off=out_off,
        out_move=out_move.astype(np.int32),
        out_at=(step_of[target[out_move]] * lanes).astype(np.int32),
        class_off=class_off,
        class_state=class_state,
    )


def _members(group: Ints, groups: int) -> tuple[Ints, Ints32]:
    """The members of each group, ascending: offsets [groups + 1], members."""
    order = np.argsort(group, kind="stable")
    order = order[np.sum(group < 0) :]
    return np.searchsorted(group[order], np.arange(groups + 1)), order.astype(np.int32)


def _is_new(items: Ints) -> NDArray[np.bool_]:
    """Whether each item is none of those before."""
    out = np.zeros(len(items), np.bool_)
    out[np.unique(items, return_index=True)[1]] = True
    return out


def _chosen_runs(off: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Offsets of the runs `chosen`, one after the other, and their items."""
    sizes = np.diff(off)[chosen]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, np.arange(new[-1]) + np.repeat(off[chosen] - new[:-1], sizes)


def _blocks(states: int, reached: Ints, transitions: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
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
    order = np.lexsort((-transitions, block))
    group_off = np.concatenate([[0], np.cumsum([len(groups) for groups in sets])])
    return (
        block,
        np.searchsorted(block[order], np.arange(len(sets) + 1)),
        group_off.astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *sets]),
        order,
    )


def linear_tables(automaton: Automaton, tables: AutomatonTables) -> LinearTables | None:
    """The tables for sums; None if they leave the range of linear space, or no state is possible."""
    a = automaton
    grouped = np.zeros(a.states, np.bool_)
    grouped[a.reached] = True
    peak, start_peak, end_peak = 0.0, float((tables.state + tables.first).max()), float(tables.last.max())
    into = tables.transition + tables.state[a.target]
    peak = float(max(into.max(initial=-np.inf), tables.state[grouped].max(initial=-np.inf)))
    if not (np.isfinite(start_peak) and np.isfinite(end_peak)):
        return None
    peak = peak if np.isfinite(peak) else 0.0
    logs = [tables.state + tables.first - start_peak, tables.state - peak, tables.last - end_peak, into - peak]
    logs[1][~grouped] = -np.inf
    if any(((x > -np.inf) & (x < LOG_FLOOR)).any() for x in logs):
        return None
    start, state, end, transition = (np.exp(x) for x in logs)
    background = np.where(a.is_shared, state[a.target], 0.0)
    beyond = transition - background
    cancels = transition < CANCELLED * background
    into_cancels, out_cancels = np.zeros(a.states, np.bool_), np.zeros(a.classes, np.bool_)
    into_cancels[a.target[cancels]] = True
    out_cancels[a.source[cancels]] = True
    return LinearTables(
        start, state[a.into_state], end, transition, beyond[a.into_move], beyond[a.out_move],
        bool(cancels.any()), into_cancels[a.into_state], out_cancels[a.out_class], start_peak, peak, end_peak,
    )  # fmt: skip


def whole(count: int) -> int:
    """`count` rounded up to whole registers."""
    return -(-count // LANES) * LANES


def sums_of_automaton(automaton: Automaton) -> AutomatonSums:
    """Sums of 0."""
    states = automaton.states
    return AutomatonSums(np.zeros(states), np.zeros(states), np.zeros(states), np.zeros(len(automaton.source)))


def workspace_of_automaton(automaton: Automaton, longest: int) -> AutomatonWorkspace:
    """A workspace for sequences of at most `longest` positions; a thread may keep it."""
    states, classes, groups, width = automaton.states, automaton.classes, automaton.groups, automaton.width
    lanes = len(automaton.registers) * LANES
    most = int(np.diff(automaton.out_off).max(initial=0))
    return AutomatonWorkspace(
        longest,
        order=np.zeros(WINDOW, np.int64),
        sequence=np.zeros(lanes, np.int64),
        length=np.zeros(lanes, np.int64),
        state=np.zeros(lanes, np.int64),
        lane=aligned_zeros(8 * lanes),
        label=aligned_zeros(width * lanes),
        rows=aligned_zeros(longest * width * lanes),
        alpha=aligned_zeros(longest * states * lanes),
        tail=aligned_zeros(2 * states * lanes),
        origin=aligned_zeros(longest * groups * lanes),
        inverse=aligned_zeros(longest * lanes),
        marginal=aligned_zeros(width * lanes),
        combined=aligned_zeros(2 * len(automaton.combination_parts) // len(automaton.cards) * lanes),
        shared=aligned_zeros(2 * (groups + 1) * lanes),
        block=aligned_zeros((len(automaton.block_off) - 1) * lanes),
        front=aligned_zeros(2 * classes * lanes),
        partial=aligned_zeros((1 + STEPS) * lanes),
        recent=aligned_zeros((2 * LANES + PENDING + most + LANES) * LANES),
        counts=aligned_zeros(3 * whole(states) + whole(len(automaton.source))),
    )
