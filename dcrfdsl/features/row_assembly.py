"""From the keys of the templates of a feature set to its rows: learned with the alphabet, or by a locked one.

Templates are processed one at a time over blocks of sentences, without Python code per token; those of a single
sentence, as far as they are plain, all at once. Not here: the construction of keys (`atoms`), the model as a whole
(`extract`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Ints32, Offsets
from ..kernels.extraction import count_rows, count_rows_ragged, find_direct, place_rows, place_rows_ragged
from ..semantics import ModelSpec
from .alphabet import Alphabet, TemplateCounter, TemplateTables, lock
from .atoms import BlockReader, CorpusAtoms
from .feature_rows import FeatureRows
from .plan import ExpandedFeature, FeatureSetPlan
from .relation_instances import pair_block, relate
from .sentence_rows import PlainFeatures, Texts
from .sentence_runs import Block, PairBlock, cut
from .values import is_weighted

__all__ = ["extracted_rows", "extracted_sentence", "has_values", "learned_rows"]


class _Fired(NamedTuple):
    """The ids of one template on a block: one per row (-1 for none), or several if `off` is not None.

    While learning: the counter's numbers, which stand for ids.
    """

    ids: Ints32
    off: Offsets | None
    weight: Floats


def learned_rows(plan: FeatureSetPlan, atoms: CorpusAtoms) -> tuple[Alphabet, FeatureRows]:
    """Counts every key of every template over a corpus, locks the frequent ones, and lays out the rows."""
    counters = [
        TemplateCounter(tuple(atoms.size(factor, plan.pad_left, plan.pad_right) for factor in feature.factors))
        for feature in plan.features
    ]
    blocks, pair_off = _blocks(plan, atoms)
    numbered: deque[tuple[int, list[_Fired]]] = deque()
    for block in blocks:
        reader, fired_ids = BlockReader(atoms, block), []
        for feature, counter in zip(plan.features, counters, strict=True):
            keys = reader.keys(feature, counter.sizes, counter.compact)
            fired_ids.append(_Fired(counter.add(keys.keys), keys.off, keys.weight))
        numbered.append((block.num_rows, fired_ids))
    alphabet, of_numbers = lock(counters, [feature.min_count for feature in plan.features])

    def fired() -> Iterator[tuple[int, list[_Fired]]]:
        while numbered:  # a block is freed as soon as its rows exist
            num_rows, fired_ids = numbered.popleft()
            pairs = zip(fired_ids, of_numbers, strict=True)
            yield num_rows, [one._replace(ids=find_direct(one.ids, ids)) for one, ids in pairs]

    return alphabet, _rows(plan, alphabet, atoms.values.spec, fired(), pair_off)


def extracted_rows(plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms) -> FeatureRows:
    """The rows of a corpus by a locked alphabet."""
    blocks, pair_off = _blocks(plan, atoms)

    def fired() -> Iterator[tuple[int, list[_Fired]]]:
        for block in blocks:
            reader, fired_ids = BlockReader(atoms, block), []
            for feature, tables in zip(plan.features, alphabet.templates, strict=True):
                keys = reader.keys(feature, tables.sizes, tables.compact)
                fired_ids.append(_Fired(tables.last.find(keys.keys), keys.off, keys.weight))
            yield block.num_rows, fired_ids

    return _rows(plan, alphabet, atoms.values.spec, fired(), pair_off)


def extracted_sentence(
    plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms, plain: PlainFeatures, texts: Texts
) -> FeatureRows:
    """As `extracted_rows` for a corpus of one sentence, with these texts."""
    length = atoms.values.corpus.num_tokens
    ids = plain.ids(texts, length, atoms)
    if ids is None:
        return extracted_rows(plan, alphabet, atoms)
    if len(plain.numbers) == len(plan.features):
        return plain.rows(ids)
    of_plain = dict(zip(plain.numbers, np.ascontiguousarray(ids.reshape(-1, len(plain.numbers)).T), strict=True))
    (block,) = cut(atoms.values.corpus, plan.pad_left, plan.pad_right)
    reader, fired = BlockReader(atoms, block), []
    for n, (feature, tables) in enumerate(zip(plan.features, alphabet.templates, strict=True)):
        if n in of_plain:
            fired.append(_Fired(of_plain[n], None, np.empty(0)))
        else:
            read = reader.keys(feature, tables.sizes, tables.compact)
            fired.append(_Fired(tables.last.find(read.keys), read.off, read.weight))
    return _rows(plan, alphabet, atoms.values.spec, [(block.num_rows, fired)], None)


def has_values(feature: ExpandedFeature, tables: TemplateTables, spec: ModelSpec) -> bool:
    """Whether a feature multiplies numbers or the weights of bags."""
    return 0 in tables.sizes or any(is_weighted(spec, factor.condition) for factor in feature.factors)


def _rows(
    plan: FeatureSetPlan, alphabet: Alphabet, spec: ModelSpec, blocks: Iterable[tuple[int, Sequence[_Fired]]],
    pair_off: Offsets | None,
) -> FeatureRows:  # fmt: skip
    """The rows of blocks; each block comes with its number of rows and the ids of each template."""
    with_values = any(has_values(*pair, spec) for pair in zip(plan.features, alphabet.templates, strict=True))
    counts, features, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for num_rows, fired in blocks:
        of_rows, ids, weights = _assembled(fired, num_rows, with_values)
        counts.append(of_rows)
        features.append(ids)
        values.append(weights)
    value = np.concatenate(values)
    if np.all(value == 1.0):
        value = np.empty(0)
    return FeatureRows(
        np.cumsum(np.concatenate(counts)), np.concatenate(features), value, plan.pad_left, plan.pad_right, pair_off
    )


def _blocks(plan: FeatureSetPlan, atoms: CorpusAtoms) -> tuple[Iterable[Block | PairBlock], Ints | None]:
    """The anchors of a feature set in blocks; for a relational clique also the pairs before each sentence."""
    corpus = atoms.values.corpus
    if plan.relation < 0:
        return cut(corpus, plan.pad_left, plan.pad_right), None
    pairs = relate(atoms.values.spec.cliques[plan.relation], atoms.values)
    return [pair_block(pairs.first, pairs.second, np.asarray(corpus.sentence_off, np.int64))], pairs.off


def _assembled(fired: Sequence[_Fired], num_rows: int, with_values: bool) -> tuple[Ints, Ints32, Floats]:
    """Joins the templates of a block: features per row [R], ids and values [nnz], in the order of templates."""
    counts = np.zeros(num_rows, np.int64)
    for ids, off, _ in fired:
        if off is None:
            count_rows(ids, counts)
        else:
            count_rows_ragged(off, ids, counts)
    cursor = np.cumsum(counts) - counts
    num = int(counts.sum())
    feature, value = np.empty(num, np.int32), np.empty(num if with_values else 0)
    for ids, off, weight in fired:
        if off is None:
            place_rows(ids, weight, cursor, feature, value)
        else:
            place_rows_ragged(off, ids, weight, cursor, feature, value)
    return counts, feature, value
