"""Factors on a corpus: from distinct values to codes, and from codes to the keys of a template's rows.

A *vocabulary* numbers the texts that an atom (a factor without its place) had in training. It is then locked: a text
that did not occur in training has no code, and no feature. Outside the sequence, an atom with texts has the codes after
its vocabulary, one for each side and distance that its place can reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..foundation import Codes, Floats, IncompatibleState, Ints, Ints32, Mask, Offsets, dataclass
from ..kernels.extraction import cross, cross_ragged, cross_weights, gather_lists, gather_weights
from ..semantics import ModelSpec
from .plan import ExpandedFeature, Factor, FeatureSetPlan, condition_text, leaves, split_offset
from .values import TRUE, Bags, Block, CorpusValues, JointTest, Numbers, PairBlock, Texts, Truths, joint_test, kind_of

Vocabulary: TypeAlias = dict[str, int]


def reach(factor: Factor, pad_left: int, pad_right: int) -> tuple[int, int]:
    """How many positions before the start and after the end of a sequence a factor can read."""
    _, shift = split_offset(factor.offset)
    return max(0, pad_left - shift), max(0, pad_right + shift)


def num_codes(
    spec: ModelSpec, factor: Factor, plan: FeatureSetPlan, vocabularies: Mapping[str, int], kinds: Mapping[str, str]
) -> int:
    """The number of codes of a factor; 0 for a number, which takes no part in keys.

    vocabularies: the number of texts of each.   kinds: see `CorpusValues`.
    """
    kind = kind_of(spec, factor.condition, kinds)
    if kind != "value":
        return int(kind == "test")
    if factor.atom not in vocabularies:
        raise IncompatibleState(f"there is no vocabulary of `{factor.atom}`")
    # 1 if the factor never fires: 0 marks a number
    return max(1, vocabularies[factor.atom] + sum(reach(factor, plan.pad_left, plan.pad_right)))


# atoms ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _One:
    """At most one text per distinct value, or a test (whose only code is 0); `lut[v]` is the code or -1."""

    codes: Codes  # [N]
    lut: Ints32  #  [V]
    size: int
    test: bool


@dataclass(frozen=True)
class _Several:
    """Several texts per distinct value: the codes of value v are `list_codes[list_off[v] : list_off[v + 1]]`.

    In a weighted bag each token is a value of its own, and each code has a weight.
    """

    codes: Codes  #         [N]
    list_off: Offsets  #    [V+1]
    list_codes: Codes
    list_weights: Floats  # as many, or [0] if all are 1
    size: int


@dataclass(frozen=True)
class _Number:
    numbers: Floats  # [N]


@dataclass(frozen=True)
class _Joint:
    test: JointTest


_Atom: TypeAlias = _One | _Several | _Number | _Joint


@dataclass
class CorpusAtoms:
    """The atoms of a corpus. While `learning`, a text without a code gets one."""

    values: CorpusValues
    vocabularies: dict[str, Vocabulary]
    learning: bool
    _atoms: dict[str, _Atom] = field(default_factory=dict)

    def atom(self, factor: Factor) -> _Atom:
        name = factor.atom
        if name not in self._atoms:
            self._atoms[name] = self._build(name, factor)
        return self._atoms[name]

    def code_of_each(self, factor: Factor) -> tuple[Ints32, Mask]:
        """The code of each distinct value of the column that a factor reads, and which values have several, [V] each.

        A value without a code has -1. Only for factors that read one place and are no numbers.
        """
        match self.atom(factor):
            case _One(lut=lut):
                return lut, np.zeros(len(lut), np.bool_)
            case _Several(list_off=off, list_codes=codes):
                counts = np.diff(off)
                first = np.full(len(counts), -1, np.int32)
                first[counts > 0] = codes[off[:-1][counts > 0]]
                return first, counts > 1
        raise AssertionError(factor)

    def _build(self, name: str, factor: Factor) -> _Atom:
        condition = factor.condition
        read = {(condition_text(leaf), offset) for leaf, offset in leaves(self.values.spec, condition)}
        if len(read) > 1:
            return _Joint(joint_test(condition, self.values))
        if self.values.is_numeric(condition):
            ((column, _),) = read
            # no feature where it is missing
            return _Number(np.nan_to_num(self.values.numbers(column, factor.component)))
        if self.values.is_text(condition):  # a large part of all that is read: no tuples are made
            source = self.values.source(condition)
            return _One(source.codes, self._known(name, source.values), len(self.vocabularies[name]), test=False)
        source, values = self.values.evaluate(condition)
        match values:
            case Numbers(of=numbers):
                # the code -1 reads the 0 at the end
                return _Number(np.nan_to_num(np.append(numbers, 0.0))[source.codes])
            case Truths(of=truths):
                return _One(source.codes, np.where(truths, 0, -1).astype(np.int32), 1, test=True)
            case Texts(of=texts):
                return self._coded(name, source.codes, texts)
            case Bags(off=off, codes=items, weights=weights, texts=names):
                known = self._known(name, names)[items]
                return _Several(source.codes, off, known, weights, len(self.vocabularies[name]))

    def _known(self, name: str, texts: Sequence[str]) -> Ints32:
        """The code of each text, -1 for none."""
        vocabulary = self.vocabularies.setdefault(name, {})
        if self.learning:
            unknown = [text for text in dict.fromkeys(texts) if text not in vocabulary]
            vocabulary.update(zip(unknown, range(len(vocabulary), len(vocabulary) + len(unknown)), strict=True))
        return np.fromiter(map(vocabulary.get, texts, repeat(-1)), np.int32, len(texts))

    def _coded(self, name: str, codes: Codes, texts: list[tuple[str, ...]]) -> _Atom:
        codes_of_texts = self._known(name, list(chain.from_iterable(texts)))
        counts, known = np.fromiter(map(len, texts), np.int64, len(texts)), codes_of_texts >= 0
        counts = np.bincount(np.repeat(np.arange(len(texts)), counts)[known], minlength=len(texts))
        codes_of_texts, size = codes_of_texts[known], len(self.vocabularies[name])
        if counts.max(initial=0) <= 1:
            lut = np.full(len(texts), -1, np.int32)
            lut[counts == 1] = codes_of_texts
            return _One(codes, lut, size, test=False)
        return _Several(codes, np.concatenate(([0], np.cumsum(counts))), codes_of_texts, np.empty(0), size)


# rows -----------------------------------------------------------------------------------------------------------


class RowItems(NamedTuple):
    """Keys, codes or ids at the rows of a block: one per row, or several (`off` is not None). -1 fires nothing."""

    items: NDArray[Any]  # [R] or [M]
    off: Offsets | None = None  # [R+1]
    weight: Floats = np.empty(0)  # as many as items, or [0] if all are 1


@dataclass
class BlockReader:
    """Reads the factors of a block, each once even if several templates use it."""

    atoms: CorpusAtoms
    block: Block | PairBlock
    _coded: dict[Factor, RowItems] = field(default_factory=dict)

    def read_all(self, features: Iterable[ExpandedFeature]) -> None:
        """Reads the factors of `features`, so that threads may then ask for the keys of different ones."""
        for feature in features:
            for factor in feature.factors:
                if not isinstance(self.atoms.atom(factor), _Number):
                    self._codes(factor)

    def keys(
        self, feature: ExpandedFeature, sizes: tuple[int, ...], compact: Callable[[int, Ints], Ints32 | None]
    ) -> RowItems:
        """The keys of a template: the codes of its factors as digits, with base `sizes[i]` for factor i (0: a number).

        `compact(i, keys)` may replace the keys joined before factor i by smaller numbers (None: not needed).
        """
        weight = np.empty(0)  # [R], of numbers
        of_items = np.empty(0)  # [M], of bags
        keys: Ints | None = None
        off: Offsets | None = None
        for i, factor in enumerate(feature.factors):
            if sizes[i] == 0:
                numbers = self._numbers(factor)
                weight = numbers if len(weight) == 0 else weight * numbers
                continue
            codes, code_off, code_weights = self._codes(factor)
            if keys is None:
                keys, off, of_items = codes.astype(np.int64), code_off, code_weights
                continue
            smaller = compact(i, keys)
            keys = keys if smaller is None else smaller.astype(np.int64)
            if off is None and code_off is None:
                keys = cross(keys, codes, sizes[i])
            else:
                lists = _ragged(keys, off), _ragged(codes, code_off)
                if len(of_items) or len(code_weights):
                    of_items = cross_weights(lists[0][0], of_items, lists[1][0], code_weights)
                off, keys = cross_ragged(*lists[0], *lists[1], sizes[i])
        if keys is None:  # numbers only: a single feature
            keys = np.zeros(self.block.num_rows, np.int64)
        if off is not None and len(weight):
            weight = np.repeat(weight, np.diff(off))
        if len(of_items):
            weight = weight * of_items if len(weight) else of_items
        return self._masked(feature, keys, off, weight)

    def _masked(self, feature: ExpandedFeature, keys: Ints, off: Offsets | None, weight: Floats) -> RowItems:
        """Drops keys of weight 0 and, if asked, rows that read outside the sequence."""
        if len(weight):
            keys = np.where(weight != 0, keys, -1)
        if feature.outside == "skip":
            spec = self.atoms.values.spec
            places = [f.offset + at for f in feature.factors for _, at in leaves(spec, f.condition)]
            inside = self.block.inside(places)
            keys = np.where(inside if off is None else np.repeat(inside, np.diff(off)), keys, -1)
        return RowItems(keys, off, weight)

    def _numbers(self, factor: Factor) -> Floats:
        atom = self.atoms.atom(factor)
        assert isinstance(atom, _Number)
        return self.block.numbers(atom.numbers, factor.offset, outside=0.0)

    def _codes(self, factor: Factor) -> RowItems:
        if factor not in self._coded:
            self._coded[factor] = self._read(factor)
        return self._coded[factor]

    def _read(self, factor: Factor) -> RowItems:
        atom, block = self.atoms.atom(factor), self.block
        left, _ = reach(factor, block.pad_left, block.pad_right)
        match atom:
            case _Joint(test=test):
                return RowItems(np.where(test(block) == TRUE, 0, -1).astype(np.int32))
            case _One(codes=codes, lut=lut, test=True):
                return RowItems(block.codes(codes, lut, factor.offset, left=-1, right=-1, step=0))
            case _One(codes=codes, lut=lut, size=size):
                return RowItems(block.codes(codes, lut, factor.offset, left=size, right=size + left, step=1))
            case _Several(codes=codes, list_off=list_off, list_codes=list_codes, list_weights=weights, size=size):
                lists = len(list_off) - 1
                same = np.arange(lists, dtype=np.int32)
                rows = block.codes(codes, same, factor.offset, left=lists, right=lists + left, step=1)
                off, items = gather_lists(rows, list_off, list_codes, size)
                return RowItems(items, off, gather_weights(rows, list_off, weights, off) if len(weights) else weights)
        raise AssertionError(atom)  # numbers have no codes


def _ragged(items: NDArray[Any], off: Offsets | None) -> tuple[Ints, NDArray[Any]]:
    """At most one item per row, as lists of items."""
    if off is not None:
        return off, items
    present = items >= 0
    return np.concatenate([[0], np.cumsum(present)]), items[present]
