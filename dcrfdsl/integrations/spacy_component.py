"""A model as a component of a spaCy pipeline: `nlp.add_pipe("dcrfdsl", config={"model": "ner.model"})`.

    documents -> sentences, columns (`spacy_documents`) -> the model's labels and probabilities -> documents

The model travels with the pipeline: `nlp.to_disk`, `to_bytes` and pickling keep it whole. Not here: what tokens give
and where labels go (`spacy_documents`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from ..data import corpus_from_rows
from ..foundation import Diagnostic, needed, warn_of
from ..inference import Workers
from ..model import TrainedModel, load, model_as_bytes, model_from_bytes
from ..semantics import unread_columns
from .spacy_documents import LabelPlaces, Sentence, TokenColumns, sentences_of

with needed("spacy"):
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.scorer import Scorer
    from spacy.tokens import Doc, Span, Token
    from spacy.training import Example
    from spacy.util import minibatch

_CONFIDENCE = "confidence"  # the extension of spans and tokens
_ACCEPTED = "accepted"  # of spans: whether the probability reaches the operating point of their type


def _kept_as(place: str) -> str:
    return f"{_CONFIDENCE} {place!r} "


def _key_of(span: Span) -> tuple[str, str, int, int]:
    """Where its probability is in `doc.user_data`: spaCy's form of a key, but one for each type and id of spans."""
    return "._.", _kept_as(span.id_) + span.label_, span.start_char, span.end_char


def _kept_of(span: Span) -> tuple[float, bool | None] | tuple[None, None]:
    """Its probability, and whether it can be taken unseen."""
    return span.doc.user_data.get(_key_of(span)) or (None, None)


