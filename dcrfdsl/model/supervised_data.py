"""The known labels of a corpus in the form that graphs take, and the error if no labelling agrees with them.

Not here: reading labels (`data.labels`), counts of gold labels (`graph.known_labels`), the clamping factors
(`graph.label_factors`), the objective (`criteria`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data import Corpus, EncodedLabels
from ..features import FeatureExtractor
from ..foundation import Codes, Diagnostic
from ..graph import Gold, fill_memories, hidden_tables, known_runs, segment_shape, variable_names
from ..semantics import ModelSpec, SegmentMemory, segment_states, unrolled_spec

SHOWN = 5  # sentences named in a message


def gold_of(
    spec: ModelSpec,
    states: Mapping[str, Sequence[str]],
    extractor: FeatureExtractor,
    corpus: Corpus,
    encoded: EncodedLabels,
) -> Gold:
    """The known values of every variable: of labels as read, of memories as labels imply them, of latents none."""
    spec, states = unrolled_spec(spec, states)
    names = variable_names(spec)
    codes = np.full((len(names), corpus.num_tokens), -1, np.int32)
    codes[: len(spec.labels)] = encoded.codes
    tables = hidden_tables(spec, states)
    observed = [extractor.observed_codes(corpus, [table.observed for table in memory]) for memory in tables]
    fill_memories(codes, tables, observed, {name: m for m, name in enumerate(names)}, corpus.sentence_off)
    sets = [*encoded.sets, *((),) * (len(names) - len(spec.labels))]
    for memory in spec.memories:
        if isinstance(memory, SegmentMemory):
            clique = next(clique for clique in spec.cliques if clique.segmental)
            label, run = names.index(memory.label), names.index(memory.name)
            listed = states[memory.label]
            codes[run], sets[run] = known_runs(
                segment_states(memory, listed), segment_shape(spec, clique, listed), codes[label], sets[label],
                corpus.sentence_off,
            )  # fmt: skip
    return Gold(codes, tuple(sets))


def fully_known(codes: Codes) -> EncodedLabels:
    """A labelling [labels, N] as completely known labels."""
    return EncodedLabels(codes, ({},) * len(codes), ((),) * len(codes))


def impossible_gold(corpus: Corpus, sentences: Sequence[int]) -> list[Diagnostic]:
    """The error about sentences whose gold labels agree with no labelling that the hard constraints allow."""
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
