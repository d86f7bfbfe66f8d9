"""Memory variables as tables: the state of a memory as a function of the past and of the data.

A memory is a variable of the graph whose state is determined by earlier states and the data, so a table that allows one
state for each joint value of these defines it. At the first position its state is `initially`. Near the start, where
part of the input lies before the sequence, a test of that part is false and a copy of it is `initially`. A text copied
from the data that is not a state of the memory counts as `initially` too. Not here: meaningless memories (`checks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...foundation import DcrfError, Diagnostic, Ints, np
from ...syntax import Apply, Cardinality, Condition, Domain, Memory, Reference, StatesOf
from ..schema import FUNCTIONS, ModelSpec, listed_states, terms
from .condition_tables import (
    BOOLEAN,
    FALSE_STATE,
    NO_VIEWS,
    TRUE_STATE,
    AxisArray,
    ConditionReader,
    HardTable,
    Observed,
    Sites,
    Views,
    as_table,
    combined,
    is_word,
    site_of,
)


class StrayValue(NamedTuple):
    """A value that a memory could take but that is not one of its states. `part`: the field of its expression
    (`value` or `otherwise`) that gives it.
    """

    state: str
    part: str


def memory_states(spec: ModelSpec, memory: Memory, states_of: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The states of a memory: those of its domain, those of another variable, or `no` and `yes`.

    `states_of`: the states of the other variables, and of a memory whose states are in a file. Raises `DcrfError` if
    the states are unknown.
    """
    passed = {memory.name: None}
    while memory.name not in states_of and isinstance(memory.domain, StatesOf):
        other = memory.domain.variable
        if other in states_of:
            return tuple(states_of[other])
        other_memory = spec.memories_by_name.get(other)
        if other_memory is None or other in passed:
            break
        passed[other] = None
        memory = other_memory
    states = states_of.get(memory.name) or _own_states(memory.domain)
    if not states:
        message = f"nothing says the states of memory `{next(iter(passed))}`"
        raise DcrfError(Diagnostic("no-states", message, help="list them, as in `in {A, B}`"))
    return tuple(states)


def _own_states(domain: Domain | None) -> tuple[str, ...] | None:
    """The states that the domain of a memory gives itself; None if they are defined elsewhere."""
    match domain:
        case None:
            return BOOLEAN
        case Cardinality(count=count):
            return tuple(str(state) for state in range(count))
    return listed_states(domain)


def initial_state(memory: Memory, states: Sequence[str]) -> str | None:
    """The state at the first position; None if it is not declared and the states are not `no` and `yes`."""
    if memory.initially is not None:
        return memory.initially
    return FALSE_STATE if set(states) == set(BOOLEAN) else None


def memory_sites(spec: ModelSpec, memory: Memory) -> Sites:
    """The variables that a memory reads, each with its offset, in order of first mention."""
    value = memory.value
    parts = (part for part in (value.value, value.condition, value.otherwise) if part is not None)
    sites = (site_of(spec, term) for part in parts for term in terms(part))
    return tuple(dict.fromkeys(site for site in sites if site is not None))


