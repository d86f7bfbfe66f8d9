"""`allowed_assignments`: a constraint allows exactly the assignments that its condition, read aloud, allows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from dcrfdsl.errors import DcrfError
from dcrfdsl.spec.constraints import allowed_assignments
from dcrfdsl.spec.resolve import load_text

STATES = {"a": ("x", "y", "yes"), "b": ("y", "B-x"), "c": ("0", "1")}
SPEC_TEXT = """data conll(w, a, b, c)
label a in {x, y, yes}
label b in {y, B-x}
label c in 2
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
    spec = load_text(f"{SPEC_TEXT}{text}\n").require()
    expected_sites, holds = CONSTRAINTS[text]
    sites, allowed = allowed_assignments(spec, spec.constraints[0], STATES)
    assert list(sites) == expected_sites
    assert allowed.shape == tuple(len(STATES[name]) for name, _ in sites) and allowed.dtype == bool
    for index, assignment in zip(
        np.ndindex(allowed.shape), itertools.product(*(STATES[n] for n, _ in sites)), strict=True
    ):
        assert allowed[index] == holds(*assignment), assignment


@pytest.mark.parametrize(
    "text", ["forbid a is x and w is the", "forbid a = w", "forbid lower(w) is x", "forbid a in days"]
)
def test_a_constraint_that_reads_the_data_is_refused(text: str) -> None:
    spec = load_text(f'{SPEC_TEXT}lexicon days = "days.txt"\n{text}\n').require()
    with pytest.raises(DcrfError, match="not run by this version yet"):
        allowed_assignments(spec, spec.constraints[0], STATES)
