"""From the keys of the templates of a feature set to its rows: learned with the alphabet, or by a locked one.

Templates are processed one at a time over blocks of sentences, without Python code per token; those of a single
sentence, as far as they are plain, all at once. Not here: the construction of keys (`atoms`), the model as a whole
(`extract`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..foundation import Floats, Ints, Ints32, Offsets, paged
from ..kernels.extraction import count_rows, find_direct, place_rows
from ..semantics import ModelSpec
from .atoms import BlockReader, CorpusAtoms, RowItems, num_codes
from .feature_alphabet import Alphabet, TemplateCounter, TemplateTables, lock
from .feature_rows import FeatureRows
from .plan import ExpandedFeature, FeatureSetPlan
from .relation_instances import pair_block, relate
from .sentence_rows import PlainFeatures, Texts
from .values import Block, CorpusValues, PairBlock, cut, gives_weights, is_weighted

# `spread(task, runs)`: the results of task(first, last) for all runs, in order; the runs may be shared by threads.
Spread: TypeAlias = Callable[[Callable[[int, int], Any], Sequence[tuple[int, int]]], list[Any]]


def in_turn(task: Callable[[int, int], Any], runs: Sequence[tuple[int, int]]) -> list[Any]:
    """The `Spread` of one thread."""
    return [task(first, last) for first, last in runs]


class _BlockRows(NamedTuple):
    """The rows of a block: features per row [R], ids and values [nnz], in the order of templates."""

    counts: Ints
    features: Ints32
    values: Floats


def counters_of(plan: FeatureSetPlan, atoms: CorpusAtoms) -> list[TemplateCounter]:
    """A counter of keys for each template of a feature set."""
    for factor in chain.from_iterable(feature.factors for feature in plan.features):
        atoms.atom(factor)  # its texts get their codes, if they are learned
    spec, kinds = atoms.values.spec, atoms.values.kinds
    texts = {name: len(vocabulary) for name, vocabulary in atoms.vocabularies.items()}
    return [
        TemplateCounter(tuple(num_codes(spec, factor, plan, texts, kinds) for factor in feature.factors))
        for feature in plan.features
    ]


def learned_rows(plan: FeatureSetPlan, atoms: CorpusAtoms, spread: Spread = in_turn) -> tuple[Alphabet, FeatureRows]:
    """Counts every key of every template over a corpus, locks the frequent ones, and lays out the rows.

    Threads share the templates of a block, and then the blocks; the result does not depend on them.
    """
    counters = counters_of(plan, atoms)
    blocks, pair_off = blocks_of(plan, atoms)
    numbered: dict[int, tuple[int, list[RowItems]]] = {}
    for block in blocks:
        fired = counted_block(plan.features, counters, BlockReader(atoms, block), spread)
        numbered[len(numbered)] = block.num_rows, fired
    alphabet, of_numbers = lock(counters, [feature.min_count for feature in plan.features], spread)
    with_values = _with_values(plan, alphabet, atoms.values)

    def rows_of(number: int, _: int) -> _BlockRows:
        num_rows, fired = numbered.pop(number)  # a block is freed as soon as its rows exist
        pairs = zip(fired, of_numbers, strict=True)
        found = [one._replace(items=find_direct(one.items, ids)) for one, ids in pairs]
        return _assembled(found, num_rows, with_values)

    parts = spread(rows_of, [(number, number + 1) for number in range(len(numbered))])
    rows = _joined(plan, parts, pair_off)
    return alphabet, rows._replace(feature=paged(rows.feature))


def counted_block(
    features: Sequence[ExpandedFeature], counters: Sequence[TemplateCounter], reader: BlockReader, spread: Spread
) -> list[RowItems]:
    """Counts the keys of each template on a block; the counters' numbers stand for ids."""
    reader.read_all(features)

    def count(number: int, _: int) -> RowItems:
        counter = counters[number]
        keys = reader.keys(features[number], counter.sizes, counter.compact)
        return keys._replace(items=counter.last.add(keys.items))

    return spread(count, [(number, number + 1) for number in range(len(features))])