def memory_tables(
    spec: ModelSpec, memory: Memory, states_of: Mapping[str, Sequence[str]], views: Views = NO_VIEWS
) -> tuple[HardTable, ...]:
    """One table for each of the first anchors, where part of the input lies before the sequence, and one for the rest.

    The sites are the memory, then those that it reads: `allowed[code, m, reads…]` is `m == f(reads, code)`. `states_of`
    and `views` are as in `constraint_table`; `states_of` includes the other memories that it reads. Raises `DcrfError`
    if the memory has no initial state, reads a variable at its position or later, could take a value that is not one of
    its states, or needs too large a table.
    """
    states = memory_states(spec, memory, states_of)
    first = initial_state(memory, states)
    if first not in states:
        problem = "has no `initially`" if first is None else f"begins with `{first}`, which is none of its states"
        remedy = f"write `initially {states[0]}`, or another state"
        raise DcrfError(Diagnostic("no-initially", f"memory `{memory.name}` {problem}", help=remedy))
    # a memory that reads only the data still needs a site before its own: the table of the rest must not apply at 0
    reads = memory_sites(spec, memory) or ((memory.name, -1),)
    if any(offset >= 0 for _, offset in reads):
        message = f"memory `{memory.name}` reads a label at its own position or later"
        raise DcrfError(Diagnostic("memory-future", message, help="read an earlier position, as in `pos[-1]`"))
    known = {**states_of, memory.name: states}
    at_start = (np.array(states) == first).reshape(1, -1)
    tables = [HardTable(((memory.name, 0),), (), at_start, 0, memory.name)]
    for anchor in (*range(1, max(-offset for _, offset in reads)), None):
        inside = tuple(site for site in reads if anchor is None or site[1] >= -anchor)
        reader = ConditionReader(spec, known, views, None if anchor is None else -anchor)
        next_states = _values(memory, states, states.index(first), reader)
        stray = next_states.stray()
        if stray is not None:
            raise DcrfError(
                Diagnostic(
                    "copied-state",
                    f"memory `{memory.name}` could take the value `{stray.state}`, which is none of its states",
                    help=f"add `{stray.state}` to its states, or exclude it by `if`",
                )
            )
        present = (memory.name, 0)
        is_value = combined(np.equal, AxisArray((present,), np.arange(len(states))), next_states.values)
        observed, allowed = as_table(is_value, (present, *inside), [len(known[name]) for name, _ in (present, *inside)])
        tables.append(HardTable((present, *inside), observed, allowed, anchor, memory.name))
    return tuple(tables)


def stray_state(spec: ModelSpec, memory: Memory, states_of: Mapping[str, Sequence[str]]) -> StrayValue | None:
    """The first value outside its states that a memory could take, far from the start; None if there is none."""
    states = tuple(states_of[memory.name])
    return _values(memory, states, 0, ConditionReader(spec, states_of, NO_VIEWS)).stray()


# values -----------------------------------------------------------------------------------------------------------


class _Values(NamedTuple):
    """The value of a memory as numbers of states; `strays`: the number of each value that is not one of its states."""

    values: AxisArray
    strays: Mapping[StrayValue, int]

    def stray(self) -> StrayValue | None:
        """A stray value that the memory can really take, not one that its condition excludes; None if there is none."""
        largest = int(self.values.values.max(initial=0))
        return next((stray for stray, number in self.strays.items() if number == largest), None)


def _values(memory: Memory, states: Sequence[str], first: int, reader: ConditionReader) -> _Values:
    """The state that a memory takes, for every joint value of what it reads. `first`: the number of `initially`."""
    strays: dict[StrayValue, int] = {}

    def numbers(texts: Sequence[str], part: str) -> Ints:
        known = {state: number for number, state in enumerate(states)}
        return np.array(
            [
                known[t] if t in known else strays.setdefault(StrayValue(t, part), len(states) + len(strays))
                for t in texts
            ]
        )

    def value(part: str, node: Condition) -> AxisArray:
        def constant(state: str) -> AxisArray:
            return AxisArray((), numbers([state], part).reshape(()))

        if isinstance(node, Reference) and is_word(reader.spec, node):
            return constant(reader.word(node))
        observed = reader.is_observed(node)
        if not isinstance(node, Reference | Apply) or memory.domain is None or (observed and _is_test(node)):
            return combined(np.where, reader.truth(node), constant(TRUE_STATE), constant(FALSE_STATE))
        if observed:
            text = Observed(node, tuple(states))
            return AxisArray((text,), np.append(np.arange(len(states)), first))
        copied = reader.texts(node)
        if copied is None:
            return AxisArray((), np.array(first))
        return AxisArray(copied.axes, numbers(copied.values.tolist(), part))

    values = value("value", memory.value.value)
    if memory.value.condition is not None and memory.value.otherwise is not None:
        held = reader.truth(memory.value.condition)
        values = combined(np.where, held, values, value("otherwise", memory.value.otherwise))
    return _Values(values, strays)


def _is_test(term: Reference | Apply) -> bool:
    """Whether a term is a test, such as `first` or `last`, which has no text to copy."""
    signature = FUNCTIONS.get(term.name if isinstance(term, Reference) else term.function)
    return signature is not None and signature.returns == "test"
