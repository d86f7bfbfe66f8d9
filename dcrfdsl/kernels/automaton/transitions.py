"""Automata: their structure, their tables at given weights, and the memory that kernels need for them.

An automaton has S composite states at every position. A state holds one label of each of V variables. Listed
transitions between neighbours have a potential of their own. Besides, states may belong to groups: a state whose
target group is g is reached from every state whose source group is g with potential 1, unless the transition is
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
    "FLOOR", "LOG_FLOOR", "WINDOW", "Automaton", "AutomatonSums", "AutomatonTables", "AutomatonWorkspace",
    "LinearTables", "automaton_of", "linear_tables", "sums_of_automaton", "workspace_of_automaton",
]  # fmt: skip

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Floats = NDArray[np.float64]

FLOOR = 1e-100  # the least positive number: FLOOR³ is still a normal double
LOG_FLOOR = float(np.log(FLOOR))
REGISTERS = (0, 0)  # more would amortise more instructions, but the rows of a thousand states would leave the cache
WINDOW = 512  # sequences that are sorted by their lengths, so that those of similar length advance together


class Automaton(NamedTuple):
    """The structure of an automaton; see `automaton_of`."""

    registers: tuple[int, ...]  # of a value for all sequences that advance together, see `machine_vectors`
    states: int
    width: int  #              cells of a score row: the labels of all variables, each variable in whole registers
    cards: Ints  #             [V]    labels of each variable
    visible: int  #                   how many of the variables, the first ones, are part of marginals and labellings
    row_start: Ints  #         [V]    where a variable's labels lie in a score row
    parts: Ints32  #           [S, V] flat; cell of the score row that a state reads
    part_at: Ints32  #         [S, V] flat; where that cell's lanes lie in a row
    scored: Ints  #            [n]    kinds of one-variable factors with features
    scored_at: Ints  #         [n]    where their variable lies in a score row
    classes: int
    is_split: bool  #                 whether a class is not the state of the same number
    class_at: Ints32  #        [S]    where the lanes of a state's class lie in a row of classes
    class_off: Ints  #         [classes + 1]
    class_state: Ints32  #     [S]    the states of each class, ascending
    source: Ints32  #          [M]    class; transitions by target, then by source
    target: Ints32  #          [M]    state
    source_at: Ints32  #       [M]    where the lanes of a transition's source lie in a row of classes
    target_off: Ints  #        [S+1]  the transitions into a state
    source_order: Ints32  #    [M]    the transitions by source, then by target
    target_at: Ints32  #       [M]    where the lanes of the target of each of these lie in a row of states
    source_off: Ints  #        [classes + 1] the transitions out of a class, as a part of `source_order`
    source_group: Ints32  #    [classes] -1: none
    target_group: Ints32  #    [S]    -1: none
    groups: int
    member_off: Ints  #        [groups + 1]
    member: Ints32  #          [..]   the classes of each source group, ascending
    target_member_off: Ints  # [groups + 1]
    target_member: Ints32  #   [..]   the states of each target group, ascending


class AutomatonTables(NamedTuple):
    """Log potentials at some weights; -inf: impossible, for a listed transition too."""

    state: Floats  #      [S] at every position
    first: Floats  #      [S] added at the first position
    last: Floats  #       [S] added at the last position
    transition: Floats  # [M]


class LinearTables(NamedTuple):
    """`AutomatonTables` in linear space, divided by their maxima; that of a transition includes its target's."""

    start: Floats  #      [S] of a state at the first position
    state: Floats  #      [S] of a state that is reached from its group
    end: Floats  #        [S] added at the last position
    transition: Floats  # [M]
    beyond: Floats  #     [M] what it has beyond the background: less `state` of the target if both lie in one group
    beyond_out: Floats  # [M] the same in `source_order`
    start_peak: float  #  logarithms of the maxima
    peak: float
    end_peak: float


class AutomatonSums(NamedTuple):
    """Expected counts, summed over sequences."""

    state: Floats  #      [S] of all positions
    first: Floats  #      [S]
    last: Floats  #       [S]
    transition: Floats  # [M]


class AutomatonWorkspace(NamedTuple):
    """Memory for sequences of at most `longest` positions, of which as many as there are lanes advance together."""

    longest: int
    order: Ints  #      [WINDOW] sequences by length
    sequence: Ints  #   [lanes]  the sequence in each lane
    length: Ints  #     [lanes]  its positions; 0: none, or it has no answer
    state: Ints  #      [lanes]  its status
    lane: Floats  #     [8 · lanes] numbers of each lane, see `automaton_sums`
    label: Floats  #    [lanes, width] scores or marginals of one position, sequence by sequence
    rows: Floats  #     [longest, width, lanes] exp of scores
    alpha: Floats  #    [longest, S, lanes]
    origin: Floats  #   [longest, groups, lanes] the best class of each group
    inverse: Floats  #  [longest, lanes] what α of the next position is multiplied by
    tail: Floats  #     [2, S, lanes]
    marginal: Floats  # [width, lanes]
    shared: Floats  #   [2, groups, lanes] sums over groups
    front: Floats  #    [2, classes, lanes] α summed over classes, if they are not states
    beta: Floats  #     [classes, lanes]
    recent: Floats  #   [power of 2, LANES] counts of each lane that are not in `counts` yet
    counts: Floats  #   [3 S + M] of states everywhere, first and last; of transitions in `source_order`; each padded


