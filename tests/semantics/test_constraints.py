"""`constraint_table`: a constraint allows exactly the assignments that its condition, read aloud, allows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from condition_cases import HEAD, STATES, VIEWS, Meant, Reading, columns_of, conditions, corpus_values, sentences
from hypothesis import assume, given, settings, strategies as st

from dcrfdsl.features.values.joint_tests import observed_codes
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.conditions.condition_tables import HardTable, Observed, constraint_table
from dcrfdsl.semantics.resolve.resolution import load_text

LABELS = {"a": ("x", "y", "yes"), "b": ("y", "B-x"), "c": ("0", "1")}
SPEC_TEXT = """data conll(w, a, b)
label a in {x, y, yes}
label b in {y, B-x}
latent c in 2
let why = y
clique a, b, c: w
"""

# A constraint, its sites, and what it means for the states at these sites.
CONSTRAINTS: Mapping[str, tuple[list[tuple[str, int]], Callable[..., bool]]] = {
    "forbid a is x": ([("a", 0)], lambda a: a != "x"),
    "require a is not x": ([("a", 0)], lambda a: a != "x"),
    "forbid a[-1] is x and b is y": ([("a", -1), ("b", 0)], lambda a, b: not (a == "x" and b == "y")),
    "require a = b": ([("a", 0), ("b", 0)], lambda a, b: a == b),
    "require a != b[1]": ([("a", 0), ("b", 1)], lambda a, b: a != b),
    "require a = y": ([("a", 0)], lambda a: a == "y"),
    "require a = why": ([("a", 0)], lambda a: a == "y"),
    "forbid b matches /B-./ or a in {x, y}": ([("b", 0), ("a", 0)], lambda b, a: not (b[:2] == "B-" or a in "xy")),
    "forbid b has /x/": ([("b", 0)], lambda b: "x" not in b),
    "require not a": ([("a", 0)], lambda a: a != "yes"),
    "require a not in {x} when c is 1": ([("a", 0), ("c", 0)], lambda a, c: a != "x" or c != "1"),
    "require a = a[-1] when (b is y or not b matches /B.*/) and c[-1] is 0": (
        [("a", 0), ("a", -1), ("b", 0), ("c", -1)],
        lambda a, before, b, c: a == before or not (b == "y" and c == "0"),
    ),
}


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_a_constraint_allows_exactly_the_assignments_that_it_says(text: str) -> None:
    spec = load_text(f"{SPEC_TEXT}{text}\n").require(unchecked=True)
    expected_sites, holds = CONSTRAINTS[text]
    table = constraint_table(spec, spec.constraints[0], LABELS)
    sites, allowed = table.sites, table.allowed[0]
    assert (list(sites), table.observed, len(table.allowed)) == (expected_sites, (), 1)
    assert allowed.shape == tuple(len(LABELS[name]) for name, _ in sites) and allowed.dtype == bool
    for index, assignment in zip(
        np.ndindex(allowed.shape), itertools.product(*(LABELS[n] for n, _ in sites)), strict=True
    ):
        assert allowed[index] == holds(*assignment), assignment


# What is read of the data, as one number: a constraint, the words of a sentence, and where it allows which states of y.
READINGS: Mapping[str, dict[str, str]] = {
    "forbid y is A and w is x": {"x": "BC", "A": "ABC"},
    "require y = w": {"A": "A", "B": "B", "x": ""},
    "require y != w": {"A": "BC", "x": "ABC"},
    "require y is A when w[-1] is x or w in towns": {"x rome x x": "ABC A ABC A"},
    "forbid y is A and w[-1] is not x": {"x x B B": "ABC ABC ABC BC"},
    "forbid y is A and not w[-1] is x": {"x x B B": "BC ABC ABC BC"},
    "forbid y != w[-1]": {"A x": "ABC A", "x A": "ABC "},
    "require y = kind(w)": {"Anna": "A", "B": "B", "x": ""},
    "require big when kind(w) is A": {"Anna x": "A ABC"},
    "require big = w": {"B x": "BC "},
    "require y = span(w, towns)": {"rome x": "B "},
    "forbid y is A and not span(w, towns) is B": {"rome x": "ABC BC"},
    "forbid y is C and (first or last and w is x)": {"x x x": "AB ABC AB"},
}


@pytest.mark.parametrize("text", READINGS)
def test_what_a_constraint_allows_depends_on_the_data_at_its_anchor(text: str) -> None:
    spec = load_text(f"{HEAD}{text}\n").require(unchecked=True)
    table = constraint_table(spec, spec.constraints[0], STATES, VIEWS)
    assert table.sites == (("y", 0),) and len(table.allowed) == np.prod([one.count for one in table.observed])
    for words, expected in READINGS[text].items():
        codes = observed_codes(table.observed, corpus_values(spec, [[(word, "x") for word in words.split()]]))
        found = ["".join(np.array(STATES["y"])[table.allowed[code]]) for code in codes]
        assert " ".join(found) == expected, words


def test_tests_of_the_data_count_once_however_many_there_are() -> None:
    text = "forbid (y is A or z) and w is x and v is x and not w[-1] in towns and z[-1] is no\n"
    spec = load_text(HEAD + text).require(unchecked=True)
    table = constraint_table(spec, spec.constraints[0], STATES)
    assert [one.count for one in table.observed] == [2]


def test_the_first_observation_is_the_slowest_digit() -> None:
    spec = load_text(HEAD + "require y = w or z = v\n").require(unchecked=True)
    table = constraint_table(spec, spec.constraints[0], STATES)
    assert [one.states for one in table.observed] == [STATES["y"], STATES["z"]]
    codes = observed_codes(table.observed, corpus_values(spec, [[("B", "yes"), ("x", "no"), ("A", "x")]]))
    assert codes.tolist() == [1 * 4 + 1, 3 * 4 + 0, 0 * 4 + 3]


def test_nothing_observed_is_the_code_0() -> None:
    spec = load_text(HEAD).require(unchecked=True)
    assert observed_codes((), corpus_values(spec, [[("x", "x")] * 3])).tolist() == [0, 0, 0]


def holds_for(meant: Meant, table: HardTable, reading: Reading, t: int, states: tuple[str, ...]) -> bool:
    """What the condition says where the sites of the table have these states."""
    at = {(name, t + offset): state for (name, offset), state in zip(table.sites, states, strict=True)}
    return meant.holds(Reading(reading.columns, at), t)


OFFSETS = st.integers(-2, 1)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["forbid", "require"]),
    conditions(("y", "z", "big"), OFFSETS),
    st.none() | conditions(("y", "z", "big"), OFFSETS),
    sentences,
)
def test_tables_and_codes_together_say_what_the_text_says(
    action: str, condition: Meant, when: Meant | None, found: list[list[tuple[str, str]]]
) -> None:
    when = when if action == "require" else None
    spec = load_text(f"{HEAD}{action} {condition.text}{f' when {when.text}' if when else ''}\n").require(unchecked=True)
    assume(condition.sites or (when is not None and when.sites))
    table = constraint_table(spec, spec.constraints[0], STATES, VIEWS)
    assert set(table.sites) == condition.sites | (when.sites if when else frozenset()) and table.position is None
    codes = iter(observed_codes(table.observed, corpus_values(spec, found)).tolist())
    assignments = list(itertools.product(*(enumerate(STATES[name]) for name, _ in table.sites)))
    for sentence in found:
        reading = Reading(columns_of(sentence))
        for t in range(reading.length):
            allowed = table.allowed[next(codes)]
            if not all(0 <= t + offset < reading.length for _, offset in table.sites):
                continue
            for assignment in random.Random(t).sample(assignments, min(40, len(assignments))):
                states = tuple(state for _, state in assignment)
                truth = holds_for(condition, table, reading, t, states)
                expected = not truth if action == "forbid" else truth
                if when is not None:
                    expected = expected or not holds_for(when, table, reading, t, states)
                assert allowed[tuple(number for number, _ in assignment)] == expected, (t, states)


# A constraint that no table can be made of, and why.
IMPOSSIBLE = {
    "forbid lower(a) is x and b is y": "label-as-argument",
    "forbid b is y or a in days": "label-as-argument",
    "forbid a[-1..0] is x and b is y": "window-in-condition",
    "forbid w is x": "no-label-in-constraint",
    f"forbid {' and '.join(f'a[{n}] is x' for n in range(16))}": "reads-too-much",
}


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_a_constraint_that_no_table_can_express_is_refused(text: str) -> None:
    spec = load_text(f'{SPEC_TEXT}lexicon days = "days.txt"\n{text}\n').require(unchecked=True)
    with pytest.raises(DcrfError) as caught:
        constraint_table(spec, spec.constraints[0], LABELS)
    assert [diagnostic.slug for diagnostic in caught.value.diagnostics] == [IMPOSSIBLE[text]]


def test_an_observation_has_a_code_for_every_state_and_one_for_none() -> None:
    spec = load_text(HEAD + "forbid y = w\n").require(unchecked=True)
    (read,) = constraint_table(spec, spec.constraints[0], STATES).observed
    assert (read.states, read.count, Observed(read.term, ()).count) == (("A", "B", "C"), 4, 2)
