"""`FeatureExtractor`: from interned columns to sparse rows of feature ids, and back from an id to what it means.

    learn    values -> vocabularies -> keys -> counts -> alphabet (locked) -> rows
    extract  values -> codes of known texts -> keys -> ids -> rows

One template at a time over blocks of sentences, no Python a token. Not here: how features pair with states.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Ints32, Mask, Offsets
from ..data import Corpus
from ..errors import DcrfError, Diagnostic
from ..files import Unfit, typed
from ..kernels.extraction import count_rows, count_rows_ragged, find_direct, place_rows, place_rows_ragged
from ..semantics import ModelSpec, Observed
from .alphabet import (
    Alphabet,
    Conjunctions,
    FeaturesRecord,
    TemplateCounter,
    Vocabularies,
    alphabet_arrays,
    alphabet_metadata,
    conjoined,
    conjunction_arrays,
    lock,
    restored_alphabets,
    restored_conjunctions,
)
from .atoms import BlockReader, CorpusAtoms, atom_name, reach
from .feature_rows import FeatureRows
from .observation_kernels import Likeness, likeness_arrays, likeness_metadata, restored_likenesses
from .plan import ExpandedFeature, Expansion, Factor, FeatureSetPlan, boundary_text, expand
from .relation_instances import Pairs, pair_block, relate
from .sentence_runs import Block, PairBlock, cut
from .values import CorpusValues, Lexicons, RegisteredFeature, observed_codes

__all__ = ["FeatureExtractor", "FeatureSetInfo"]


@dataclass(frozen=True)
class FeatureSetInfo:
    """`templates[i]` is the name of the i-th expanded feature, `features_of_template[i]` how many ids it has.

    A template without ids never fired in training, or never often enough.
    """

    num_features: int
    pad_left: int
    pad_right: int
    templates: tuple[str, ...]
    features_of_template: tuple[int, ...]


class FeatureExtractor:
    """The features of a model, learned from training data. Immutable; `learn` and `restore` make one."""

    def __init__(
        self,
        spec: ModelSpec,
        expansion: Expansion,
        *,
        alphabets: Sequence[Alphabet],
        vocabularies: Vocabularies,
        lexicons: Lexicons,
        registered: Mapping[str, RegisteredFeature],
        kinds: Mapping[str, str],
        conjunctions: Sequence[Conjunctions] = (),
        likenesses: Sequence[Likeness] = (),
    ):
        self._spec = spec
        self._plans = expansion.sets
        self._alphabets = tuple(alphabets)
        self._vocabularies = vocabularies
        self._lexicons = lexicons
        self._registered = registered
        self._kinds = dict(kinds)
        self._expansion = expansion
        self.conjunctions = tuple(conjunctions) or tuple(Conjunctions.none(own.num_features) for own in alphabets)
        self.likenesses = tuple(likenesses)
        own_sets = {own.clique: len(self._plans) + n for n, own in enumerate(self.likenesses)}
        self.set_of_clique = tuple(own_sets.get(c, number) for c, number in enumerate(expansion.set_of_clique))
        self.bias_of_clique = expansion.bias_of_clique

    @classmethod
    def learn(
        cls,
        spec: ModelSpec,
        corpus: Corpus,
        *,
        resources: Lexicons,
        registered: Mapping[str, RegisteredFeature] | None = None,
    ) -> tuple[FeatureExtractor, tuple[FeatureRows, ...]]:
        """The alphabets of a corpus, and its rows, one `FeatureRows` a feature set."""
        expansion = expand(spec)
        values = CorpusValues(spec, corpus, resources, registered or {}, {})
        atoms = CorpusAtoms(values, {}, learning=True)
        learned = [_learned(plan, atoms) for plan in expansion.sets]
        extractor = cls(
            spec,
            expansion,
            alphabets=[alphabet for alphabet, _ in learned],
            vocabularies=Vocabularies(atoms.vocabularies),
            lexicons=resources,
            registered=registered or {},
            kinds=values.kinds,
        )
        return extractor, tuple(rows for _, rows in learned)

    def extract(self, corpus: Corpus) -> tuple[FeatureRows, ...]:
        """The rows of other data: what training did not see, or saw too seldom, has no feature."""
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        atoms = CorpusAtoms(values, self._vocabularies.by_name, learning=False)
        sets = zip(self._plans, self._alphabets, self.conjunctions, strict=True)
        found = [conjoined(_extracted(plan, alphabet, atoms), own) for plan, alphabet, own in sets]
        return (*found, *(own.rows(found[own.feature_set]) for own in self.likenesses))

    def with_conjunctions(self, conjunctions: Sequence[Conjunctions]) -> FeatureExtractor:
        """The same features and, of each set, these conjunctions."""
        return self._with(conjunctions, self.likenesses)

    def with_likenesses(self, likenesses: Sequence[Likeness]) -> FeatureExtractor:
        """The same with cliques that compare positions; each has a feature set of its own after all others."""
        return self._with(self.conjunctions, likenesses)

    def _with(self, conjunctions: Sequence[Conjunctions], likenesses: Sequence[Likeness]) -> FeatureExtractor:
        return FeatureExtractor(
            self._spec,
            self._expansion,
            alphabets=self._alphabets,
            vocabularies=self._vocabularies,
            lexicons=self._lexicons,
            registered=self._registered,
            kinds=self._kinds,
            conjunctions=conjunctions,
            likenesses=likenesses,
        )

    def indicators(self, feature_set: int, templates: Collection[ExpandedFeature] | None = None) -> Mask:
        """Which features of the alphabet are indicators, and not numbers, [F]; only those of `templates`, if given.

        Options of a template do not count: what its factors are does.
        """
        plan, alphabet = self._plans[feature_set], self._alphabets[feature_set]
        factors = None if templates is None else {template.factors for template in templates}
        wanted = [
            0 not in tables.sizes and (factors is None or feature.factors in factors)
            for feature, tables in zip(plan.features, alphabet.templates, strict=True)
        ]
        chosen: Mask = np.array(wanted, np.bool_)[self._origins[feature_set][0]]
        return chosen

    def listed(self, feature_set: int) -> tuple[tuple[ExpandedFeature, ...], Ints32]:
        """The features of a set as they are listed, and which of them each feature of the alphabet is of, [F]."""
        return self._plans[feature_set].features, self._origins[feature_set][0]

    def relations(self, corpus: Corpus) -> dict[int, Pairs]:
        """The instances of each relational clique, by its number in the specification."""
        cliques = [(n, clique) for n, clique in enumerate(self._spec.cliques) if clique.relational]
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        return {n: relate(clique, values) for n, clique in cliques}

    def observed_codes(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> list[Ints]:
        """What each hard table reads of a corpus, as its code at every token, [N] each."""
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        return [observed_codes(observed, values) for observed in tables]

    def code_rows(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> tuple[FeatureRows, ...]:
        """The rows of hard constraints that read what is observed: one feature a token, the code."""
        row_off = np.arange(corpus.num_tokens + 1, dtype=np.int64)
        return tuple(
            FeatureRows(row_off, code.astype(np.int32), np.empty(0)) for code in self.observed_codes(corpus, tables)
        )

    @cached_property
    def sets(self) -> tuple[FeatureSetInfo, ...]:
        listed = [
            FeatureSetInfo(
                own.num_features,
                plan.pad_left,
                plan.pad_right,
                tuple(feature.name for feature in plan.features),
                tuple(int(np.count_nonzero(tables.last.ids >= 0)) for tables in alphabet.templates),
            )
            for plan, alphabet, own in zip(self._plans, self._alphabets, self.conjunctions, strict=True)
        ]
        compared = [FeatureSetInfo(own.size, 0, 0, (own.kernel.method,), (own.size,)) for own in self.likenesses]
        return (*listed, *compared)

    # what a feature means ------------------------------------------------------------------------------------------

    def describe(self, feature_set: int, feature: int) -> str:
        """`lower(word)[-1]=the & pos=NN`; a test or a number stands by its name alone, ⟨-1⟩ is before the start.

        A conjunction stands by its members.
        """
        if feature_set >= len(self._plans):
            return f"{self.likenesses[feature_set - len(self._plans)].kernel.method}(support {feature + 1})"
        induced = self.conjunctions[feature_set]
        if feature >= induced.first:
            return " & ".join(self.describe(feature_set, atom) for atom in sorted(induced.atoms(feature)))
        plan = self._plans[feature_set]
        template, key = self._origins[feature_set]
        factors = plan.features[template[feature]].factors
        codes = self._alphabets[feature_set].templates[template[feature]].codes(int(key[feature]))
        return " & ".join(self._described(plan, factor, code) for factor, code in zip(factors, codes, strict=True))

    def _described(self, plan: FeatureSetPlan, factor: Factor, code: int) -> str:
        texts = self._texts.get(atom_name(factor))
        if texts is None:
            return factor.name
        beyond = code - len(texts)
        if beyond < 0:
            return f"{factor.name}={texts[code]}"
        left, _ = reach(factor, plan.pad_left, plan.pad_right)
        return f"{factor.name}={boundary_text(-beyond - 1 if beyond < left else beyond - left + 1)}"

    @cached_property
    def _origins(self) -> list[tuple[Ints32, Ints]]:
        return [alphabet.origin() for alphabet in self._alphabets]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {name: list(vocabulary) for name, vocabulary in self._vocabularies.by_name.items()}

    # storage -------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything large, for a model file. `restore` takes them as they are, also mapped and read-only."""
        return {
            **alphabet_arrays(self._alphabets),
            **self._vocabularies.arrays(),
            **self._lexicons.arrays(),
            **conjunction_arrays(self.conjunctions),
            **likeness_arrays(self.likenesses),
        }

    def metadata(self) -> dict[str, Any]:
        """The rest, as plain JSON values."""
        return {
            **alphabet_metadata(self._alphabets),
            "vocabularies": self._vocabularies.metadata(),
            "lexicons": self._lexicons.metadata(),
            "registered": dict(self._kinds),
            "likenesses": likeness_metadata(self.likenesses),
        }

    @classmethod
    def restore(
        cls,
        spec: ModelSpec,
        arrays: Mapping[str, NDArray[Any]],
        metadata: Mapping[str, Any],
        *,
        registered: Mapping[str, RegisteredFeature] | None = None,
    ) -> FeatureExtractor:
        """The extractor whose `arrays` and `metadata` these are.

        Errors: DcrfError `missing-feature-function` if the model needs a registered function that is not given,
        `Unfit` if arrays, metadata and template do not fit together.
        """
        stored: FeaturesRecord = typed(FeaturesRecord, metadata, "features")
        missing = ", ".join(f"`{name}`" for name in stored.registered if name not in (registered or {}))
        if missing:
            message = f"the model was trained with feature functions that are not loaded: {missing}"
            remedy = "load the file that defines them: `--features FILE.py`"
            raise DcrfError(Diagnostic("missing-feature-function", message, help=remedy))
        expansion = expand(spec)
        alphabets = restored_alphabets(
            spec, expansion.sets, arrays, stored.tables, stored.sets, stored.vocabularies, stored.registered
        )
        lexicons = Lexicons.restore(arrays, stored.lexicons)
        if sorted(lexicons.by_name) != sorted(lexicon.name for lexicon in spec.lexicons):
            raise Unfit("the stored lexicons are not those of the template")
        conjunctions = restored_conjunctions([own.num_features for own in alphabets], arrays)
        counts = [own.num_features for own in conjunctions]
        return cls(
            spec,
            expansion,
            alphabets=alphabets,
            vocabularies=Vocabularies.restore(arrays, stored.vocabularies),
            lexicons=lexicons,
            registered=registered or {},
            kinds=stored.registered,
            conjunctions=conjunctions,
            likenesses=restored_likenesses(arrays, stored.likenesses, expansion.set_of_clique, counts),
        )


