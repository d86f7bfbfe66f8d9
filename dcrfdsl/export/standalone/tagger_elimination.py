"""Exact inference: variable elimination in log space over the factor graph of a sentence.

Variables are summed out (or maximised) one after another, position by position from left to right. With the tables φ
that touch variable v, the messages m of variables that were eliminated before, and the variables n that share a table
with v,

    joint(n, v) = Σ log φ + Σ m          message(n) = log Σ_v exp joint(n, v)       [or max_v]

so that the messages without n left add up to log Z. Backwards, p(n, v) = exp(joint − message) · p(n) gives every
marginal without a division. The steps depend on the length of a sentence alone and are kept. Sentences of one length go
side by side: every table has a first axis for them. Source: Sutton and McCallum, An Introduction to Conditional Random
Fields, section 4.1. Not here: where tables come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LogTable = NDArray[np.float64]
LAST = -1  # the `position` of a clique that lies at the last anchor alone
RESCALED = 16  # every so many steps a message is brought back to a maximum of 0, so that long sentences lose no digits


# the graph ----------------------------------------------------------------------------------------------------------


class Clique(NamedTuple):
    """A clique index: its sites, and which table belongs to an instance.

    kinds: a pattern, for each site 0 in the sentence, -1 before it, 1 after it, → the number of its table.
    position: of a clique that lies at this anchor only.   first_row: the row of anchor 0 in its tables; None if all
    instances share one row.
    """

    variables: Sequence[int]
    offsets: Sequence[int]
    kinds: Mapping[tuple[int, ...], int]
    padded: bool
    position: int | None
    first_row: int | None

    def anchors(self, length: int) -> range:
        """Where its instances are read in a sentence of `length` positions."""
        low, high = min(self.offsets), max(self.offsets)
        lies = range(-high, length - low) if self.padded else range(max(0, -low), min(length, length - high))
        if self.position is None:
            return lies
        at = length - 1 if self.position == LAST else self.position
        return range(at, at + 1) if at in lies else range(0)


class StepTable(NamedTuple):
    """A table of a step: row `row` of the tables `kind`, or the message of step `row` if `kind` is -1.

    axes: its axes in the order of the step's scope, the batch first.   shape: after the batch, with 1 where the scope
    has a variable that the table lacks.
    """

    kind: int
    row: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]


class Step(NamedTuple):
    """The elimination of the last variable of `scope`; the others come in falling order of their own elimination."""

    scope: tuple[int, ...]
    shape: tuple[int, ...]  #       (1, …, 1, states of the variable)
    parts: tuple[StepTable, ...]
    senders: tuple[tuple[int, tuple[int, ...]], ...]  # steps whose messages arrive, and the axes that these lack


class Program(NamedTuple):
    """The steps for sentences of one length. largest: entries of the largest table, without the batch."""

    steps: tuple[Step, ...]
    largest: int


def program_for(
    length: int, cliques: Sequence[Clique], cards: Sequence[int], order: Sequence[int], whole: Container[int]
) -> Program:
    """The elimination of a sentence of `length` positions, with the variables t · M + m of M variables a position.

    cards: states of each of the M variables.   order: all variables, in the order of their elimination.   whole: those
    of the M that are one variable of the whole sentence, at its first position.
    """
    width = len(cards)
    rank = {variable: n for n, variable in enumerate(order)}
    waiting: list[list[tuple[tuple[int, ...], int, int]]] = [[] for _ in order]  # (scope, kind, row) by first variable
    for clique in cliques:
        for anchor in clique.anchors(length):
            places = [anchor + offset for offset in clique.offsets]
            pattern = tuple(-1 if t < 0 else int(t >= length) for t in places)
            if 0 not in pattern:
                continue
            inside = [(t, v) for t, v, out in zip(places, clique.variables, pattern, strict=True) if not out]
            scope = tuple(v if v in whole else t * width + v for t, v in inside)
            row = 0 if clique.first_row is None else anchor + clique.first_row
            waiting[min(rank[v] for v in scope)].append((scope, clique.kinds[pattern], row))
    steps: list[Step] = []
    largest = 1
    for n, variable in enumerate(order):
        tables = sorted(waiting[n], key=lambda table: len(table[0]))  # small tables are added up first
        around = {v for scope, _, _ in tables for v in scope} - {variable}
        scope = (*sorted(around, key=rank.__getitem__, reverse=True), variable)
        states = [cards[v % width] for v in scope]
        axis_of = {v: axis for axis, v in enumerate(scope)}
        parts, senders = [], []
        for of_table, kind, row in tables:
            axes = sorted(range(len(of_table)), key=lambda axis: axis_of[of_table[axis]])
            shape = tuple(card if v in of_table else 1 for v, card in zip(scope, states, strict=True))
            parts.append(StepTable(kind, row, (0, *(axis + 1 for axis in axes)), shape))
            if kind < 0:
                senders.append((row, tuple(axis + 1 for axis, v in enumerate(scope) if v not in of_table)))
        steps.append(Step(scope, (*(1,) * (len(scope) - 1), states[-1]), tuple(parts), tuple(senders)))
        largest = max(largest, math.prod(states))
        if around:
            waiting[min(rank[v] for v in around)].append((scope[:-1], -1, n))
    return Program(tuple(steps), largest)


# inference ----------------------------------------------------------------------------------------------------------

# tables[kind]: [B or 1, rows, states of each site]


def _joint_table(step: Step, tables: Sequence[LogTable], messages: Sequence[LogTable], size: int) -> LogTable:
    """The sum of all tables and messages of a step, [B, states of its scope]."""
    joint = np.zeros((size, *step.shape))
    for kind, row, axes, shape in step.parts:
        table = messages[row] if kind < 0 else tables[kind][:, row]
        joint = joint + table.transpose(axes).reshape(len(table), *shape)
    return joint


def _summed(joint: LogTable) -> LogTable:
    """log Σ exp over the last axis; -inf where every entry is."""
    peak = joint.max(axis=-1)
    safe = np.where(np.isneginf(peak), 0.0, peak)
    with np.errstate(divide="ignore"):
        out: LogTable = np.log(np.exp(joint - safe[..., None]).sum(axis=-1)) + safe
    return out


def _forward(
    program: Program, tables: Sequence[LogTable], size: int, reduce: Callable[[int, LogTable], LogTable]
) -> tuple[list[LogTable], list[LogTable], LogTable]:
    """All messages [B, …], what was taken from each [B], and log Z [B]. `reduce(step, joint)` gives a message."""
    messages: list[LogTable] = []
    taken: list[LogTable] = []
    log_z = np.zeros(size)
    for n, step in enumerate(program.steps):
        message = reduce(n, _joint_table(step, tables, messages, size))
        shift = np.zeros(size)
        if len(step.scope) == 1:
            log_z = log_z + message
        elif n % RESCALED == 0:
            shift = message.reshape(size, -1).max(axis=1)
            shift[np.isneginf(shift)] = 0.0
            message = message - shift.reshape(-1, *(1,) * (message.ndim - 1))
            log_z = log_z + shift
        messages.append(message)
        taken.append(shift)
    return messages, taken, log_z


def marginal_tables(program: Program, tables: Sequence[LogTable], size: int) -> tuple[list[LogTable], LogTable]:
    """p(variable | x) of each variable [B, states], in the order of the steps; and log Z [B].

    All are 0 in a sentence without any possible labelling, whose log Z is -inf.
    """
    messages, taken, log_z = _forward(program, tables, size, lambda n, joint: _summed(joint))
    possible = np.where(np.isneginf(log_z), 0.0, 1.0)
    outer: dict[int, LogTable] = {}
    marginals: list[LogTable] = []
    for n in range(len(program.steps) - 1, -1, -1):
        step = program.steps[n]
        message = messages[n] + taken[n].reshape(-1, *(1,) * (messages[n].ndim - 1))
        safe = np.where(np.isneginf(message), 0.0, message)[..., None]
        belief = np.exp(_joint_table(step, tables, messages, size) - safe) * outer.pop(n, possible)[..., None]
        marginals.append(belief.sum(axis=tuple(range(1, belief.ndim - 1))))
        for sender, lacking in step.senders:
            outer[sender] = belief.sum(axis=lacking)
    return marginals[::-1], log_z


def best_states(
    program: Program, tables: Sequence[LogTable], size: int, summed: Callable[[int], bool]
) -> tuple[dict[int, NDArray[np.int64]], LogTable]:
    """The best labelling: of each variable its states [B]; and its score [B], -inf if there is none.

    summed: whether a variable is summed out; such variables come first in the order, and get no state.
    """
    choices: dict[int, NDArray[np.int64]] = {}

    def reduce(n: int, joint: LogTable) -> LogTable:
        if summed(program.steps[n].scope[-1]):
            return _summed(joint)
        choices[n] = joint.argmax(axis=-1)
        out: LogTable = joint.max(axis=-1)
        return out

    _, _, score = _forward(program, tables, size, reduce)
    states: dict[int, NDArray[np.int64]] = {}
    sentence = np.arange(size)
    for n in sorted(choices, reverse=True):
        *others, variable = program.steps[n].scope
        states[variable] = choices[n][(sentence, *(states[v] for v in others))]
    return states, score
