"""`dcrfdsl tag`: predictions beside the lines of the input in its own format, or as JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..foundation import figure, json_text
from .console import Decode, Features, Json, Quiet, Rounds, Talk, Threads, check_decode, refuse
from .inputs import STDIN, data_statement, read_features
from .options import Argument, Option, with_options
from .prefetching import prefetched
from .probabilities import probability_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..data import Chunk, Corpus, EncodedLabels
    from ..inference import CliqueMarginal, NBest
    from ..model import Predictor, TrainedModel
    from ..semantics import DataSpec

__all__ = ["tag"]

_TOKENS_AT_ONCE = 50_000
_SMALLEST = 5e-5  # a probability below this would read 0.0000
_NO_LABEL = "_"


@dataclass(frozen=True, kw_only=True)
class TagOptions:
    """The command line of `tag`."""

    model: Annotated[str, Argument("MODEL", help="Model file.")]
    files: Annotated[list[str] | None, Argument("[FILE...]", help="Text to tag; - or nothing is stdin.")] = None
    marginals: Annotated[
        bool, Option("--marginals", help="One more column a label: STATE:PROBABILITY;…, likeliest first.")
    ] = False
    cliques: Annotated[
        bool, Option("--clique-marginals", help="With --json: the distribution of every clique at every place.")
    ] = False
    nbest: Annotated[int | None, Option("--nbest", min=1, metavar="K", help="The K best labellings of a sentence.")] = (
        None
    )
    decode: Decode = None
    given: Annotated[bool, Option("--given", help="Keep to the labels of the input; _ is free.")] = False
    apart: Annotated[
        bool, Option("--apart", help="Keep gold: predictions go to MISC in conllu, to `predicted` in spans.")
    ] = False
    as_json: Json = False
    flush: Annotated[
        bool | None,
        Option("--flush/--no-flush", help="Answer each sentence at its end (default at pipes and terminals)."),
    ] = None
    rounds: Rounds = None
    threads: Threads = None
    features: Features = None
    quiet: Quiet = False


@with_options(TagOptions)
def tag(options: TagOptions) -> None:
    """Tag text. The input comes out again with the predicted labels appended, in the order of the template.
    In crfsuite and grmm they take the places of the labels.

    conll, csv and tsv get more columns, jsonl the key "predicted". In conllu and spans a label goes where its gold
    stands, in place of it; --apart keeps both.

    With --nbest every sentence comes once for each of its labellings, best first, with rank and probability: two more
    columns of each token in conll, features in crfsuite and grmm, comments in CoNLL-U, keys "rank" and "probability" in
    jsonl. A probability is _ (null) where the model is too wide for exact inference: the labellings are then good ones,
    not surely the best.

    With --given the input has the label columns and every labelling keeps to them. Free are _ and the mark that the
    template declares as `missing`; a set of states, written as it declares in `ambiguous`, leaves a choice. What is
    given counts for probabilities too. Where no labelling agrees with it, each label of the sentence reads _.

    At a pipe or a terminal a sentence is answered once it ends, in a blank line (jsonl: with its line), if no more text
    is there by then: another program can send one and wait. --no-flush collects more, --flush does so for files too.

    With --json a labelling is a line {"file", "line", "sentence", "labels"}; --nbest adds "rank", "probability" and
    "score" (log potential), --marginals "marginals" (state to probability, for each label and token), and
    --clique-marginals "cliques": {"clique", "sites": [[variable, token from 0], …], "states": [[state, …,
    probability], …]}, likeliest first; latent variables and memories are among the variables.

    \b
    Example:
      dcrfdsl tag chunk.model test.txt > tagged.txt
      cat test.txt | dcrfdsl tag chunk.model --marginals
      dcrfdsl tag chunk.model test.txt --nbest 10 --json
      dcrfdsl tag chunk.model partly-tagged.txt --given
    """
    if options.cliques and not options.as_json:
        refuse("needs-json", "`--clique-marginals` has no place in the columns of the input", "add `--json`")
    if options.decode is not None and options.nbest is not None:
        refuse("idle-decode", "`--nbest` lists labellings in their order, which no `--decode` changes", "leave out one")
    check_decode(options.decode)
    from ..inference import RunStatus
    from ..model import TrainedModel
    from .compiler_notice import announce_compiling

    model = TrainedModel.load(options.model, registered=read_features(options.features))
    model = model if options.rounds is None else model.at_round(options.rounds)
    talk, status, tagger = Talk(options.quiet), RunStatus(), _Tagger(model, options)
    announce_compiling(talk)
    prepared = map(tagger.prepared, _chunks(model, options))
    for work in prepared if options.threads == 1 else prefetched(prepared):
        ended = tagger.best(work) if options.nbest is None else tagger.several(work, options.nbest)
        status += replace(ended, impossible=())  # the tagger notes their places
        sys.stdout.flush()
    if not options.as_json:
        sys.stdout.buffer.write(tagger.output.close())
    if not status.converged:
        talk(
            f"warning: inference did not converge on {status.not_converged} of {status.graphs} sentences "
            f"(largest change {status.residual:.1e}); their labels are the best that was found"
        )
    for note in tagger.notes():
        talk(note)


def _chunks(model: TrainedModel, options: TagOptions) -> Iterator[Chunk]:
    """Whole sentences of the input, file after file. Columns of labels may be absent, but not with `--given`."""
    from ..data import stream_corpus

    data, labels = _data(model, options), model.labels
    required, optional = (labels, ()) if options.given else ((), labels)
    for file in options.files or [STDIN]:
        yield from stream_corpus(
            file, data, tokens_per_chunk=_TOKENS_AT_ONCE, required=required, optional=optional, flush=options.flush
        )


def _data(model: TrainedModel, options: TagOptions) -> DataSpec:
    """The `data` statement of the model, with the place of predictions that the command line asks for."""
    from ..data import with_predictions_apart

    data = data_statement(model.spec)
    return with_predictions_apart(data) if options.apart else data


def _tokens_of(sentences: Iterable[int], corpus: Corpus) -> list[int]:
    off = corpus.sentence_off.tolist()
    return [token for s in sentences for token in range(off[s], off[s + 1])]


def _sentences(count: int) -> str:
    return f"{count} sentence{'' if count == 1 else 's'}"


class _Work(NamedTuple):
    """A chunk of the input. known_labels: its labels with `--given`, else None.   predictor: None without tokens."""

    chunk: Chunk
    known_labels: EncodedLabels | None
    predictor: Predictor | None


class _Tagger:
    """Writes chunk after chunk to stdout, and collects the notes for the end."""

    def __init__(self, model: TrainedModel, options: TagOptions):
        from ..data import TaggedOutput

        self.model, self.options = model, options
        self.output = TaggedOutput(_data(model, options))
        self.sentences = 0  # written as JSON
        self.exact = self.tried = self.approximate = 0  # sentences by how their n-best labellings were found
        self.searched, self.score = 0, 0.0  # sentences that were labelled approximately, their total score
        self.without, self.first_without = 0, ""  # sentences without any labelling, and the place of the first
        self.surely = True  # whether it is certain that they have none
        self.ranked = False

    def prepared(self, chunk: Chunk) -> _Work:
        """The part of the work on a chunk that can be done in advance."""
        from ..data import encode_known_labels

        corpus = chunk.corpus
        if not corpus.num_tokens:
            return _Work(chunk, None, None)
        known_labels = encode_known_labels(self.model.spec, self.model.states, corpus) if self.options.given else None
        return _Work(chunk, known_labels, self.model.on(corpus, known_labels))

    def best(self, work: _Work) -> Any:
        """Writes the best labelling of each sentence, `_` where there is none. Returns how inference ended."""
        from ..inference import RunStatus

        (chunk, known_labels, predictor), status, columns = work, RunStatus(), dict[str, list[str]]()
        corpus = chunk.corpus
        if predictor is not None:
            prediction = self.model.predict(predictor, threads=self.options.threads, decode=self.options.decode)
            status = prediction.status
            scores = [score for score in prediction.scores.tolist() if score == score]  # not-a-number: pointwise
            if status.approximate and scores:
                self.searched += len(scores)
                self.score += sum(scores)
            columns = {label: prediction.texts(label) for label in prediction.codes}
            self._note_without(status.impossible, corpus, surely=True)
            for token in _tokens_of(status.impossible, corpus):
                for texts in columns.values():
                    texts[token] = _NO_LABEL
        tables = self._tables(corpus, predictor)
        if self.options.as_json:
            self._print_json(corpus, [1] * corpus.num_sentences, {}, columns, tables, known_labels)
        else:
            sys.stdout.buffer.write(self.output.write(chunk, {**columns, **self._distributions(tables)}))
        return status

    def several(self, work: _Work, count: int) -> Any:
        """Writes the `count` best labellings of each sentence; a sentence without any comes once, at rank 0."""
        from ..data import repeated
        from ..inference import RunStatus

        chunk, known_labels, predictor = work
        self.ranked, corpus = True, chunk.corpus
        if predictor is None:
            if not self.options.as_json:
                sys.stdout.buffer.write(self.output.write(chunk, {}))
            return RunStatus()
        nbest = self.model.nbest(predictor, count, threads=self.options.threads)
        self._note(nbest, corpus)
        copies = [max(1, len(labellings)) for labellings in nbest.sentences]
        columns, remarks = self._ranked(nbest, corpus)
        tables = self._tables(corpus, predictor)
        if self.options.as_json:
            self._print_json(corpus, copies, remarks, columns, tables, known_labels)
        else:
            import numpy as np

            off = corpus.sentence_off
            rows = np.concatenate(
                [np.tile(np.arange(off[s], off[s + 1]), many) for s, many in enumerate(copies)]
            )  # for each token of the copies, its token of the chunk
            again = {label: table[rows] for label, table in tables.items()}
            written = {**columns, **self._distributions(again)}
            said = {name: remarks[name] for name in ("rank", "probability")}
            sys.stdout.buffer.write(self.output.write(repeated(chunk, copies), written, said))
        return nbest.status

    def _ranked(self, nbest: NBest, corpus: Corpus) -> tuple[dict[str, list[str]], dict[str, list[float | str | None]]]:
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

    def _note(self, nbest: NBest, corpus: Corpus) -> None:
        for labellings in nbest.sentences:
            weighed = bool(len(labellings)) and not math.isnan(labellings.probability[0])
            self.exact += labellings.exact
            self.tried += not labellings.exact and weighed
            self.approximate += not labellings.exact and not weighed
        none = [s for s, labellings in enumerate(nbest.sentences) if not len(labellings)]
        self._note_without(none, corpus, surely=all(nbest.sentences[s].exact for s in none))

    def _note_without(self, sentences: Iterable[int], corpus: Corpus, *, surely: bool) -> None:
        for s in sentences:
            self.without += 1
            self.first_without = self.first_without or f"{corpus.file}:{corpus.token_line[corpus.sentence_off[s]]}"
            self.surely = self.surely and surely

    def notes(self) -> Iterator[str]:
        """The notes and warnings for the end."""
        from ..semantics import inference_settings

        method = inference_settings(self.model.spec).method
        if self.ranked or self.options.marginals or self.options.cliques:
            yield from probability_notes(self.model)
        if self.searched:
            yield (
                f"note: the labels of {_sentences(self.searched)} are the best that `{method}` found, and need not be "
                f"the best there are; their total score is {figure(self.score)}"
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
            kept = "that keeps to the given labels " if self.options.given else ""
            verdict = "is possible" if self.surely else "was found"
            many = f"{self.without} sentences, the first" if self.without > 1 else "the sentence"
            rank = "rank 0 and " if self.ranked else ""
            yield (
                f"warning: no labelling {kept}{verdict} for {many} at {self.first_without}; "
                f"written with {rank}`{_NO_LABEL}` for each label"
            )

    def _tables(self, corpus: Corpus, predictor: Predictor | None) -> Mapping[str, NDArray[Any]]:
        """Marginals of each label, [N, states]; NaN in a sentence without any labelling."""
        if not self.options.marginals or predictor is None:
            return {}
        marginals, status = self.model.marginals(predictor, threads=self.options.threads)
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

    def _print_json(
        self,
        corpus: Corpus,
        copies: Sequence[int],
        remarks: Mapping[str, Sequence[float | str | None]],
        columns: Mapping[str, Sequence[str]],
        tables: Mapping[str, NDArray[Any]],
        known_labels: EncodedLabels | None,
    ) -> None:
        """Prints a line for each labelling; each line of a sentence repeats its marginals."""
        at = copy = 0
        off = corpus.sentence_off.tolist()
        asked = self.options.cliques and corpus.num_tokens
        of_cliques = self.model.clique_marginals(corpus, given=known_labels) if asked else iter(())
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
                    "sentence": self.sentences + s + 1,
                    **{name: values[copy] for name, values in remarks.items()},
                    "labels": {label: texts[at : at + length] for label, texts in columns.items()},
                    **more,
                }
                print(json_text(record, ensure_ascii=False))
                at, copy = at + length, copy + 1
        self.sentences += len(copies)

    def _clique_record(self, marginal: CliqueMarginal) -> dict[str, Any]:
        import numpy as np

        states = [self.model.states[variable] for variable, _ in marginal.sites]
        table = [
            [*(names[x] for names, x in zip(states, index, strict=True)), float(marginal.table[index])]
            for index in np.ndindex(marginal.table.shape)
            if marginal.table[index] >= _SMALLEST
        ]
        return {
            "clique": marginal.clique,
            "sites": [list(site) for site in marginal.sites],
            "states": sorted(table, key=lambda entry: -entry[-1]),
        }
