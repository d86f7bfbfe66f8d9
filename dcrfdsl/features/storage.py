"""Alphabets and vocabularies as a few large arrays and a little JSON, and back without copying."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DcrfError, Diagnostic
from .alphabet import DIRECT, Alphabet, KeyTable, TemplateTables, breaks
from .atoms import Vocabulary
from .expand import FeatureSetPlan
from .strings import pack_strings, unpack_strings

__all__ = ["Vocabularies", "alphabet_arrays", "alphabet_metadata", "restored_alphabets"]


@dataclass
class Vocabularies:
    """The vocabulary of each atom by name. Restored ones are unpacked when first needed."""

    _known: dict[str, Vocabulary] | None = None
    _packed: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = None
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
        return cls(None, (arrays["vocabulary_bytes"], arrays["vocabulary_off"]), lengths)

    def _unpacked(self) -> dict[str, Vocabulary]:
        found: dict[str, Vocabulary] = {}
        if self._packed is None:
            return found
        data, off = self._packed
        start = 0
        for name, length in self._lengths.items():
            texts = unpack_strings(data, off[start : start + length + 1])
            found[name] = {text: code for code, text in enumerate(texts)}
            start += length
        return found


def alphabet_arrays(alphabets: Iterable[Alphabet]) -> dict[str, NDArray[Any]]:
    """`table_keys` and `table_ids`: those of every table, one after the other."""
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


def restored_alphabets(
    plans: Sequence[FeatureSetPlan], arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> list[Alphabet]:
    """The alphabets of feature sets, as views of the stored arrays.

    Errors: DcrfError `bad-model` if their number or lengths do not fit the template; kernels do not check bounds.
    """
    stored = _StoredTables(arrays["table_keys"], arrays["table_ids"], metadata["tables"])
    _expect(len(metadata["sets"]) == len(plans), "feature sets")
    alphabets = []
    for plan, one in zip(plans, metadata["sets"], strict=True):
        _expect(len(one["sizes"]) == len(plan.features), "features of a set")
        templates = []
        for feature, numbers in zip(plan.features, one["sizes"], strict=True):
            sizes = tuple(int(number) for number in numbers)
            _expect(len(sizes) == len(feature.factors), "factors of a feature")
            places, span = breaks(sizes)
            stages = {place: stored.next(None) for place in places}
            templates.append(TemplateTables(sizes, stages, stored.next(span if span <= DIRECT else None)))
        alphabets.append(Alphabet(tuple(templates), int(one["num_features"])))
    stored.close()
    return alphabets


class _StoredTables:
    """Cuts the stored arrays into tables, in order."""

    def __init__(self, keys: NDArray[np.int64], ids: NDArray[np.int32], lengths: Sequence[Sequence[int]]):
        self._keys, self._ids = keys, ids
        self._lengths = iter(lengths)
        self._key, self._id = 0, 0

    def next(self, span: int | None) -> KeyTable:
        """The next table: an array of `span` ids, or a hash table (None)."""
        num_keys, num_ids = next(self._lengths, (-1, -1))
        hashed = num_keys == num_ids and num_ids > 0 and num_ids & (num_ids - 1) == 0
        _expect(hashed if span is None else (num_keys, num_ids) == (0, span), "table lengths")
        table = KeyTable.frozen(self._keys[self._key : self._key + num_keys], self._ids[self._id : self._id + num_ids])
        _expect(len(table.keys) == num_keys and len(table.ids) == num_ids, "table lengths")
        self._key, self._id = self._key + num_keys, self._id + num_ids
        return table

    def close(self) -> None:
        """Nothing may be left."""
        _expect(self._key == len(self._keys) and self._id == len(self._ids), "table lengths")


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
        raise DcrfError(Diagnostic("bad-model", f"the stored alphabet does not fit the template: {what} differ"))
