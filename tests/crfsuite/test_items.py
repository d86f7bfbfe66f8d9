"""Items are flattened to the attributes that python-crfsuite makes of them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.crfsuite import ItemSequence

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `test`")

TEXTS = st.text(alphabet="aB:\\é=\0 \n🙂", max_size=4)
KEYS = TEXTS | TEXTS.map(str.encode)
NUMBERS = st.booleans() | st.integers(-9, 9) | st.floats(width=32) | st.sampled_from([np.float32(0.5), np.int64(3)])
BAGS = st.lists(KEYS, max_size=3) | st.sets(KEYS, max_size=3)
DICTS = st.recursive(
    st.dictionaries(KEYS, NUMBERS | KEYS | BAGS, max_size=4),
    lambda inner: st.dictionaries(KEYS, inner | NUMBERS | KEYS, max_size=3),
    max_leaves=8,
)
ITEMS = DICTS | BAGS | st.tuples(KEYS, KEYS) | TEXTS | DICTS.map(OrderedDict)


@pytest.mark.long
@settings(max_examples=300)
@given(st.lists(ITEMS, max_size=4))
def test_items_are_those_of_python_crfsuite(sequence: list[Any]) -> None:
    ours, theirs = ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert repr(ours.items()) == repr(theirs.items())  # by repr: NaN is not equal to itself, and order counts
    assert (len(ours), repr(ours)) == (len(theirs), repr(theirs))
    assert repr(ItemSequence(ours).items()) == repr(theirs.items())


REFUSED = [
    [{"a": ("x",)}], [{"a": None}], [{1: 2}], [[1]], [{"a": [1]}], [1], [None], [b"ab"], 5, None, [{"a": 10**400}],
    [["\ud800"]], [{b"\xff": 1}], [{"a": bytearray(b"x")}], [{"a": frozenset("x")}], [{"a": 1j}], [[b"\xff"]],
]  # fmt: skip


@pytest.mark.parametrize("sequence", REFUSED, ids=repr)
def test_bad_items_raise_the_errors_of_pycrfsuite(sequence: Any) -> None:
    with pytest.raises(Exception) as theirs:
        pycrfsuite.ItemSequence(sequence).items()
    with pytest.raises(type(theirs.value.__cause__ or theirs.value)):  # there the reason is wrapped in a SystemError
        ItemSequence(sequence).items()


def test_a_generator_is_a_sequence_but_no_item() -> None:
    assert ItemSequence(item for item in [["a"], {"b": 2}]).items() == [{"a": 1.0}, {"b": 2.0}]
    with pytest.raises(TypeError, match="has no len"):
        ItemSequence([(name for name in "ab")])
