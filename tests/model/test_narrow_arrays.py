"""Arrays in fewer bytes: nothing is lost, the narrowest form is taken, and forms that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from dcrfdsl.foundation.files import IncompatibleState
from dcrfdsl.model.narrow_arrays import narrowed, widened

RANDOM = np.random.default_rng(11)
FEW = RANDOM.integers(0, 200, 500)
SPARSE = np.where(FEW < 20, RANDOM.normal(size=500), 0.0)
CASES: dict[str, tuple[NDArray[Any], str, int]] = {  # an array, the form it takes, and the bytes
    "short": (np.arange(5), "", 40),
    "no numbers": (np.zeros(0, np.int64), "", 0),
    "small": (FEW, "cast", 500),
    "below 2¹⁶": (FEW * 300, "cast", 1000),
    "below 2³¹": (FEW * 10**7, "cast", 2000),
    "large": (FEW * 10**15, "", 4000),
    "negative": (FEW - 100, "cast", 2000),
    "offsets": (np.append(0, np.cumsum(FEW)), "steps", 500),
    "long runs": (np.append(0, np.cumsum(FEW * 300)), "steps", 1000),
    "hash table": (np.where(FEW < 100, FEW * 10**6, -1), "gaps", 63 + 4 * int((FEW < 100).sum())),
    "all empty": (np.full(500, -1), "gaps", 63),
    "of 32 bits": (FEW.astype(np.int32), "cast", 500),
    "weights": (RANDOM.normal(size=500), "", 4000),
    "weights of 32 bits": (RANDOM.normal(size=500).astype(np.float32).astype(float), "cast", 2000),
    "weights of 16 bits": (np.append(RANDOM.normal(size=499).astype(np.float16), -np.inf).astype(float), "cast", 1000),
    "weights of which most are 0": (SPARSE, "zeros", 63 + 8 * int((FEW < 20).sum())),
    "of 16 bits, most 0": (SPARSE.astype(np.float16).astype(float), "zeros", 63 + 2 * int((FEW < 20).sum())),
    "some 0 and -0": (np.where(FEW < 20, -0.0, RANDOM.normal(size=500)), "", 4000),
    "all 0": (np.zeros(500), "zeros", 63),
    "not a number": (np.full(500, np.nan), "", 4000),
    "signed zeros": (np.copysign(np.zeros(500), FEW - 190), "cast", 1000),
    "matrix": (np.zeros((40, 40), np.int64), "", 12800),
    "characters": (np.full(500, 65, np.uint8), "", 500),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_read_from_the_narrowest_type_are_the_same(name: str) -> None:
    array, form, size = CASES[name]
    stored, forms = narrowed({"a": array})
    assert (forms["a"].form if forms else "") == form
    assert sum(part.nbytes for part in stored.values()) == size
    back = widened(stored, {key: list(value) for key, value in forms.items()})
    assert list(back) == ["a"]
    assert back["a"].dtype == array.dtype
    assert back["a"].tobytes() == array.tobytes()


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 300), min_size=60, max_size=90), st.booleans())
def test_any_integers_come_back(numbers: list[int], sort: bool) -> None:
    array = np.array(sorted(numbers) if sort else numbers, np.int64)
    array[0] = 0 if sort and array[1] >= 0 else array[0]
    stored, forms = narrowed({"a": array, "b": array.astype(np.int32)})
    back = widened(stored, {key: list(value) for key, value in forms.items()})
    np.testing.assert_array_equal(back["a"], array)
    np.testing.assert_array_equal(back["b"], array.astype(np.int32))


SIXTY = {"a": np.zeros(64, np.uint8), "a.used": np.full(8, 255, np.uint8), "f": np.zeros(64)}
STRANGE: dict[str, object] = {
    "no object": [],
    "unknown form": {"a": ["zip", "int64", 64]},
    "unknown type": {"a": ["cast", "int8", 64]},
    "no such array": {"b": ["cast", "int64", 64]},
    "other kind": {"f": ["cast", "int64", 64]},
    "other length": {"a": ["cast", "int64", 65]},
    "length below 0": {"a": ["gaps", "int64", -3]},
    "too many bits": {"a": ["gaps", "int64", 72]},
    "too few numbers": {"a": ["gaps", "int64", 60]},
    "no bits": {"f": ["gaps", "float64", 64]},
    "too few bits of zeros": {"a": ["zeros", "int64", 72]},
    "no bits of zeros": {"f": ["zeros", "float64", 64]},
    "as many steps as elements": {"a": ["steps", "int64", 64]},
}


@pytest.mark.parametrize("name", STRANGE)
def test_refuses_forms_that_do_not_fit(name: str) -> None:
    with pytest.raises(IncompatibleState):
        widened(SIXTY, STRANGE[name])
