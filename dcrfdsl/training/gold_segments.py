"""The segments of the training data, and complaints about those that a `segment` statement leaves no room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data import Corpus, EncodedLabels, places, raise_if_any
from ..features import Candidates
from ..foundation import Diagnostic
from ..graph import known_segments, segment_shape
from ..semantics import ModelSpec


def gold_segments(
    spec: ModelSpec, states: Mapping[str, Sequence[str]], corpus: Corpus, labels: EncodedLabels
) -> dict[int, Candidates]:
    """The segments of each `segment` statement, by the number of its clique, in sentences whose labels are all known.

    DcrfError where one is longer than the statement allows.
    """
    found, complaints = {}, []
    for number, clique in enumerate(spec.cliques):
        if not clique.segmental:
            continue
        label = clique.sites[0].variable
        shape = segment_shape(spec, clique, states[label])
        codes = labels.codes[[one.name for one in spec.labels].index(label)]
        unknown = np.concatenate([[0], np.cumsum(codes < 0)])[corpus.sentence_off]
        known = known_segments(shape, codes, unknown[1:] == unknown[:-1], corpus.sentence_off)
        found[number] = known.candidates(shape.limit)
        longer = np.flatnonzero(known.length > shape.limit)
        if len(longer) and not shape.together:
            tokens, longest = known.start[longer], int(known.length.max())
            message = (
                f"{len(longer):,} of {len(known.start):,} segments of `{label}` are longer than {shape.limit} tokens "
                f"({places(corpus, tokens)}); the longest has {longest}"
            )
            location = f"{corpus.file}:{corpus.token_line[tokens[0]]}"
            remedy = f"write `up to {longest}`, or `with longer = together`: all of them with one length"
            complaints.append(Diagnostic("segment-too-long", message, location=location, help=remedy))
    raise_if_any(complaints)
    return found
