"""A trained model on single sentences: from tokens to labels and back, without a corpus that the caller sees.

`Sentences` turns a sentence and the labels known beforehand into what a model predicts for, and its predictions into
lists and dicts. Not here: the methods that users call (`predicting_model`), prediction (`predictor`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ..data import Corpus, EncodedLabels, InternedColumn, SentenceReader, corpus_from_rows, encode_known_labels
from ..foundation import Codes, DcrfError, Floats, data_error, did_you_mean, require_list, spelling_remedy
from ..inference import Labellings
from ..semantics import ModelSpec, spare_columns

Sentence: TypeAlias = Sequence[Any] | Mapping[str, Any]
Labels: TypeAlias = list[str] | dict[str, list[str]]
Probabilities: TypeAlias = list[dict[str, float]] | dict[str, list[dict[str, float]]]
Given: TypeAlias = Sequence[str | None] | Mapping[str, Sequence[str | None]]

Answer = TypeVar("Answer")  # about a token
FREE = "_"  # what `encode_known_labels` reads as "not given"


class RankedLabels(NamedTuple):
    """One of the best labellings of a sentence. Made by `TrainedModel.nbest`.

    labels: as `TrainedModel.tag` returns them.
    score: Σ log φ in nats, see `Prediction`.
    probability: p(labels | sentence), NaN where log Z is not known.
    """

    labels: Labels
    score: float
    probability: float


class Sentences:
    """Reads the sentences of a model and lays out its answers."""

    def __init__(self, spec: ModelSpec, states: Mapping[str, Sequence[str]], labels: Sequence[str]):
        assert spec.data is not None  # the model was trained on data
        self._spec, self._states, self.labels = spec, states, tuple(labels)
        self._data, self._optional = spec.data, (*self.labels, *spare_columns(spec))
        self._reader = SentenceReader(spec.data, self._optional)

    def texts_of(self, sentence: Sentence) -> Mapping[str, Sequence[str]] | None:
        """The texts of each column; None if the sentence has no token, or not only the declared columns of texts."""
        return self._reader.texts(sentence)

    def corpus(self, sentence: Sentence) -> Corpus | None:
        """The sentence as a corpus, None if it has no token. DcrfError if it does not fit the declared columns."""
        return None if self._is_empty(sentence) else self._reader.corpus(sentence)

    def corpus_of_all(self, sentences: Iterable[Sentence]) -> tuple[Corpus | None, int]:
        """The sentences that have tokens, with their numbers from 1 as lines, and how many sentences there are."""
        require_list(sentences, "sentences", "sentences")
        every = list(sentences)
        if all(map(self._is_empty, every)):
            return None, len(every)
        return corpus_from_rows(every, self._data, optional=self._optional), len(every)

    def _is_empty(self, sentence: Any) -> bool:
        """Whether a sentence has no token; False for anything but a sentence, which the reader refuses."""
        if isinstance(sentence, Mapping):
            return all(name in sentence and _has_nothing(sentence[name]) for name in self._reader.names)
        return _has_nothing(sentence)

    def known(self, given: Given | None, corpus: Corpus) -> EncodedLabels | None:
        """The labels known beforehand as numbers. DcrfError if they are not those of the sentence and the model."""
        if given is None:
            return None
        columns = dict(corpus.columns)
        of_labels = self._by_label(given)
        for label in self.labels:
            texts = of_labels.get(label, [None] * corpus.num_tokens)
            if not isinstance(texts, list | tuple) or not all(text is None or isinstance(text, str) for text in texts):
                raise _bad_given(f"the labels `{label}` known beforehand are `{texts!r}`, expected texts and None")
            if len(texts) != corpus.num_tokens:
                raise _bad_given(
                    f"{len(texts):,} labels `{label}` are known beforehand, and the sentence has "
                    f"{corpus.num_tokens:,} tokens",
                    "give one a token, None where it is not known",
                )
            marks = [FREE if text is None else text for text in texts]
            values = list(dict.fromkeys(marks))
            codes = np.array([values.index(mark) for mark in marks], np.int32)
            columns[label] = InternedColumn(codes, values)
        return encode_known_labels(self._spec, self._states, replace(corpus, columns=columns))

    def _by_label(self, given: Given) -> Mapping[str, Sequence[str | None]]:
        if isinstance(given, Mapping):
            for label in given:
                if label not in self.labels:
                    named = spelling_remedy(
                        did_you_mean(str(label), self.labels), f"its labels are {', '.join(self.labels)}"
                    )
                    raise _bad_given(f"`{label}` is no label of the model", named)
            return given
        require_list(given, "given", "labels, or a dict of such lists")
        if len(self.labels) > 1:
            raise _bad_given("the model has several labels, and `given` is one list", "give a dict of lists by label")
        return {self.labels[0]: list(given)}

    def texts(self, codes: Mapping[str, Codes]) -> Labels:
        """The states of each token as texts: a list if the model has one label, else a dict of lists by label."""
        named = ((label, self._states[label]) for label in self.labels)
        return self._laid_out({label: [states[code] for code in codes[label].tolist()] for label, states in named})

    def probabilities(self, tables: Mapping[str, Floats]) -> Probabilities:
        """For each token the probability of each state. tables: by label, [T, states]."""
        return self._laid_out(
            {
                label: [dict(zip(self._states[label], row, strict=True)) for row in tables[label].tolist()]
                for label in self.labels
            }
        )

    def ranked(self, best: Labellings) -> list[RankedLabels]:
        """The best labellings of a sentence, in their order."""
        return [
            RankedLabels(self.texts({label: codes[rank] for label, codes in best.codes.items()}), *numbers)
            for rank, numbers in enumerate(zip(best.score.tolist(), best.probability.tolist(), strict=True))
        ]

    def none(self) -> list[Any] | dict[str, list[Any]]:
        """The answer for a sentence without a token."""
        return self._laid_out({label: [] for label in self.labels})

    def _laid_out(self, by_label: dict[str, list[Answer]]) -> list[Answer] | dict[str, list[Answer]]:
        return by_label if len(self.labels) != 1 else by_label[self.labels[0]]


def _has_nothing(values: Any) -> bool:
    return isinstance(values, list | tuple) and not values


def _bad_given(message: str, remedy: str | None = None) -> DcrfError:
    return data_error("bad-argument", message, help=remedy)
