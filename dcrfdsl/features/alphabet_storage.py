"""Alphabets and vocabularies as a few large arrays and a little JSON, restored without copying."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from ..foundation import (
    Count,
    IncompatibleState,
    Ints,
    Ints32,
    array,
    check_strings,
    check_within,
    dataclass,
    pack_strings,
    unpack_strings,
)
from ..semantics import ModelSpec
from .atoms import Vocabulary, num_codes
from .feature_alphabet import DIRECT, INTERNED, LARGEST, Alphabet, KeyTable, TemplateTables, breaks
from .observation_kernels import ObservationKernelRecord
from .plan import FeatureSetPlan


@dataclass
class Vocabularies:
    """The vocabulary of each atom by name. Restored vocabularies are unpacked on first use."""

    _known: dict[str, Vocabulary] | None = None
    _packed: tuple[NDArray[np.uint8], Ints] | None = None
    _lengths: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_name(self) -> dict[str, Vocabulary]:
        if self._known is None:
            self._known = self._unpacked()
        return self._known

    def arrays(self) -> dict[str, NDArray[Any]]:
        data, off = pack_strings(text for vocabulary in self.by_name.values() for text in vocabulary)
        return {"vocabulary_bytes": data, "vocabulary_off": off}

    def metadata(self) -> dict[str, int]:
        return {name: len(vocabulary) for name, vocabulary in self.by_name.items()}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], lengths: Mapping[str, int]) -> Vocabularies:
        """From `arrays()` and `metadata()`; `IncompatibleState` if they do not fit together."""
        data, off = array(arrays, "vocabulary_bytes", np.uint8), array(arrays, "vocabulary_off", np.int64)
        check_strings(data, off, "vocabulary_off")
        if sum(lengths.values()) != len(off) - 1:
            raise IncompatibleState(f"the vocabularies have {len(off) - 1:,} texts, expected {sum(lengths.values()):,}")
        return cls(None, (data, off), lengths)

    def _unpacked(self) -> dict[str, Vocabulary]:
        vocabularies: dict[str, Vocabulary] = {}
        if self._packed is None:
            return vocabularies
        data, off = self._packed
        start = 0
        for name, length in self._lengths.items():
            texts = unpack_strings(data, off[start : start + length + 1])
            vocabularies[name] = {text: code for code, text in enumerate(texts)}
            if len(vocabularies[name]) < length:
                raise IncompatibleState(f"the stored vocabulary of `{name}` has a text twice")
            start += length
        return vocabularies


def alphabet_arrays(alphabets: Iterable[Alphabet]) -> dict[str, NDArray[Any]]:
    """`table_keys` and `table_ids`: the tables of all templates, one after the other."""
    tables = _tables(alphabets)
    return {
        "table_keys": np.concatenate([table.keys for table in tables] or [np.empty(0, np.int64)]),
        "table_ids": np.concatenate([table.ids for table in tables] or [np.empty(0, np.int32)]),
    }


def alphabet_metadata(alphabets: Sequence[Alphabet]) -> dict[str, Any]:
    """The lengths of the tables in `alphabet_arrays`, and the bases of the keys."""
    return {
        "tables": [[len(table.keys), len(table.ids)] for table in _tables(alphabets)],
        "sets": [
            {"num_features": one.num_features, "sizes": [list(tables.sizes) for tables in one.templates]}
            for one in alphabets
        ],
    }


class SetRecord(BaseModel, strict=True, extra="forbid"):
    """One feature set: the number of its features, and the bases of the keys of each listed feature."""

    num_features: Count
    sizes: list[list[Count]]


class FeaturesRecord(BaseModel, extra="forbid"):
    """The features of a model in its file, except arrays; see `FeatureExtractor.metadata`."""

    tables: list[tuple[Count, Count]]
    sets: list[SetRecord]
    vocabularies: dict[str, Count]
    lexicons: list[Any]
    registered: dict[str, Literal["value", "test", "number", "weights"]]
    registered_texts: dict[str, str] = {}  # hashes of the user's functions at training; none in older files
    learned: dict[str, list[float]] = Field(default={}, alias="bins")  # the key in files; none in older ones
    observation_kernels: list[ObservationKernelRecord] = Field(default=[], alias="likenesses")  # the key in files


def restored_alphabets(
    spec: ModelSpec,
    plans: Sequence[FeatureSetPlan],
    arrays: Mapping[str, NDArray[Any]],
    tables: Sequence[tuple[int, int]],
    sets: Sequence[SetRecord],
    vocabularies: Mapping[str, int],
    kinds: Mapping[str, str],
) -> list[Alphabet]:
    """The alphabets of feature sets, as views of the stored arrays.

    tables: lengths, see `alphabet_metadata`.   vocabularies: the number of texts of each.   kinds: see `CorpusValues`.
    Raises `IncompatibleState` if their numbers, lengths or ids do not fit the template; kernels do not check bounds.
    """
    stored = _cut(array(arrays, "table_keys", np.int64), array(arrays, "table_ids", np.int32), tables)
    _expect(len(sets) == len(plans), "feature sets")
    alphabets = []
    for plan, one in zip(plans, sets, strict=True):
        _expect(len(one.sizes) == len(plan.features), "features of a set")
        templates = []
        for feature, numbers in zip(plan.features, one.sizes, strict=True):
            sizes = tuple(numbers)
            expected = tuple(num_codes(spec, factor, plan, vocabularies, kinds) for factor in feature.factors)
            _expect(sizes == expected, f"codes of `{feature.name}`")
            templates.append(_template_tables(stored, sizes, one.num_features))
        ids = np.concatenate([np.zeros(0, np.int32), *(tables.last.ids for tables in templates)])
        _check_permutation(ids, "features", one.num_features)  # every feature belongs to exactly one key
        alphabets.append(Alphabet(tuple(templates), one.num_features))
    _expect(next(stored, None) is None, "table lengths")
    return alphabets


_Stored = Iterator[tuple[Ints, Ints32]]


def _cut(keys: Ints, ids: Ints32, lengths: Sequence[tuple[int, int]]) -> _Stored:
    """The keys and ids of each table. Raises `IncompatibleState` if arrays end too early, or too late."""
    key = number = 0
    for num_keys, num_ids in lengths:
        table = keys[key : key + num_keys], ids[number : number + num_ids]
        _expect((len(table[0]), len(table[1])) == (num_keys, num_ids), "table lengths")
        yield table
        key, number = key + num_keys, number + num_ids
    _expect((key, number) == (len(keys), len(ids)), "table lengths")


def _template_tables(stored: _Stored, sizes: tuple[int, ...], num_features: int) -> TemplateTables:
    """The tables of the next template."""
    places, span = breaks(sizes)
    stages: dict[int, KeyTable] = {}
    numbers, begin = 1, 0  # how many values the keys so far can have
    for place in places:
        stages[place] = _table(stored, None, numbers * _product(sizes[begin:place]), INTERNED)
        _check_permutation(stages[place].ids, "numbers of joined keys")
        numbers, begin = int(stages[place].ids.max(initial=-1)) + 1, place
    last = _table(stored, span if span <= DIRECT else None, numbers * _product(sizes[begin:]), num_features)
    return TemplateTables(sizes, stages, last)


def _table(stored: _Stored, span: int | None, bound: int, num_ids: int) -> KeyTable:
    """The next table: an array of `span` ids, or a hash table (None) of keys below `bound`; ids below `num_ids`."""
    keys, ids = next(stored, (np.empty(0, np.int64), np.empty(0, np.int32)))
    hashed = len(keys) == len(ids) and len(ids) > 0 and len(ids) & (len(ids) - 1) == 0
    _expect(hashed if span is None else (len(keys), len(ids)) == (0, span), "table lengths")
    check_within(ids, -1, num_ids, "table_ids")
    if span is None:
        check_within(keys, -1, min(bound, LARGEST), "table_keys")
        # a look-up stops at an empty slot, so the table must have one
        _expect(bool((keys < 0).any()) and not ((keys >= 0) != (ids >= 0)).any(), "keys and ids of a table")
    return KeyTable.frozen(keys, ids)


def _product(sizes: Sequence[int]) -> int:
    """The product of the bases of a key; 0 is skipped."""
    return math.prod(size for size in sizes if size)


def _check_permutation(ids: Ints32, what: str, count: int | None = None) -> None:
    """Checks that the `ids` other than -1 are 0 … count-1, each once. They are below the length of the arrays."""
    used = ids[ids >= 0]
    _expect(count is None or len(used) == count, what)
    _expect(int(used.max(initial=-1)) < len(used), what)  # before an array of that length is allocated
    met = np.zeros(len(used), np.bool_)
    met[used] = True
    _expect(bool(met.all()), what)


def _tables(alphabets: Iterable[Alphabet]) -> list[KeyTable]:
    """All tables in the order in which they are stored."""
    return [
        table
        for alphabet in alphabets
        for tables in alphabet.templates
        for table in (*tables.stages.values(), tables.last)
    ]


def _expect(fits: bool, what: str) -> None:
    if not fits:
        raise IncompatibleState(f"the stored alphabet does not fit the template: {what} differ")
