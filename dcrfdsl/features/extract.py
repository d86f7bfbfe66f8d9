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
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Corpus
from ..foundation import IncompatibleState, Ints, Ints32, Mask, cached_property, data_error, dataclass, typed
from ..semantics import GivenScores, ModelSpec, Reads, nodes, terms
from ..syntax import Apply, Condition, Reference
from .alphabet_storage import FeaturesRecord, Vocabularies, alphabet_arrays, alphabet_metadata, restored_alphabets
from .atoms import CorpusAtoms, reach
from .feature_alphabet import Alphabet
from .feature_rows import Conjunctions, FeatureRows, conjoined, conjunction_arrays, restored_conjunctions
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
from .values import (
    CorpusValues,
    Lexicons,
    RegisteredFeature,
    checked_learned,
    given_scores,
    learned_terms,
    observed_codes,
)

# functions that conditions read ---------------------------------------------------------------------------------------


def learn_condition_kinds(values: CorpusValues) -> None:
    """Adds to `values.kinds` those of the user's functions that conditions call."""
    spec = values.spec
    for term in (term for condition in _conditions(spec) for term in terms(condition)):
        read = {node.name for node in nodes(term) if isinstance(node, Reference)}
        if _calls_own(values, term) and not spec.hidden_names & read:
            placed = fixed_condition(spec, term)
            ((_, offset),) = leaves(spec, placed)
            values.evaluate(moved(placed, -offset))
    for clique in spec.cliques:
        if clique.where is not None and _calls_own(values, clique.where):
            relate(clique, values)


def _conditions(spec: ModelSpec) -> Iterator[Condition]:
    """Those of constraints, expectations and memories."""
    for rule in spec.rules:
        yield from (part for part in (rule.condition, rule.when) if part is not None)
    for one in spec.memories:
        yield from (part for part in (one.value.value, one.value.condition, one.value.otherwise) if part is not None)


def _calls_own(values: CorpusValues, condition: Condition) -> bool:
    return any(isinstance(node, Apply) and node.function in values.registered for node in nodes(condition))


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