def extracted_rows(
    plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms, known: Mapping[int, Ints32] = MappingProxyType({})
) -> FeatureRows:
    """The rows of a corpus by a locked alphabet.   known: ids at each row [R] of templates, by number, in one block."""
    blocks, pair_off = blocks_of(plan, atoms)
    with_values = _with_values(plan, alphabet, atoms.values)

    def parts() -> Iterator[_BlockRows]:
        for block in blocks:
            reader, fired = BlockReader(atoms, block), []
            for number, (feature, tables) in enumerate(zip(plan.features, alphabet.templates, strict=True)):
                if number in known:
                    fired.append(RowItems(known[number]))
                else:
                    keys = reader.keys(feature, tables.sizes, tables.compact)
                    fired.append(keys._replace(items=tables.last.find(keys.items)))
            yield _assembled(fired, block.num_rows, with_values)

    return _joined(plan, parts(), pair_off)


def extracted_sentence(
    plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms, plain: PlainFeatures, texts: Texts
) -> FeatureRows:
    """`extracted_rows` for a corpus of one sentence, with these texts; what is plain is read all at once."""
    ids = plain.ids(texts, atoms.values.corpus.num_tokens, atoms)
    if ids is None:
        return extracted_rows(plan, alphabet, atoms)
    if len(plain.numbers) == len(plan.features):
        return plain.rows(ids)
    of_plain = np.ascontiguousarray(ids.reshape(-1, len(plain.numbers)).T)
    return extracted_rows(plan, alphabet, atoms, dict(zip(plain.numbers, of_plain, strict=True)))


def has_values(feature: ExpandedFeature, tables: TemplateTables, spec: ModelSpec, kinds: Mapping[str, str]) -> bool:
    """Whether a feature multiplies numbers or the weights of bags.   kinds: of the registered functions."""
    conditions = [factor.condition for factor in feature.factors]
    weighted = any(is_weighted(spec, condition) or gives_weights(condition, kinds) for condition in conditions)
    return 0 in tables.sizes or weighted


def _with_values(plan: FeatureSetPlan, alphabet: Alphabet, values: CorpusValues) -> bool:
    """Whether some feature of the set multiplies numbers or the weights of bags."""
    return any(
        has_values(*pair, values.spec, values.kinds) for pair in zip(plan.features, alphabet.templates, strict=True)
    )


def _joined(plan: FeatureSetPlan, parts: Iterable[_BlockRows], pair_off: Offsets | None) -> FeatureRows:
    counts, features, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for part in parts:
        counts.append(part.counts)
        features.append(part.features)
        values.append(part.values)
    value = np.concatenate(values)
    if np.all(value == 1.0):
        value = np.empty(0)
    return FeatureRows(
        np.cumsum(np.concatenate(counts)), np.concatenate(features), value, plan.pad_left, plan.pad_right, pair_off
    )


def blocks_of(plan: FeatureSetPlan, atoms: CorpusAtoms) -> tuple[Iterable[Block | PairBlock], Ints | None]:
    """The anchors of a feature set in blocks; for a relational clique also the pairs before each sentence."""
    corpus = atoms.values.corpus
    if plan.relation < 0:
        return cut(corpus, plan.pad_left, plan.pad_right), None
    pairs = relate(atoms.values.spec.cliques[plan.relation], atoms.values)
    return [pair_block(pairs.first, pairs.second, np.asarray(corpus.sentence_off, np.int64))], pairs.off


def _assembled(fired: Sequence[RowItems], num_rows: int, with_values: bool) -> _BlockRows:
    """Joins the templates of a block."""
    counts = np.zeros(num_rows, np.int64)
    for ids, off, _ in fired:
        if off is None:
            counts += ids >= 0
        else:
            count_rows(off, ids, counts)
    cursor = np.cumsum(counts) - counts
    num = int(counts.sum())
    feature, value = np.empty(num, np.int32), np.empty(num if with_values else 0)
    for ids, off, weight in fired:
        place_rows(off, ids, weight, cursor, feature, value)
    return _BlockRows(counts, feature, value)
