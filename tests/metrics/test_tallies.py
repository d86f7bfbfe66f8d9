"""Counts of parts: they add up to those of the whole, and exact sums have no rounding to depend on."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given, strategies as st

from dcrfdsl.metrics import ExactSum, Tally, added, values_of

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(FINITE, max_size=30), st.integers(0, 30))
def test_a_sum_is_exact_however_it_is_cut(terms: list[float], cut: int) -> None:
    whole = float(sum(map(Fraction, terms)))
    assert float(ExactSum(terms)) == whole
    assert float(ExactSum(terms[:cut]) + ExactSum(terms[cut:])) == whole
    assert float(ExactSum(reversed(terms))) == whole


def test_what_is_not_finite_decides_the_sum() -> None:
    assert float(ExactSum([1.0, -math.inf]) + 2.0) == -math.inf
    assert float(1.0 + ExactSum([math.inf])) == math.inf
    assert math.isnan(float(ExactSum([math.inf, -math.inf])))


def test_tallies_add_up() -> None:
    def share(name: str, counts: tuple[float | ExactSum, ...]) -> dict[str, float]:
        part, whole = (float(count) for count in counts)
        return {name: part / whole}

    first, second = [Tally("a", (1, 4), share)], [Tally("a", (2, 2), share)]
    assert values_of(added(added([], first), second)) == {"a": 0.5}