@dataclass(frozen=True, eq=False)
class FeatureExtractor:
    """The features of a model, learned from training data; made by `learn` or `restore`.

    alphabets: of each feature set.   vocabularies: text → code, by `Factor.atom`.
    functions: those of the user that are loaded, by name.   kinds: what each gives that the features call.
    function_texts: the hashes of these in training; by default as they are now.
    learned: edges of bins, means and spreads, by term.   conjunctions: of each set; by default none.
    """

    spec: ModelSpec
    expansion: Expansion
    alphabets: tuple[Alphabet, ...]
    vocabularies: Vocabularies
    lexicons: Lexicons
    functions: Mapping[str, RegisteredFeature]
    kinds: Mapping[str, str]
    learned: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    function_texts: Mapping[str, str] | None = None
    conjunctions: tuple[Conjunctions, ...] = ()
    observation_kernels: tuple[ObservationKernel, ...] = ()

    def __post_init__(self) -> None:
        if self.function_texts is None:
            texts = {name: self.functions[name].text_hash for name in self.kinds}
            object.__setattr__(self, "function_texts", texts)
        if not self.conjunctions:
            none = tuple(Conjunctions.none(alphabet.num_features) for alphabet in self.alphabets)
            object.__setattr__(self, "conjunctions", none)

    @property
    def plans(self) -> tuple[FeatureSetPlan, ...]:
        """What each feature set asks for."""
        return self.expansion.sets

    @cached_property
    def set_of_clique(self) -> tuple[int, ...]:
        """The feature set of each clique, -1 for none; that of an observation kernel comes after all others."""
        kernel_sets = {kernel.clique: len(self.plans) + n for n, kernel in enumerate(self.observation_kernels)}
        return tuple(kernel_sets.get(c, number) for c, number in enumerate(self.expansion.set_of_clique))

    @property
    def bias_of_clique(self) -> tuple[bool, ...]:
        return self.expansion.bias_of_clique

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
        for term in learned_terms(spec):
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
        vocabularies = Vocabularies(atoms.vocabularies)
        extractor = cls(
            spec, expansion, tuple(alphabets), vocabularies, resources, registered or {}, values.kinds, values.learned
        )
        return extractor, tuple(rows)

    def extract(self, corpus: Corpus) -> tuple[FeatureRows, ...]:
        """The rows of other data; values that training did not see, or saw too seldom, have no feature."""
        return self._extracted(self.values(corpus))

    def values(self, corpus: Corpus) -> CorpusValues:
        """What the terms of the features are on a corpus, each computed when it is asked for."""
        return CorpusValues(self.spec, corpus, self.lexicons, self.functions, dict(self.kinds), dict(self.learned))

    def _extracted(self, values: CorpusValues) -> tuple[FeatureRows, ...]:
        atoms, texts = CorpusAtoms(values, self.vocabularies.by_name, learning=False), texts_of(values.corpus)
        every_plain = [None] * len(self.plans) if texts is None else self._plain
        sets = zip(self.plans, self.alphabets, every_plain, strict=True)

        def rows(plan: FeatureSetPlan, alphabet: Alphabet, plain: PlainFeatures | None) -> FeatureRows:
            if plan.segment >= 0:
                return SegmentReader(values, plan).rows(alphabet, self.vocabularies.by_name)
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
        for plan, plain in zip(self.plans, self._plain, strict=True):
            ids = None if plain is None or length > LONGEST else plain.ids(texts, length)
            if plain is None or ids is None or len(plain.numbers) < len(plan.features):
                return None
            one = plain.rows(ids)
            rows.append(one.summed(np.array([0, length], np.int64)) if plan.summed else one)
        return self._finished(rows)

    @cached_property
    def _plain(self) -> list[PlainFeatures | None]:
        sets = zip(self.plans, self.alphabets, strict=True)
        known = self.spec, self.vocabularies.by_name, self.kinds
        return [plain_features(plan, alphabet, *known) for plan, alphabet in sets]

    @property
    def registered(self) -> dict[str, RegisteredFeature]:
        """The functions of the user that the features call, by name."""
        return {name: self.functions[name] for name in self.kinds}

    @property
    def changed_functions(self) -> list[str]:
        """The functions of the user whose text is not that of the training."""
        known = {name: text for name, text in (self.function_texts or {}).items() if text}
        return [name for name, text in known.items() if self.functions[name].text_hash not in ("", text)]

    def indicators(self, feature_set: int, templates: Collection[ExpandedFeature] | None = None) -> Mask:
        """Which features of the alphabet are indicators (not numbers), [F]; only those of `templates`, if given.

        The factors of a template decide, not its options.
        """
        plan, alphabet = self.plans[feature_set], self.alphabets[feature_set]
        factors = None if templates is None else {template.factors for template in templates}
        wanted = [
            not has_values(feature, tables, self.spec, self.kinds) and (factors is None or feature.factors in factors)
            for feature, tables in zip(plan.features, alphabet.templates, strict=True)
        ]
        chosen: Mask = np.array(wanted, np.bool_)[self._templates[feature_set]]
        return chosen

    def listed(self, feature_set: int) -> tuple[tuple[ExpandedFeature, ...], Ints32]:
        """The features of a set as listed in the template, and for each feature of the alphabet its place, [F]."""
        return self.plans[feature_set].features, self._templates[feature_set]

    def relations(self, values: CorpusValues) -> dict[int, Pairs]:
        """The instances of each relational clique, by its number in the specification."""
        return {n: relate(clique, values) for n, clique in enumerate(self.spec.cliques) if clique.relational}

    def code_rows(self, values: CorpusValues, tables: Sequence[Reads]) -> tuple[FeatureRows, ...]:
        """The rows of tables without weights. Of a hard constraint that reads observations: one feature per token, the
        code. Of given scores: a feature for each assignment, whose value is its score.
        """
        num_tokens, rows = values.corpus.num_tokens, []
        for read in tables:
            scores, width = np.empty((num_tokens, 0)), 1
            if isinstance(read, GivenScores):
                scores = given_scores(read, values)
                width = scores.shape[1]
                codes = np.tile(np.arange(width, dtype=np.int32), num_tokens)
            else:
                codes = observed_codes(read, values).astype(np.int32)
            rows.append(FeatureRows(np.arange(num_tokens + 1, dtype=np.int64) * width, codes, scores.ravel()))
        return tuple(rows)

    def everything(self, corpus: Corpus, tables: Sequence[Reads]) -> tuple[tuple[FeatureRows, ...], dict[int, Pairs]]:
        """What tagging reads of a corpus: the rows of `extract`, then those of `code_rows`, and the `relations`."""
        values = self.values(corpus)
        return (*self._extracted(values), *self.code_rows(values, tables)), self.relations(values)

    @cached_property
    def sets(self) -> tuple[FeatureSetInfo, ...]:
        listed = []
        for plan, alphabet, conjunctions in zip(self.plans, self.alphabets, self.conjunctions, strict=True):
            names = tuple(feature.name for feature in plan.features)
            counts = tuple(int(np.count_nonzero(tables.last.ids >= 0)) for tables in alphabet.templates)
            listed.append(FeatureSetInfo(conjunctions.num_features, plan.pad_left, plan.pad_right, names, counts))
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
        if feature_set >= len(self.plans):  # of an observation kernel
            return np.zeros(info.num_features, np.int64)
        templates = np.full(info.num_features, len(info.templates), np.int64)
        templates[: self.conjunctions[feature_set].first] = self._templates[feature_set]
        return templates

    def describe(self, feature_set: int, feature: int) -> str:
        """`lower(word)[-1]=the & pos=NN`; a test or a number is shown by its name alone, ⟨-1⟩ is before the start.

        A conjunction is shown by its members.
        """
        if feature_set >= len(self.plans):
            return f"{self.observation_kernels[feature_set - len(self.plans)].kernel.method}(support {feature + 1})"
        induced = self.conjunctions[feature_set]
        if feature >= induced.first:
            return " & ".join(self.describe(feature_set, atom) for atom in sorted(induced.atoms(feature)))
        plan = self.plans[feature_set]
        template, codes = self._origins[feature_set]
        coded = zip(plan.features[template[feature]].factors, codes[feature].tolist(), strict=False)
        return " & ".join(self._described(plan, factor, code) for factor, code in coded)

    def _described(self, plan: FeatureSetPlan, factor: Factor, code: int) -> str:
        texts = self._texts.get(factor.atom)
        if texts is None:
            return factor.name
        beyond = code - len(texts)
        if beyond < 0:
            return f"{factor.name}={texts[code]}"
        left, _ = reach(factor, plan.pad_left, plan.pad_right)
        return f"{factor.name}={boundary_text(-beyond - 1 if beyond < left else beyond - left + 1)}"

    @cached_property
    def _templates(self) -> list[Ints32]:
        """Of `_origins` what training asks for."""
        return [alphabet.origin()[0] for alphabet in self.alphabets]

    @cached_property
    def _origins(self) -> list[tuple[Ints32, Ints]]:
        return [alphabet.origin() for alphabet in self.alphabets]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        return {name: list(vocabulary) for name, vocabulary in self.vocabularies.by_name.items()}

    # storage -------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All large arrays, for a model file. `restore` accepts them without copying, also mapped and read-only."""
        return {
            **alphabet_arrays(self.alphabets),
            **self.vocabularies.arrays(),
            **self.lexicons.arrays(),
            **conjunction_arrays(self.conjunctions),
            **kernel_arrays(self.observation_kernels),
        }

    def metadata(self) -> dict[str, Any]:
        """The rest, as plain JSON values."""
        texts = {name: text for name, text in (self.function_texts or {}).items() if text}
        return {
            **alphabet_metadata(self.alphabets),
            "vocabularies": self.vocabularies.metadata(),
            "lexicons": self.lexicons.metadata(),
            "registered": dict(self.kinds),
            **({"registered_texts": texts} if texts else {}),
            "bins": {name: list(edges) for name, edges in self.learned.items()},
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
            raise data_error("missing-feature-function", message, help=remedy)
        expansion = expand(spec)
        alphabets = restored_alphabets(
            spec, expansion.sets, arrays, stored.tables, stored.sets, stored.vocabularies, stored.registered
        )
        lexicons = Lexicons.restore(arrays, stored.lexicons)
        if sorted(lexicons.by_name) != sorted(lexicon.name for lexicon in spec.lexicons):
            raise IncompatibleState("the stored lexicons are not those of the template")
        if any(lexicons.by_name[one.name].ignores_case != (one.case == "ignore") for one in spec.lexicons):
            raise IncompatibleState("a stored lexicon differs from the template in whether case counts")
        learned = checked_learned(spec, stored.learned)
        conjunctions = restored_conjunctions([alphabet.num_features for alphabet in alphabets], arrays)
        counts = [one.num_features for one in conjunctions]
        kernels = restored_kernels(arrays, stored.observation_kernels, expansion.set_of_clique, counts)
        texts = {name: text for name, text in stored.registered_texts.items() if name in stored.registered}
        return cls(
            spec, expansion, tuple(alphabets), Vocabularies.restore(arrays, stored.vocabularies), lexicons,
            registered or {}, stored.registered, learned, texts, tuple(conjunctions), kernels,
        )  # fmt: skip
