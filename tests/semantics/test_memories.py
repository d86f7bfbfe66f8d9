"""Memory variables: one state for every reading, and the one that the statement says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from condition_cases import (
    HEAD,
    LEXICONS,
    STATES,
    VIEWS,
    Meant,
    Outside,
    Reading,
    Term,
    columns_of,
    conditions,
    corpus_values,
    observed,
    sentences,
    variable,
)
from helpers import EXAMPLES
from hypothesis import assume, given, settings, strategies as st

from dcrfdsl.features.values.joint_tests import observed_codes
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import check
from dcrfdsl.semantics.conditions.condition_tables import HardTable
from dcrfdsl.semantics.conditions.memories import memory_states, memory_tables
from dcrfdsl.semantics.resolve.resolution import load_template, load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec

Row = tuple[str, ...]


def only(tables: Sequence[HardTable], t: int, length: int) -> HardTable:
    """The one table that lies at anchor t of a sequence."""
    lies = [
        table
        for table in tables
        if table.position in (None, t) and all(0 <= t + offset < length for _, offset in table.sites)
    ]
    # the table for the rest is not for an anchor that has one of its own
    assert len(lies) == 1
    return lies[0]


def run(
    spec: ModelSpec, tables: Sequence[HardTable], states: Mapping[str, Sequence[str]], rows: Mapping[str, Sequence[str]]
) -> list[str]:
    """The states of a memory along a sequence whose other variables and columns are `rows`."""
    memory = tables[0].name
    states_along: list[str] = []
    columns = {"w", "v"} & set(rows)
    length = len(next(iter(rows.values())))
    tokens = [tuple(rows[c][t] if c in columns else "x" for c in "wv") for t in range(length)]
    values = corpus_values(spec, [tokens])
    for t in range(length):
        table = only(tables, t, length)
        along = {**rows, memory: states_along}
        code = int(observed_codes(table.observed, values)[t])
        read = [list(states[name]).index(along[name][t + offset]) for name, offset in table.sites[1:]]
        (state,) = np.flatnonzero(table.allowed[(code, slice(None), *read)])
        states_along.append(states[memory][state])
    return states_along


# by hand ----------------------------------------------------------------------------------------------------------

# A memory over the labels y (A, B, C) and z (no, yes, A) and the columns w and v: rows, and its states along them.
BY_HAND: Mapping[str, tuple[dict[str, str], str]] = {
    "memory m = m[-1] or y[-1] is B": ({"y": "A B A A"}, "no no yes yes"),
    "memory m = m[-1] or y[-1] is B initially yes": ({"y": "A A A A"}, "yes yes yes yes"),
    "memory m = not m[-1]": ({"y": "A A A A"}, "no yes no yes"),
    "memory m in states(y) = y[-1] initially C": ({"y": "A B A A"}, "C A B A"),
    "memory m in states(y) = y[-2] initially C": ({"y": "A B A A"}, "C C A B"),
    "memory m = y[-2] is not A": ({"y": "A B A A"}, "no no no yes"),
    "memory m = not y[-2] is A": ({"y": "A B A A"}, "no yes no yes"),
    "memory m in states(y) = y[-1] if y[-1] is not C else m[-1] initially B": ({"y": "C A C C"}, "B B A A"),
    "memory m = z[-1]": ({"z": "no yes A yes"}, "no no yes no"),
    "memory m in {A, B} = A if big[-1] else B initially B": ({"y": "A B A A"}, "B A B A"),
    "memory m = big[-1] != z[-1]": ({"y": "A A B B", "z": "yes no A A"}, "no no yes yes"),
    # the data: at the position itself, before, and after
    "memory m = w is x": ({"w": "x x B x"}, "no yes no yes"),
    "memory m = m[-1] or w[1] is x and y[-1] is A": ({"w": "B B x B x", "y": "A B A A A"}, "no yes yes yes yes"),
    "memory m = w[-2] is not x": ({"w": "x B x x"}, "no no no yes"),
    "memory m = y[-1] = w": ({"w": "A A B B", "y": "A B B A"}, "no yes yes yes"),
    "memory m in states(y) = w initially C": ({"w": "A A B x"}, "C A B C"),
    "memory m in {A, yes, no} = kind(w) if w not in {B, x} else no initially no": (
        {"w": "rome Anna rome x no"}, "no A yes no no",
    ),
    "memory m = last": ({"w": "x x x"}, "no no yes"),
}  # fmt: skip


@pytest.mark.parametrize("text", BY_HAND)
def test_a_memory_runs_along_a_sequence_as_it_says(text: str) -> None:
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    (memory,) = spec.memories
    states = {**STATES, "m": memory_states(spec, memory, STATES)}
    rows, expected = BY_HAND[text]
    tables = memory_tables(spec, memory, STATES, VIEWS)
    assert run(spec, tables, states, {name: row.split() for name, row in rows.items()}) == expected.split()


def test_the_memories_of_the_example_run_along_a_sentence() -> None:
    spec = load_template(EXAMPLES / "04_latent_memory.dcrf").require(unchecked=True)
    seen_verb, last_role = spec.memories
    roles = ("B-AGENT", "I-AGENT", "B-PATIENT", "I-PATIENT", "O")
    states = {"pos": ("DT", "NN", "VBZ"), "role": roles}
    assert memory_states(spec, seen_verb, states) == ("no", "yes")
    assert memory_states(spec, last_role, states) == roles
    rows = {
        "pos": ["DT", "NN", "VBZ", "DT", "NN"],
        "role": ["B-AGENT", "I-AGENT", "O", "B-PATIENT", "O"],
    }
    known = {**states, "seen_verb": ("no", "yes"), "last_role": roles}
    found = run(spec, memory_tables(spec, seen_verb, states), known, rows)
    assert found == ["no", "no", "no", "yes", "yes"]
    found = run(spec, memory_tables(spec, last_role, states), known, rows)
    assert found == ["O", "B-AGENT", "I-AGENT", "I-AGENT", "B-PATIENT"]


# where tables lie ---------------------------------------------------------------------------------------------------

# A memory, and (position, offsets of the sites) of its tables.
TABLES: Mapping[str, list[tuple[int | None, list[tuple[str, int]]]]] = {
    "memory m = m[-1] or y[-1] is B": [(0, [("m", 0)]), (None, [("m", 0), ("m", -1), ("y", -1)])],
    "memory m = z[-3] or y[-1] is B": [
        (0, [("m", 0)]),
        (1, [("m", 0), ("y", -1)]),
        (2, [("m", 0), ("y", -1)]),
        (None, [("m", 0), ("z", -3), ("y", -1)]),
    ],
    # it reads no label, and is still another one at the first position
    "memory m = w is x": [(0, [("m", 0)]), (None, [("m", 0), ("m", -1)])],
}


@pytest.mark.parametrize("text", TABLES)
def test_the_first_anchors_have_tables_of_their_own(text: str) -> None:
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    tables = memory_tables(spec, spec.memories[0], STATES)
    assert [(table.position, list(table.sites)) for table in tables] == TABLES[text]
    assert {table.name for table in tables} == {"m"}


# at random ------------------------------------------------------------------------------------------------------

Value = Callable[[Reading, int, str], str]  # reading, anchor, first state


def copied(term: Term, states: Row) -> tuple[str, Value, frozenset[tuple[str, int]]]:
    """A copy; outside the sequence, and of a text of the data that is no state, the first state."""

    def value(reading: Reading, t: int, first: str) -> str:
        found = term.at(reading, t)
        return first if found is Outside or (term.variable is None and found not in states) else str(found)

    sites = {(term.variable, term.offset)} if term.variable else set()
    return term.text, value, frozenset(sites)  # type: ignore[arg-type]


def chosen(state: str) -> tuple[str, Value, frozenset[tuple[str, int]]]:
    return state, lambda reading, t, first: state, frozenset()


OFFSETS = st.integers(-3, -1)
ALL = ("A", "B", "C", "no", "yes")
BRANCHES = st.one_of(
    st.builds(variable, st.sampled_from(["y", "z", "big", "m"]), OFFSETS).map(lambda term: copied(term, ALL)),
    st.builds(observed, st.sampled_from(["w", "kind(w)"]), st.integers(-2, 2)).map(lambda term: copied(term, ALL)),
    st.sampled_from(["A", "no"]).map(chosen),
)
TESTS = conditions(("y", "z", "big", "m"), OFFSETS)


@st.composite
def memories(draw: st.DrawFn) -> tuple[str, str, Row, Value]:
    """The statement of a memory `m`, its first state, its states, and what it says at any but the first anchor."""
    condition: Meant = draw(TESTS)
    if draw(st.booleans()):
        first = draw(st.sampled_from(["no", "yes"]))
        return (
            f"memory m = {condition.text} initially {first}", first, ("no", "yes"),
            lambda reading, t, _: "yes" if condition.holds(reading, t) else "no",
        )  # fmt: skip
    (text, one, _), (otherwise, other, _) = draw(BRANCHES), draw(BRANCHES)
    first = draw(st.sampled_from(ALL))
    return (
        f"memory m in {{{', '.join(ALL)}}} = {text} if {condition.text} else {otherwise} initially {first}", first, ALL,
        lambda reading, t, _: (one if condition.holds(reading, t) else other)(reading, t, first),
    )  # fmt: skip


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(memories(), sentences, st.integers(0, 2**32 - 1))
def test_every_reading_leaves_the_one_state_that_the_statement_says(
    memory: tuple[str, str, Row, Value], found: list[list[tuple[str, str]]], seed: int
) -> None:
    text, first, states, value = memory
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    known = {**STATES, "m": states}
    try:
        tables = memory_tables(spec, spec.memories[0], STATES, VIEWS)
    except DcrfError as error:
        assume(error.diagnostics[0].slug != "reads-too-much")
        raise
    assert all((table.allowed.sum(axis=1) == 1).all() for table in tables)
    generator, values, token = np.random.default_rng(seed), corpus_values(spec, found), 0
    codes = [observed_codes(table.observed, values) for table in tables]
    for sentence in found:
        columns = columns_of(sentence)
        length = len(sentence)
        for t in range(length):
            for _ in range(8):
                along = {(name, s): str(generator.choice(known[name])) for name in known for s in range(length)}
                table = only(tables, t, length)
                (number,) = (n for n, one in enumerate(tables) if one is table)
                read = tuple(known[name].index(along[name, t + offset]) for name, offset in table.sites[1:])
                (state,) = np.flatnonzero(table.allowed[(codes[number][token], slice(None), *read)])
                expected = first if t == 0 else value(Reading(columns, along), t, first)
                assert states[state] == expected, (text, t, along)
            token += 1


# states, and what is refused ----------------------------------------------------------------------------------------

# Domains, and the states that they give.
DOMAINS: Mapping[str, Row] = {
    "memory m = y[-1] is A": ("no", "yes"),
    "memory m in {P, Q} = y[-1] initially P": ("P", "Q"),
    "memory m in 3 = y[-1] initially 0": ("0", "1", "2"),
    "memory m in bio(X) = y[-1] initially O": ("B-X", "I-X", "O"),
    "memory m in states(y) = y[-1] initially A": STATES["y"],
    "memory m in states(n) = y[-1] initially A\nmemory n in states(z) = z[-1]": STATES["z"],
}


@pytest.mark.parametrize("text", DOMAINS)
def test_the_states_of_a_memory_are_those_of_its_domain(text: str) -> None:
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    assert memory_states(spec, spec.memories[0], STATES) == DOMAINS[text]


# What no table can be made of, and why.
REFUSED = {
    "memory m = y is A": "memory-future",
    "memory m = y[1] is A": "memory-future",
    "memory m in states(y) = y[-1]": "no-initially",
    "memory m in states(y) = y[-1] initially D": "no-initially",
    "memory m in {A, B} = y[-1] initially A": "copied-state",
    "memory m in {A, B} = y[-1] is A initially A": "copied-state",
    "memory m in {A, B} = C if y[-1] is A else B initially A": "copied-state",
    "memory m in states(n) = A initially A\nmemory n in states(m) = A initially A": "no-states",
    "memory m in bio = y[-1] initially A": "no-states",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_memory_that_says_no_function_is_refused(text: str) -> None:
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    with pytest.raises(DcrfError) as caught:
        memory_tables(spec, spec.memories[0], STATES)
    assert [diagnostic.slug for diagnostic in caught.value.diagnostics] == [REFUSED[text]]


def test_a_state_that_a_condition_excludes_is_not_missed() -> None:
    text = "memory m in {A, B} = y[-1] if y[-1] in {A, B} and w is x else m[-1] initially A\n"
    spec = load_text(HEAD + text).require(unchecked=True)
    assert len(memory_tables(spec, spec.memories[0], STATES)) == 2


def test_the_cases_look_words_up_in_the_lexicons_that_they_mean() -> None:
    assert LEXICONS.by_name["kind"].index["Anna"] == "A" and "rome" in LEXICONS.by_name["towns"].index


# the first value ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("memory m = w is x", True),
        ("memory m = first", True),
        ("memory m = not last", True),
        ("memory m = not y[-1] is A", True),
        ("memory m = not w[-1] is x", True),
        ("memory m = m[-1] or w is x", True),
        ("memory m = w is x initially yes", True),
        ("memory m = not m[-1]", False),  # a recurrence, which begins with its first value
        ("memory m in {A, B} = B if m[-1] is A else A initially A", False),
        ("memory m = first or m[-1]", True),
        ("memory last in states(y) = y[-1] if y[-1] is not C else last[-1] initially C\nmemory m = w is x", True),
        ("memory m in states(y) = w initially C", True),
        ("memory m = (w is x) and not first", False),
        ("memory m = w is x or first initially yes", False),
        ("memory m = w[-1] is x", False),
        ("memory m = w[-1] is not x", False),
        ("memory m = m[-1] or y[-1] is B", False),
        ("memory m = m[-1] or y[-1] is B initially yes", False),
        ("memory m = m[-1] and w[1] is x", False),
        ("memory m in states(y) = y[-1] initially C", False),
        ("memory m in states(y) = y[-1] if y[-1] is not C else m[-1] initially B", False),
        ("memory m in {A, B} = B if first else A initially B", False),
        ("memory m in {A, B} = B if m[-1] is B or y[-1] is C else A initially B", False),
    ],
)
def test_a_first_value_that_the_expression_may_contradict_is_a_warning(text: str, warned: bool) -> None:
    found = [one.slug for one in check(load_text(f"{HEAD}{text}\nclique y, m\n"))]
    assert ("first-value" in found) == warned, found
