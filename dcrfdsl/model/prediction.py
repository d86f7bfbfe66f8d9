"""The labels that a trained model predicts, as notebooks show them too, and the cut of large corpora into runs.

A run is consecutive sentences. Not here: decoding (`label_decoders`), evaluation (`metrics`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ..data import Corpus, InternedColumn, frame_with, mark_table, segments_of, word_column
from ..foundation import (
    Block,
    Codes,
    DcrfError,
    Floats,
    LabelledText,
    Mask,
    Paragraph,
    Stretch,
    data_error,
    dataclass,
    notebook_html,
)
from ..inference import RunStatus, contradiction_message
from ..semantics import OUTSIDE, has_segments

MOST_COMPARED = 2**26  # pairs of positions that a kernel compares at once: they take 12 bytes each
MOST_SENTENCES, MOST_TOKENS = 20, 600  # that notebooks show
NEXT_LAYER = 3  # hues between the first labels of two layers


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
        """For notebooks: the first sentences. Segments are marked, other labels stand below their words."""
        return notebook_html(_shown(self))

    def texts(self, label: str) -> list[str]:
        """The states of a label as texts, one a token.

        label: its name.

        >>> model.predict(corpus).texts("part")[4]
        'B-TOWN'
        """
        names: list[str] = np.array(self.states[label], object)[self.codes[label]].tolist()
        return names

    def to_frame(self, kind: str | None = None) -> Any:
        """The labels as a data frame, each in a column `predicted_LABEL`, beside the columns that were labelled.

        kind: `pandas`, `polars` or `pyarrow`; by default that of the frame which `corpus_from_frame` read.

        Rows are those of that frame. Of a corpus from elsewhere a row is a token, with the number of its `sentence`,
        from 1. Raises DcrfError without the package `narwhals`; ValueError for a kind that there is not, and where
        there was no frame and none is named.

        >>> list(model.predict(corpus).to_frame("pandas").columns)
        ['sentence', 'word', 'part', 'predicted_part']
        """
        if self.corpus is None:
            raise ValueError("the prediction has no corpus to stand beside")
        return frame_with(self.corpus, {f"predicted_{label}": self.texts(label) for label in self.codes}, kind)


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
    return runs_of_tokens(corpus, max(1, MOST_COMPARED // compared))


def runs_of_tokens(corpus: Corpus, tokens: int) -> list[tuple[int, int]]:
    """Runs of whole sentences, (first, last + 1), of about so many tokens each."""
    steps = np.arange(0, max(corpus.num_tokens, 1), tokens)
    cuts = np.unique([*np.searchsorted(corpus.sentence_off, steps, side="left"), corpus.num_sentences])
    return list(itertools.pairwise(cuts.tolist()))


def no_labelling(corpus: Corpus | None = None, sentences: Sequence[int] = ()) -> DcrfError:
    """The error that sentences, from 0, of a corpus have no possible labelling; without one it is a single sentence."""
    lines = [1] if corpus is None else corpus.token_line[corpus.sentence_off[[*sentences]]].tolist()
    where = contradiction_message([f"{'<rows>' if corpus is None else corpus.file}:{line}" for line in lines])
    remedy = "`predict` labels such sentences by their first states, and its status names them"
    return data_error("no-labelling", where, help=remedy)


def require_possible(prediction: Prediction, corpus: Corpus | None = None) -> Prediction:
    """The prediction; DcrfError if it has sentences without a possible labelling.   corpus: of several sentences."""
    if impossible := list(prediction.status.impossible):
        raise no_labelling(corpus, impossible)
    return prediction


def _shown(prediction: Prediction) -> Iterator[Block]:
    corpus = prediction.corpus
    if corpus is None:
        yield Paragraph(f"{prediction!r} has no words to show.")
        return
    labels = list(prediction.codes)
    yield Paragraph(
        f"{corpus.num_sentences:,} sentence{'s' * (corpus.num_sentences != 1)}, {corpus.num_tokens:,} tokens, labelled "
        f"by {', '.join(f'`{label}`' for label in labels)}."
    )
    yield from _troubles(prediction)
    stacked = len(labels) != 1 or not has_segments(prediction.states[labels[0]])
    sentences = 0
    for number, (first, last) in enumerate(_shown_ranges(corpus)):
        words = _words(corpus, labels, first, last)
        stretches = _columns(prediction, words, first) if stacked else _segments(prediction, labels[0], words, first)
        rest = int(corpus.sentence_off[number + 1]) - last
        if rest:
            stretches.append(Stretch(f"… and {rest:,} more tokens"))
        yield LabelledText(f"{number + 1}", stretches, stacked)
        sentences = number + 1
    if hidden := corpus.num_sentences - sentences:
        left = corpus.num_tokens - int(corpus.sentence_off[sentences])
        left_out = f"{hidden:,} more sentence{'s' * (hidden != 1)} with {left:,} tokens are left out."
        yield Paragraph(left_out, kind="note")


def _shown_ranges(corpus: Corpus) -> Iterator[tuple[int, int]]:
    """First token and end of each sentence that is shown; the last of them may be cut."""
    for number in range(min(MOST_SENTENCES, corpus.num_sentences)):
        first, last = (int(at) for at in corpus.sentence_off[number : number + 2])
        if first >= MOST_TOKENS:
            return
        yield first, min(last, MOST_TOKENS)


def _troubles(prediction: Prediction) -> Iterator[Block]:
    status = prediction.status
    if impossible := status.impossible:
        first = ", ".join(f"{s + 1:,}" for s in impossible[:10])
        more = f" and {len(impossible) - 10:,} more" if len(impossible) > 10 else ""
        yield Paragraph(
            f"No labelling is possible in sentence {first}{more}; its labels are the first states.", kind="note"
        )
    if not status.converged:
        yield Paragraph(
            f"Inference did not converge on {status.not_converged:,} of {status.graphs:,} sentences.", kind="note"
        )


def _words(corpus: Corpus, labels: Sequence[str], first: int, last: int) -> list[str]:
    """The words of some tokens, or their numbers in the sentence where the data has none."""
    name = word_column(corpus, labels)
    column = None if name is None else corpus.columns[name]
    if isinstance(column, InternedColumn):
        return [column.text(t) for t in range(first, last)]
    return [str(t + 1) for t in range(last - first)]


def _segments(prediction: Prediction, label: str, words: Sequence[str], first: int) -> list[Stretch]:
    """Runs of words outside segments, and segments with their types."""
    codes = prediction.codes[label][first : first + len(words)]
    mark, kind, names = mark_table(prediction.states[label])
    found = segments_of(codes, mark, kind, np.array([0, len(words)], np.int64))
    stretches, at = [], 0
    for start, end, number in zip(found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True):
        if start > at:
            stretches.append(Stretch(" ".join(words[at:start])))
        stretches.append(Stretch(" ".join(words[start : end + 1]), [(names[number], number)]))
        at = end + 1
    if at < len(words):
        stretches.append(Stretch(" ".join(words[at:])))
    return stretches


def _columns(prediction: Prediction, words: Sequence[str], first: int) -> list[Stretch]:
    """Each word with its label of every layer: text and hue. States of one type of segment have one hue, and O has no
    text.
    """
    layers: list[list[tuple[str, int]]] = []
    for number, (label, codes) in enumerate(prediction.codes.items()):
        states, shown = prediction.states[label], codes[first : first + len(words)].tolist()
        hue = mark_table(states)[1].tolist() if has_segments(states) else range(len(states))
        texts = ["" if has_segments(states) and state == OUTSIDE else state for state in states]
        layers.append([(texts[code], hue[code] + NEXT_LAYER * number) for code in shown])
    return [Stretch(word, labels) for word, *labels in zip(words, *layers, strict=True)]
