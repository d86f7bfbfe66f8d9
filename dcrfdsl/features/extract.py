"""`FeatureExtractor`: from interned columns to sparse rows of feature ids, and back from an id to its description.

    learn    values -> vocabularies -> keys -> counts -> alphabet (locked) -> rows
    extract  values -> codes of known texts -> keys -> ids -> rows

A model file says which functions of users its model needs, and what each gives; those that constraints, memories or
`where` alone read are called on the training data too, so that they are among them. Not here: rows from keys
(`row_assembly`), the pairing of features with states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Corpus
from ..foundation import DcrfError, Diagnostic, IncompatibleState, Ints, Ints32, Mask, cached_property, typed
from ..semantics import Apply, Condition, ModelSpec, Observed, Reference, nodes, terms
from .alphabet_storage import (
    FeaturesRecord,
    Vocabularies,
    alphabet_arrays,
    alphabet_metadata,
    restored_alphabets,
)
from .atoms import CorpusAtoms, atom_name, reach
from .conjunctions import Conjunctions, conjoined, conjunction_arrays, restored_conjunctions
from .feature_alphabet import Alphabet
from .feature_rows import FeatureRows
from .observation_kernels import ObservationKernel, kernel_arrays, kernel_metadata, restored_kernels
from .plan import (
    ExpandedFeature,
    Expansion,
    Factor,
    FeatureSetPlan,
    boundary_text,
    expand,
    fixed_condition,
    leaves,
    moved,
)
from .relation_instances import Pairs, relate
from .row_assembly import Spread, extracted_rows, extracted_sentence, has_values, in_turn, learned_rows
from .segment_rows import Candidates, SegmentReader
from .sentence_rows import LONGEST, PlainFeatures, Texts, plain_features, texts_of
from .values import CorpusValues, Lexicons, RegisteredFeature, checked_bins, observed_codes, quantile_bins

# functions that conditions read ---------------------------------------------------------------------------------------


def learn_condition_kinds(values: CorpusValues) -> None:
    """Adds to `values.kinds` those of the user's functions that conditions call."""
    spec = values.spec
    for term in (term for condition in _conditions(spec) for term in terms(condition)):
        read = {node.name for _, node in nodes(term) if isinstance(node, Reference)}
        if _calls_own(values, term) and not spec.hidden_names & read:
            placed = fixed_condition(spec, term)
            ((_, offset),) = leaves(spec, placed)
            values.evaluate(moved(placed, -offset))
    for clique in spec.cliques:
        if clique.where is not None and _calls_own(values, clique.where):
            relate(clique, values)


def _conditions(spec: ModelSpec) -> Iterator[Condition]:
    """Those of constraints and memories."""
    for rule in spec.constraints:
        yield from (part for part in (rule.condition, rule.when) if part is not None)
    for one in spec.memories:
        yield from (part for part in (one.value.value, one.value.condition, one.value.otherwise) if part is not None)


