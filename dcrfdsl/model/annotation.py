"""Running texts to spans of characters with probabilities, by models whose data are `spans`.

Not here: tokens and corpora of texts (`data`), the probabilities (`calibration`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..data import Corpus, corpus_of_texts, text_within, tokens_of_text
from ..foundation import data_error
from ..inference import Workers
from ..semantics import ModelSpec
from ..syntax import DataSpec
from .calibration import Model, ModelCalibration, placed_segments
from .decisions import ModelDecisions
from .prediction import require_possible, runs_of_tokens

Text: TypeAlias = str | Mapping[str, Any]
_TOKENS_AT_ONCE = 50_000  # whose features fit in memory


class Annotation(NamedTuple):
    """A span that a model finds in a text. Made by `TrainedModel.annotate`.

    type: of the span, as `PER`.
    text: its characters.
    start, end: where it is: `text` is `whole[start:end]` of the whole text, so `end` is excluded.
    probability: that exactly this span is there, from 0 to 1.
    label: whose span it is.
    accepted: whether it can be taken unseen, by the operating point of its type; None if there is none.
    """

    type: str
    text: str
    start: int
    end: int
    probability: float
    label: str
    accepted: bool | None = None


def annotated(
    calibration: ModelCalibration[Model], texts: list[Text], threads: int | None, decode: str | None
) -> list[list[Annotation]]:
    """The spans of each text; see `TrainedModel.annotate`."""
    data = data_of_texts(calibration.model.spec)
    corpus, numbers = corpus_of_texts(texts, data, calibration.model.labels)
    found: list[list[Annotation]] = [[] for _ in texts]
    for first, last in runs_of_tokens(corpus, _TOKENS_AT_ONCE):
        part = corpus.slice(first, last)
        for s, annotation in _spans(calibration, part, threads, decode):
            number = int(numbers[first + s])
            found[number].append(annotation)
    return [_of_characters(of_text, text, data) for of_text, text in zip(found, texts, strict=True)]


def _spans(
    calibration: ModelCalibration[Model], corpus: Corpus, threads: int | None, decode: str | None
) -> Iterator[tuple[int, Annotation]]:
    """The segments of each sentence, with tokens as offsets: the first one, and the last one."""
    model, off, decisions = calibration.model, corpus.sentence_off, ModelDecisions(calibration.model)
    predictor = model.prepare(corpus)
    prediction = require_possible(model.predict(predictor, threads=threads, decode=decode), corpus)
    parts = calibration.probabilities_of(predictor, prediction, ("segments",), Workers(threads))
    for label, (segments, types) in parts.segments.items():
        for s, one in placed_segments(label, types, segments, parts.probabilities["segments", label], off):
            accepted = None if decode is not None else decisions.accepts(label, one.type, one.probability)
            yield s, Annotation(one.type, "", one.first, one.last, one.probability, label, accepted)


def data_of_texts(spec: ModelSpec) -> DataSpec:
    """The `data` statement. DcrfError unless it reads texts."""
    data = spec.data
    if data is None or data.format != "spans":
        form = "no data" if data is None else f"`{data.format}`"
        message = f"the data of this model are {form}, which has tokens, and no running texts"
        remedy = "`tag` takes tokens; a model of texts has `data spans(word = token, …)`"
        raise data_error("bad-argument", message, help=remedy)
    return data


def _of_characters(found: list[Annotation], text: Text, data: DataSpec) -> list[Annotation]:
    """Annotations with tokens as offsets, as characters, from left to right, the longer of two first."""
    if not found:
        return []
    tokens, whole, placed = tokens_of_text(text, data), text_within(text), []
    for one in found:
        start, end = tokens[one.start][0], tokens[one.end][1]
        placed.append(one._replace(start=start, end=end, text=whole[start:end]))
    return sorted(placed, key=lambda one: (one.start, -one.end))
