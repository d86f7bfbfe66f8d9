"""The rows of one sentence at a time, with what is known of texts kept between calls.

A feature is *plain* if each of its factors reads one place of a column of texts and gives at most one text there, as
most do. What a text contributes to the keys of all plain features is kept, so that a sentence takes a look-up a token,
and a few operations on arrays for all of these features together:

    texts -> shares of keys [T, slots] -> those at the places that are read [R, n, features] -> keys -> ids -> rows

A *slot* is a factor of a feature. Its share of the key is its code times its stride, or `NO_KEY`, which makes any sum
negative. Other features are read by `BlockReader`, and so are texts that are met for the first time: what a feature
means is written only there. Threads may share a reader; it has no locks. Not here: more than one sentence (`extract`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ..data import Corpus, InternedColumn
from ..foundation import Ints, Ints32, Mask, dataclass
from ..semantics import ModelSpec
from ..syntax import Reference
from .atoms import CorpusAtoms, Vocabulary, reach
from .feature_alphabet import Alphabet, KeyTable
from .feature_rows import FeatureRows
from .plan import Factor, FeatureSetPlan, condition_text, leaves
from .values import gives_weights, kind_of

LONGEST = 256  # tokens of a sentence that is read this way; in a longer one, fixed costs do not matter
MOST_BYTES = 2**24  # of the shares that are kept for the texts of a column …
MOST_PLACES = 2**20  # … numbers of places, for all lengths together …
MOST_JOINED = 2**20  # … and features whose tables are joined to one, which then takes 25 MiB
LARGEST = 2**55  # an upper bound of the keys of plain features …
NO_KEY = -(2**57)  # … the share of a factor without a code …
MOST_FACTORS = 32  # … and their number, so that a sum with such a share is negative and cannot wrap

Texts = Mapping[str, Sequence[str]]  # of each token of a sentence, by column


def texts_of(corpus: Corpus) -> Texts | None:
    """The texts of a corpus that is one sentence, not too long; else None. Columns of numbers are left out."""
    if corpus.num_sentences != 1 or corpus.num_tokens > LONGEST:
        return None
    texts = {}
    for name, column in corpus.columns.items():
        if isinstance(column, InternedColumn) and (column.codes >= 0).all():
            values = column.values
            texts[name] = [values[code] for code in column.codes.tolist()]
    return texts


class _Slot(NamedTuple):
    """A factor of a plain feature.

    feature, turn: which feature of the set, and which of its factors.   size: the texts of its atom, -1 of a test.
    """

    factor: Factor
    feature: int
    turn: int
    stride: int
    size: int


class _TextShares:
    """What the texts of one column contribute to the slots that read it, kept for the texts that came last.

    A text is known by the bytes of its shares [slots] int64, or by None if it has several codes in some factor.
    """

    def __init__(self, column: str, slots: Sequence[_Slot]):
        self.column, self.slots = column, tuple(slots)
        self.most = max(1, MOST_BYTES // (8 * len(slots) + 200))
        self.known: dict[str, bytes | None] = {}

    def of(self, texts: Sequence[str]) -> Ints | None:
        """The shares at each token, [T · slots]; None if a text is not plain. KeyError if one is not known yet."""
        known = self.known
        rows = [known[text] for text in texts]
        if None in rows:
            return None
        return np.frombuffer(b"".join(rows), np.int64)  # type: ignore[arg-type]  # no None

    def learn(self, atoms: CorpusAtoms) -> None:
        column = atoms.values.corpus.columns.get(self.column)
        if not isinstance(column, InternedColumn):
            return
        shares, several = np.empty((len(column.values), len(self.slots)), np.int64), np.zeros(len(column.values), bool)
        for n, slot in enumerate(self.slots):
            codes, more = atoms.code_of_each(slot.factor)
            shares[:, n] = np.where(codes < 0, NO_KEY, codes * np.int64(slot.stride))
            several |= more
        with suppress(KeyError, RuntimeError, StopIteration):  # another thread was here at the same time
            while self.known and len(self.known) + len(column.values) > self.most:
                del self.known[next(iter(self.known))]
        for text, row, is_several in zip(column.values, shares, several.tolist(), strict=True):
            self.known[text] = None if is_several else row.tobytes()


class _Places(NamedTuple):
    """What is read in a sentence of some length.

    place [R, n, features]: of the shares, which lie column by column, token by token, and then those outside.
    outside [R, features], or None: which rows read outside the sentence where the feature wants none.
    """

    place: Ints
    outside: Mask | None


@dataclass(eq=False)
class PlainFeatures:
    """The plain features of a set, see `plain_features`.

    numbers: of the features in the set.   read_at: the places that features read of which none may lie outside.
    tables, spans: of each feature, from keys to ids, and the upper bound of its keys.
    """

    numbers: tuple[int, ...]
    columns: list[_TextShares]
    read_at: Mapping[int, list[int]]
    tables: list[KeyTable]
    spans: list[int]
    pad_left: int
    pad_right: int

    def __post_init__(self) -> None:
        self._kept: dict[int, _Places] = {}
        self._num_factors = max(slot.turn for shares in self.columns for slot in shares.slots) + 1
        # shares outside the sentence: codes that follow those of the texts, before it the nearest position first
        ends = [0]
        for slot in itertools.chain.from_iterable(shares.slots for shares in self.columns):
            outside = range(sum(reach(slot.factor, self.pad_left, self.pad_right)))
            ends += [NO_KEY if slot.size < 0 else (slot.size + distance) * slot.stride for distance in outside]
        self._ends = np.array(ends, np.int64)
        # one table for all features, if it is not too large, and the number of each one's first key in it
        entries = [table.entries() for table in self.tables]
        *first, end = itertools.accumulate(self.spans, initial=0)
        self._joined: KeyTable | None = None
        self._first_key = np.zeros(len(first), np.int64)
        if sum(len(keys) for keys, _ in entries) <= MOST_JOINED and end < LARGEST:
            self._first_key = np.array(first, np.int64)
            keys = np.concatenate([keys + start for (keys, _), start in zip(entries, first, strict=True)])
            self._joined = KeyTable.of(keys, np.concatenate([ids for _, ids in entries]), end)

    def ids(self, texts: Texts, length: int, atoms: CorpusAtoms | None = None) -> Ints32 | None:
        """The id of each feature at each anchor, [R · features], or -1. None if a text is not plain.

        atoms: of the sentence, to learn texts from that are not known yet; without them the result is then None.
        """
        parts = self._parts(texts)
        if parts is None and atoms is not None:
            for column in self.columns:
                column.learn(atoms)
            parts = self._parts(texts)
        if parts is None:
            return None
        places = self._kept.get(length) or self._places(length)
        keys = np.concatenate((*parts, self._ends)).take(places.place).sum(axis=1)
        keys += self._first_key
        if places.outside is not None:
            keys[places.outside] = -1
        if self._joined is not None:
            return self._joined.find(keys.reshape(-1))
        by_feature = np.ascontiguousarray(keys.T)
        ids = [table.find(of_one) for table, of_one in zip(self.tables, by_feature, strict=True)]
        return np.array(ids, np.int32).T.ravel()

    def _parts(self, texts: Texts) -> list[Ints] | None:
        """The shares of each column, None if a text is not known or not plain."""
        parts = []
        try:
            for column in self.columns:
                shares = column.of(texts[column.column])
                if shares is None:
                    return None
                parts.append(shares)
        except KeyError:
            return None
        return parts

    def rows(self, ids: Ints32) -> FeatureRows:
        """The rows, if there are no other features in the set. ids: see above."""
        fires, width = ids >= 0, len(self.numbers)
        row_off = np.zeros(len(ids) // width + 1, np.int64)
        row_off[1:] = fires.cumsum()[width - 1 :: width]
        return FeatureRows(row_off, ids[fires], np.empty(0), self.pad_left, self.pad_right)

    def _places(self, length: int) -> _Places:
        """Those of a length, which are kept for as many lengths as fit."""
        anchors = np.arange(-self.pad_left, length + self.pad_right)
        columns_end = length * sum(len(shares.slots) for shares in self.columns)
        place = np.full((len(anchors), self._num_factors, len(self.numbers)), columns_end)  # a share of 0
        begin, end = 0, columns_end + 1
        for shares in self.columns:
            for n, slot in enumerate(shares.slots):
                at = anchors + slot.factor.offset
                left, right = reach(slot.factor, self.pad_left, self.pad_right)
                inside, before, after = begin + at * len(shares.slots) + n, end - 1 - at, end + left + at - length
                place[:, slot.turn, slot.feature] = np.where(at < 0, before, np.where(at < length, inside, after))
                end += left + right
            begin += length * len(shares.slots)
        outside = None
        if self.read_at:
            outside = np.zeros((len(anchors), len(self.numbers)), np.bool_)
            for feature, read in self.read_at.items():
                outside[:, feature] = (anchors + min(read) < 0) | (anchors + max(read) >= length)
        places = self._kept[length] = _Places(place, outside)
        if sum(one.place.size for one in list(self._kept.values())) > MOST_PLACES:
            self._kept = {}
        return places


def plain_features(
    plan: FeatureSetPlan,
    alphabet: Alphabet,
    spec: ModelSpec,
    vocabularies: Mapping[str, Vocabulary],
    kinds: Mapping[str, str],
) -> PlainFeatures | None:
    """The plain features of a set, None if it has none. kinds: of the registered functions in training."""
    of_columns: dict[str, list[_Slot]] = {}
    numbers: list[int] = []
    for n, (feature, tables) in enumerate(zip(plan.features, alphabet.templates, strict=True)):
        columns = [_column_of(factor, spec, kinds) for factor in feature.factors]
        few = len(columns) <= MOST_FACTORS and 0 not in tables.sizes and math.prod(tables.sizes) < LARGEST
        if plan.relation >= 0 or plan.segment >= 0 or tables.stages or not few or None in columns:
            continue
        for turn, (factor, column) in enumerate(zip(feature.factors, columns, strict=True)):
            is_test = kind_of(spec, factor.condition, kinds) == "test"
            size = -1 if is_test else len(vocabularies.get(factor.atom, ()))
            slot = _Slot(factor, len(numbers), turn, math.prod(tables.sizes[turn + 1 :]), size)
            of_columns.setdefault(str(column), []).append(slot)
        numbers.append(n)
    if not numbers:
        return None
    return PlainFeatures(
        numbers=tuple(numbers),
        columns=[_TextShares(column, slots) for column, slots in of_columns.items()],
        read_at={
            n: [f.offset + at for f in feature.factors for _, at in leaves(spec, f.condition)]
            for n, feature in enumerate(plan.features[number] for number in numbers)
            if feature.outside == "skip"
        },
        tables=[alphabet.templates[n].last for n in numbers],
        spans=[math.prod(alphabet.templates[n].sizes) for n in numbers],
        pad_left=plan.pad_left,
        pad_right=plan.pad_right,
    )


def _column_of(factor: Factor, spec: ModelSpec, kinds: Mapping[str, str]) -> str | None:
    """The column of texts of which a factor reads one place; None if it reads anything else, or is a number."""
    read = {(condition_text(leaf), offset) for leaf, offset in leaves(spec, factor.condition)}
    leaf, _ = next(leaves(spec, factor.condition))
    column = spec.column(leaf.name) if isinstance(leaf, Reference) else None
    if len(read) != 1 or column is None or column.type.name != "str":
        return None
    numeric = kind_of(spec, factor.condition, kinds) == "number" or gives_weights(factor.condition, kinds)
    return None if numeric else column.name
