"""Features: from sentences to the numbers of the features that fire, and from these to scores.

    texts of a place → codes → keys (the codes of a cross as digits of one number) → features → scores of assignments

Keys of a template are sorted, so that a search finds them; the feature's number follows from its place. A text that
training did not see has no code, and a key that is not there no feature. Not here: inference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tagger_sentences import TRUE, Codes, Floats, Pads, Sentences, joint_of, moved, numbers_in
from .tagger_texts import Lexicons, Memo, Node, test_of, texts_of, weights_of
from .tagger_tokens import TaggerError

NO_CODE = -1
LARGEST = 1e100  # value of a feature: sums of scores are then finite
LAST_KEY = np.iinfo(np.int64).max  # behind all keys of a template, so that every search ends at one


class Atom(NamedTuple):
    """One member of a cross without its place.

    read: a batch and an offset → codes [n, B, anchors], or numbers [1, B, anchors].   weights: of a weighted bag, a
    number for each code.
    """

    read: Callable[[Sentences, int, Pads], NDArray[Any]]
    is_number: bool = False
    weights: Callable[[Sentences, int, Pads], NDArray[Any]] | None = None


def atom_of(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """The atom of a node of the model file."""
    return ATOMS[node[0]](node, lexicons, vocabularies)


def _number_atom(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """`["number", leaf, term]`: 0 outside the sentence, and where it is missing."""
    numbers = numbers_in(node[1], node[2], lexicons)

    def read(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        found = numbers(sentences)[None]
        return moved(np.where(np.isnan(found), 0.0, found), offset, pads, before=0, after=0)

    return Atom(read, is_number=True)


def _test_atom(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """`["test", leaf, test]`: the code 0 where it is true."""
    _, leaf, test = node
    passes = test_of(test, lexicons)
    known = Memo(lambda value: 0 if passes(value) else NO_CODE, NO_CODE)

    def read(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        return moved(sentences.shaped(map(known.__getitem__, sentences.values(leaf))), offset, pads)

    return Atom(read)


def _joint_atom(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """`["joint", test]`: a test of several places."""
    test = joint_of(node[1], lexicons)

    def read(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        return np.where(test(sentences, pads) == TRUE, 0, NO_CODE)[None]

    return Atom(read)


def _text_atom(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """`["texts", leaf, term, vocabulary, single]`: the codes of its texts; outside, one for each side and distance."""
    _, leaf, term, number, single = node
    texts, vocabulary = texts_of(term, lexicons), vocabularies[number]

    def first(value: Any) -> int:
        return next((vocabulary.get(text, NO_CODE) for text in texts(value)), NO_CODE)

    def every(value: Any) -> tuple[int, ...]:
        return tuple(code for text in texts(value) if (code := vocabulary.get(text, NO_CODE)) >= 0)

    one, several = Memo(first, NO_CODE), Memo[tuple[int, ...]](every, ())

    def codes(sentences: Sentences) -> Codes:
        values = sentences.values(leaf)
        if single:
            return sentences.shaped(map(one.__getitem__, values))
        rows = list(zip_longest(*map(several.__getitem__, values), fillvalue=NO_CODE)) or [(NO_CODE,) * len(values)]
        return np.array(rows, np.int64).reshape(len(rows), sentences.size, sentences.length)

    def read(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        size = len(vocabulary)
        return moved(codes(sentences), offset, pads, before=size, after=size + max(0, pads[0] - offset), step=1)

    return Atom(read)


def _bag_atom(node: Node, lexicons: Lexicons, vocabularies: Sequence[Mapping[str, int]]) -> Atom:
    """`["bag", leaf, term, vocabulary]`: as `texts`, with the weights of the names."""
    _, leaf, term, number = node
    vocabulary, weights = vocabularies[number], weights_of(term, lexicons)

    def known(value: Any) -> tuple[tuple[int, float], ...]:
        return tuple((vocabulary[text], weight) for text, weight in weights(value).items() if text in vocabulary)

    items = Memo[tuple[tuple[int, float], ...]](known, ())

    def table(sentences: Sentences) -> Floats:
        """Codes and weights, [2, n, B, T]."""
        rows = list(zip_longest(*map(items.__getitem__, sentences.values(leaf)), fillvalue=(NO_CODE, 1.0)))
        found = np.array(rows, np.float64) if rows else np.full((1, sentences.size * sentences.length, 2), -1.0)
        return np.moveaxis(found, 2, 0).reshape(2, -1, sentences.size, sentences.length)

    def read(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        size = len(vocabulary)
        codes = table(sentences)[0].astype(np.int64)
        return moved(codes, offset, pads, before=size, after=size + max(0, pads[0] - offset), step=1)

    def values(sentences: Sentences, offset: int, pads: Pads) -> NDArray[Any]:
        return moved(table(sentences)[1], offset, pads, before=1, after=1)

    return Atom(read, weights=values)


ATOMS: Mapping[str, Callable[[Node, Lexicons, Sequence[Mapping[str, int]]], Atom]] = {
    "number": _number_atom, "test": _test_atom, "joint": _joint_atom, "texts": _text_atom,
    "bag": _bag_atom,
}  # fmt: skip


# templates ----------------------------------------------------------------------------------------------------------


class Stage(NamedTuple):
    """Smaller numbers for the keys joined before a factor, where keys would leave 64 bits."""

    before: int  # the factor
    keys: Codes  # [n + 1]  sorted, and `LAST_KEY`; the place of a key is its number


class Template(NamedTuple):
    """A cross of atoms at places. Key k of the sorted `keys` is the feature `first` + k.

    factors: (atom, offset).   sizes: the base of each factor's digit in a key, 0 for numbers.   inside: with
    `outside = skip`, the first and last place that must lie in the sentence.
    """

    factors: Sequence[tuple[int, int]]
    sizes: Sequence[int]
    keys: Codes  # [n + 1]
    first: int
    inside: tuple[int, int] | None = None
    stages: Sequence[Stage] = ()


class Fired(NamedTuple):
    """The features that fire: feature `feature[i]` at row `row[i]` with `value[i]`; rows are B · anchors."""

    row: Codes
    feature: Codes
    value: Floats | None  # None: all are 1


class FeatureSet(NamedTuple):
    """The features of one or more cliques.

    summed: whether all of a sentence are at its first row.   segments: with features of segments, their most tokens,
    and whether one row stands for all longer ones.
    """

    templates: Sequence[Template]
    pads: Pads
    summed: bool = False
    segments: tuple[int, bool] | None = None

    @property
    def num_features(self) -> int:
        """The number of its features."""
        return sum(len(template.keys) - 1 for template in self.templates)

    def rows(self, length: int) -> int:
        """Anchors of a sentence, or candidates for segments in it."""
        if self.segments is None:
            return self.pads[0] + length + self.pads[1]
        limit, together = self.segments
        return sum(length - count + 1 for count in range(1, min(limit, length) + 1)) + together

    def fired(self, sentences: Sentences, atoms: Sequence[Atom]) -> Fired:
        """The features that fire in a batch, or at the candidates for segments of its sentences."""
        sentences = sentences if self.segments is None else sentences.candidates(*self.segments)
        at: dict[tuple[int, int], NDArray[Any]] = {}
        rows, features, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        numeric = False
        for template in self.templates:
            for atom, offset in template.factors:
                if (atom, offset) not in at:
                    at[atom, offset] = atoms[atom].read(sentences, offset, self.pads)
            keys, weight = self._keys(template, atoms, at, sentences)
            place = np.searchsorted(template.keys, keys)
            which, row = np.nonzero((template.keys[place] == keys) & (keys >= 0))
            rows.append(row)
            features.append(template.first + place[which, row])
            values.append(np.ones(len(row)) if weight is None else np.broadcast_to(weight, keys.shape)[which, row])
            numeric = numeric or weight is not None
        value = np.concatenate(values) if numeric else None
        if value is not None and not np.abs(value).max(initial=0.0) <= LARGEST:
            raise TaggerError(f"a number is too large for scores: a feature has the value {np.abs(value).max():.6g}")
        row, anchors = np.concatenate(rows), self.pads[0] + sentences.length + self.pads[1]
        return Fired(row // anchors * anchors if self.summed else row, np.concatenate(features), value)

    def at_ends(self, scores: Floats, count: int, length: int) -> Floats:
        """Of the scores of all candidates, [B, candidates, …], those of `count` tokens at their ends, [B, T, …]."""
        assert self.segments is not None
        limit, _ = self.segments
        out = np.zeros((len(scores), length, *scores.shape[2:]))
        if count > limit:  # one row for all of them
            out[:, limit:] = scores[:, -1:]
        elif count <= length:
            first = sum(length - shorter + 1 for shorter in range(1, count))
            out[:, count - 1 :] = scores[:, first : first + length - count + 1]
        return out

    def _keys(
        self, template: Template, atoms: Sequence[Atom], at: Mapping[tuple[int, int], NDArray[Any]],
        sentences: Sentences,
    ) -> tuple[Codes, Floats | None]:  # fmt: skip
        """Keys [n, B · anchors], -1 where nothing fires; the product of numbers and weights, [n or 1, B · anchors]."""
        keys: Codes | None = None
        weight: Floats | None = None
        stages = {stage.before: stage for stage in template.stages}
        for number, ((atom, offset), size) in enumerate(zip(template.factors, template.sizes, strict=True)):
            codes = at[atom, offset].reshape(len(at[atom, offset]), -1)
            if atoms[atom].is_number:
                weight = codes if weight is None else weight * codes
                continue
            if number in stages and keys is not None:
                before = stages[number].keys
                place = np.searchsorted(before, keys)
                keys = np.where((before[place] == keys) & (keys >= 0), place, NO_CODE)
            read = atoms[atom].weights
            if weight is not None or read is not None:
                ours = np.ones((1, codes.shape[1])) if weight is None else weight
                ours = ours if keys is None else np.broadcast_to(ours, keys.shape)  # one for each key
                weights = None if read is None else read(sentences, offset, self.pads)
                theirs = np.ones(codes.shape) if weights is None else weights.reshape(codes.shape)
                weight = (ours[:, None] * theirs).reshape(-1, codes.shape[1])
            if keys is None:
                keys = codes
                continue
            crossed = keys[:, None] * size + codes
            keys = np.where((keys[:, None] >= 0) & (codes >= 0), crossed, NO_CODE).reshape(-1, codes.shape[1])
        anchors = self.pads[0] + sentences.length + self.pads[1]
        if keys is None:
            keys = np.zeros((1, sentences.size * anchors), np.int64)
        if weight is not None:
            keys = np.where(weight != 0, keys, NO_CODE)
        if template.inside is not None:
            t = np.tile(np.arange(anchors) - self.pads[0], sentences.size)
            low, high = template.inside
            keys = np.where((t + low >= 0) & (t + high < sentences.length), keys, NO_CODE)
        return keys, weight


# scores -------------------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The weights of a clique: those of feature f are `weight[off[f] : off[f + 1]]`, for the assignments `cell`."""

    off: Codes  #               [features + 1]
    cell: NDArray[Any]  #       [entries]
    weight: Floats  #           [entries]
    num_assignments: int

    def scores(self, fired: Fired, rows: int) -> Floats:
        """The sum of the weights of each assignment in each row, [rows, assignments]."""
        start = self.off[fired.feature]
        count = self.off[fired.feature + 1] - start
        ends = np.cumsum(count)
        entry = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(start - ends + count, count)
        place = np.repeat(fired.row * self.num_assignments, count) + self.cell[entry]
        weight = self.weight[entry]
        if fired.value is not None:
            weight = weight * np.repeat(fired.value, count)
        summed = np.bincount(place, weight, rows * self.num_assignments).astype(np.float64, copy=False)
        return summed.reshape(rows, self.num_assignments)
