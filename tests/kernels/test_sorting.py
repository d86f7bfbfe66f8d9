"""Sorting in kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from linked import called

from dcrfdsl.kernels.runtime import sort_ascending


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1), max_size=60), st.integers(0, 60))
def test_a_part_is_put_in_order_and_the_rest_stays(numbers: list[int], count: int) -> None:
    values = np.array(numbers, np.int32)
    count = min(count, len(values))
    called(sort_ascending)(values, count)
    assert values.tolist() == sorted(numbers[:count]) + numbers[count:]