def automaton_of(
    labels: Ints, cards: Ints, scored: Ints, scored_variable: Ints, source: Ints, target: Ints,
    source_group: Ints, target_group: Ints, source_class: Ints | None = None, visible: int | None = None,
) -> Automaton:  # fmt: skip
    """The automaton with these states and transitions.

    labels [S, V]: the labels of each state; no two states need differ.   cards [V].   scored, scored_variable [n]:
    kinds of factors with features, and the variable of each.   source, target [M]: transitions from a class to a
    state, by target, then by source, none twice.   source_group [classes], target_group [S]: group numbers, -1 for
    none.   source_class [S]: the class of each state; without it each state is its own.   visible: see `Automaton`;
    without it all are.   ValueError for anything else.

    Fast where states with the same target group and classes with the same source group have neighbouring numbers.
    """
    labels, cards = np.asarray(labels, np.int64), np.asarray(cards, np.int64)
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    states, classes = len(labels), len(source_group)
    own = np.arange(states)
    class_of = own if source_class is None else np.asarray(source_class, np.int64)
    if (np.diff(target * classes + source) <= 0).any():
        raise ValueError("transitions are not ordered by target and source")
    if ((labels < 0) | (labels >= cards)).any() or ((source < 0) | (source >= classes) | (target >= states)).any():
        raise ValueError("a label or a state is out of range")
    if len(class_of) != states or len(target_group) != states or ((class_of < 0) | (class_of >= classes)).any():
        raise ValueError("a state has no class or no group")
    padded = -(-cards // LANES) * LANES
    row_start = np.cumsum(padded) - padded
    parts = (labels + row_start).astype(np.int32).ravel()
    lanes = len(REGISTERS) * LANES
    source_order = np.lexsort((target, source))
    groups = int(max(source_group.max(initial=-1), target_group.max(initial=-1))) + 1
    class_off, class_state = _members(class_of, classes)
    member_off, member = _members(source_group, groups)
    target_member_off, target_member = _members(target_group, groups)
    return Automaton(
        registers=REGISTERS,
        states=states,
        width=int(padded.sum()),
        cards=cards,
        visible=len(cards) if visible is None else visible,
        row_start=row_start,
        parts=parts,
        part_at=parts * np.int32(lanes),
        scored=np.asarray(scored, np.int64),
        scored_at=row_start[np.asarray(scored_variable, np.int64)],
        classes=classes,
        is_split=classes != states or bool((class_of != own).any()),
        class_at=(class_of * lanes).astype(np.int32),
        class_off=class_off,
        class_state=class_state,
        source=source.astype(np.int32),
        target=target.astype(np.int32),
        source_at=(source * lanes).astype(np.int32),
        target_off=np.searchsorted(target, np.arange(states + 1)),
        source_order=source_order.astype(np.int32),
        target_at=(target[source_order] * lanes).astype(np.int32),
        source_off=np.searchsorted(source[source_order], np.arange(classes + 1)),
        source_group=np.asarray(source_group, np.int32),
        target_group=np.asarray(target_group, np.int32),
        groups=groups,
        member_off=member_off,
        member=member,
        target_member_off=target_member_off,
        target_member=target_member,
    )


def _members(group: Ints, groups: int) -> tuple[Ints, Ints32]:
    """The members of each group, ascending: offsets [groups + 1], members."""
    order = np.argsort(group, kind="stable")
    order = order[np.sum(group < 0) :]
    return np.searchsorted(group[order], np.arange(groups + 1)), order.astype(np.int32)


def linear_tables(automaton: Automaton, tables: AutomatonTables) -> LinearTables | None:
    """The tables for sums; None if they leave the range of linear space, or no state is possible."""
    peak, start_peak, end_peak = 0.0, float((tables.state + tables.first).max()), float(tables.last.max())
    into = tables.transition + tables.state[automaton.target]
    grouped = tables.state[automaton.target_group >= 0]
    peak = float(max(into.max(initial=-np.inf), grouped.max(initial=-np.inf)))
    if not (np.isfinite(start_peak) and np.isfinite(end_peak)):
        return None
    peak = peak if np.isfinite(peak) else 0.0
    logs = [tables.state + tables.first - start_peak, tables.state - peak, tables.last - end_peak, into - peak]
    logs[1][automaton.target_group < 0] = -np.inf
    if any(((x > -np.inf) & (x < LOG_FLOOR)).any() for x in logs):
        return None
    start, state, end, transition = (np.exp(x) for x in logs)
    group = automaton.target_group[automaton.target]
    shared = (group >= 0) & (group == automaton.source_group[automaton.source])
    beyond = transition - np.where(shared, state[automaton.target], 0.0)
    return LinearTables(
        start, state, end, transition, beyond, beyond[automaton.source_order], start_peak, peak, end_peak
    )


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
    most = int(np.diff(automaton.source_off).max(initial=0))
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
        origin=aligned_zeros(longest * groups * lanes),
        inverse=aligned_zeros(longest * lanes),
        tail=aligned_zeros(2 * states * lanes),
        marginal=aligned_zeros(width * lanes),
        shared=aligned_zeros(2 * groups * lanes),
        front=aligned_zeros(2 * classes * lanes),
        beta=aligned_zeros(classes * lanes),
        recent=aligned_zeros(LANES << (most + LANES).bit_length()),
        counts=aligned_zeros(3 * whole(states) + whole(len(automaton.source))),
    )