class SpacyTagger(Pipe):
    """A model as a component of a spaCy pipeline. Made by `nlp.add_pipe("dcrfdsl", config={"model": "ner.model"})`.

    name: of the component.
    model: the path of a model file, or a `TrainedModel`.
    trained_model: the `TrainedModel`; another one can be set.
    columns: attributes of tokens by column of the model, such as `{"word": "text", "kind": "_.kind"}`; by default
        a column is read from the attribute of its name, and `word`, `form` and `token` are the texts.
    labels: of each label where it goes: `ents`, `spans` (`doc.spans` by the label's name), `tag`, `pos`, or `_.NAME`,
        an extension of tokens. By default the first label with segments is `ents`, others are `spans`, labels
        called `tag` and `pos` are what they say, and the rest extensions of their names.
    confidence: whether `span._.confidence` of each segment and `token._.confidence` of each token are computed:
        probabilities of the model, of tokens by label where it has several. Spans of another type have None, and
        those in `doc.spans` bear the label as their `id_`. `span._.accepted` says whether one can be taken unseen, by
        the operating point of its type; None if the model has none.

    Sentences are those that spaCy has set, else the document. What `ents` held before is replaced.
    """

    def __init__(
        self,
        name: str,
        model: str | Path | TrainedModel,
        columns: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        confidence: bool = True,
    ):
        """Raises DcrfError for a model that cannot be read, a column that no attribute gives, a label that its place
        cannot hold. A model file that is not there is an error when the component is first used: a pipeline that is
        loaded brings the model itself.
        """
        self.name = name
        self.columns, self.label_places, self.confidence = dict(columns or {}), dict(labels or {}), confidence
        self._path = model
        self._model: TrainedModel | None = None
        if isinstance(model, TrainedModel):
            self.trained_model = model
        elif Path(model).exists():
            self.trained_model = load(model)

    @property
    def trained_model(self) -> TrainedModel:
        """The model. DcrfError if its file is not there."""
        if self._model is None:
            assert not isinstance(self._path, TrainedModel)
            self.trained_model = load(self._path)
        assert self._model is not None
        return self._model

    @trained_model.setter
    def trained_model(self, model: TrainedModel) -> None:
        self._columns = TokenColumns.of(model.spec, self.columns)
        self._places = self._places_of(model)
        self._places.declare()
        Span.set_extension(_CONFIDENCE, getter=lambda span: _kept_of(span)[0], force=True)
        Span.set_extension(_ACCEPTED, getter=lambda span: _kept_of(span)[1], force=True)
        if not Token.has_extension(_CONFIDENCE):
            Token.set_extension(_CONFIDENCE, default=None)
        self._model = model

    def _places_of(self, model: TrainedModel) -> LabelPlaces:
        return LabelPlaces.of({label: model.states[label] for label in model.labels}, self.label_places)

    def __call__(self, doc: Doc) -> Doc:
        """Sets the labels of a document, which is returned.

        doc: as the components before this one leave it.
        """
        self._annotate([doc], 1)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Sets the labels of documents, many at once.

        stream: of documents.
        batch_size: how many are labelled by one call of the model.
        """
        threads = None if parent_process() is None else 1  # of `n_process` processes each has one
        for docs in minibatch(stream, size=batch_size):
            try:
                self._annotate(docs, threads)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        """The scores of entities, tags and parts of speech against gold documents, for `nlp.evaluate`.

        examples: predicted and gold documents.
        settings: for spaCy's `Scorer`.
        """
        pairs, places = list(examples), self._places_of(self.trained_model).places.values()
        scores: dict[str, Any] = {}
        if "ents" in places:
            scores |= Scorer.score_spans(pairs, "ents", **settings)
        for attribute in ("tag", "pos"):
            if attribute in places:
                scores |= Scorer.score_token_attr(pairs, attribute, **settings)
        return scores

    # keeping ----------------------------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Writes the model into a folder.

        path: of the folder, which is made.
        exclude: is of no effect.
        """
        Path(path).mkdir(exist_ok=True)
        self.trained_model.save(Path(path) / "model")

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "SpacyTagger":
        """Takes the model of a folder that `to_disk` has written. Returns the component.

        path: of the folder.
        exclude: is of no effect.
        """
        self.trained_model = load(Path(path) / "model")
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The bytes of the model file.

        exclude: is of no effect.
        """
        return model_as_bytes(self.trained_model)

    def from_bytes(self, content: bytes, *, exclude: Sequence[str] = ()) -> "SpacyTagger":
        """Takes the model of what `to_bytes` gave. Returns the component.

        content: the bytes.
        exclude: is of no effect.
        """
        self.trained_model = model_from_bytes(TrainedModel, content, f"<{self.name}>", {})
        return self

    # labels -----------------------------------------------------------------------------------------------------------

    def _annotate(self, docs: Sequence[Doc], threads: int | None) -> None:
        model, sentences = self.trained_model, sentences_of(docs)
        spans = self._labelled(model, sentences, threads) if sentences else []
        for label in self._places.of_segments:
            of_doc: dict[int, list[Span]] = {id(doc): [] for doc in docs}
            for one, span, _ in spans:
                if one == label:
                    of_doc[id(span.doc)].append(span)
            for doc in docs:
                if self._places.places[label] == "ents":
                    doc.set_ents(of_doc[id(doc)])
                else:
                    doc.spans[label] = of_doc[id(doc)]
                before = _kept_as("" if self._places.places[label] == "ents" else label)
                for key in [key for key in doc.user_data if isinstance(key, tuple) and len(key) == 4]:
                    if str(key[1]).startswith(before):
                        del doc.user_data[key]
        if self.confidence:
            for label, span, probability in spans:
                accepted = model.decisions.accepts(label, span.label_, probability)
                span.doc.user_data[_key_of(span)] = probability, accepted

    def _labelled(
        self, model: TrainedModel, sentences: Sequence[Sentence], threads: int | None
    ) -> list[tuple[str, Span, float]]:
        """Labels the tokens of sentences, and returns the segments: label, span and probability."""
        data = model.spec.data
        assert data is not None  # the model was trained on data
        absent = (*model.labels, *unread_columns(model.spec))
        predictor = model.prepare(corpus_from_rows(self._columns.rows(sentences), data, optional=absent))
        prediction = model.predict(predictor, threads=threads)
        kinds = ("tokens", "segments") if self.confidence else ()
        parts = model.calibration.probabilities_of(predictor, prediction, kinds, Workers(threads))
        impossible = set(prediction.status.impossible)
        if impossible:
            first = sentences[min(impossible)].tokens
            text = " ".join(token.text for token in first[:8])
            message = (
                f"{len(impossible)} sentence{'s' * (len(impossible) > 1)} without a labelling that the model allows "
                f"get no labels: the first begins with `{text}`"
            )
            warn_of([Diagnostic("no-labelling", message, severity="warning")], depth=4)
        off = predictor.corpus.sentence_off.tolist()
        tokens = [token for sentence in sentences for token in sentence.tokens]
        kept = [t for s, (start, end) in enumerate(pairwise(off)) if s not in impossible for t in range(start, end)]
        for label in model.labels:
            texts = prediction.texts(label)
            for t in kept:
                self._places.write(label, tokens[t], texts[t])
        if self.confidence:
            sure = {label: parts.probabilities["tokens", label].tolist() for label in model.labels}
            for t in kept:
                of_labels = {label: sure[label][t] for label in model.labels}
                of_token = of_labels if len(of_labels) > 1 else of_labels[model.labels[0]]
                tokens[t]._.set(_CONFIDENCE, of_token)
        spans, allowed = [], set(kept)
        for label in self._places.of_segments:
            found, types = parts.segments[label]
            shares = parts.probabilities.get(("segments", label))
            for n, (first, last, kind) in enumerate(zip(*(each.tolist() for each in found), strict=True)):
                if first in allowed:
                    doc, end = tokens[first].doc, tokens[last].i + 1
                    mine = "" if self._places.places[label] == "ents" else label
                    span = Span(doc, tokens[first].i, end, label=types[kind], span_id=mine)
                    spans.append((label, span, 1.0 if shares is None else float(shares[n])))
        return spans


@Language.factory("dcrfdsl", default_config={"columns": {}, "labels": {}, "confidence": True})
def make_tagger(
    nlp: Language, name: str, model: str, columns: dict[str, str], labels: dict[str, str], confidence: bool
) -> SpacyTagger:
    """The factory of the component, which spaCy calls.

    nlp, name: from spaCy.
    model: the path of a model file.
    columns, labels, confidence: see `SpacyTagger`.
    """
    return SpacyTagger(name, model, columns, labels, confidence)
