"""The labels that a trained model predicts, and the cut of large corpora into runs of sentences.

Not here: decoding (`predictor`), evaluation (`metrics`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..data import Corpus
from ..foundation import Codes, Floats, Mask
from ..inference import RunStatus

MOST_COMPARED = 2**26  # pairs of positions that a kernel compares at once: they take 12 bytes each


@dataclass(frozen=True, repr=False)
class Prediction:
    """The labels that a model gives a corpus. Made by `TrainedModel.predict`.

    codes: by label, [N] int32: indices into `states[label]`.
    states: by label, its states as texts.
    status: how inference ended, a `RunStatus`.
    scores: [S] float64: Σ log φ of each sentence's labelling in nats. With latent variables log Σ_h exp Σ log φ; in a
        model with a temperature τ, 1/τ log Σ_h exp τ Σ log φ. NaN if labels were decoded pointwise or elected by vote,
        and for sentences without a possible labelling.
    bounds: [S] float64 under `decode certified` and `optimal`: no labelling of the sentence scores more. It is the
        score itself where the labels are proven to be the best, -inf where it is proven that there are none; else None.
    corpus: what was labelled, for notebooks, which show its words.

    >>> prediction = model.predict(corpus)
    >>> prediction.codes["part"].dtype, prediction.status.converged
    (dtype('int32'), True)
    """

    codes: Mapping[str, Codes]
    states: Mapping[str, tuple[str, ...]]
    status: RunStatus
    scores: Floats
    corpus: Corpus | None = field(default=None, compare=False)
    bounds: Floats | None = None

    @property
    def certified(self) -> Mask | None:
        """Whether each sentence is proven to have the best labels, or none, [S]; None if there are no bounds."""
        return None if self.bounds is None else (self.bounds == self.scores) | np.isneginf(self.bounds)

    def __repr__(self) -> str:
        tokens = max((len(codes) for codes in self.codes.values()), default=0)
        return f"<Prediction: {', '.join(self.codes)} of {tokens:,} tokens in {len(self.scores):,} sentences>"

    def _repr_html_(self) -> str:
        """For notebooks: the first sentences with coloured labels."""
        from .notebook_views import prediction_html

        return prediction_html(self)

    def texts(self, label: str) -> list[str]:
        """The states of a label as texts, one a token.

        label: its name.

        >>> model.predict(corpus).texts("part")[4]
        'B-TOWN'
        """
        names = self.states[label]
        return [names[code] for code in self.codes[label].tolist()]


def joined_predictions(parts: Sequence[Prediction], first: Sequence[int], corpus: Corpus) -> Prediction:
    """Joins the predictions of runs of sentences of a corpus; `first` are the numbers of the runs' first sentences."""
    status = RunStatus()
    for part, start in zip(parts, first, strict=True):
        status += replace(part.status, impossible=tuple(start + s for s in part.status.impossible))
    codes = {label: np.concatenate([part.codes[label] for part in parts]) for label in parts[0].codes}
    scores, bounds = np.concatenate([part.scores for part in parts]), [part.bounds for part in parts]
    known = [one for one in bounds if one is not None]
    return Prediction(
        codes, parts[0].states, status, scores, corpus, np.concatenate(known) if len(known) == len(parts) else None
    )


def runs_that_fit(corpus: Corpus, compared: int) -> list[tuple[int, int]]:
    """Runs of sentences, (first, last + 1), to be labelled one after another if not all features fit in memory.

    compared: the number of support vectors that kernels compare each position with.
    """
    if compared * corpus.num_tokens <= MOST_COMPARED:
        return [(0, corpus.num_sentences)]
    steps = np.arange(0, corpus.num_tokens, max(1, MOST_COMPARED // compared))
    last = np.searchsorted(corpus.sentence_off, steps, side="left")
    cuts = np.unique(np.concatenate([last, [corpus.num_sentences]]))
    return list(itertools.pairwise(cuts.tolist()))
