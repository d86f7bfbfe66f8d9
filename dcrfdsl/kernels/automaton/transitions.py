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

Not here: which models are automata, and what their states mean (`graph`, `inference`); the orders in which sums go
through an automaton (`orders`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...foundation import Floats, Ints, Ints32, Mask
from ..runtime import LANES, aligned_zeros, inlined

CANCELLED = 1e-4  # of a sum over a group: less than that has lost digits to subtraction
FLOOR = 1e-100  # the least positive number: FLOOR³ is still a normal double
LOG_FLOOR = float(np.log(FLOOR))
# Of fewer, each instruction would serve fewer lanes; of more, the rows of a thousand states would leave the cache.
REGISTERS = (0,) * 4
PENDING = 64  # counts that are kept in a nearest cache, before they are added up
LANE_ROWS = 10  # of `AutomatonWorkspace.lane`
INTO_COLUMNS = 4  # of `Automaton.into_step`
BACK_COLUMNS = 7  # of `Automaton.back_step`
WINDOW = 8192  # sequences that are sorted by their lengths, so that those of similar length advance together


class Automaton(NamedTuple):
    """The structure of an automaton; see `orders.automaton_of`.

    Sums take states in an order of their own, so that what is read together lies together: into the states, block by
    block, in which all are reached from the same groups; out of the classes, group by group. In a block or group, those
    with more transitions come first: then the lengths of loops can be predicted. States that are reached from the same
    classes stand together, as do classes that lead to the same states: what one reads is near for the next. A block
    begins with pairs of states that are reached from much the same classes, which are loaded once for both.
    """

    registers: tuple[int, ...]  # of a value for all sequences that advance together, see `machine_vectors`
    states: int
    width: int  #              cells of a score row: the labels of all variables, each variable in whole registers
    cards: Ints  #             [V]    labels of each variable
    visible: int  #                   how many of the variables, the first ones, are part of marginals and labellings
    observed: Ints  #          [n]    the feature sets of the variables after these, whose labels are codes in the data
    row_start: Ints  #         [V]    where a variable's labels lie in a score row
    parts: Ints32  #           [S, V] flat; cell of the score row that a state reads
    part_at: Ints32  #         [S, V] flat; where that cell's lanes lie in a row
    combination_at: Ints32  #  [S]    where those of the state's labels together lie in a row of combinations; with one
    #                                 variable that is the score row
    combination_parts: Ints32  # [combinations, V] flat; where the cells' lanes lie; empty with one variable
    scored: Ints  #            [n]    kinds of one-variable factors with features
    scored_at: Ints  #         [n]    where their variable lies in a score row
    at_first: Mask  #          [n]    whether they are of first positions alone
    listed_off: Ints  #        [tokens + 1] features of further kinds, see `list_rows`; empty without
    listed_cell: Ints32  #     [..]   the cell of each weight …
    listed_at: NDArray[np.int16]  # [..] … and the cell of the score row that it is added to
    classes: int
    counts_ends: bool  #              whether states at first and last positions are counted
    is_split: bool  #                 whether a class is not the state of the same number
    class_of: Ints32  #        [S]
    source: Ints32  #          [M]    class; transitions by target, then by source
    target: Ints32  #          [M]    state
    is_shared: Mask  #         [M] whether a transition's target is reached from the group of its source as well
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
    run_off: Ints  #           [runs + 1] states, in the order of `class_state`, whose classes have the same group
    run_block_off: Ints  #     [runs + 1]
    run_block: Ints32  #       [..]   the blocks that are reached from that group, ascending
    is_new_block: Mask  #      [..] whether no group before has that block
    into_state: Ints32  #      [S]    the state of each step
    step_of: Ints32  #         [S]    its inverse
    into_off: Ints  #          [S+1]  the transitions of each step
    into_move: Ints32  #       [M]    their numbers
    into_at: Ints32  #         [M]    where the lanes of their sources lie in a row of classes
    into_step: Ints32  #       [S, INTO_COLUMNS] flat; of each step the end of its slots, and where lanes lie: those of
    #                                 its state in a row of α, of its class's group in a row of groups, of its labels
    pairs_end: Ints  #         [blocks] the step after a block's last pair; a pair's slots are those of its first step
    slot_at: Ints32  #         [slots] where the lanes of a slot's source lie in a row of classes
    slot_move: Ints32  #       [..]   as in `into_move`, or M for none: two of each slot of a pair, one of any other
    out_class: Ints32  #       [classes] the class of each step back
    class_step: Ints32  #      [classes] its inverse
    out_off: Ints  #           [classes + 1]
    out_move: Ints32  #        [M]    the transitions out of it, by target
    out_at: Ints32  #          [M]    where the lanes of their targets lie in a row of steps into states
    class_off: Ints  #         [classes + 1]
    class_state: Ints32  #     [S]    the states of the class of each step back, ascending
    back_step: Ints32  #       [S, BACK_COLUMNS] flat; of each state, in the order of `class_state`, first and end
    #                                 of its class's transitions (the first is -1 where the state before is of the same
    #                                 class), and where lanes lie: those of the class, of the state in a row of α and
    #                                 in one of `tail`, of its labels; then the step back of its class


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
    slot: Floats  #       [..] what it has beyond the background: less `state` of the target if it is reached from the
    #                          group of the source; in the order of `slot_move`
    out: Floats  #        [M] the same in the order of `out_move`
    cancels: bool  #      whether a sum may lose digits to subtraction
    into_cancels: Mask  # [S] whether that into the state of a step may
    out_cancels: Mask  #               [classes] the same of a step back
    start_peak: float  #  logarithms of the maxima
    peak: float
    end_peak: float


class AutomatonSums(NamedTuple):
    """Expected counts, summed over sequences."""

    state: Floats  #      [S] of all positions
    first: Floats  #      [S] of first positions, if the automaton counts these
    last: Floats  #       [S] of last positions, likewise
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
    lane: Floats  #     [LANE_ROWS · lanes] numbers of each lane, see `automaton_sums`
    rows: Floats  #     [longest, width, lanes] exp of scores; those of the first variable rescaled
    alpha: Floats  #    [longest, S, lanes]
    tail: Floats  #     [2, S, lanes] exp s_t(k) β_t(k), in the order of `into_state`
    origin: Floats  #   [longest, groups, lanes] the best class of each group
    inverse: Floats  #  [longest, lanes] what potentials of the next position are multiplied by
    marginal: Floats  # [width, lanes]; or a row of `rows` that passes from sequences to lanes or back
    combined: Floats  # [2, combinations, lanes] potentials and marginals of the labels of a state together
    shared: Floats  #   [2, groups + 1, lanes] sums over groups, and what has none; or maxima
    block: Floats  #    [blocks, lanes] sums over the states of each block
    front: Floats  #    [2, classes, lanes] α summed over classes, if they are not states
    passed: Floats  #   [S, lanes] marginals of a first or last position, in the order of `class_state`
    recent: Floats  #   [.., LANES / 2] counts that are not in `counts`, in parts
    counts: Floats  #   [S + M] of states and transitions out of their classes, in the order of `back_step`; [3, S] of
    #                   states where no sequence goes on, at first positions, and at last ones; each padded


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
    slot = np.append(beyond[a.into_move], 0.0)[a.slot_move]
    return LinearTables(
        start, state[a.into_state], end, transition, slot, beyond[a.out_move],
        bool(cancels.any()), into_cancels[a.into_state], out_cancels[a.out_class], start_peak, peak, end_peak,
    )  # fmt: skip


@inlined
def whole_registers(count):
    """`count` rounded up to whole registers."""
    return (count + LANES - 1) // LANES * LANES


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
        lane=aligned_zeros(LANE_ROWS * lanes),
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
        passed=aligned_zeros(states * lanes),
        recent=aligned_zeros((2 * LANES + PENDING + most + 1) * LANES // 2),
        counts=aligned_zeros(LANES * ((len(automaton.source) + 4 * states) // LANES + 5)),
    )
