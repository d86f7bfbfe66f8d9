"""The last part of `TrainedModel` that predicts: running texts, to spans of characters with probabilities.

For models whose data are `spans`. Not here: tokens and corpora of texts (`data`), the probabilities (`confidences`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np

from ..data import Corpus, corpus_of_texts, text_within, tokens_of_text
from ..foundation import DcrfError, Diagnostic, require_list
from ..inference import Workers
from ..semantics import DataSpec
from .calibrated_model import CalibratedModel
from .tagging_model import no_labelling

Text: TypeAlias = str | Mapping[str, Any]
_TOKENS_AT_ONCE = 50_000


class Annotation(NamedTuple):
    """A span that a model finds in a text. Made by `TrainedModel.annotate`.

    type: of the span, as `PER`.
    text: its characters.
    start, end: where it is: `text` is `whole[start:end]` of the whole text, so `end` is excluded.
    probability: that exactly this span is there, from 0 to 1.
    label: whose span it is.
    """

    type: str
    text: str
    start: int
    end: int
    probability: float
    label: str


class AnnotatingModel(CalibratedModel):
    """A model that takes running texts; see `TrainedModel`."""

    def tokenize(self, text: Text) -> list[tuple[int, int]]:
        """The tokens of a text, as the model's data are cut: the first character of each, and the last one, excluded.

        text: a text; with `tokenizer = "given"` a record with `text` and `tokens`.

        Raises DcrfError for a model whose data are no texts, as their format is not `spans`.

        >>> from pathlib import Path
        >>> text = Path("address.dcrf").read_text()
        >>> template = text.replace("conll(word, part)", "spans(word = token, part = spans)")
        >>> fit(load_text(template).require(), corpus).tokenize("9 Bath")
        [(0, 1), (2, 6)]
        """
        return tokens_of_text(text, self._texts())

    @overload
    def annotate(  # type: ignore[overload-overlap]  # a text is an iterable of texts too, and meant as one
        self, texts: Text, *, threads: int | None = None, decode: str | None = None
    ) -> list[Annotation]: ...
    @overload
    def annotate(
        self, texts: Iterable[Text], *, threads: int | None = None, decode: str | None = None
    ) -> list[list[Annotation]]: ...
    def annotate(
        self, texts: Text | Iterable[Text], *, threads: int | None = None, decode: str | None = None
    ) -> list[Annotation] | list[list[Annotation]]:
        """The spans of a text, each with its probability, from left to right.

        texts: a text, or a record as a line of the data has it, such as `{"text": "…", "tokens": …}`; or a list of
            these.
        threads: to compute with; by default `DCRFDSL_THREADS`, else all cores, and one for a single text.
        decode: as in a template, such as `optimal(nodes = 100)`; by default the model's own.

        Returns a list of `Annotation`s, of a list of texts a list of such lists. Offsets count characters, also where
        the data count UTF-16 units. The probabilities are those of `confidences`. Raises DcrfError for a model whose
        data are no texts (`tag` takes tokens), and as `tag` and `confidences` do.

        >>> from pathlib import Path
        >>> text = Path("address.dcrf").read_text()
        >>> template = text.replace("conll(word, part)", "spans(word = token, part = spans)")
        >>> texts = fit(load_text(template).require(), corpus)
        >>> [(one.type, one.text, one.start, one.end) for one in texts.annotate("9 Bath Lane, Oxford")]
        [('STREET', '9 Bath Lane', 0, 11), ('TOWN', 'Oxford', 13, 19)]
        >>> [0.0 < one.probability < 1.0 for one in texts.annotate("9 Bath Lane, Oxford")]
        [True, True]
        """
        if isinstance(texts, str | Mapping):
            return self._annotated([texts], 1 if threads is None else threads, decode)[0]
        require_list(texts, "texts", "texts")
        return self._annotated(list(texts), threads, decode)

    def _annotated(self, texts: list[Text], threads: int | None, decode: str | None) -> list[list[Annotation]]:
        data = self._texts()
        corpus, numbers = corpus_of_texts(texts, data, self.labels)
        found: list[list[Annotation]] = [[] for _ in texts]
        for first, last in _runs(corpus):
            part = corpus.slice(first, last)
            for s, annotation in self._spans(part, threads, decode):
                number = int(numbers[first + s])
                found[number].append(annotation)
        for n, text in enumerate(texts):
            if found[n]:
                found[n] = _of_characters(found[n], text, data)
        return found

    def _spans(self, corpus: Corpus, threads: int | None, decode: str | None) -> Iterator[tuple[int, Annotation]]:
        """The segments of each sentence, with tokens as offsets: the first one, and the last one."""
        predictor, off = self.prepare(corpus), corpus.sentence_off
        prediction = self.predict(predictor, threads=threads, decode=decode)
        if impossible := list(prediction.status.impossible):
            raise no_labelling(corpus.token_line[off[impossible]].tolist())
        parts = self._parts(predictor, prediction, ("segments",), Workers(threads))
        for label, (segments, types) in parts.segments.items():
            sentence = np.searchsorted(off, segments.start, side="right") - 1
            firsts, lasts = segments.start - off[sentence], segments.end - off[sentence]
            sure = parts.probabilities["segments", label]
            for s, first, last, kind, probability in zip(
                sentence.tolist(), firsts.tolist(), lasts.tolist(), segments.kind.tolist(), sure.tolist(), strict=True
            ):
                yield s, Annotation(types[kind], "", first, last, probability, label)

    def _texts(self) -> DataSpec:
        """The `data` statement. DcrfError unless it reads texts."""
        data = self.spec.data
        if data is None or data.format != "spans":
            form = "no data" if data is None else f"`{data.format}`"
            raise DcrfError(
                Diagnostic(
                    "bad-argument", f"the data of this model are {form}, which has tokens, and no running texts",
                    help="`tag` takes tokens; a model of texts has `data spans(word = token, …)`",
                )
            )  # fmt: skip
        return data


def _runs(corpus: Corpus) -> list[tuple[int, int]]:
    """Runs of sentences, (first, last + 1), whose features fit in memory."""
    steps = np.arange(0, max(corpus.num_tokens, 1), _TOKENS_AT_ONCE)
    cuts = np.unique([*np.searchsorted(corpus.sentence_off, steps, side="left"), corpus.num_sentences])
    return list(pairwise(cuts.tolist()))


def _of_characters(found: list[Annotation], text: Text, data: DataSpec) -> list[Annotation]:
    """Annotations with tokens as offsets, as characters, from left to right, the longer of two first."""
    tokens, whole, placed = tokens_of_text(text, data), text_within(text), []
    for one in found:
        start, end = tokens[one.start][0], tokens[one.end][1]
        placed.append(one._replace(start=start, end=end, text=whole[start:end]))
    return sorted(placed, key=lambda one: (one.start, -one.end))