def _calls_own(values: CorpusValues, condition: Condition) -> bool:
    return any(isinstance(node, Apply) and node.function in values.registered for _, node in nodes(condition))


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
        bins: Mapping[str, tuple[float, ...]] | None = None, registered_texts: Mapping[str, str] | None = None,
        conjunctions: Sequence[Conjunctions] = (), observation_kernels: Sequence[ObservationKernel] = (),
    ):  # fmt: skip
        self._spec = spec
        self._plans = expansion.sets
        self._alphabets = tuple(alphabets)
        self._vocabularies = vocabularies
        self._lexicons = lexicons
        self._registered = registered
        self._kinds = dict(kinds)
        self._bins = dict(bins or {})
        known = {name: registered[name].text_hash for name in kinds} if registered_texts is None else registered_texts
        self._registered_texts = {name: text for name, text in known.items() if text and name in kinds}
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
        spread: Spread = in_turn,
        segments: Mapping[int, Candidates] | None = None,
    ) -> tuple[FeatureExtractor, tuple[FeatureRows, ...]]:
        """The extractor learned from a corpus, and the rows of that corpus, one `FeatureRows` per feature set.

        spread: shares the work among threads; the result does not depend on it.   segments: the segments in the corpus
        for each `segment` statement, by the number of its clique.
        """
        expansion = expand(spec)
        values = CorpusValues(spec, corpus, resources, registered or {}, {})
        atoms = CorpusAtoms(values, {}, learning=True)
        for term in quantile_bins(spec):
            values.evaluate(term)
        alphabets, rows = [], []
        for plan in expansion.sets:
            if plan.segment >= 0:
                reader = SegmentReader(values, plan)
                alphabet = reader.learn((segments or {})[plan.segment], atoms.vocabularies, spread)
                plan_rows = reader.rows(alphabet, atoms.vocabularies)
            else:
                alphabet, plan_rows = learned_rows(plan, atoms, spread)
                plan_rows = plan_rows.summed(corpus.sentence_off) if plan.summed else plan_rows
            alphabets.append(alphabet)
            rows.append(plan_rows)
        learn_condition_kinds(values)
        extractor = cls(
            spec,
            expansion,
            alphabets=alphabets,
            vocabularies=Vocabularies(atoms.vocabularies),
            lexicons=resources,
            registered=registered or {},
            kinds=values.kinds,
            bins=values.bins,
        )
        return extractor, tuple(rows)

    def extract(self, corpus: Corpus) -> tuple[FeatureRows, ...]:
        """The rows of other data; values that training did not see, or saw too seldom, have no feature."""
        return self._extracted(self._values(corpus))

    def _values(self, corpus: Corpus) -> CorpusValues:
        return CorpusValues(self._spec, corpus, self._lexicons, self._registered, dict(self._kinds), dict(self._bins))

    def _extracted(self, values: CorpusValues) -> tuple[FeatureRows, ...]:
        atoms, texts = CorpusAtoms(values, self._vocabularies.by_name, learning=False), texts_of(values.corpus)
        sets = zip(self._plans, self._alphabets, self._plain, strict=True)

        def rows(plan: FeatureSetPlan, alphabet: Alphabet, plain: PlainFeatures | None) -> FeatureRows:
            if plan.segment >= 0:
                return SegmentReader(values, plan).rows(alphabet, self._vocabularies.by_name)
            if texts is None or plain is None:
                one = extracted_rows(plan, alphabet, atoms)
            else:
                one = extracted_sentence(plan, alphabet, atoms, plain, texts)
            return one.summed(values.corpus.sentence_off) if plan.summed else one

        return self._finished(rows(*one) for one in sets)

    def _finished(self, of_sets: Iterable[FeatureRows]) -> tuple[FeatureRows, ...]:
        """The rows of the alphabets with conjunctions, then those of observation kernels."""
        rows = [conjoined(one, conjunctions) for one, conjunctions in zip(of_sets, self.conjunctions, strict=True)]
        return (*rows, *(kernel.rows(rows[kernel.feature_set]) for kernel in self.observation_kernels))

    def sentence_rows(self, texts: Texts, length: int) -> tuple[FeatureRows, ...] | None:
        """The rows of a sentence, as `extract` gives them, if all its texts are known and all features are plain.

        texts: of the columns, each [length].
        """
        rows: list[FeatureRows] = []
        for plan, plain in zip(self._plans, self._plain, strict=True):
            ids = None if plain is None or length > LONGEST else plain.ids(texts, length)
            if plain is None or ids is None or len(plain.numbers) < len(plan.features):
                return None
            one = plain.rows(ids)
            rows.append(one.summed(np.array([0, length], np.int64)) if plan.summed else one)
        return self._finished(rows)

    @cached_property
    def _plain(self) -> list[PlainFeatures | None]:
        sets = zip(self._plans, self._alphabets, strict=True)
        known = self._spec, self._vocabularies.by_name, self._kinds
        return [plain_features(plan, alphabet, *known) for plan, alphabet in sets]

    @property
    def registered(self) -> dict[str, RegisteredFeature]:
        """The functions of the user that the features call, by name."""
        return {name: self._registered[name] for name in self._kinds}

    @property
    def changed_functions(self) -> list[str]:
        """The functions of the user whose text is not that of the training."""
        now = {name: self._registered[name].text_hash for name in self._registered_texts}
        return [name for name, text in self._registered_texts.items() if now[name] not in ("", text)]

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
            lexicons=self._lexicons, registered=self._registered, kinds=self._kinds, bins=self._bins,
            registered_texts=self._registered_texts, conjunctions=conjunctions, observation_kernels=observation_kernels,
        )  # fmt: skip

    def indicators(self, feature_set: int, templates: Collection[ExpandedFeature] | None = None) -> Mask:
        """Which features of the alphabet are indicators (not numbers), [F]; only those of `templates`, if given.

        The factors of a template decide, not its options.
        """
        plan, alphabet = self._plans[feature_set], self._alphabets[feature_set]
        factors = None if templates is None else {template.factors for template in templates}
        wanted = [
            not has_values(feature, tables, self._spec, self._kinds) and (factors is None or feature.factors in factors)
            for feature, tables in zip(plan.features, alphabet.templates, strict=True)
        ]
        chosen: Mask = np.array(wanted, np.bool_)[self._origins[feature_set][0]]
        return chosen

    def listed(self, feature_set: int) -> tuple[tuple[ExpandedFeature, ...], Ints32]:
        """The features of a set as listed in the template, and for each feature of the alphabet its place, [F]."""
        return self._plans[feature_set].features, self._origins[feature_set][0]

    def relations(self, corpus: Corpus) -> dict[int, Pairs]:
        """The instances of each relational clique, by its number in the specification."""
        return self._relations(self._values(corpus))

    def _relations(self, values: CorpusValues) -> dict[int, Pairs]:
        return {n: relate(clique, values) for n, clique in enumerate(self._spec.cliques) if clique.relational}

    def observed_codes(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> list[Ints]:
        """For each hard table the code that it reads at every token, [N] each."""
        values = self._values(corpus)
        return [observed_codes(observed, values) for observed in tables]

    def code_rows(self, corpus: Corpus, tables: Sequence[Sequence[Observed]]) -> tuple[FeatureRows, ...]:
        """The rows of hard constraints that read observations: one feature per token, the code."""
        return self._code_rows(self._values(corpus), tables) if tables else ()

    def _code_rows(self, values: CorpusValues, tables: Sequence[Sequence[Observed]]) -> tuple[FeatureRows, ...]:
        row_off = np.arange(values.corpus.num_tokens + 1, dtype=np.int64)
        codes = (observed_codes(observed, values) for observed in tables)
        return tuple(FeatureRows(row_off, of_table.astype(np.int32), np.empty(0)) for of_table in codes)

    def everything(
        self, corpus: Corpus, tables: Sequence[Sequence[Observed]]
    ) -> tuple[tuple[FeatureRows, ...], dict[int, Pairs]]:
        """What tagging reads of a corpus: the rows of `extract`, then those of `code_rows`, and the `relations`."""
        values = self._values(corpus)
        return (*self._extracted(values), *self._code_rows(values, tables)), self._relations(values)

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

    def told_apart(self, feature_set: int) -> list[tuple[str, int]]:
        """What each feature of a set is recognised by in another extractor: its text, and how many earlier ones have
        the same text (a value may look like two).
        """
        seen: Counter[str] = Counter()
        texts = []
        for feature in range(self.sets[feature_set].num_features):
            text = self.describe(feature_set, feature)
            texts.append((text, seen[text]))
            seen[text] += 1
        return texts

    def template_of_feature(self, feature_set: int) -> Ints:
        """The number of each feature's template in `sets`, [F]; of induced features the number after the last one."""
        info = self.sets[feature_set]
        if feature_set >= len(self._plans):  # of an observation kernel
            return np.zeros(info.num_features, np.int64)
        templates = np.full(info.num_features, len(info.templates), np.int64)
        templates[: self.conjunctions[feature_set].first] = self._origins[feature_set][0]
        return templates

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
            **({"registered_texts": self._registered_texts} if self._registered_texts else {}),
            "bins": {name: list(edges) for name, edges in self._bins.items()},
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
        `IncompatibleState` if arrays, metadata and template do not fit together.
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
            raise IncompatibleState("the stored lexicons are not those of the template")
        if any(lexicons.by_name[one.name].ignores_case != (one.case == "ignore") for one in spec.lexicons):
            raise IncompatibleState("a stored lexicon differs from the template in whether case counts")
        bins = checked_bins(spec, stored.bins)
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
            registered_texts=stored.registered_texts,
            bins=bins,
            conjunctions=conjunctions,
            observation_kernels=restored_kernels(arrays, stored.observation_kernels, expansion.set_of_clique, counts),
        )


class LearnedParts(NamedTuple):
    """plans, alphabets: of each feature set.   vocabularies: text → code, by the name of the atom (`atom_name`).

    registered: the names of the user's functions among the features.   bins: the edges of bins that were learned.
    """

    plans: tuple[FeatureSetPlan, ...]
    alphabets: tuple[Alphabet, ...]
    vocabularies: Mapping[str, Mapping[str, int]]
    lexicons: Lexicons
    registered: tuple[str, ...]
    bins: Mapping[str, tuple[float, ...]]


def learned_parts(extractor: FeatureExtractor) -> LearnedParts:
    """What an extractor has learned."""
    return LearnedParts(
        extractor._plans,
        extractor._alphabets,
        extractor._vocabularies.by_name,
        extractor._lexicons,
        tuple(extractor._kinds),
        extractor._bins,
    )