class _Fired(NamedTuple):
    """What one template gives on a block: one id a row (-1 for none), or several where `off` is not None.

    While learning, numbers that stand for ids.
    """

    ids: Ints32
    off: Offsets | None
    weight: Floats


def _learned(plan: FeatureSetPlan, atoms: CorpusAtoms) -> tuple[Alphabet, FeatureRows]:
    """Count every key of every template over a corpus, lock what is frequent enough, and lay out the rows."""
    counters = [
        TemplateCounter(tuple(atoms.size(factor, plan.pad_left, plan.pad_right) for factor in feature.factors))
        for feature in plan.features
    ]
    blocks, pair_off = _blocks(plan, atoms)
    numbered: deque[tuple[int, list[_Fired]]] = deque()
    for block in blocks:
        reader, found = BlockReader(atoms, block), []
        for feature, counter in zip(plan.features, counters, strict=True):
            keys = reader.keys(feature, counter.sizes, counter.compact)
            found.append(_Fired(counter.add(keys.keys), keys.off, keys.weight))
        numbered.append((block.num_rows, found))
    alphabet, of_numbers = lock(counters, [feature.min_count for feature in plan.features])

    def fired() -> Iterator[tuple[int, list[_Fired]]]:
        while numbered:  # each block goes as its rows come
            num_rows, found = numbered.popleft()
            pairs = zip(found, of_numbers, strict=True)
            yield num_rows, [own._replace(ids=find_direct(own.ids, ids)) for own, ids in pairs]

    return alphabet, _rows(plan, alphabet, fired(), pair_off)


