"""What runs every time: every value of every parameter is among it, and every room."""

from __future__ import annotations

import re

from helpers import ROOT
from sampling import FEWEST, RARE, ROOMS, Values, cover, some


def row(**values: str) -> Values:
    return frozenset(values.items())


def test_a_covering_shows_every_value_and_few_of_each_test() -> None:
    tests = {
        test: {f"{test}[{x}-{y}]": row(x=x, y=y) for x in "abcdefgh" for y in "pqrst"}
        for test in ("one", "two", "three")
    }
    kept = cover(tests)
    shown = frozenset().union(*(values for cases in tests.values() for name, values in cases.items() if name in kept))
    assert shown == frozenset().union(*(values for cases in tests.values() for values in cases.values()))
    assert all(len(kept & set(cases)) >= FEWEST for cases in tests.values())
    assert len(kept) <= len(tests) * FEWEST + 8
    assert kept == cover(tests)


def test_a_test_of_few_cases_keeps_them() -> None:
    assert cover({"one": {"one[a]": row(x="a"), "one[b]": row(x="b")}}) == {"one[a]", "one[b]"}


def test_some_cases_run_every_time_and_the_others_are_long() -> None:
    found = some(range(9), 4)
    assert len(found) == 9 and sum(isinstance(case, int) for case in found) == 4
    assert all(case.marks[0].name == "long" for case in found if not isinstance(case, int))


def test_sampled_rooms_are_there() -> None:
    assert all((ROOT / "tests" / room).is_dir() for room in ROOMS)


def test_rare_tests_are_there() -> None:
    """Each name of a test in a pattern is part of one that exists."""
    for file, pattern in RARE.items():
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        for word in re.findall(r"[a-z]+(?:_[a-z]+)+", re.sub(r"\[.*", "", pattern)):
            assert word.strip("_") in " ".join(re.findall(r"def test_(\w+)", text)), (file, word)
