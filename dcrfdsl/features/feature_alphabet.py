"""The alphabet of a feature set: the keys that have a feature, and their ids. Locked after the training data.

Each template has a table from key to id: an array indexed by the key if keys are few, else an open-addressing hash
table. Both are plain arrays that a model file holds and that a process can map without copying. Ids are ordered by
count: feature 0 is the most frequent (so frequently used weights lie together); ties are broken by template and first
appearance. Not here: the construction of keys (`atoms`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..foundation import Ints, Ints32, dataclass
from ..kernels.extraction import count_keys, find, find_direct, insert, intern

DIRECT = 1 << 18  # keys below this bound are indices of an array (1 MiB), others are hashed
LARGEST = 1 << 62  # an upper bound of keys
INTERNED = 1 << 31  # an upper bound of the numbers that replace joined keys


@dataclass(frozen=True)
class KeyTable:
    """`keys` [capacity] with `ids` [capacity], or no `keys` and `ids[key]`; -1 = empty.

    The arrays are always read-only, fresh or mapped from a file, so that kernels are compiled for one type.
    """

    keys: Ints
    ids: Ints32

    @classmethod
    def of(cls, keys: Ints, ids: Ints32, span: int) -> KeyTable:
        """The table of distinct `keys` below `span` with their `ids`."""
        if span <= DIRECT:
            table = np.full(span, -1, np.int32)
            table[keys] = ids
            return cls.frozen(np.empty(0, np.int64), table)
        capacity = 1 << (2 * len(keys)).bit_length()
        slot_key, slot_id = np.full(capacity, -1, np.int64), np.full(capacity, -1, np.int32)
        insert(keys, ids, slot_key, slot_id)
        return cls.frozen(slot_key, slot_id)

    @classmethod
    def frozen(cls, keys: Ints, ids: Ints32) -> KeyTable:
        """A table around existing arrays, which are not copied."""
        keys, ids = keys.view(), ids.view()
        keys.flags.writeable = ids.flags.writeable = False
        return cls(keys, ids)

    def find(self, keys: Ints) -> Ints32:
        """The id of each key, -1 for a key without one."""
        return find(keys, self.keys, self.ids) if len(self.keys) else find_direct(keys, self.ids)

    def entries(self) -> tuple[Ints, Ints32]:
        """All keys with their ids."""
        used = np.flatnonzero(self.ids >= 0)
        return (self.keys[used] if len(self.keys) else used), self.ids[used]


def breaks(sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The factors before which keys must be renumbered to stay below `LARGEST`, and an upper bound of the last keys.

    `sizes` as in `BlockReader.keys`; 0 is skipped.
    """
    places: list[int] = []
    span = 1
    for i, size in enumerate(sizes):
        if size == 0:
            continue
        if span * size > LARGEST:
            places.append(i)
            span = INTERNED
        span *= size
    return tuple(places), span


class KeyCounter:
    """Counts keys below `span`, block after block."""

    def __init__(self, span: int):
        self.direct = span <= DIRECT
        self.counts = np.zeros(span if self.direct else 0, np.int64)
        self.distinct = np.empty(0, np.int64)
        self.num = 0
        self._slot_key, self._slot_id = np.empty(0, np.int64), np.empty(0, np.int32)

    def add(self, keys: Ints) -> Ints32:
        """Counts keys. Returns a number for each, from which `lock` gets its id: the key itself if keys are few."""
        if not self.direct:
            return self.number(keys)
        count_keys(keys, self.counts)
        return keys.astype(np.int32)

    def number(self, keys: Ints) -> Ints32:
        """Counts keys, and numbers them in order of first appearance."""
        self._reserve(self.num + len(keys))
        self.num, ids = intern(keys, self._slot_key, self._slot_id, self.distinct, self.counts, self.num)
        return ids

    def add_counts(self, keys: Ints, counts: Ints) -> None:
        """Adds counts of distinct keys."""
        if self.direct:
            self.counts[keys] += counts
        else:
            numbers = self.number(keys)
            self.counts[numbers] += counts - 1  # each was counted once when it got its number

    def result(self) -> tuple[Ints, Ints]:
        """The keys seen so far, and the count of each."""
        if self.direct:
            keys = np.flatnonzero(self.counts)
            return keys, self.counts[keys]
        return self.distinct[: self.num], self.counts[: self.num]

    def _reserve(self, num: int) -> None:
        """Makes room for `num` keys in the lists, and for twice as many slots."""
        if num <= len(self.distinct):
            return
        room = max(num, 2 * len(self.distinct))
        self.distinct = np.concatenate([self.distinct[: self.num], np.empty(room - self.num, np.int64)])
        self.counts = np.concatenate([self.counts[: self.num], np.zeros(room - self.num, np.int64)])
        capacity = 1 << (2 * room).bit_length()
        self._slot_key, self._slot_id = np.full(capacity, -1, np.int64), np.full(capacity, -1, np.int32)
        insert(self.distinct[: self.num], np.arange(self.num, dtype=np.int32), self._slot_key, self._slot_id)


