"""The parts of a learned extractor, for code that writes the same features down elsewhere. Not here: extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .alphabet import Alphabet
from .extract import FeatureExtractor
from .plan import FeatureSetPlan
from .values import Lexicons


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