def _extracted(plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms) -> FeatureRows:
    """The rows of a corpus by an alphabet that is locked."""
    blocks, pair_off = _blocks(plan, atoms)

    def fired() -> Iterator[tuple[int, list[_Fired]]]:
        for block in blocks:
            reader, found = BlockReader(atoms, block), []
            for feature, tables in zip(plan.features, alphabet.templates, strict=True):
                keys = reader.keys(feature, tables.sizes, tables.compact)
                found.append(_Fired(tables.last.find(keys.keys), keys.off, keys.weight))
            yield block.num_rows, found

    return _rows(plan, alphabet, fired(), pair_off)


def _rows(
    plan: FeatureSetPlan,
    alphabet: Alphabet,
    blocks: Iterable[tuple[int, Sequence[_Fired]]],
    pair_off: Offsets | None,
) -> FeatureRows:
    """The rows of blocks, each with its number of rows and what each template gives."""
    numeric = any(0 in tables.sizes for tables in alphabet.templates)
    counts, features, values = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0)]
    for num_rows, fired in blocks:
        of_rows, ids, weights = _assembled(fired, num_rows, numeric)
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
    """The anchors of a feature set in blocks; for a relational clique with the pairs before each sentence."""
    corpus = atoms.values.corpus
    if plan.relation < 0:
        return cut(corpus, plan.pad_left, plan.pad_right), None
    pairs = relate(atoms.values.spec.cliques[plan.relation], atoms.values)
    return [pair_block(pairs.first, pairs.second, np.asarray(corpus.sentence_off, np.int64))], pairs.off


def _assembled(fired: Sequence[_Fired], num_rows: int, numeric: bool) -> tuple[Ints, Ints32, Floats]:
    """The templates of a block side by side: features a row [R], ids and values [nnz], templates in order."""
    counts = np.zeros(num_rows, np.int64)
    for ids, off, _ in fired:
        if off is None:
            count_rows(ids, counts)
        else:
            count_rows_ragged(off, ids, counts)
    cursor = np.cumsum(counts) - counts
    num = int(counts.sum())
    feature, value = np.empty(num, np.int32), np.empty(num if numeric else 0)
    for ids, off, weight in fired:
        if off is None:
            place_rows(ids, weight, cursor, feature, value)
        else:
            place_rows_ragged(off, ids, weight, cursor, feature, value)
    return counts, feature, value
