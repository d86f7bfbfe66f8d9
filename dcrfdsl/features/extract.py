"""`FeatureExtractor`: from interned columns to sparse rows of feature ids, and back from an id to its description.

    learn    values -> vocabularies -> keys -> counts -> alphabet (locked) -> rows
    extract  values -> codes of known texts -> keys -> ids -> rows

Templates are processed one at a time over blocks of sentences, without Python code per token. Not here: the pairing of
features with states.
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
    TemplateTables,
    Vocabularies,
    alphabet_arrays,
    alphabet_metadata,
    conjoined,
    conjunction_arrays,
    lock,
    restored_alphabets,
    restored_conjunctions,
)  # fmt: skip
from .atoms import BlockReader, CorpusAtoms, atom_name, reach
from .feature_rows import FeatureRows
from .observation_kernels import ObservationKernel, kernel_arrays, kernel_metadata, restored_kernels
from .plan import ExpandedFeature, Expansion, Factor, FeatureSetPlan, boundary_text, expand
from .relation_instances import Pairs, pair_block, relate
from .sentence_runs import Block, PairBlock, cut
from .values import CorpusValues, Lexicons, RegisteredFeature, is_weighted, observed_codes

__all__ = ["FeatureExtractor", "FeatureSetInfo"]


@dataclass(frozen=True)
class FeatureSetInfo:
    """`templates[i]` is the name of the i-th expanded feature, `features_of_template[i]` the number of its ids.

    A template without ids never fired in training, or too seldom.
    """

    num_features: int
    pad_left: int
    pad_right: int
    templates: tuple[str, ...]
    features_of_template: tuple[int, ...]


class FeatureExtractor:
    """The features of a model, learned from training data. Immutable; made by `learn` or `restore`."""

    def __init__(
        self, spec: ModelSpec, expansion: Expansion, *, alphabets: Sequence[Alphabet], vocabularies: Vocabularies,
        lexicons: Lexicons, registered: Mapping[str, RegisteredFeature], kinds: Mapping[str, str],
        conjunctions: Sequence[Conjunctions] = (), observation_kernels: Sequence[ObservationKernel] = (),
    ):  # fmt: skip
        self._spec = spec
        self._plans = expansion.sets
        self._alphabets = tuple(alphabets)
        self._vocabularies = vocabularies
        self._lexicons = lexicons
        self._registered = registered
        self._kinds = dict(kinds)
        self._expansion = expansion
        none = (Conjunctions.none(alphabet.num_features) for alphabet in alphabets)
        self.conjunctions = tuple(conjunctions) or tuple(none)
        self.observation_kernels = tuple(observation_kernels)
        kernel_sets = {kernel.clique: len(self._plans) + n for n, kernel in enumerate(self.observation_kernels)}
        self.set_of_clique = tuple(kernel_sets.get(c, number) for c, number in enumerate(expansion.set_of_clique))
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
        """The extractor learned from a corpus, and the rows of that corpus, one `FeatureRows` per feature set."""
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
        """The rows of other data; values that training did not see, or saw too seldom, have no feature."""
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        atoms = CorpusAtoms(values, self._vocabularies.by_name, learning=False)
        sets = zip(self._plans, self._alphabets, self.conjunctions, strict=True)
        rows = [conjoined(_extracted(plan, alphabet, atoms), conjunctions) for plan, alphabet, conjunctions in sets]
        return (*rows, *(kernel.rows(rows[kernel.feature_set]) for kernel in self.observation_kernels))

    def with_conjunctions(self, conjunctions: Sequence[Conjunctions]) -> FeatureExtractor:
        """The same features with these conjunctions, one `Conjunctions` per set."""
        return self._with(conjunctions, self.observation_kernels)

    def with_observation_kernels(self, observation_kernels: Sequence[ObservationKernel]) -> FeatureExtractor:
        """The same features and these observation kernels; each has its own feature set after all others."""
        return self._with(self.conjunctions, observation_kernels)

    def _with(
        self, conjunctions: Sequence[Conjunctions], observation_kernels: Sequence[ObservationKernel]
    ) -> FeatureExtractor:
        return FeatureExtractor(
            self._spec, self._expansion, alphabets=self._alphabets, vocabularies=self._vocabularies,
            lexicons=self._lexicons, registered=self._registered, kinds=self._kinds, conjunctions=conjunctions,
            observation_kernels=observation_kernels,
        )  # fmt: skip

    def indicators(self, feature_set: int, templates: Collection[ExpandedFeature] | None = None) -> Mask:
        """Which features of the alphabet are indicators (not numbers), [F]; only those of `templates`, if given.

        The factors of a template decide, not its options.
        """
        plan, alphabet = self._plans[feature_set], self._alphabets[feature_set]
        factors = None if templates is None else {template.factors for template in templates}
        wanted = [
            not _has_values(feature, tables, self._spec) and (factors is None or feature.factors in factors)
            for feature, tables in zip(plan.features, alphabet.templates, strict=True)
        ]
        chosen: Mask = np.array(wanted, np.bool_)[self._origins[feature_set][0]]
        return chosen

    def listed(self, feature_set: int) -> tuple[tuple[ExpandedFeature, ...], Ints32]:
        """The features of a set as listed in the template, and for each feature of the alphabet its place, [F]."""
        return self._plans[feature_set].features, self._origins[feature_set][0]

    def relations(self, corpus: Corpus) -> dict[int, Pairs]:
        """The instances of each relational clique, by its number in the specification."""
        cliques = [(n, clique) for n, clique in enumerate(self._spec.cliques) if clique.relational]
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        return {n: relate(clique, values) for n, clique in cliques}

    def observed_codes(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> list[Ints]:
        """For each hard table the code that it reads at every token, [N] each."""
        values = CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds))
        return [observed_codes(observed, values) for observed in tables]

    def code_rows(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> tuple[FeatureRows, ...]:
        """The rows of hard constraints that read observations: one feature per token, the code."""
        row_off = np.arange(corpus.num_tokens + 1, dtype=np.int64)
        return tuple(
            FeatureRows(row_off, code.astype(np.int32), np.empty(0)) for code in self.observed_codes(corpus, tables)
        )

    @cached_property
    def sets(self) -> tuple[FeatureSetInfo, ...]:
        listed = [
            FeatureSetInfo(
                conjunctions.num_features,
                plan.pad_left,
                plan.pad_right,
                tuple(feature.name for feature in plan.features),
                tuple(int(np.count_nonzero(tables.last.ids >= 0)) for tables in alphabet.templates),
            )
            for plan, alphabet, conjunctions in zip(self._plans, self._alphabets, self.conjunctions, strict=True)
        ]
        compared = [
            FeatureSetInfo(observed.size, 0, 0, (observed.kernel.method,), (observed.size,))
            for observed in self.observation_kernels
        ]
        return (*listed, *compared)

    # what a feature means ------------------------------------------------------------------------------------------

    def describe(self, feature_set: int, feature: int) -> str:
        """`lower(word)[-1]=the & pos=NN`; a test or a number is shown by its name alone, ⟨-1⟩ is before the start.

        A conjunction is shown by its members.
        """
        if feature_set >= len(self._plans):
            return f"{self.observation_kernels[feature_set - len(self._plans)].kernel.method}(support {feature + 1})"
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
        """All large arrays, for a model file. `restore` accepts them without copying, also mapped and read-only."""
        return {
            **alphabet_arrays(self._alphabets),
            **self._vocabularies.arrays(),
            **self._lexicons.arrays(),
            **conjunction_arrays(self.conjunctions),
            **kernel_arrays(self.observation_kernels),
        }

    def metadata(self) -> dict[str, Any]:
        """The rest, as plain JSON values."""
        return {
            **alphabet_metadata(self._alphabets),
            "vocabularies": self._vocabularies.metadata(),
            "lexicons": self._lexicons.metadata(),
            "registered": dict(self._kinds),
            "likenesses": kernel_metadata(self.observation_kernels),
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
        """The extractor with these `arrays` and `metadata`.

        Raises DcrfError `missing-feature-function` if the model needs a registered function that is not given,
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
        conjunctions = restored_conjunctions([alphabet.num_features for alphabet in alphabets], arrays)
        counts = [one.num_features for one in conjunctions]
        return cls(
            spec,
            expansion,
            alphabets=alphabets,
            vocabularies=Vocabularies.restore(arrays, stored.vocabularies),
            lexicons=lexicons,
            registered=registered or {},
            kinds=stored.registered,
            conjunctions=conjunctions,
            observation_kernels=restored_kernels(arrays, stored.observation_kernels, expansion.set_of_clique, counts),
        )


class _Fired(NamedTuple):
    """The ids of one template on a block: one per row (-1 for none), or several if `off` is not None.

    While learning: the counter's numbers, which stand for ids.
    """

    ids: Ints32
    off: Offsets | None
    weight: Floats


def _learned(plan: FeatureSetPlan, atoms: CorpusAtoms) -> tuple[Alphabet, FeatureRows]:
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


def _extracted(plan: FeatureSetPlan, alphabet: Alphabet, atoms: CorpusAtoms) -> FeatureRows:
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


def _has_values(feature: ExpandedFeature, tables: TemplateTables, spec: ModelSpec) -> bool:
    """Whether a feature multiplies numbers or the weights of bags."""
    return 0 in tables.sizes or any(is_weighted(spec, factor.condition) for factor in feature.factors)


def _rows(
    plan: FeatureSetPlan, alphabet: Alphabet, spec: ModelSpec, blocks: Iterable[tuple[int, Sequence[_Fired]]],
    pair_off: Offsets | None,
) -> FeatureRows:  # fmt: skip
    """The rows of blocks; each block comes with its number of rows and the ids of each template."""
    with_values = any(_has_values(*pair, spec) for pair in zip(plan.features, alphabet.templates, strict=True))
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
