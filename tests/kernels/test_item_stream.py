"""Attributes from what `marshal` writes of items, against the names that items flatten to."""

from __future__ import annotations

import marshal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.crfsuite.items import flattened
from dcrfdsl.kernels.extraction import NameIndex, index_names, number_items, words_of

WORDS = ("a", "b", "a:b", "é", "日本", "x" * 9, "x" * 300, "next", "")
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
NUMBERS = st.one_of(st.booleans(), st.integers(-(2**31), 2**31 - 1), st.floats(allow_nan=False, allow_infinity=False))
NESTED = st.recursive(
    st.one_of(st.dictionaries(TEXTS, st.one_of(TEXTS, NUMBERS), max_size=4), st.lists(TEXTS, max_size=3)),
    lambda part: st.dictionaries(TEXTS, st.one_of(TEXTS, NUMBERS, part), max_size=3),
    max_leaves=5,
)
ITEMS = st.one_of(NESTED, st.lists(TEXTS, max_size=3).map(tuple))


def index_of(names: list[str]) -> NameIndex:
    texts = [name.encode() for name in names]
    words, off = words_of(b"".join(texts)), np.cumsum([0, *map(len, texts)])
    return NameIndex(words, off, *index_names(words, off))


def numbered(batch: list[Any], names: list[str]) -> list[list[list[tuple[int, float]]]] | None:
    """The places and values of the attributes of each item of each sequence; None if something is unusual."""
    is_usual, sequence_off, off, places, values = number_items(words_of(marshal.dumps(batch, 4)), index_of(names))
    pairs = list(zip(places.tolist(), values.tolist(), strict=True))
    items = [pairs[i:j] for i, j in pairwise(off)]
    return [items[i:j] for i, j in pairwise(sequence_off)] if is_usual else None


def by_names(sequence: list[Any], places: dict[Any, int]) -> list[list[tuple[int, float]]]:
    """The same from the flattened items: what adds nothing, or is not known, left out."""
    names, values, off = flattened(sequence)
    pairs = [(places.get(name, -1), value) for name, value in zip(names, values, strict=True)]
    return [[(n, x) for n, x in pairs[i:j] if n >= 0 and x] for i, j in pairwise(off)]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(ITEMS, max_size=4), max_size=4), st.integers(1, 3))
def test_places_and_values_are_those_of_flattened_items(batch: list[Any], every: int) -> None:
    batch = (
        [*batch, *batch[:1], [{"next": item, "last": item} for item in batch[0] if isinstance(item, dict)]]
        if batch
        else []
    )
    known = list(dict.fromkeys(name for one in batch for name in flattened(one)[0] if isinstance(name, str)))[::every]
    found = numbered(batch, known)
    texts = marshal.dumps(batch, 4)
    if found is None:
        assert b"\0" in texts  # a text with a NUL
    else:
        places = {name: place for place, name in enumerate(known)}
        assert found == [by_names(one, places) for one in batch]


def test_prefixes_do_not_mix() -> None:
    names = ["a:b:c", "a:b", "b:c", "c"]
    items = [
        {"a": {"b": "c"}},
        {"a:b": "c"},
        {"a": "b:c"},
        {"a:b:c": 2},
        ["c", "a:b"],
        {"a": {"b": True, "c": 1}},
        {"b": ["c"]},
    ]
    assert numbered([items], names) == [
        [[(0, 1.0)], [(0, 1.0)], [(0, 1.0)], [(0, 2.0)], [(3, 1.0), (1, 1.0)], [(1, 1.0)], [(2, 1.0)]]
    ]


def itself() -> dict[str, Any]:
    item: dict[str, Any] = {}
    item["a"] = item
    return item


@pytest.mark.parametrize(
    "sequence",
    [
        [{"a": {"b"}}], [{"a"}], [{b"a": 1.0}], [{"a": b"b"}], [{"a": 2**40}], [{"a": None}], [{"a": ("b",)}],
        [{1: "a"}], [["a", 1]], ["ab"], [None], {"a": "b"}, "ab", [{"a\0": 1.0}], [{"a": "\ud800"}], [{"a": 1j}], 5,
        [{"a": [["b"]]}], [{"a": [{"b": 1.0}]}], [[["b"]]],
    ],
)  # fmt: skip
def test_what_is_unusual_ends_the_work(sequence: Any) -> None:
    assert numbered([[{"a": True}], sequence], ["a", "a:b"]) is None


def test_what_is_nested_too_deeply_or_holds_itself_ends_the_work() -> None:
    deep: dict[str, Any] = {"a": True}
    for _ in range(40):
        deep = {"a": deep}
    assert numbered([[deep]], ["a"]) is None
    assert numbered([[itself()]], ["a"]) is None


def test_many_references_to_one_object_are_refused_rather_than_cut_short() -> None:
    """An attribute takes at least two bytes of a stream, unless references repeat it."""
    item: Any = {"a": True}
    for level in range(12):
        item = {"k": item, "l": item, "m" * (level + 1): True}
    names = flattened([item])[0]
    found = numbered([[item]], list(dict.fromkeys(names)))
    assert found is None or sum(map(len, found[0])) == len(names)


def test_large_sequences_and_long_texts() -> None:
    items = [{"w": f"{n}", "n": n * 0.5, "long": "é" * 200} for n in range(3000)]
    names = [f"w:{n}" for n in range(0, 3000, 7)] + ["n", "long:" + "é" * 200]
    places = {name: place for place, name in enumerate(names)}
    assert numbered([items, items[:5]], names) == [by_names(items, places), by_names(items[:5], places)]


def test_a_sequence_that_is_named_many_times() -> None:
    """A reference takes five bytes, however many items the sequence has."""
    sequence = [["a"], {"b": True}] * 20
    assert numbered([sequence] * 2000, ["a", "b"]) is None
    assert numbered([sequence] * 3, ["a", "b"]) in (None, [[[(0, 1.0)], [(1, 1.0)]] * 20] * 3)
