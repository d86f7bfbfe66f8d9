"""The rows of one sentence at a time, with what is known of texts kept between calls.

A feature is *plain* if each of its factors reads one place of a column of texts and gives at most one text there, as
most do. The codes of all plain factors of a column are kept for each text. A sentence then needs a look-up a token, and
a few operations on arrays for all plain features together:

    texts -> codes [atoms, T] -> codes at the places of the factors [features, n, R] -> keys [features, R] -> ids

Other features are read by `BlockReader`, and so are texts that are met for the first time: what a feature means is
written only there. Threads may share a reader; it has no locks. Not here: more than one sentence (`extract`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Ints, Ints32, Mask
from ..data import Corpus, InternedColumn
from ..semantics import ModelSpec, Reference
from .alphabet import LARGEST, Alphabet, KeyTable
from .atoms import CorpusAtoms, Vocabulary, atom_name
from .plan import Factor, FeatureSetPlan, condition_text, leaves
from .values import kind_of

__all__ = ["PlainAtoms", "PlainFeatures", "rows_of_ids"]

LONGEST = 256  # tokens of a sentence that is read this way; in a longer one, fixed costs do not matter
MOST_TEXTS = 2**15  # of a column whose codes are kept; a text takes a few hundred bytes
MOST_PLACES = 2**21  # numbers of the places of factors that are kept, for all lengths together
MOST_JOINED = 2**20  # features whose tables are joined to one, which takes 25 MiB for so many


# what is known of texts ---------------------------------------------------------------------------------------------


class TextCodes:
    """The codes that texts of one column have in each of `factors`, kept for the texts that came last.

    A text is known by the bytes of its codes [factors] int32, or by None if it has several in some factor.
    """

    def __init__(self, column: str, factors: Sequence[Factor]):
        self.column, self.factors = column, tuple(factors)
        self._known: dict[str, bytes | None] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, corpus: Corpus, atoms: CorpusAtoms) -> Ints32 | None:
        """The codes at each token [T, factors]; None if a text has several in some factor, or the column has no texts.

        atoms: those of the corpus.
        """
        column = corpus.columns.get(self.column)
        if not isinstance(column, InternedColumn):
            return None
        known = self._known
        try:
            rows = [known[text] for text in column.values]
        except KeyError:
            self._learn(column, atoms)
            rows = [self._known.get(text) for text in column.values]
        if None in rows:
            return None
        table = np.frombuffer(b"".join(rows), np.int32)  # type: ignore[arg-type]  # none of them is None
        codes: Ints32 = table.reshape(-1, len(self.factors))[column.codes]
        return codes

    def _learn(self, column: InternedColumn, atoms: CorpusAtoms) -> None:
        codes = np.full((len(column.values), len(self.factors)), -1, np.int32)
        several = np.zeros(len(column.values), np.bool_)
        for n, factor in enumerate(self.factors):
            codes[:, n], more = atoms.code_of_each(factor)
            several |= more
        if len(self._known) + len(column.values) > MOST_TEXTS:
            self._forget(len(column.values))
        for text, row, more in zip(column.values, codes, several.tolist(), strict=True):
            self._known[text] = None if more else row.tobytes()

    def _forget(self, count: int) -> None:
        """Makes room for `count` texts: those that were learned first go."""
        with suppress(KeyError, RuntimeError, StopIteration):  # another thread was here at the same time
            for _ in range(min(count, len(self._known))):
                del self._known[next(iter(self._known))]


class PlainAtoms:
    """The plain atoms of all feature sets of a model, column by column."""

    def __init__(
        self,
        spec: ModelSpec,
        plans: Sequence[FeatureSetPlan],
        vocabularies: Mapping[str, Vocabulary],
        kinds: Mapping[str, str],
    ):
        factors: dict[str, Factor] = {}
        for plan in plans:
            for feature in plan.features:
                for factor in feature.factors:
                    factors.setdefault(atom_name(factor), factor)
        of_columns: dict[str, list[str]] = {}
        self._size: dict[str, int] = {}  # of an atom by its name; -1 of a test
        for name, factor in factors.items():
            column = _column_of(factor, spec)
            kind = kind_of(spec, factor.condition, kinds) if column is not None else "number"
            if column is not None and kind != "number":
                of_columns.setdefault(column, []).append(name)
                self._size[name] = -1 if kind == "test" else len(vocabularies.get(name, ()))
        self.columns = [TextCodes(column, [factors[name] for name in names]) for column, names in of_columns.items()]
        self.number = {name: n for n, name in enumerate(name for names in of_columns.values() for name in names)}

    def codes(self, corpus: Corpus, atoms: CorpusAtoms) -> Ints32 | None:
        """The code of each atom at each token of a sentence, [atoms, T]; None if they must be read in another way.

        atoms: those of the corpus.
        """
        if corpus.num_sentences != 1 or corpus.num_tokens > LONGEST or not self.columns:
            return None
        parts = []
        for column in self.columns:
            codes = column.of(corpus, atoms)
            if codes is None:
                return None
            parts.append(codes.T)
        return np.concatenate(parts)

    def features(self, plan: FeatureSetPlan, alphabet: Alphabet, spec: ModelSpec) -> PlainFeatures | None:
        """The plain features of a set, None if it has none."""
        factors: dict[Factor, int] = {}
        numbers, members, strides, read_at = [], [], [], []
        for n, (feature, tables) in enumerate(zip(plan.features, alphabet.templates, strict=True)):
            plain = all(atom_name(factor) in self.number for factor in feature.factors)
            if plan.relation >= 0 or tables.stages or 0 in tables.sizes or not plain:
                continue
            numbers.append(n)
            members.append([factors.setdefault(factor, len(factors)) for factor in feature.factors])
            strides.append(_strides(tables.sizes))
            places = [f.offset + at for f in feature.factors for _, at in leaves(spec, f.condition)]
            read_at.append(tuple(places) if feature.outside == "skip" else ())
        if not numbers:
            return None
        most = max(map(len, members))
        return PlainFeatures(
            numbers=tuple(numbers),
            atom=[self.number[atom_name(factor)] for factor in factors],
            offset=[factor.offset for factor in factors],
            size=[self._size[atom_name(factor)] for factor in factors],
            members=np.array([[*one, *[len(factors)] * (most - len(one))] for one in members], np.int64),
            strides=np.array([[*one, *[0] * (most - len(one))] for one in strides], np.int64),
            read_at=read_at,
            pad_left=plan.pad_left,
            pad_right=plan.pad_right,
            num_atoms=len(self.number),
            tables=[alphabet.templates[n].last for n in numbers],
            spans=[math.prod(alphabet.templates[n].sizes) for n in numbers],
        )


def _column_of(factor: Factor, spec: ModelSpec) -> str | None:
    """The column of texts of which a factor reads one place; None if it reads anything else."""
    read = {(condition_text(leaf), offset) for leaf, offset in leaves(spec, factor.condition)}
    leaf, _ = next(leaves(spec, factor.condition))
    column = spec.column(leaf.name) if isinstance(leaf, Reference) else None
    return column.name if len(read) == 1 and column is not None and column.type.name == "str" else None


def _strides(sizes: Sequence[int]) -> list[int]:
    """Of mixed-radix digits, the first one slowest."""
    strides = [1] * len(sizes)
    for n in range(len(sizes) - 1, 0, -1):
        strides[n - 1] = strides[n] * sizes[n]
    return strides


# the plain features of a set ----------------------------------------------------------------------------------------


class _Places(NamedTuple):
    """Where the factors of a sentence of some length are read.

    place [features, n, R]: of the features' factors in the codes, atom by atom, followed by the boundary codes.
    outside [features, R], or [0, 0]: which rows read outside the sentence where the feature wants none.
    """

    place: Ints
    outside: Mask


@dataclass(eq=False)
class PlainFeatures:
    """The plain features of a set.

    numbers: of the features in the set.   atom [factors]: the number of each factor's atom among those of all columns.
    offset [factors]: its place.   size [factors]: the texts of its atom, -1 of a test.
    members [features, n]: the factors of each; the last factor there is, which always has the code 0, fills up.
    strides [features, n]: by which the codes are multiplied in a key.   read_at: the places that a feature reads, if
    none may lie outside.   tables: from keys to ids.   spans: upper bounds of their keys, exclusive.
    """

    numbers: tuple[int, ...]
    atom: list[int]
    offset: list[int]
    size: list[int]
    members: Ints
    strides: Ints
    read_at: list[tuple[int, ...]]
    pad_left: int
    pad_right: int
    num_atoms: int
    tables: list[KeyTable]
    spans: list[int]

    def __post_init__(self) -> None:
        self._kept: dict[int, _Places] = {}
        left = [max(0, self.pad_left - offset) for offset in self.offset]
        right = [max(0, self.pad_right + offset) for offset in self.offset]
        self._boundary: list[int] = [0]  # the code of the factor that fills up
        self._begin: list[int] = []  # of the boundary codes of a factor: those to the left, the nearest first
        self._left = left
        for size, before, after in zip(self.size, left, right, strict=True):
            self._begin.append(len(self._boundary))
            self._boundary += [-1] * (before + after) if size < 0 else range(size, size + before + after)
        self._ends = np.array(self._boundary, np.int64)
        self._joined, self._first_key = self._join()

    def _join(self) -> tuple[KeyTable | None, Ints]:
        """One table for all features, if it is not too large, and the number of each one's first key in it [n, 1]."""
        entries = [table.entries() for table in self.tables]
        first = [0, *itertools.accumulate(self.spans)]
        if sum(len(keys) for keys, _ in entries) > MOST_JOINED or first[-1] >= LARGEST:
            return None, np.zeros((len(self.tables), 1), np.int64)
        keys = np.concatenate([keys + start for (keys, _), start in zip(entries, first, strict=False)])
        table = KeyTable.of(keys, np.concatenate([ids for _, ids in entries]), first[-1])
        return table, np.array(first[:-1], np.int64)[:, None]

    def ids(self, codes: Ints32) -> Ints32:
        """The id of each feature at each anchor, [features, R]; -1 where it does not fire. codes: [atoms, T]."""
        places = self._places(codes.shape[1])
        parts = np.concatenate((codes.ravel(), self._ends)).take(places.place)  # [features, n, R]
        keys = np.einsum("fnr,fn->fr", parts, self.strides)
        keys += self._first_key
        keys |= np.bitwise_or.reduce(parts, axis=1) >> 63  # -1 where some code is -1
        if len(places.outside):
            keys[places.outside] = -1
        if self._joined is not None:
            return self._joined.find(keys.ravel()).reshape(keys.shape)
        return np.array([table.find(of_one) for table, of_one in zip(self.tables, keys, strict=True)], np.int32)

    def _places(self, length: int) -> _Places:
        places = self._kept.get(length)
        if places is None:
            places = self._places_of(length)
            if sum(one.place.size for one in list(self._kept.values())) + places.place.size > MOST_PLACES:
                self._kept = {}
            self._kept[length] = places
        return places

    def _places_of(self, length: int) -> _Places:
        anchors = np.arange(-self.pad_left, length + self.pad_right)
        place = np.empty((len(self.atom) + 1, len(anchors)), np.int64)
        ends = self.num_atoms * length
        place[-1] = ends
        for f, (atom, offset, begin, left) in enumerate(
            zip(self.atom, self.offset, self._begin, self._left, strict=True)
        ):
            at = anchors + offset
            place[f] = np.where(
                at < 0, ends + begin - at - 1, np.where(at < length, atom * length + at, ends + begin + left + at - length)
            )
        outside = np.zeros((0, 0), np.bool_)
        if any(self.read_at):
            outside = np.zeros((len(self.numbers), len(anchors)), np.bool_)
            for n, read in enumerate(self.read_at):
                for offset in read:
                    outside[n] |= (anchors + offset < 0) | (anchors + offset >= length)
        return _Places(place[self.members], outside)


def rows_of_ids(ids: Ints32) -> tuple[Ints, Ints32]:
    """The features that fire at each anchor, as offsets [R+1] and ids. ids [features, R]: -1 where one does not."""
    by_row = ids.T
    fires = by_row >= 0
    row_off = np.zeros(len(by_row) + 1, np.int64)
    np.cumsum(fires.sum(axis=1), out=row_off[1:])
    return row_off, by_row[fires]
