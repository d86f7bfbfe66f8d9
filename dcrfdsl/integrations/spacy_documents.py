"""spaCy's documents as sentences of columns, and labels written into them.

    token.lemma_, token._.gazetteer  -> columns           labels -> doc.ents, doc.spans, token.tag_, token._.NAME

A column is read from an attribute of tokens by its name. A sentence is one that spaCy has found, else the document.
Tokens of white space, which data in columns never have, are no part of it. Not here: models (`spacy_component`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ..data import Corpus, InternedColumn, corpus_from_rows, remarked
from ..foundation import Diagnostic, data_error, dataclass, did_you_mean, needed, quoted_names, spelling_remedy, warn_of
from ..semantics import ModelSpec, has_segments, read_columns, unread_columns
from ..syntax import Column, Scheme
from ..training import AnyTemplate, as_resolved

with needed("spacy"):
    from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
    from spacy.tokens import Doc, Span, Token

Reader: TypeAlias = Callable[[Token], Any]

_ATTRIBUTES = frozenset(name for name in dir(Token) if not name.startswith("_"))
_WORDS = ("word", "form", "token")  # columns of these names are the texts of tokens
_TO_TOKENS = ("head", "left_edge", "right_edge")  # attributes that are tokens: `head.lemma`
_SET_BY_COMPONENTS = ("lemma", "pos", "tag", "dep", "morph", "ent_type")  # empty unless a component sets them
_SHOWN = "`text`, `lower`, `lemma`, `pos`, `tag`, `shape`, `dep`, `head`, `head.lemma`, `_.NAME` of an extension"


class Sentence(NamedTuple):
    """The tokens of a sentence that are no white space, at least one."""

    doc: Doc
    tokens: list[Token]


def sentences_of(docs: Iterable[Doc]) -> list[Sentence]:
    """The sentences of documents, as spaCy has found them; of a document without such, all of it."""
    found = []
    for doc in docs:
        for span in doc.sents if doc.has_annotation("SENT_START") else (doc[:],):
            tokens = [token for token in span if not token.is_space]
            if tokens:
                found.append(Sentence(doc, tokens))
    return found


# columns --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenColumns:
    """How the columns of a template are read from tokens.   attributes: of each column, as `lemma` or `head._.kind`."""

    columns: tuple[Column, ...]
    attributes: Mapping[str, str]

    @classmethod
    def of(cls, spec: ModelSpec, named: Mapping[str, str]) -> TokenColumns:
        """The columns that features read. DcrfError where a column is unknown, or no attribute gives it.

        named: attributes by column; other columns are read from the attribute of their own name.
        """
        kept = read_columns(spec)
        names = [column.name for column in kept]
        refuse_unknown(named, [*names, *unread_columns(spec)], "column")
        for name in names:
            _refuse_unreadable(name, _attribute(name, named))
        return cls(kept, {name: _attribute(name, named) for name in names})

    def rows(self, sentences: Sequence[Sentence]) -> list[dict[str, list[Any]]]:
        """Of each sentence its values by column."""
        readers = [(column, _reader(self.attributes[column.name])) for column in self.columns]
        self._warn_of_empty(sentences)
        return [
            {column.name: _values(column, map(read, sentence.tokens)) for column, read in readers}
            for sentence in sentences
        ]

    def _warn_of_empty(self, sentences: Sequence[Sentence]) -> None:
        for name, attribute in self.attributes.items():
            last = attribute.rpartition(".")[2]
            if last not in _SET_BY_COMPONENTS or "_." in attribute:
                continue
            if sentences and not any(sentence.doc.has_annotation(last.upper()) for sentence in sentences):
                message = f"column `{name}` is empty: no component before this one has set `token.{last}_`"
                remedy = "add the component that does, or place this one after it, by `nlp.add_pipe(…, last=True)`"
                warn_of([Diagnostic("missing-column", message, severity="warning", help=remedy)], depth=4)


def _attribute(column: str, named: Mapping[str, str]) -> str:
    return named.get(column, "text" if column in _WORDS else column)


def _refuse_unreadable(column: str, attribute: str) -> None:
    *before, last = attribute.split(".")
    is_extension = before[-1:] == ["_"]
    before = before[:-1] if is_extension else before
    if all(step in _TO_TOKENS for step in before) and (is_extension or last in _ATTRIBUTES):
        return
    guess = did_you_mean(attribute, [one.removesuffix("_") for one in _ATTRIBUTES])
    remedy = f"name one in the config, as `columns = {{{column!r}: {guess or 'lemma'!r}}}`: {_SHOWN}"
    message = f"column `{column}` of the model: tokens of spaCy have no attribute `{attribute}`"
    raise data_error("missing-column", message, help=remedy)


def _reader(attribute: str) -> Reader:
    """The function that reads an attribute of a token; texts are preferred to their numbers, `lemma_` to `lemma`."""
    steps = attribute.split(".")
    if "_" in steps and not Token.has_extension(steps[-1]):
        message = f"tokens have no extension `{steps[-1]}`, which a column of the model is read from"
        remedy = f'`spacy.tokens.Token.set_extension("{steps[-1]}", default="")`, before documents are processed'
        raise data_error("missing-column", message, help=remedy)
    names = [f"{step}_" if f"{step}_" in _ATTRIBUTES else step for step in steps]

    def read(token: Token) -> Any:
        value: Any = token
        for name in names:
            value = getattr(value, name)
        return value

    return read


def _values(column: Column, values: Iterable[Any]) -> list[Any]:
    """What a column of this type takes: texts of all, but of numbers, of vectors and of bags."""
    return list(map(str, values)) if column.type.name == "str" else list(values)


def refuse_unknown(named: Iterable[str], known: Sequence[str], what: str) -> None:
    """DcrfError for a name that the model does not have."""
    for name in named:
        if name not in known:
            remedy = spelling_remedy(did_you_mean(name, known), f"it has {', '.join(quoted_names(known)) or 'none'}")
            raise data_error("bad-argument", f"the model has no {what} `{name}`", help=remedy)


# labels ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelPlaces:
    """Where each label is in a document: `ents`, `spans`, `tag`, `pos`, or `_.NAME`, an extension of tokens."""

    places: Mapping[str, str]

    @classmethod
    def of(cls, states: Mapping[str, Sequence[str]], named: Mapping[str, str]) -> LabelPlaces:
        """The places of labels. DcrfError where a label cannot be in its place.

        states: by label.   named: places by label; by default the first label with segments is `ents`, others are
        `spans`, `tag` and `pos` are what they say, and the rest extensions of their names.
        """
        refuse_unknown(named, list(states), "label")
        usual = _usual_places(list(states), [label for label in states if has_segments(states[label])])
        places = {label: named.get(label, usual[label]) for label in states}
        for label, place in places.items():
            _refuse_place(label, place, states[label])
        twice = [place for place in places.values() if place != "spans" and list(places.values()).count(place) > 1]
        if twice:
            both = " and ".join(quoted_names([label for label in places if places[label] == twice[0]]))
            remedy = "name another place for one of them in the config: `labels = {…}`"
            raise data_error("bad-argument", f"{both} are both to be `{twice[0]}`", help=remedy)
        return cls(places)

    def declare(self) -> None:
        """Makes the extensions that labels are kept in."""
        for place in self.places.values():
            if place.startswith("_.") and not Token.has_extension(place[2:]):
                Token.set_extension(place[2:], default=None)

    @property
    def of_segments(self) -> list[str]:
        """The labels whose segments are spans."""
        return [label for label, place in self.places.items() if place in ("ents", "spans")]

    def write(self, label: str, token: Token, state: str) -> None:
        """Sets a label of a token."""
        place = self.places[label]
        if place in ("tag", "pos"):
            setattr(token, f"{place}_", state)
        elif place.startswith("_."):
            token._.set(place[2:], state)

    def read(self, label: str, sentence: Sentence) -> list[str]:
        """The label of each token of a sentence; of spans in IOB2, and `_` where spaCy knows of none."""
        place = self.places[label]
        if place == "ents":
            marks = _marks(sentence.doc.ents, sentence.tokens)
            return [mark if token.ent_iob else "_" for token, mark in zip(sentence.tokens, marks, strict=True)]
        if place == "spans":
            known = label in sentence.doc.spans
            return _marks(sentence.doc.spans[label], sentence.tokens) if known else ["_"] * len(sentence.tokens)
        return list(map(str, map(_reader(place), sentence.tokens)))


def _usual_places(labels: Sequence[str], with_segments: Sequence[str]) -> dict[str, str]:
    places = {label: label if label in ("tag", "pos") else f"_.{label}" for label in labels}
    return places | {label: "ents" if label == with_segments[0] else "spans" for label in with_segments}


def _refuse_place(label: str, place: str, states: Sequence[str]) -> None:
    if place in ("ents", "spans") and not has_segments(states):
        message = f"label `{label}` has no segments, which `{place}` needs: its states are {_few(states)}"
        remedy = f"declare it as in `label {label} in bio(PER, LOC)`, or name another place: `tag`, `pos`, `_.{label}`"
        raise data_error("bad-argument", message, help=remedy)
    if place == "pos" and (strange := [state for state in states if state not in PARTS_OF_SPEECH]):
        message = f"label `{label}` has states that `token.pos` does not take: {_few(strange)}"
        remedy = f"name another place in the config: `labels = {{{label!r}: 'tag'}}`"
        raise data_error("bad-argument", message, help=remedy)
    if place not in ("ents", "spans", "tag", "pos") and not (place.startswith("_.") and place[2:].isidentifier()):
        message = f"`{place}` is no place for the label `{label}`"
        remedy = "a place is `ents`, `spans`, `tag`, `pos`, or `_.NAME`, an extension of tokens"
        raise data_error("bad-argument", message, help=remedy)


def _few(states: Sequence[str]) -> str:
    return ", ".join(quoted_names(states, 5))


def _marks(spans: Iterable[Span], tokens: Sequence[Token]) -> list[str]:
    """The spans within a sentence, in IOB2. Of spans that overlap the first counts."""
    span_of: dict[int, Span] = {}
    for span in spans:
        if not any(number in span_of for number in range(span.start, span.end)):
            span_of.update(dict.fromkeys(range(span.start, span.end), span))
    marks, before = [], None
    for token in tokens:
        span = span_of.get(token.i)
        marks.append("O" if span is None else f"{'I' if span is before else 'B'}-{span.label_}")
        before = span
    return marks


# training data --------------------------------------------------------------------------------------------------------


def corpus_from_docs(
    docs: Iterable[Doc],
    template: AnyTemplate,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Corpus:
    """A corpus of annotated documents, for `dcrfdsl.fit` and `TrainedModel.evaluate`.

    docs: with gold annotation, such as `DocBin().from_disk("train.spacy").get_docs(nlp.vocab)`.
    template: a template in any form that `fit` takes.
    columns: attributes of tokens by column, as in the config of the component; by default those of the same names.
    labels: of each label where it is: `ents`, `spans` (of the label's name), `tag`, `pos`, or `_.NAME`.

    Segments are marked as the label's scheme says. A token whose entity is missing (`token.ent_iob` is 0), as all are
    in a document without annotation, or without the label's key in `doc.spans`, has the label's mark for `missing`, and
    is a DcrfError without such. Lines are
    numbers of sentences. Raises DcrfError for a column that no attribute gives, and for a label that its place cannot
    hold.

    >>> import spacy
    >>> doc = spacy.blank("en")("9 Bath Lane")
    >>> doc.set_ents([doc.char_span(0, 11, "STREET")])
    >>> corpus_from_docs([doc], "address.dcrf").columns["part"].values
    ['B-STREET', 'I-STREET']
    """
    spec = as_resolved(template, "template").require(unchecked=True)
    segmental = [label.name for label in spec.labels if isinstance(label.domain, Scheme)]
    usual = _usual_places([label.name for label in spec.labels], segmental)
    refuse_unknown(labels or {}, list(usual), "label")
    places = LabelPlaces({**usual, **(labels or {})})
    read = TokenColumns.of(spec, columns or {})
    listed = [] if isinstance(docs, Doc) else list(docs)
    if isinstance(docs, Doc) or not all(isinstance(doc, Doc) for doc in listed):
        remedy = "`[doc]` for one; of examples `[example.reference for example in examples]`"
        raise data_error("bad-argument", "`docs` are no documents of spaCy, expected an iterable of `Doc`", help=remedy)
    sentences = sentences_of(listed)
    rows = read.rows(sentences)
    for row, sentence in zip(rows, sentences, strict=True):
        row |= {column: ["_"] * len(sentence.tokens) for column in unread_columns(spec)}
        row |= {label: places.read(label, sentence) for label in places.places}
    assert spec.data is not None
    corpus = corpus_from_rows(rows, spec.data)
    for label in spec.labels:
        if isinstance(label.domain, Scheme) and label.domain.name != "bio":
            corpus = remarked(corpus, label.name, label.domain.name)
        if places.places[label.name] in ("ents", "spans"):
            corpus = _with_missing(corpus, label.name, label.missing, places.places[label.name], sentences)
    return corpus


def _with_missing(corpus: Corpus, label: str, mark: str | None, place: str, sentences: Sequence[Sentence]) -> Corpus:
    """The corpus with the template's mark where an entity is missing. DcrfError if there is none."""
    column = corpus.columns[label]
    missing = [
        (n, token)
        for n, one in enumerate(sentences, 1)
        for token in one.tokens
        if (not token.ent_iob if place == "ents" else label not in one.doc.spans)
    ]
    if not missing:
        return corpus
    if mark is None:
        number, token = missing[0]
        message = f"in sentence {number} it is not known whether `{token.text}` is in an entity: nothing has set this"
        how = "doc.set_ents(…)" if place == "ents" else f"doc.spans[{label!r}] = […]"
        remedy = f'annotate it, by `{how}`, or declare `label {label} in bio(…) with missing = "?"`'
        raise data_error("bad-argument", message, help=remedy)
    assert isinstance(column, InternedColumn)
    values = [mark if value == "_" else value for value in column.values]
    return replace(corpus, columns={**corpus.columns, label: replace(column, values=values)})