class TemplateCounter:
    """Counts the keys of one template: `last` those of all factors."""

    def __init__(self, sizes: tuple[int, ...]):
        self.sizes = sizes
        places, self.span = breaks(sizes)
        self._stages = {place: KeyCounter(LARGEST) for place in places}
        self.last = KeyCounter(self.span)

    def compact(self, place: int, keys: Ints) -> Ints32 | None:
        return self._stages[place].number(keys) if place in self._stages else None

    def stage_keys(self) -> dict[int, Ints]:
        """The joined keys that `compact` has numbered so far, in order of numbers, by the place of the factor."""
        return {place: counter.result()[0] for place, counter in self._stages.items()}


@dataclass(frozen=True)
class TemplateTables:
    """The tables of one template: `stages[i]` numbers the keys joined before factor i, `last` gives feature ids."""

    sizes: tuple[int, ...]
    stages: dict[int, KeyTable]
    last: KeyTable

    def compact(self, place: int, keys: Ints) -> Ints32 | None:
        return self.stages[place].find(keys) if place in self.stages else None

    def codes(self, keys: Ints) -> Ints:
        """The code of each factor in each key, [n, factors]; 0 for numbers."""
        codes = np.zeros((len(keys), len(self.sizes)), np.int64)
        coded = [n for n, size in enumerate(self.sizes) if size]
        for n in reversed(coded[1:]):
            keys, codes[:, n] = keys // self.sizes[n], keys % self.sizes[n]
            if n in self.stages:
                before, number = self.stages[n].entries()
                key_of = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
                key_of[number] = before
                keys = key_of[keys]
        if coded:
            codes[:, coded[0]] = keys
        return codes


@dataclass(frozen=True)
class Alphabet:
    """The locked tables of a feature set, one for each template, and the number of its features."""

    templates: tuple[TemplateTables, ...]
    num_features: int

    def origin(self) -> tuple[Ints32, Ints]:
        """The template of each feature, [F], and the code of each factor, [F, most factors of a template]."""
        template = np.empty(self.num_features, np.int32)
        codes = np.zeros((self.num_features, max((len(one.sizes) for one in self.templates), default=0)), np.int64)
        for number, tables in enumerate(self.templates):
            keys, ids = tables.last.entries()
            template[ids], codes[ids, : len(tables.sizes)] = number, tables.codes(keys)
        return template, codes


def lock(
    counters: Sequence[TemplateCounter], min_counts: Sequence[int], spread: Callable[..., list[Any]]
) -> tuple[Alphabet, list[Ints32]]:
    """The alphabet of the keys that occur at least `min_counts[template]` times.

    Also returns, for each template, the ids of the numbers of its counter, so that rows need no second look-up.
    spread: shares the templates, see `row_assembly.Spread`.
    """
    counted = [counter.last.result() for counter in counters]
    frequent = [counts >= least for (_, counts), least in zip(counted, min_counts, strict=True)]
    kept = [counts[is_frequent] for (_, counts), is_frequent in zip(counted, frequent, strict=True)]
    order = _falling(np.concatenate(kept or [np.empty(0, np.int64)]))
    ids = np.empty(len(order), np.int32)
    ids[order] = np.arange(len(order), dtype=np.int32)
    start = np.cumsum([0, *map(len, kept)])

    def locked(number: int, _: int) -> tuple[TemplateTables, Ints32]:
        counter, keys, is_frequent = counters[number], counted[number][0], frequent[number]
        mine = ids[start[number] : start[number + 1]]
        table = KeyTable.of(keys[is_frequent], mine, counter.span)
        stages = {
            place: KeyTable.of(joined, np.arange(len(joined), dtype=np.int32), LARGEST)
            for place, joined in counter.stage_keys().items()
        }
        of_number = np.full(counter.span if counter.last.direct else len(keys), -1, np.int32)
        of_number[keys[is_frequent] if counter.last.direct else is_frequent] = mine
        return TemplateTables(counter.sizes, stages, table), of_number

    both = spread(locked, [(number, number + 1) for number in range(len(counters))])
    return Alphabet(tuple(tables for tables, _ in both), len(order)), [numbers for _, numbers in both]


def _falling(counts: Ints) -> Ints:
    """The order from the largest count to the smallest, stable; radix sort by 16 bits, in linear time."""
    below = counts.max(initial=0) - counts
    order = np.argsort(below.astype(np.uint16), kind="stable")
    for bits in range(16, int(below.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((below[order] >> bits).astype(np.uint16), kind="stable")]
    return order
