"""Selects the cases that run every time: the fewest that cover every value of every parameter. The rest are `long`.

The tests of a file share the work: 26 templates by nine tests are 234 cases, of which 27 cover each template once and
each test three times. Cases of inference methods whose kernels compile for long are `long` too. Not here: tests that
take long in every case, which are marked where they are defined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any
from zlib import crc32

import pytest

__all__ = ["ROOMS", "SELDOM", "cover", "mark_rest", "mark_seldom", "some"]

ROOMS = ("criteria", "end_to_end", "inference", "kernels", "model", "optimizers", "training")
SELDOM = (
    "mean_field",
    "trw",
    "gibbs",
)  # inference methods whose kernels take a minute to compile, most of it theirs alone
FEWEST = 2  # cases of a test that run every time, if it has as many

Values = frozenset[tuple[str, Hashable]]


def values_of(parameters: dict[str, Any]) -> Values:
    return frozenset((name, value if isinstance(value, Hashable) else id(value)) for name, value in parameters.items())


def cover(tests: Mapping[str, Mapping[str, Values]]) -> set[str]:
    """Names of cases in which every value occurs, at least `FEWEST` of each test; tests take turns to cover the rest.

    tests: the cases of each test, name -> values.

    >>> tests = {t: {f"{t}{x}": frozenset({("x", x)}) for x in "abcdef"} for t in "ST"}
    >>> sorted(name[0] for name in cover(tests))
    ['S', 'S', 'S', 'T', 'T', 'T']
    >>> sorted(name[1] for name in cover(tests))
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    missing = {value for cases in tests.values() for values in cases.values() for value in values}
    left = {test: sorted(cases, key=lambda name: crc32(name.encode())) for test, cases in tests.items()}
    taken: set[str] = set()
    turn = 0
    while missing or turn < FEWEST:
        for test, cases in tests.items():
            if not left[test]:
                continue
            best = max(left[test], key=lambda name: len(cases[name] & missing))
            if turn < FEWEST or cases[best] & missing:
                taken.add(best)
                left[test].remove(best)
                missing -= cases[best]
        turn += 1
    return taken


def some(cases: Iterable[Any], count: int) -> list[Any]:
    """The cases of a list as parameters; `count` of them, chosen by a hash of their content, run every time."""
    every = list(cases)
    kept = sorted(range(len(every)), key=lambda n: crc32(repr(every[n]).encode()))[:count]
    return [case if n in kept else pytest.param(case, marks=pytest.mark.long) for n, case in enumerate(every)]


def mark_rest(items: Sequence[pytest.Item]) -> None:
    """Marks the cases as `long` that are not in the cover of their file."""
    files: dict[str, dict[str, dict[str, Values]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        if item.path.parent.name in ROOMS and hasattr(item, "callspec") and not item.get_closest_marker("long"):
            files[str(item.path)][item.nodeid.partition("[")[0]][item.nodeid] = values_of(item.callspec.params)
    kept = {name for tests in files.values() for name in cover(tests)}
    left_out = {name for tests in files.values() for cases in tests.values() for name in cases} - kept
    for item in items:
        if item.nodeid in left_out:
            item.add_marker("long")


def mark_seldom(items: Sequence[pytest.Item]) -> None:
    """Marks the cases as `long` whose name has one of the methods of `SELDOM`."""
    for item in items:
        if any(method in item.name.partition("[")[2] for method in SELDOM):
            item.add_marker("long")
