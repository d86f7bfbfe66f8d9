"""What `dcrfdsl tag` answers about a chunk of its input: labels, probabilities, n-best lists, notes.

    chunk of the input -> `Question` -> `Answer`, here or in another process

Not here: reading, writing (`tag_command`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from .. import data, inference, model as models, semantics
from ..foundation import dataclass, figure, json_text
from .inference_notes import bound_note, compared_note
from .options import MOST_JOBS, Argument, Decode, Features, Json, Option, OutputOrStdout, Quiet, Rounds, Threads

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NO_LABEL = "_"
_VERDICTS = {True: "accept", False: "review", None: _NO_LABEL}


def _of_tokens(every: Sequence[models.Confidence], labels: Mapping[str, bool]) -> dict[str, list[float]]:
    """A confidence for each token: of each label `LABEL_confidence`; of one with segments `LABEL_segment_confidence`.

    labels: of each whether it has segments.
    """
    out: dict[str, list[float]] = {}
    for label, has_segments in labels.items():
        out[f"{label}_confidence"] = [p for one in every for p in one.tokens[label].tolist()]
        if has_segments:
            out[f"{label}_segment_confidence"] = [p for one in every for p in _of_segments(one, label)]
    return out


def _of_sentences(every: Sequence[models.Confidence], labels: Collection[str]) -> dict[str, list[float | str | None]]:
    """A number for each sentence: `probability`, and with several labels `LABEL_probability`."""
    out: dict[str, list[float | str | None]] = {"probability": [_number(one.sentence) for one in every]}
    for label in labels if len(labels) > 1 else ():
        out[f"{label}_probability"] = [_number(one.layers[label]) for one in every]
    return out


def _records(every: Sequence[models.Confidence]) -> dict[str, Sequence[Any]]:
    """The confidences of each sentence as JSON values."""
    return {
        "probability": [one.sentence for one in every],
        "layers": [dict(one.layers) for one in every],
        "tokens": [{label: p.tolist() for label, p in one.tokens.items()} for one in every],
        "segments": [[_record(segment) for segment in one.segments] for one in every],
    }


def _of_segments(sure: models.Confidence, label: str) -> list[float]:
    """Of each token the probability of its segment, NaN outside."""
    numbers = [math.nan] * len(sure.tokens[label])
    for segment in sure.segments:
        if segment.label == label:
            numbers[segment.first : segment.last + 1] = [segment.probability] * (segment.last + 1 - segment.first)
    return numbers


def _record(segment: models.SegmentConfidence) -> dict[str, Any]:
    return {**segment._asdict(), "first": segment.first + 1, "last": segment.last + 1}


def _text(probability: float) -> str:
    return _NO_LABEL if math.isnan(probability) else f"{probability:.4f}"


def _number(probability: float) -> float | None:
    return None if math.isnan(probability) else probability


@dataclass(frozen=True, kw_only=True)
class TagOptions:
    model: Annotated[str, Argument("MODEL")]
    files: Annotated[list[str] | None, Argument("[FILE...]")] = None
    output: OutputOrStdout = None
    marginals: bool = False
    cliques: Annotated[bool, Option(name="--clique-marginals")] = False
    confidence: bool = False
    sets: bool = False
    accept: bool = False
    nbest: Annotated[int | None, Option("K", min=1)] = None
    decode: Decode = None
    given: bool = False
    apart: bool = False
    pretty: bool = False
    as_json: Json = False
    flush: Annotated[bool | None, Option(name="--flush/--no-flush")] = None
    rounds: Rounds = None
    threads: Threads = None
    jobs: Annotated[int | None, Option("N", min=1, max=MOST_JOBS)] = None
    features: Features = None
    quiet: Quiet = False


_SMALLEST = 5e-5  # a probability below this would read 0.0000
_WITH_NUMBERS = ("jsonl", "spans")  # formats whose values are numbers or texts, and not cells


def _certificates(prediction: models.Prediction) -> dict[str, Sequence[Any]]:
    """For each sentence its score, the bound on all scores, and whether the labels are proven to be the best.

    Only under `decode certified` and `optimal`. The score is None where there is no labelling, and the bound where that
    is proven.
    """
    if prediction.bounds is None or prediction.certified is None:
        return {}
    return {
        "score": [score if math.isfinite(score) else None for score in prediction.scores.tolist()],
        "bound": [bound if math.isfinite(bound) else None for bound in prediction.bounds.tolist()],
        "proven": prediction.certified.tolist(),
    }


def _tokens_of(sentences: Iterable[int], corpus: data.Corpus) -> list[int]:
    off = corpus.sentence_off.tolist()
    return [token for s in sentences for token in range(off[s], off[s + 1])]


def _sentences(count: int) -> str:
    return f"{count} sentence{'' if count == 1 else 's'}"


class Question(NamedTuple):
    """A part of the input. known_labels: its labels with `--given`, else None.   before: how many sentences came
    before it.
    """

    corpus: data.Corpus
    known_labels: data.EncodedLabels | None
    predictor: models.Predictor
    before: int


_SUMMED = (  # of the notes of several parts
    "exact", "tried", "approximate", "estimated", "searched", "score", "without", "unproven", "compared", "cut",
)  # fmt: skip


@dataclass
class Notes:
    """What the last lines of the command are made of. Those of several parts add up, in order."""

    exact: int = 0  # sentences by how their n-best labellings were found
    tried: int = 0
    approximate: int = 0
    estimated: int = 0  # sentences whose confidence is not exact
    searched: int = 0  # sentences that were labelled approximately, and their total score
    score: float = 0.0
    without: int = 0  # sentences without any labelling, the place of the first, and whether it is certain
    first_without: str = ""
    surely: bool = True
    ranked: bool = False
    bounds: inference.RunStatus | None = None  # sums over sentences with a bound on their score
    unproven: int = 0  # sentences on which the search that keeps to `once` gave up
    cut: int = 0  # sentences whose sets are too large to be listed
    compared: int = 0  # sentences whose labels are the likeliest of some, with latent variables summed out

    def add(self, more: Notes) -> None:
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(more, name))
        if more.bounds is not None:
            self.bounds = more.bounds if self.bounds is None else self.bounds + more.bounds
        self.first_without = self.first_without or more.first_without
        self.surely, self.ranked = self.surely and more.surely, self.ranked or more.ranked

    def of_list(self, nbest: inference.NBest, corpus: data.Corpus) -> None:
        for labellings in nbest.sentences:
            weighed = bool(len(labellings)) and not math.isnan(labellings.probability[0])
            self.exact += labellings.exact
            self.tried += not labellings.exact and weighed
            self.approximate += not labellings.exact and not weighed
        none = [s for s, labellings in enumerate(nbest.sentences) if not len(labellings)]
        self.of_impossible(none, corpus, surely=all(nbest.sentences[s].exact for s in none))

    def of_impossible(self, sentences: Iterable[int], corpus: data.Corpus, *, surely: bool) -> None:
        for s in sentences:
            self.without += 1
            self.first_without = self.first_without or f"{corpus.file}:{corpus.token_line[corpus.sentence_off[s]]}"
            self.surely = self.surely and surely

    def lines(self, model: models.TrainedModel, options: TagOptions) -> Iterator[str]:
        """The notes and warnings for the end."""
        method = semantics.inference_settings(model.spec).method
        if self.cut:
            yield f"warning: the sets of {_sentences(self.cut)} are too large, and cut: nothing is promised of these"
        if self.ranked or options.marginals or options.cliques or options.confidence:
            yield from models.probability_notes(model)
        if options.cliques and method == "pruned":
            yield "note: clique marginals by exact inference, which fits, and not by `pruned`"
        if self.estimated:
            yield (
                f"note: the confidence on {_sentences(self.estimated)} is an estimate, that in single tokens at least: "
                f"`{method}` is not exact"
            )
        if self.searched:
            yield (
                f"note: the labels of {_sentences(self.searched)} are the best that `{method}` found, and need not be "
                f"the best there are; their total score is {figure(self.score)}"
            )
        if self.compared:
            yield compared_note(self.compared)
        if self.bounds is not None:
            yield bound_note(self.bounds)
        if self.unproven:
            yield (
                f"note: on {_sentences(self.unproven)} the search for the best labels that keep to "
                f"`once {model.spec.onces[0].label}` gave up: the labels keep to it, and need not be the best"
            )
        if self.exact and method not in ("exact", "auto"):
            yield f"note: n-best by exact inference, which fits, and not by `{method}`"
        if self.approximate:
            yield (
                f"note: exact inference does not fit on {_sentences(self.approximate)}: "
                "their n-best labellings are approximate, without probabilities"
            )
        if self.tried:
            yield (
                f"note: the n-best labellings of {_sentences(self.tried)} are the best that were tried, with their "
                "exact probabilities, and others may lie between and behind them: the latent variables cannot be "
                "summed out first at a bearable cost"
            )
        if self.without:
            kept = "that keeps to the given labels " if options.given else ""
            verdict = "is possible" if self.surely else "was found"
            many = f"{self.without} sentences, the first" if self.without > 1 else "the sentence"
            rank = "rank 0 and " if self.ranked else ""
            yield (
                f"warning: no labelling {kept}{verdict} for {many} at {self.first_without}; "
                f"written with {rank}`{_NO_LABEL}` for each label"
            )


@dataclass
class Answer:
    """What is written about a part of the input.

    status: how inference ended.   columns, numbers: texts and numbers of each token.   copies: for n-best lists how
    often each sentence is written, and `remarks`, a value for each copy.   lines: with `--json`, in place of these.
    """

    status: inference.RunStatus
    columns: dict[str, Sequence[str]] = field(default_factory=dict)
    numbers: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    copies: Sequence[int] | None = None
    remarks: Mapping[str, Sequence[float | str | None]] = field(default_factory=dict)
    lines: Sequence[str] = ()
    notes: Notes = field(default_factory=Notes)


class Tagger:
    """Tags parts of the input independently."""

    def __init__(self, model: models.TrainedModel, options: TagOptions, threads: int | None):
        self.model, self.options, self.threads = model, options, threads

    def question(self, corpus: data.Corpus, before: int) -> Question:
        """The part of the work that can be done in advance."""
        known_labels = (
            data.encode_known_labels(self.model.spec, self.model.states, corpus) if self.options.given else None
        )
        return Question(corpus, known_labels, self.model.prepare(corpus, known_labels), before)

    def answer(self, question: Question) -> Answer:
        """The best labelling of each sentence, or the best so many."""
        whole = self.options.sets and self.model.decisions.promised[0].of == "sentences"
        return self._several(question) if whole or self.options.nbest is not None else self._best(question)

    def _best(self, question: Question) -> Answer:
        """The best labelling of each sentence, `_` where there is none."""
        from ..semantics import has_segments

        (corpus, known_labels, predictor, before), answer = question, Answer(inference.RunStatus())
        prediction = self.model.predict(predictor, threads=self.threads, decode=self.options.decode)
        answer.status = prediction.status
        scores = [score for score in prediction.scores.tolist() if score == score]  # not-a-number: pointwise
        answer.notes.compared += answer.status.compared
        if answer.status.approximate and scores and not answer.status.compared:
            answer.notes.searched += len(scores)
            answer.notes.score += sum(scores)
        columns = {label: prediction.texts(label) for label in prediction.codes}
        answer.notes.unproven += answer.status.unproven
        if answer.status.bounded:
            answer.notes.bounds = answer.status
        surely, proven = not answer.status.unproven, prediction.certified
        if proven is not None:
            surely &= bool(proven[list(answer.status.impossible)].all())
        answer.notes.of_impossible(answer.status.impossible, corpus, surely=surely)
        for token in _tokens_of(answer.status.impossible, corpus):
            for texts in columns.values():
                texts[token] = _NO_LABEL
        tables = self._tables(corpus, predictor)
        sure: Sequence[models.Confidence] | None = None
        if self.options.confidence:
            sure = self.model.calibration.confidences(predictor, prediction=prediction, threads=self.threads)
            answer.notes.estimated += sum(not one.exact for one in sure)
        kind, decided = "set" if self.options.sets else "verdict", dict[str, list[str]]()
        if self.options.sets:
            decided = self._sets(predictor, answer.notes)
        if self.options.accept:
            every = sure or self.model.calibration.confidences(predictor, prediction=prediction, threads=self.threads)
            decided = self._verdicts(every, columns)
        if self.options.as_json:
            copies, spans = [1] * corpus.num_sentences, pairwise(corpus.sentence_off.tolist())
            remarks = _certificates(prediction) | ({} if sure is None else _records(sure))
            if decided:
                remarks[f"{kind}s"] = [{y: of[start:end] for y, of in decided.items()} for start, end in spans]
            answer.lines = list(self._json_lines(corpus, copies, remarks, columns, tables, known_labels, before))
        else:
            answer.columns = {**columns, **self._distributions(tables)}
            answer.columns |= {f"{label}_{kind}": column for label, column in decided.items()}
            has_numbers = self.model.spec.data is not None and self.model.spec.data.format in _WITH_NUMBERS
            if sure is not None:
                labels = {label: has_segments(self.model.states[label]) for label in columns}
                of_tokens = _of_tokens(sure, labels)
                if has_numbers:
                    answer.numbers = {name: list(map(_number, column)) for name, column in of_tokens.items()}
                else:
                    answer.columns |= {name: list(map(_text, column)) for name, column in of_tokens.items()}
                answer.remarks = _of_sentences(sure, labels)
        return answer

    def _several(self, question: Question) -> Answer:
        """The best labellings of each sentence, so many, or its set; a sentence without any comes once, at rank 0."""
        corpus, known_labels, predictor, before = question
        if self.options.nbest is None:
            nbest = self.model.decisions.labellings(predictor, inference.Workers(self.threads))
            answer = Answer(nbest.status, notes=Notes(cut=sum(not one.exact for one in nbest.sentences)))
        else:
            nbest = self.model.nbest(predictor, self.options.nbest, threads=self.threads)
            answer = Answer(nbest.status, notes=Notes(ranked=True))
            answer.notes.of_list(nbest, corpus)
        copies = [max(1, len(labellings)) for labellings in nbest.sentences]
        columns, remarks = self._ranked(nbest, corpus)
        tables = self._tables(corpus, predictor)
        if self.options.as_json:
            answer.lines = list(self._json_lines(corpus, copies, remarks, columns, tables, known_labels, before))
            return answer
        import numpy as np

        off = corpus.sentence_off
        rows = np.concatenate(
            [np.empty(0, np.int64), *(np.tile(np.arange(off[s], off[s + 1]), many) for s, many in enumerate(copies))]
        )  # for each token of the copies, its token of the corpus
        again = {label: table[rows] for label, table in tables.items()}
        answer.columns, answer.copies = {**columns, **self._distributions(again)}, copies
        answer.remarks = {name: remarks[name] for name in ("rank", "probability")}
        return answer

    def _verdicts(
        self, every: Sequence[models.Confidence], columns: Mapping[str, Sequence[str]]
    ) -> dict[str, list[str]]:
        """Of each token whether its label, or the segment that it is in, can be taken unseen."""
        accepts, found = self.model.decisions.accepts, dict[str, list[str]]()
        for label in dict.fromkeys(one.label for one in self.model.decisions.points):
            states, column = iter(columns[label]), list[str]()
            for one in every:
                words = [
                    _VERDICTS[accepts(label, state, p)]
                    for p, state in zip(one.tokens[label].tolist(), states, strict=False)
                ]
                for _, type, first, last, p in (segment for segment in one.segments if segment.label == label):
                    words[first : last + 1] = [_VERDICTS[accepts(label, type, p)]] * (last + 1 - first)
                column += words
            found[label] = column
        return found

    def _sets(self, predictor: models.Predictor, notes: Notes) -> dict[str, list[str]]:
        """Of each token the states that it may have, or the segments that may begin there."""
        cells: dict[str, list[list[str]]] = {one.label: [] for one in self.model.decisions.promised}
        every = self.model.decisions.sets(predictor, inference.Workers(self.threads))
        for one, length in zip(every, predictor.corpus.lengths().tolist(), strict=True):
            notes.cut += not one.whole
            for label, column in cells.items():
                column += map(list, one.tokens.get(label, ((),) * length))
            for segment in one.segments:
                cells[segment.label][segment.first - length].append(f"{segment.type}:{segment.last + 1}")
        return {label: [";".join(texts) or _NO_LABEL for texts in column] for label, column in cells.items()}

    def _ranked(
        self, nbest: inference.NBest, corpus: data.Corpus
    ) -> tuple[dict[str, list[str]], dict[str, list[float | str | None]]]:
        """Labels of each token of the copies; rank, probability and score of each copy."""
        columns: dict[str, list[str]] = {label: [] for label in self.model.labels}
        remarks: dict[str, list[float | str | None]] = {"rank": [], "probability": [], "score": []}
        for labellings, length in zip(nbest.sentences, corpus.lengths().tolist(), strict=True):
            if not len(labellings):
                for texts in columns.values():
                    texts += [_NO_LABEL] * length
                remarks["rank"].append(0)
                remarks["probability"].append(0.0 if labellings.exact else None)
                remarks["score"].append(None)
            for rank, (score, probability) in enumerate(
                zip(labellings.score.tolist(), labellings.probability.tolist(), strict=True)
            ):
                for label, texts in columns.items():
                    states = self.model.states[label]
                    texts += [states[code] for code in labellings.codes[label][rank].tolist()]
                remarks["rank"].append(rank + 1)
                remarks["probability"].append(None if math.isnan(probability) else probability)
                remarks["score"].append(score)
        return columns, remarks

    def _tables(self, corpus: data.Corpus, predictor: models.Predictor) -> Mapping[str, NDArray[Any]]:
        """Marginals of each label, [N, states]; NaN in a sentence without any labelling."""
        if not self.options.marginals:
            return {}
        marginals, status = self.model.marginals(predictor, threads=self.threads)
        tables = {label: marginals[label] for label in self.model.labels}
        for table in tables.values():
            table[_tokens_of(status.impossible, corpus)] = math.nan
        return tables

    def _distributions(self, tables: Mapping[str, NDArray[Any]]) -> dict[str, list[str]]:
        """The marginal distributions of each label as text, one per token."""
        columns = {}
        for label, table in tables.items():
            states = self.model.states[label]
            order = (-table).argsort(axis=1, kind="stable")
            columns[f"{label}_marginals"] = [
                ";".join(f"{states[state]}:{row[state]:.4f}" for state in ranks if row[state] >= _SMALLEST) or _NO_LABEL
                for row, ranks in zip(table, order, strict=True)
            ]
        return columns

    def _json_lines(
        self,
        corpus: data.Corpus,
        copies: Sequence[int],
        remarks: Mapping[str, Sequence[Any]],
        columns: Mapping[str, Sequence[str]],
        tables: Mapping[str, NDArray[Any]],
        known_labels: data.EncodedLabels | None,
        before: int,
    ) -> Iterator[str]:
        """A line for each labelling; each line of a sentence repeats its marginals."""
        at = copy = 0
        off = corpus.sentence_off.tolist()
        asked = self.options.cliques and corpus.num_tokens
        of_cliques = self.model.events.clique_marginals(corpus, given=known_labels) if asked else iter(())
        for s, many in enumerate(copies):
            length = off[s + 1] - off[s]
            more: dict[str, Any] = {}
            if tables:
                more["marginals"] = {
                    label: [
                        None if math.isnan(row[0]) else dict(zip(self.model.states[label], row, strict=True))
                        for row in table[off[s] :][:length].tolist()
                    ]
                    for label, table in tables.items()
                }
            if self.options.cliques:
                more["cliques"] = [self._clique_record(marginal) for marginal in next(of_cliques)[0]]
            for _ in range(many):
                record: dict[str, Any] = {
                    "file": corpus.file,
                    "line": int(corpus.token_line[off[s]]),
                    "sentence": before + s + 1,
                    **{name: values[copy] for name, values in remarks.items()},
                    "labels": {label: texts[at : at + length] for label, texts in columns.items()},
                    **more,
                }
                yield json_text(record, ensure_ascii=False)
                at, copy = at + length, copy + 1

    def _clique_record(self, marginal: inference.CliqueMarginal) -> dict[str, Any]:
        import numpy as np

        states = [self.model.states[variable] for variable, _ in marginal.sites]
        table = [
            [*(names[x] for names, x in zip(states, index, strict=True)), float(marginal.table[index])]
            for index in np.ndindex(marginal.table.shape)
            if marginal.table[index] >= _SMALLEST
        ]
        return {
            "clique": marginal.clique,
            "sites": [[variable, position + 1] for variable, position in marginal.sites],
            "states": sorted(table, key=lambda entry: -entry[-1]),
        }
