"""Features learned from a corpus in parts, with the same result as `FeatureExtractor.learn` on the whole of it.

    survey   each part -> its vocabularies          joined in order of parts
    count    each part -> its keys and their counts  joined in order of parts
    lock     joined keys -> alphabet -> extractor, whose `extract` gives the rows of each part

Texts and keys are numbered in order of first appearance. Parts are joined in order, so that joined numbers are those of
the whole corpus. No step needs more than one part. Not here: where parts come from, the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..data import Corpus
from ..foundation import Ints, data_error
from ..semantics import ModelSpec
from .alphabet_storage import Vocabularies
from .atoms import BlockReader, CorpusAtoms
from .extract import FeatureExtractor, learn_condition_kinds
from .feature_alphabet import TemplateCounter, lock
from .plan import Expansion, FeatureSetPlan, condition_text, expand
from .row_assembly import Spread, blocks_of, counters_of, in_turn
from .values import CorpusValues, Lexicons, RegisteredFeature, quantile_bins


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
    """Learns the features of a specification from parts of a corpus.   registered: the user's functions by name."""

    spec: ModelSpec
    lexicons: Lexicons
    registered: Mapping[str, RegisteredFeature]
    _expansion: Expansion = field(init=False)

    def __post_init__(self) -> None:
        for term in quantile_bins(self.spec):
            text = condition_text(term)
            message = f"`{text}` cannot be learned from data in parts: its edges are quantiles of all the data"
            remedy = f"give edges, as in `{text.rpartition(',')[0]}, 18, 30, 65)`"
            raise data_error("cannot-train", message, help=remedy)
        self._expansion = expand(self.spec)

    def survey(self, part: Corpus) -> FeatureSurvey:
        """The vocabularies of a part."""
        values = CorpusValues(self.spec, part, self.lexicons, self.registered, {})
        atoms = CorpusAtoms(values, {}, learning=True)
        for plan in self._expansion.sets:
            for feature in plan.features:
                for factor in feature.factors:
                    atoms.atom(factor)
        learn_condition_kinds(values)
        return FeatureSurvey({name: list(known) for name, known in atoms.vocabularies.items()}, values.kinds)

    def count(self, part: Corpus, survey: FeatureSurvey, spread: Spread = in_turn) -> list[list[KeyCounts]]:
        """The keys of a part: for each feature set and template.   survey: of the whole corpus."""
        values = CorpusValues(self.spec, part, self.lexicons, self.registered, dict(survey.kinds))
        known = {name: dict(zip(texts, range(len(texts)), strict=True)) for name, texts in survey.texts.items()}
        atoms = CorpusAtoms(values, known, learning=False)
        return [_counted(plan, atoms, spread) for plan in self._expansion.sets]

    def joined(self) -> list[list[TemplateCounter | None]]:
        """Counters to which `add` adds parts."""
        return [[None] * len(plan.features) for plan in self._expansion.sets]

    def add(self, joined: list[list[TemplateCounter | None]], part: Sequence[Sequence[KeyCounts]]) -> None:
        """Adds the counts of the next part."""
        for counters, counted in zip(joined, part, strict=True):
            for number, of_template in enumerate(counted):
                counter = counters[number] or TemplateCounter(of_template.sizes)
                counters[number] = counter
                _add(counter, of_template)

    def extractor(
        self, joined: Sequence[Sequence[TemplateCounter | None]], survey: FeatureSurvey, spread: Spread = in_turn
    ) -> FeatureExtractor:
        """The extractor with the frequent keys of all parts."""
        alphabets = []
        for plan, counters in zip(self._expansion.sets, joined, strict=True):
            complete = [counter for counter in counters if counter is not None]
            alphabets.append(lock(complete, [feature.min_count for feature in plan.features], spread)[0])
        known = {name: dict(zip(texts, range(len(texts)), strict=True)) for name, texts in survey.texts.items()}
        return FeatureExtractor(
            self.spec, self._expansion, tuple(alphabets), Vocabularies(known), self.lexicons, self.registered,
            survey.kinds,
        )  # fmt: skip


def _counted(plan: FeatureSetPlan, atoms: CorpusAtoms, spread: Spread) -> list[KeyCounts]:
    """The keys of the templates of a feature set."""
    features = plan.features
    counters = counters_of(plan, atoms)
    for block in blocks_of(plan, atoms)[0]:
        reader = BlockReader(atoms, block)
        reader.read_all(features)

        def count(number: int, _: int, reader: BlockReader = reader) -> None:
            counter = counters[number]
            counter.add(reader.keys(features[number], counter.sizes, counter.compact).items)

        spread(count, [(number, number + 1) for number in range(len(features))])
    return [KeyCounts(counter.sizes, counter.stage_keys(), *counter.result()) for counter in counters]


def _add(counter: TemplateCounter, part: KeyCounts) -> None:
    """Adds the counts of a part, whose numbers of joined keys become those of all parts."""
    before, numbers = -1, np.zeros(0, np.int64)
    for place in sorted(part.stages):
        keys = _renumbered(part.stages[place], numbers, part.sizes, before, place)
        before, numbers = place, np.asarray(counter.compact(place, keys), np.int64)
    counter.add_counts(_renumbered(part.keys, numbers, part.sizes, before, len(part.sizes)), part.counts)


def _renumbered(keys: Ints, numbers: Ints, sizes: Sequence[int], before: int, place: int) -> Ints:
    """Keys joined before factor `place`, with the numbers given at factor `before` (-1: none) replaced."""
    if before < 0:
        return keys
    base = math.prod(size for size in sizes[before:place] if size)
    return numbers[keys // base] * base + keys % base
