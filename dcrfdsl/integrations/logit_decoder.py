"""Scores of a token classifier to legal segments with probabilities: `Decoder(id2label=config.id2label)`.

    logits [B, T, K] -> scores of words -> a model that adds them (`offset`) and allows legal moves -> segments

It needs neither torch nor transformers: logits are arrays, or tensors of torch. How the scores of a word are made of
those of its pieces follows `TokenClassificationPipeline` of transformers (`first`, `average`, `max`). Not here: that
pipeline (`transformers_pipeline`), learning moves (`training`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..data import Corpus, NumericColumn, corpus_from_rows
from ..foundation import (
    Diagnostic,
    Floats,
    Table,
    data_error,
    json_text,
    quoted_names,
    require_list,
    warn_of,
)
from ..inference import Workers
from ..model import Prediction, Predictor, TrainedModel, placed_segments
from ..semantics import Resolved, has_segments, load_text, read_columns, split_mark, split_state, unread_columns
from ..syntax import Scheme
from ..training import AnyTemplate, as_resolved, fit

Names: TypeAlias = Mapping[int, str] | Mapping[str, str] | Sequence[str]
Units: TypeAlias = list[list[int]]  # of each word, the numbers of its pieces


NO_LABEL = -100  # stands in training labels where a piece has none


class FoundSegment(NamedTuple):
    """A segment of words `first` to `last`, from 0, and the probability that exactly this one is there."""

    type: str
    first: int
    last: int
    probability: float


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), np.float64)


def _log_average(logits: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_softmax(logits).mean(axis=0)), np.float64)


# The scores [K] of a word from those [pieces, K] of its pieces.
PIECES: Table[Callable[[Floats], Floats]] = Table(
    "way to make scores of words",
    {
        "first": lambda logits: logits[0],
        "average": _log_average,
        "max": lambda logits: logits[_softmax(logits).max(axis=1).argmax()],
    },
)


class Decoder:
    """Turns the logits of a token classifier into legal segments with probabilities.

    template: that adds the logits by `offset`: in any form that `dcrfdsl.fit` takes, if it learns nothing, or a
        `TrainedModel`. By default one is made of `id2label`: it adds the logits and allows the moves of the scheme.
    id2label: the label of each logit, as `model.config.id2label`; needed unless a template lists its states itself,
        `label tag in {O, B-PER, I-PER}`. Without a template: marks of `bio`, `bioes`, `bilou` or `bmes` and `O`,
        or types alone, of which each run is a segment. What has no mark beside labels with marks is left out, which is
        a DcrfWarning.
    pieces: whose scores a word has, where `word_ids` tells the pieces of words: of the `first` one, as most networks
        are trained; the log of the `average` probability; or of the one that is surest, `max`.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.
    model: the `TrainedModel`, which can be saved, calibrated and explained.

    Raises DcrfError for labels that are not the states of the template, and for other arguments that do not fit.

    >>> import numpy as np
    >>> from dcrfdsl.transformers import Decoder
    >>> decode = Decoder(id2label=["O", "B-PER", "I-PER"])
    >>> logits = np.array([[0.0, 0.1, 2.0], [0.2, 0.0, 1.5], [3.0, 0.0, 0.0]])
    >>> decode.labels(logits)
    ['B-PER', 'I-PER', 'O']
    >>> (one,) = decode(logits, "Ada Lovelace wrote", offset_mapping=[(0, 3), (4, 12), (13, 18)])
    >>> one["entity_group"], one["word"], 0.0 < one["score"] < 1.0
    ('PER', 'Ada Lovelace', True)
    """

    def __init__(
        self,
        template: AnyTemplate | TrainedModel | None = None,
        id2label: Names | None = None,
        *,
        pieces: str = "first",
        threads: int | None = None,
    ):
        if pieces not in PIECES:
            message = f"`{pieces}` is no way to make scores of words"
            raise data_error("unknown-method", message, help=f"the ways are {_few(tuple(PIECES))}")
        self._pieces = pieces
        self._threads = threads
        names = None if id2label is None else _names(id2label)
        if isinstance(template, TrainedModel):
            self.model = template
        elif template is not None:
            self.model = fit(_as_template(template), threads=threads)
        elif names is not None:
            self.model = fit(load_text(_template_of(names), "<id2label>"), threads=threads)
        else:
            raise TypeError("`Decoder` takes a template, or `id2label`, or both")
        self._label, self._column, self._words = _columns_of(self.model)
        self._states = self.model.states[self._label]
        if names is None and isinstance(self.model.spec.labels[0].domain, Scheme):
            message = f"the scheme of `{self._label}` puts its states in an order of its own: {_few(self._states)}"
            remedy = "name the label of each logit: `Decoder(…, id2label=model.config.id2label)`"
            raise data_error("bad-argument", message, help=remedy)
        self.names = self._states if names is None else names
        self._state_of = [_state_of(name, self._states) for name in self.names]
        self._found = [state for state in self._states if state in self._state_of]
        strange = [name for name, state in zip(self.names, self._state_of, strict=True) if state is None]
        if strange and template is not None:
            message = f"`id2label` has {_few(strange)}, and the states of the template are {_few(self._states)}"
            raise data_error("bad-argument", message, help="declare the labels of the network as the template's states")
        if strange:
            message = f"`id2label` has {_few(strange)} beside marks of segments: these are left out, and never found"
            remedy = "write a template with all labels, if they are meant"
            warn_of([Diagnostic("bad-argument", message, severity="warning", help=remedy)], depth=2)

    # calls ------------------------------------------------------------------------------------------------------------

    def __call__(
        self,
        logits: Any,
        texts: Any,
        *,
        word_ids: Any = None,
        offset_mapping: Any = None,
        special_tokens_mask: Any = None,
    ) -> list[Any]:
        """The segments of texts, as `TokenClassificationPipeline` gives them: a list of dicts for each text.

        logits: [B, T, K], or a list of arrays [T, K]; of one text [T, K]. Tensors of torch will do.
        texts: one text for each, or its list of words; of one text that itself.
        word_ids: of each text, for each piece the number of its word or None, as `encoding.word_ids(i)`. Labels are
            decided for words then, else for pieces.
        offset_mapping: of each text, for each piece its first character and the last one, excluded. Not needed where
            texts are lists of words.
        special_tokens_mask: of each text, for each piece whether it is no part of the text, such as padding. Without
            it, that are the pieces without a word, or without a character.

        A dict has `entity_group`, `score` (the probability that exactly this segment is there), `word` (its text),
        `start` and `end`, characters of the text; of a list of words, of these joined by spaces. Raises DcrfError where
        arguments do not fit each other. A text that no legal labelling fits is a DcrfWarning and has no segments.
        """
        batch = _Batch.of(logits, len(self.names), word_ids, offset_mapping, special_tokens_mask)
        texts = batch.each(texts, "texts")
        units = batch.units()
        if cut := [n for n, text in enumerate(texts) if not isinstance(text, str) and len(text) > len(units[n])]:
            message = f"words of text {', '.join(str(n + 1) for n in cut[:10])}, from 1, have no piece and get no label"
            remedy = "split longer texts than the network takes, or leave `truncation` out"
            warn_of([Diagnostic("bad-argument", message, severity="warning", help=remedy)], depth=2)
        places = [_places(text, *batch.of_text(n), units[n]) for n, text in enumerate(texts)]
        words = [[whole[start:end] for start, end in of_words] for whole, of_words in places]
        answers: list[Any] = []
        for (whole, of_words), found in zip(places, self.segments(self._scores_of(batch), words), strict=True):
            spans = [(one, of_words[one.first][0], of_words[one.last][1]) for one in found]
            answers.append([_answer(one, whole[start:end], start, end) for one, start, end in spans])
        return answers if batch.is_several else list(answers[0])

    def labels(
        self, logits: Any, *, words: Any = None, word_ids: Any = None, special_tokens_mask: Any = None
    ) -> list[Any]:
        """The legal labels of words, as `id2label` names them: a list for each text, or one for one text.

        logits, word_ids, special_tokens_mask: as in a call. Without `word_ids` each piece is a word.
        words: of each text, if the template reads them.

        Words without a piece, as those behind the last one that a network takes, have no label.
        """
        batch = _Batch.of(logits, len(self.names), word_ids, None, special_tokens_mask)
        _, prediction, off = self._decoded(self._scores_of(batch), self._batch_words(words, batch))
        name_of = {state: name for name, state in zip(self.names, self._state_of, strict=True)}
        texts = [] if prediction is None else [name_of[state] for state in prediction.texts(self._label)]
        answers: list[Any] = [texts[start:end] for start, end in pairwise(off)]
        return answers if batch.is_several else list(answers[0])

    def corpus(
        self,
        logits: Any,
        labels: Any = None,
        *,
        words: Any = None,
        word_ids: Any = None,
        special_tokens_mask: Any = None,
    ) -> Corpus:
        """The scores of words as a corpus: to learn moves, to calibrate and evaluate by gold labels.

        logits, words, word_ids, special_tokens_mask: as for `labels`.
        labels: the gold label of each word of each text, as `id2label` names or numbers them; or of each piece, with
            -100 for those without, as a network is trained with. By default there are none.

        Lines are numbers of texts. Raises DcrfError where arguments do not fit each other.

        >>> import numpy as np
        >>> from dcrfdsl.transformers import Decoder
        >>> decode = Decoder(id2label=["O", "B-PER", "I-PER"])
        >>> dev = decode.corpus([np.eye(3), np.eye(1, 3)], [["O", "B-PER", "I-PER"], ["O"]])
        >>> decode.model.evaluate(dev)["segments(tag).f1"]
        1.0
        """
        batch = _Batch.of(logits, len(self.names), word_ids, None, special_tokens_mask)
        gold = None
        if labels is not None:
            of_texts = batch.each(labels, "labels")
            gold = [self._gold_of(n, list(of_text), batch) for n, of_text in enumerate(of_texts)]
        return self._corpus(self._scores_of(batch), self._batch_words(words, batch), gold)

    def _gold_of(self, n: int, labels: list[Any], batch: _Batch) -> list[str]:
        """The states of the words of text n. DcrfError where it is not known which."""
        if any(not isinstance(one, str) and int(one) == NO_LABEL for one in labels):  # of pieces
            batch.require_pieces(n, labels, "labels")
            labels = [labels[unit[0]] for unit in batch.units_of(n)]
        else:
            labels = batch.of_words(n, labels, "labels")
        names = [one if isinstance(one, str) else dict(enumerate(self.names)).get(int(one)) for one in labels]
        if None in names:
            word = names.index(None)
            message = f"word {word} of text {n + 1}, from 0, has the label {labels[word]}, which `id2label` has not"
            remedy = "tell which pieces are no words, by `word_ids` or `special_tokens_mask`, and label all others"
            raise data_error("bad-argument", message, help=remedy)
        return [_state_of(name, self._states) or name for name in names if name is not None]

    def _scores_of(self, batch: _Batch) -> list[Floats]:
        if batch.is_plain and self._pieces == "first":
            return batch.logits
        return [self.word_scores(*of_text) for of_text in zip(batch.logits, batch.units(), strict=True)]

    def _batch_words(self, words: Any, batch: _Batch) -> list[Sequence[str]] | None:
        if words is None:
            return None
        return [batch.of_words(n, list(of_text), "words") for n, of_text in enumerate(batch.each(words, "words"))]

    # steps, which the pipeline takes too ------------------------------------------------------------------------------

    def word_scores(self, logits: Floats, units: Units) -> Floats:
        """The scores of words, [words, K].

        logits: [T, K] of the pieces of a text.
        units: of each word the numbers of its pieces.
        """
        if self._pieces == "first":
            return logits[[unit[0] for unit in units]].reshape(len(units), logits.shape[1])
        for piece in (t for unit in units for t in unit):
            if not np.isfinite(largest := logits[piece].max()):
                message = f"the largest score of piece {piece}, from 0, is `{largest}`"
                remedy = "a score is a number, or -inf where it is impossible; a piece needs one that is a number"
                raise data_error("bad-value", message, help=remedy)
        return np.array([PIECES[self._pieces](logits[unit]) for unit in units], np.float64).reshape(
            len(units), logits.shape[1]
        )

    def segments(self, scores: Sequence[Floats], words: Sequence[Sequence[str]]) -> list[list[FoundSegment]]:
        """The segments of each text, from left to right.

        scores: [words, K] of each text.
        words: of each text.
        """
        if not has_segments(self._states):
            message = f"the states of `{self._label}` mark no segments: {_few(self._states)}"
            raise data_error("bad-argument", message, help="ask for `labels`, or declare it `in bio(…)`")
        predictor, prediction, _ = self._decoded(scores, words)
        found: list[list[FoundSegment]] = [[] for _ in scores]
        if predictor is None or prediction is None:
            return found
        calibration = self.model.calibration
        parts = calibration.probabilities_of(predictor, prediction, ("segments",), Workers(self._threads))
        segments, types = parts.segments[self._label]
        sure = parts.probabilities["segments", self._label]
        for n, one in placed_segments(self._label, types, segments, sure, predictor.corpus.sentence_off):
            if np.isfinite(one.probability):
                found[n].append(FoundSegment(*one[1:]))
        return found

    def _decoded(
        self, scores: Sequence[Floats], words: Sequence[Sequence[str]] | None
    ) -> tuple[Predictor | None, Prediction | None, list[int]]:
        """The corpus bound to the model, its labels, and of each text the number of its first word."""
        off = np.concatenate([[0], np.cumsum([len(rows) for rows in scores])]).astype(np.int64).tolist()
        if not off[-1]:
            return None, None, off
        corpus = self._corpus(scores, words, None)
        predictor = self.model.prepare(corpus)
        prediction = self.model.predict(predictor, threads=self._threads)
        if impossible := list(prediction.status.impossible):
            numbers = corpus.token_line[corpus.sentence_off[impossible]].tolist()
            message = f"no legal labelling fits the scores of text {', '.join(map(str, numbers[:10]))}, from 1"
            warn_of([Diagnostic("no-labelling", message, severity="warning")], depth=4)
        return predictor, prediction, off

    def _corpus(
        self, scores: Sequence[Floats], words: Sequence[Sequence[str]] | None, gold: list[list[str]] | None
    ) -> Corpus:
        lengths, rows = np.array([len(of_names) for of_names in scores], np.int64), []
        whole = np.concatenate([np.zeros((0, len(self.names))), *scores])
        order = [self._state_of.index(state) for state in self._found]
        if order != [*range(whole.shape[1])]:
            whole = whole.take(order, axis=1)
        if len(self._found) < len(self._states):
            named, whole = whole, np.full((len(whole), len(self._states)), -np.inf)
            whole[:, [self._states.index(state) for state in self._found]] = named
        if self._words is None and gold is None and whole.max(initial=-np.inf) < np.inf:  # which NaN is not either
            lines = np.repeat(np.arange(1, len(scores) + 1), lengths)
            columns = {self._column: NumericColumn(whole)}
            return Corpus("<rows>", np.concatenate([[0], np.cumsum(lengths[lengths > 0])]), columns, lines)
        for n, of_states in enumerate(np.split(whole, np.cumsum(lengths)[:-1])):
            row: dict[str, Any] = {self._column: of_states}
            if self._words is not None:
                if words is None:
                    message = f"the template reads the words, column `{self._words}`"
                    raise data_error("missing-column", message, help="pass them: `words = [[…], …]`")
                row[self._words] = list(words[n])
            if gold is not None:
                row[self._label] = gold[n]
            rows.append(row)
        assert self.model.spec.data is not None
        optional = (*(() if gold is not None else (self._label,)), *unread_columns(self.model.spec))
        return corpus_from_rows(rows, self.model.spec.data, optional=optional)


# arguments ------------------------------------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """The arguments of a call, of several texts or of one."""

    is_several: bool
    logits: list[Floats]  # of each text [T, K]
    word_ids: list[Any] | None = None
    offsets: list[Any] | None = None
    special: list[Any] | None = None

    @classmethod
    def of(cls, logits: Any, num_names: int, word_ids: Any, offset_mapping: Any, special_tokens_mask: Any) -> _Batch:
        """TypeError or DcrfError where they do not fit each other."""
        if isinstance(logits, list | tuple):
            is_several, every = True, [_array(one) for one in logits]
        else:
            whole = _array(logits)
            is_several, every = whole.ndim != 2, list(whole) if whole.ndim == 3 else [whole]
        for n, one in enumerate(every):
            if one.ndim != 2 or one.shape[1] != num_names:
                message = f"logits of text {n + 1} have the shape {list(one.shape)}, expected [pieces, {num_names}]"
                raise data_error("bad-argument", message, help="give [B, T, K], or a list of [T, K], K as `id2label`")
        pieces = {"word_ids": word_ids, "offset_mapping": offset_mapping, "special_tokens_mask": special_tokens_mask}
        batch, given = cls(is_several, every), []
        for name, value in pieces.items():
            given.append(None if value is None else batch.each(value, name))
            for n, of_text in enumerate(given[-1] or ()):
                batch.require_pieces(n, of_text, name)
        return cls(is_several, every, *given)

    @property
    def is_plain(self) -> bool:
        """Whether each piece is a word."""
        return self.word_ids is None and self.offsets is None and self.special is None

    def each(self, values: Any, name: str) -> list[Any]:
        """The value of each text. DcrfError unless there is one for each."""
        listed = list(values) if self.is_several else [values]
        if len(listed) != len(self.logits):
            message = f"`{name}` are of {len(listed)} texts, and `logits` of {len(self.logits)}"
            raise data_error("bad-argument", message, help=f"give `{name}` of each text")
        return listed

    def require_pieces(self, n: int, values: Sequence[Any], name: str) -> None:
        """DcrfError unless text n has one value for each piece."""
        if len(values) != len(self.logits[n]):
            message = f"`{name}` of text {n + 1} has {len(values)} entries, and its logits {len(self.logits[n])} pieces"
            raise data_error("bad-argument", message, help="give one a piece, padding too")

    def of_words(self, n: int, values: list[Any], name: str) -> list[Any]:
        """Those of the words of text n that have a piece. DcrfError where some have no value; others need no piece."""
        units, (word_ids, _) = self.units_of(n), self.of_text(n)
        words = range(len(units)) if word_ids is None else [int(word_ids[unit[0]]) for unit in units]
        if len(values) <= max(words, default=-1) or (word_ids is None and len(values) > len(words)):
            least = "" if word_ids is None else "at least "
            message = f"`{name}` of text {n + 1} are {len(values)}, expected {least}{max(words, default=-1) + 1}"
            raise data_error("bad-argument", message, help="give one for each word, in their order")
        return [values[word] for word in words]

    def of_text(self, n: int) -> tuple[Any, Any]:
        """Numbers of words and offsets of a text, None for those that are not given."""
        return (
            None if self.word_ids is None else self.word_ids[n],
            None if self.offsets is None else [tuple(map(int, pair)) for pair in self.offsets[n]],
        )

    def units(self) -> list[Units]:
        """Of each text the pieces of its words."""
        return [self.units_of(n) for n in range(len(self.logits))]

    def units_of(self, n: int) -> Units:
        """The pieces of the words of text n."""
        word_ids, offsets = self.of_text(n)
        special = [False] * len(self.logits[n]) if self.special is None else [bool(one) for one in self.special[n]]
        kept = [t for t, is_special in enumerate(special) if not is_special]
        if word_ids is not None:
            pieces: dict[int, list[int]] = {}
            numbered = [(int(word_ids[t]), t) for t in kept if word_ids[t] is not None]
            whole = all(word == word_ids[t] for word, t in numbered)
            if not whole or numbered != sorted(numbered) or min(numbered, default=(0,)) < (0,):
                message = f"`word_ids` of text {n + 1} are no numbers of words that rise from 0, and None elsewhere"
                raise data_error("bad-argument", message, help="of two texts mask one, by `special_tokens_mask`")
            for word, t in numbered:
                pieces.setdefault(word, []).append(t)
            return list(pieces.values())
        return [[t] for t in kept if offsets is None or offsets[t][0] < offsets[t][1]]


def _array(values: Any) -> Floats:
    """An array of floats from an array, nested lists, or a tensor of torch, on any device and of any precision."""
    if type(values) is np.ndarray:
        return values.astype(np.float64, copy=False)
    if hasattr(values, "logits"):
        raise data_error("bad-argument", "`logits` is the whole output of a network", help="pass its `.logits`")
    detach = getattr(values, "detach", None)
    try:
        return np.asarray(values if detach is None else detach().cpu().double().numpy(), np.float64)
    except ValueError:  # lists of several lengths, or texts
        message = "the logits of a text are no array: rows of several lengths, or no numbers"
        raise data_error("bad-argument", message, help="give [B, T, K], or a list of [T, K], K as `id2label`") from None


def _places(text: Any, word_ids: Any, offsets: Any, units: Units) -> tuple[str, list[tuple[int, int]]]:
    """The whole text, and the characters of each word."""
    if not isinstance(text, str):
        require_list(text, "texts", "a text, or the list of its words")
        if word_ids is None:
            raise data_error("bad-argument", "the texts are lists of words", help="pass `word_ids`, or the texts")
        ends = np.cumsum([len(word) + 1 for word in text])  # joined by spaces
        words = [int(word_ids[unit[0]]) for unit in units]
        if words and max(words) >= len(text):
            message = f"`word_ids` has word {max(words)}, from 0, and a text is a list of {len(text)} words"
            raise data_error("bad-argument", message, help="give the words that the tokenizer has split")
        return " ".join(text), [(int(ends[w]) - len(text[w]) - 1, int(ends[w]) - 1) for w in words]
    if offsets is None:
        message = "without `offset_mapping` it is not known where in the text a piece is"
        remedy = "call the tokenizer with `return_offsets_mapping=True`, or ask for `labels` alone"
        raise data_error("bad-argument", message, help=remedy)
    places = [(min(offsets[t][0] for t in unit), max(offsets[t][1] for t in unit)) for unit in units]
    if wrong := [pair for pair in places if not 0 <= pair[0] <= pair[1] <= len(text)]:
        message = f"`offset_mapping` has the characters {wrong[0]} in a text of {len(text)}"
        raise data_error("bad-argument", message, help="give the texts in the order of the logits")
    return text, places


def _answer(found: FoundSegment, text: str, start: int, end: int) -> dict[str, Any]:
    return {"entity_group": found.type, "score": found.probability, "word": text, "start": start, "end": end}


# labels and templates -------------------------------------------------------------------------------------------------


def _as_template(template: AnyTemplate) -> Resolved:
    """TypeError or DcrfError where it is none, or names a model file."""
    if isinstance(template, str | os.PathLike) and os.fspath(template).endswith(".model"):
        message = f"`{template}` is a model file, and `Decoder` takes the path of a template"
        raise data_error("bad-argument", message, help=f"load it: `Decoder(dcrfdsl.load({os.fspath(template)!r}), …)`")
    return as_resolved(template, "template")


def _names(id2label: Names) -> tuple[str, ...]:
    """The names in the order of the logits. DcrfError unless these are numbered 0, 1, … and differ."""
    values = list(id2label.values()) if isinstance(id2label, Mapping) else id2label
    if isinstance(id2label, Mapping) and not all(str(number).isdecimal() for number in id2label):
        remedy = "give `model.config.id2label`; of `label2id`: `{number: name for name, number in label2id.items()}`"
        raise data_error("bad-argument", "`id2label` names numbers, expected the label of each number", help=remedy)
    if isinstance(values, list | tuple) and not all(isinstance(name, str) for name in values):
        remedy = "name the label of each logit, as `B-PER`"
        raise data_error("bad-argument", "`id2label` has labels that are no texts", help=remedy)
    if isinstance(id2label, Mapping):
        by_number = {int(number): name for number, name in id2label.items()}
        if sorted(by_number) != list(range(len(by_number))):
            message = f"`id2label` has the numbers {', '.join(map(str, sorted(by_number)[:10]))}, expected 0, 1, …"
            raise data_error("bad-argument", message, help="name the label of each logit")
        names = tuple(by_number[number] for number in range(len(by_number)))
    else:
        require_list(id2label, "id2label", "the label of each logit")
        names = tuple(id2label)
    twice = [name for name in names if names.count(name) > 1]
    if twice or not names:
        message = f"`id2label` has `{twice[0]}` twice" if twice else "`id2label` names no label"
        raise data_error("bad-argument", message, help="name the label of each logit")
    return names


def _state_of(name: str, states: Sequence[str]) -> str | None:
    """The state that a label of the network stands for: a type alone is I-X of `iob1`, whose runs are segments."""
    return next((state for state in (name, f"I-{name}") if state in states), None)


def _other_ends(name: str) -> Iterator[str]:
    """What a name with a mark in another form, `B_PER`, `b-PER` or `PER-B`, has beside it: `I_PER`."""
    for pattern, other in ((r"B([_.:/ ].+)", r"I\1"), (r"b([-_].+)", r"i\1"), (r"(.+[-_])B", r"\1I")):
        if found := re.fullmatch(pattern, name):
            yield found.expand(other)


def _template_of(names: Sequence[str]) -> str:
    """A template that adds the logits and allows the moves of the scheme that the labels are marked by."""
    if marked := [name for name in names if any(other in names for other in _other_ends(name))]:
        message = f"`id2label` has {_few(marked)}: marks of segments are written as in `B-PER` and `I-PER`"
        remedy = "give the names in this form; or write a template, if these are types"
        raise data_error("bad-argument", message, help=remedy)
    parts = [split_mark(name) for name in names]
    if any(part is not None and part[1] for part in parts):  # what has no mark beside these is no label of a word
        names = [name for name, part in zip(names, parts, strict=True) if part is not None]
        parts = [part for part in parts if part is not None]
    if any(part is None for part in parts):
        scheme, types = "iob1", [name for name in names if name != "O"]
    else:
        begun = {part[1] for part in parts if part is not None and part[0] in "BS"}
        types = list(dict.fromkeys(part[1] for part in parts if part is not None and part[1]))
        fits = [name for name in ("bio", "bioes", "bilou", "bmes") if all(split_state(name, state) for state in names)]
        scheme = fits[0] if fits and begun == {*types} else "iob1"
    if not types:
        raise data_error("bad-argument", f"`id2label` has no type of segments: {_few(names)}", help="as `B-PER`")
    listed = ", ".join(json_text(kind, ensure_ascii=False) for kind in types)
    data = "data jsonl(logits: scores(tag), tag)"
    return f"{data}\nlabel tag in {scheme}({listed})\nclique tag: offset(logits)\n"


def _columns_of(model: TrainedModel) -> tuple[str, str, str | None]:
    """The label, the column of its scores, and that of the words, if features read it. DcrfError for other models."""
    spec = model.spec
    columns = read_columns(spec)
    scores = [column.name for column in columns if column.type.of == model.labels]
    others = [column for column in columns if column.name not in scores]
    if len(model.labels) != 1 or len(scores) != 1 or len(others) > 1 or any(one.type.name != "str" for one in others):
        message = "a decoder takes a template with one label, one column of its scores, and at most one of words"
        remedy = "as `data jsonl(word, logits: scores(tag), tag)`, with `clique tag: offset(logits)`"
        raise data_error("bad-argument", message, help=remedy)
    return model.labels[0], scores[0], others[0].name if others else None


def _few(names: Sequence[str]) -> str:
    return ", ".join(quoted_names(names, 8))
