"""What is known of a corpus's labels, as the graph takes it: gold with its memories, and data clamped to it.

Not here: reading labels (`data.labels`), the factors that clamp (`graph.variants.clamping`), the objective
(`criteria`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Codes
from ..data import Corpus, EncodedLabels
from ..errors import Diagnostic
from ..features import FeatureExtractor
from ..graph import Gold, fill_memories, hidden_tables, variable_names
from ..semantics import ModelSpec

__all__ = ["gold_of", "known_labels", "no_labelling"]

SHOWN = 5


def gold_of(
    spec: ModelSpec,
    states: Mapping[str, Sequence[str]],
    extractor: FeatureExtractor,
    corpus: Corpus,
    encoded: EncodedLabels,
) -> Gold:
    """What is known of every variable: the labels as read, memories as they follow, latents never."""
    names = variable_names(spec)
    codes = np.full((len(names), corpus.num_tokens), -1, np.int32)
    codes[: len(spec.labels)] = encoded.codes
    tables = hidden_tables(spec, states)
    observed = [extractor.observed_codes(corpus, [table.observed for table in own]) for own in tables]
    fill_memories(codes, tables, observed, {name: m for m, name in enumerate(names)}, corpus.sentence_off)
    return Gold(codes, (*encoded.sets, *((),) * (len(names) - len(spec.labels))))


def known_labels(codes: Codes) -> EncodedLabels:
    """A labelling [labels, N] as gold in which everything is known."""
    return EncodedLabels(codes, ({},) * len(codes), ((),) * len(codes))


def no_labelling(corpus: Corpus, sentences: Sequence[int]) -> list[Diagnostic]:
    """The complaint that hard constraints rule out every labelling that agrees with the gold of some sentences."""
    if not len(sentences):
        return []
    lines = ", ".join(str(corpus.token_line[corpus.sentence_off[s]]) for s in sentences[:SHOWN])
    more = f" and {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    return [
        Diagnostic(
            "broken-constraint",
            f"no labelling satisfies the constraints and the gold labels of the sentence{'s' * (len(sentences) > 1)} "
            f"at line{'s' * (len(sentences) > 1)} {lines}{more}",
            location=f"{corpus.file}:{corpus.token_line[corpus.sentence_off[sentences[0]]]}",
            help="correct the data, or relax the `forbid` or `require` that rules these labels out",
        )
    ]
