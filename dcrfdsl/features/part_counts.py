"""Features learned from a corpus in parts, with the same result as `FeatureExtractor.learn` on the whole of it.

    moments  each part -> those of its numbers      joined: mean and spread of `standardize`
    survey   each part -> its vocabularies          joined in order of parts
    count    each part -> its keys and their counts  joined in order of parts
    lock     joined keys -> alphabet -> extractor, whose `extract` gives the rows of each part

Texts and keys are numbered in order of first appearance. Parts are joined in order, so that joined numbers are those of
the whole corpus. No step needs more than one part. Not here: where parts come from, the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from itertools import chain

import numpy as np

from ..data import Corpus
from ..foundation import Ints, data_error, dataclass
from ..semantics import ModelSpec
from .alphabet_storage import Vocabularies
from .atoms import BlockReader, CorpusAtoms, Vocabulary
from .extract import FeatureExtractor, learn_condition_kinds
from .feature_alphabet import TemplateCounter, lock
from .plan import Expansion, FeatureSetPlan, condition_text, expand, term_text
from .row_assembly import Spread, blocks_of, counted_block, counters_of, in_turn
from .values import CorpusValues, Lexicons, NumberMoments, RegisteredFeature, learned_terms


@dataclass(frozen=True)
class FeatureSurvey:
    """What a part shows before keys are counted.

    texts: of each atom by name, in order of first appearance.   kinds: what each function of the user gave.
    """

    texts: Mapping[str, Sequence[str]]
    kinds: Mapping[str, str]


@dataclass(frozen=True)
class KeyCounts:
    """The keys of one template in one part, in order of first appearance or ascending, and how often each occurs.

    stages: the keys that were replaced by numbers on the way, by the place of the factor.
    """

    sizes: tuple[int, ...]
    stages: Mapping[int, Ints]
    keys: Ints
    counts: Ints


def join_surveys(surveys: Iterable[FeatureSurvey]) -> FeatureSurvey:
    """The survey of the whole corpus from those of its parts, in order."""
    texts: dict[str, dict[str, None]] = {}
    kinds: dict[str, str] = {}
    for survey in surveys:
        for name, found in survey.texts.items():
            texts.setdefault(name, {}).update(dict.fromkeys(found))
        for name, kind in survey.kinds.items():
            if kinds.setdefault(name, kind) != kind:
                message = f"feature function `{name}` gives a {kinds[name]} in one part of the data and a {kind} later"
                remedy = "a function must give texts, truths, numbers or mappings, always the same"
                raise data_error("mixed-results", message, help=remedy)
    return FeatureSurvey({name: list(found) for name, found in texts.items()}, kinds)


@dataclass(eq=False)
class PartLearner:
    """Learns the features of a specification from parts.   registered: the user's functions.   learned: by `scales`."""

    spec: ModelSpec
    lexicons: Lexicons
    registered: Mapping[str, RegisteredFeature]
    learned: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    _expansion: Expansion = field(init=False)

    def __post_init__(self) -> None:
        for term in (term for term in learned_terms(self.spec) if term.function == "bin"):
            text = condition_text(term)
            message = f"`{text}` cannot be learned from data in parts: its edges are quantiles of all the data"
            remedy = f"give edges, as in `{text.rpartition(',')[0]}, 18, 30, 65)`"
            raise data_error("cannot-train", message, help=remedy)
        self._expansion = expand(self.spec)

    def moments(self, part: Corpus) -> list[NumberMoments]:
        """Of each number that is brought to scale."""
        values = CorpusValues(self.spec, part, self.lexicons, self.registered, {})
        return [values.moments(term) for term in learned_terms(self.spec)]

    def scales(self, parts: Iterable[list[NumberMoments]]) -> dict[str, tuple[float, ...]]:
        """What the `moments` of all parts say of each term."""
        of_terms = zip(learned_terms(self.spec), zip(*parts, strict=True), strict=True)
        return {term_text(term): reduce(NumberMoments.joined, of_parts).scale(term) for term, of_parts in of_terms}

    def survey(self, part: Corpus) -> FeatureSurvey:
        values = CorpusValues(self.spec, part, self.lexicons, self.registered, {}, dict(self.learned))
        atoms = CorpusAtoms(values, {}, learning=True)
        for plan in self._expansion.sets:
            for feature in plan.features:
                for factor in feature.factors:
                    atoms.atom(factor)
        learn_condition_kinds(values)
        return FeatureSurvey({name: list(known) for name, known in atoms.vocabularies.items()}, values.kinds)

    def count(self, part: Corpus, survey: FeatureSurvey, spread: Spread = in_turn) -> list[list[KeyCounts]]:
        """The keys of a part: for each feature set and template.   survey: of the whole corpus."""
        values = CorpusValues(self.spec, part, self.lexicons, self.registered, dict(survey.kinds), dict(self.learned))
        atoms = CorpusAtoms(values, _vocabularies(survey), learning=False)
        return [_counted(plan, atoms, spread) for plan in self._expansion.sets]

    def extractor(self, parts: Iterable[Sequence[Sequence[KeyCounts]]], survey: FeatureSurvey) -> FeatureExtractor:
        """The extractor with the frequent keys of all parts, whose counts come in order."""
        joined: list[list[TemplateCounter]] = []
        for part in parts:
            joined = joined or [[TemplateCounter(one.sizes) for one in counted] for counted in part]
            for counter, one in zip(chain(*joined), chain(*part), strict=True):
                _add(counter, one)
        alphabets = [
            lock(counters, [feature.min_count for feature in plan.features], in_turn)[0]
            for plan, counters in zip(self._expansion.sets, joined, strict=True)
        ]
        known = Vocabularies(_vocabularies(survey))
        plans, kinds = self._expansion, survey.kinds
        return FeatureExtractor(
            self.spec, plans, tuple(alphabets), known, self.lexicons, self.registered, kinds, self.learned
        )


def _vocabularies(survey: FeatureSurvey) -> dict[str, Vocabulary]:
    return {name: {text: code for code, text in enumerate(texts)} for name, texts in survey.texts.items()}


def _counted(plan: FeatureSetPlan, atoms: CorpusAtoms, spread: Spread) -> list[KeyCounts]:
    """The keys of the templates of a feature set."""
    counters = counters_of(plan, atoms)
    for block in blocks_of(plan, atoms)[0]:
        counted_block(plan.features, counters, BlockReader(atoms, block), spread)
    return [KeyCounts(counter.sizes, counter.stage_keys(), *counter.last.result()) for counter in counters]


def _add(counter: TemplateCounter, part: KeyCounts) -> None:
    """Adds the counts of a part, whose numbers of joined keys become those of all parts."""
    before, numbers = -1, np.zeros(0, np.int64)
    for place in sorted(part.stages):
        keys = _renumbered(part.stages[place], numbers, part.sizes, before, place)
        before, numbers = place, np.asarray(counter.compact(place, keys), np.int64)
    counter.last.add_counts(_renumbered(part.keys, numbers, part.sizes, before, len(part.sizes)), part.counts)


def _renumbered(keys: Ints, numbers: Ints, sizes: Sequence[int], before: int, place: int) -> Ints:
    """Keys joined before factor `place`, with the numbers given at factor `before` (-1: none) replaced."""
    if before < 0:
        return keys
    base = math.prod(size for size in sizes[before:place] if size)
    return numbers[keys // base] * base + keys % base
