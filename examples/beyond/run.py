"""How far templates get without pretrained nets: chunks and noun phrases of CoNLL-2000, names of CoNLL-2002.

    python run.py chunks --train train.txt --test test.txt --out chunks.json
    python run.py chunks --train train.txt --test test.txt --tagged wsj.txt --lexicon brill.txt --out chunks.json
    python run.py phrases --train train.txt --test test.txt --tagged wsj.txt --lexicon brill.txt --out phrases.json
    python run.py names --train esp.train --test esp.testa --out names.json

`--held-out N` tests on the last N sentences of the training file instead, for choices. A finished training is a line
of a `.jsonl` file beside the result, so a run that was stopped goes on where it was. Not here: the columns that are
added to the data (`columns`), what other programs reach (`peers`); letters and treebanks have folders of their own
(`../ocr_letters`, `../tagger`).
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies
sys.path.append(str(Path(__file__).parents[1] / "tagger"))  # where `word_clusters` lies

from columns import Rows, legal, sentences_of, text_of, with_ends, with_neighbours, with_tags
from running import (
    Log,
    add_options,
    empty_table,
    exit_status,
    fingerprint,
    parser_of,
    refusals,
    say,
    tags_of_words,
    timed,
    write,
)
from word_clusters import word_clusters

from dcrfdsl import TrainedModel, fit, load, load_template, read_corpus
from dcrfdsl.cli.report import duration, print_table
from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.metrics import bootstrap_interval, sentence_counts

HERE = Path(__file__).parent
LEAST_PROBABILITY = 1e-9  # of a state that a member excludes
QUICK_SENTENCES, QUICK_ITERATIONS = 150, 20
LEAST = 3  # words that are rarer have no cluster
VOTES, VOTERS = "votes", ("tagged", "second", "ends")
INNER = {"S": "B", "E": "I"}  # what a state of the chunks with ends is without them


class Task(NamedTuple):
    """models: templates by name.   overall: the F of a held-out part, for `fscore`."""

    models: Mapping[str, str]
    overall: float


TASKS: Mapping[str, Task] = {
    "chunks": Task(
        {
            "alone": "chunks.dcrf",
            "tagged": "tagged.dcrf",
            "second": "second.dcrf",
            "ends": "ends.dcrf",
            VOTES: "votes.dcrf",
        },
        0.94,
    ),
    "phrases": Task({"segments": "phrases.dcrf"}, 0.94),
    "names": Task({"names": "names.dcrf", "around": "around.dcrf"}, 0.8),
}
FREE = ("alone", "segments", "names", "around")  # models that do without a second tagger
CHAINS = (
    "alone",
    "tagged",
    "ends",
    "names",
    "around",
    VOTES,
)  # models that `fscore` can decode, whose cliques join neighbours only


class Job(NamedTuple):
    task: str
    model: str

    def __str__(self) -> str:
        return f"{self.task}, {self.model}"


class Files:
    """The two parts of the data of a task, with the columns that are added, and trainings on them in a folder."""

    def __init__(self, options: Any):
        self.task, self.folder, self.threads = options.task, options.out.with_suffix(""), options.threads
        self.quick = options.quick
        self.folder.mkdir(parents=True, exist_ok=True)
        for template in HERE.glob("*.dcrf"):
            shutil.copyfile(template, self.folder / template.name)
        train = sentences_of(options.train)
        if options.held_out:
            train, test = train[: -options.held_out], train[-options.held_out :]
        else:
            test = sentences_of(options.test)
        if self.quick:
            train, test = train[:QUICK_SENTENCES], test[:QUICK_SENTENCES]
        self._write("clusters.txt", clusters_of(train))
        tagger = self._second_tagger(options) if options.tagged is not None else None
        for name, part in (("train", train), ("test", test)):
            if self.task == "names":
                text = text_of(with_neighbours(legal(part)), "\t")
            else:
                text = text_of(with_ends(with_tags(part, tagger, self.threads)))
            self._write(f"{name}.txt", text)

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def _second_tagger(self, options: Any) -> TrainedModel:
        """Trained on `--tagged`, and measured on its last tenth; that of an earlier run if the files are the same."""
        self._write("lexicon.txt", tags_of_words(options.lexicon.read_text(encoding="utf-8")))
        template = load_template(self.folder / "pos.dcrf")
        data = read_corpus(options.tagged, template.require().data)
        data = data.slice(0, min(QUICK_SENTENCES, data.num_sentences)) if self.quick else data
        mark = self.folder / f"pos-{fingerprint(template.require().model_dump_json(), [data])}.model"
        if not mark.exists():
            cut = max(1, data.num_sentences * 9 // 10)
            parts = data.slice(0, cut), data.slice(cut, data.num_sentences)
            model, taken = timed(lambda: fit(template, parts[0], threads=self.threads))
            model.save(mark)
            right = (
                100 * model.evaluate(parts[1], threads=self.threads)["accuracy(pos)"]
                if cut < len(data.lengths())
                else 0
            )
            say(f"second tagger: {duration(taken.seconds)}, {right:.2f} % of held-out words right")
        return load(mark)

    def template(self, job: Job) -> Path:
        return self.folder / TASKS[job.task].models[job.model]

    def corpora(self, job: Job) -> tuple[Corpus, Corpus]:
        data = load_template(self.template(job)).require().data
        return read_corpus(self.folder / "train.txt", data), read_corpus(self.folder / "test.txt", data)

    def fingerprint(self, job: Job) -> str:
        jobs = [Job(job.task, model) for model in VOTERS] if job.model == VOTES else [job]
        text = "".join(load_template(self.template(one)).require().model_dump_json() for one in (*jobs, job))
        return fingerprint(text + str(self.quick), self.corpora(jobs[0]))

    def run(self, job: Job) -> dict[str, Any]:
        """Trains a model and scores the test part by both rules."""
        if job.model == VOTES:
            return self._votes(job)
        settings = [f"train.optimizer=lbfgs(max_iterations = {QUICK_ITERATIONS})"] if self.quick else []
        train, test = self.corpora(job)
        model, taken = timed(lambda: fit(load_template(self.template(job), settings), train, threads=self.threads))
        file = self.template(job).with_suffix(".model")
        model.save(file)
        extra = {"iterations": model.record.iterations, "bytes": file.stat().st_size, "weights": len(model.weights)}
        return {
            **job._asdict(),
            "inputs": self.fingerprint(job),
            **taken._asdict(),
            **extra,
            **self._scores(job, model, test),
        }

    def _votes(self, job: Job) -> dict[str, Any]:
        """The mean of the log probabilities of the members, which have run before, decoded by a template."""
        resolved = load_template(self.template(job))
        model = fit(resolved, None)
        (states,) = model.states.values()

        def together() -> Corpus:
            total = {state: np.zeros(0) for state in states}
            for name in VOTERS:
                member = load((self.folder / TASKS[job.task].models[name]).with_suffix(".model"))
                _, test = self.corpora(Job(job.task, name))
                tables, _ = member.marginals(test, threads=self.threads)
                ((label, table),) = tables.items()
                of_state = dict.fromkeys(states, np.full(len(table), LEAST_PROBABILITY))
                for state, column in zip(member.states[label], table.T, strict=True):
                    plain = INNER.get(state[0], state[0]) + state[1:]
                    of_state[plain] = of_state[plain] + column
                for state in states:
                    vote = np.log(of_state[state]) / len(VOTERS)
                    total[state] = total[state] + vote if len(total[state]) else vote
            votes = np.stack([total[state] for state in states], axis=1)
            words, gold, off = _texts(test, "word"), _texts(test, "chunk"), test.sentence_off.tolist()
            rows = [
                {"word": words[a:b], "chunk": gold[a:b], "votes": votes[a:b].tolist()}
                for a, b in itertools.pairwise(off)
            ]
            return corpus_from_rows(rows, resolved.require().data)

        test, taken = timed(together)
        nothing = {"iterations": 0, "bytes": 0, "weights": 0}
        scores = self._scores(job, model, test)
        return {**job._asdict(), "inputs": self.fingerprint(job), **taken._asdict(), **nothing, **scores}

    def _scores(self, job: Job, model: TrainedModel, test: Corpus) -> dict[str, Any]:
        """By rule of decoding: F1 with its interval, precision, recall, in percent; and tokens a second by `joint`."""
        task = TASKS[job.task]
        (label,) = model.labels
        rules: dict[str, Any] = {}
        speed = 0.0
        model.predict(test.slice(0, 1), threads=self.threads)  # the kernels are compiled before the clock starts
        by_f = [f"fscore({label}, overall = {task.overall})"] if job.model in CHAINS else []
        for rule in ("joint", *by_f):
            start = time.perf_counter()
            prediction = model.predict(test, decode=rule, threads=self.threads)
            speed = speed or test.num_tokens / (time.perf_counter() - start)
            judged = sentence_counts(model.scores.judged(test, prediction), [label])
            counts = next(one for one in judged if one.name == f"segments({label})")
            right, predicted, gold = counts.counts.sum(axis=0).tolist()
            rules[rule] = {
                "f1": 100 * counts.value,
                "precision": 100 * right / max(predicted, 1),
                "recall": 100 * right / max(gold, 1),
                "interval": [100 * bound for bound in bootstrap_interval(counts.counts, counts.score)],
            }
        return {"rules": rules, "tokens_per_second": speed, "tokens": test.num_tokens}


def clusters_of(sentences: Sequence[Rows]) -> str:
    """Lines of a word and its cluster."""
    paths = word_clusters([[row[0].lower() for row in rows] for rows in sentences], least=LEAST)
    return "".join(f"{word}\t{path}\n" for word, path in paths.items())


def _texts(corpus: Corpus, column: str) -> list[str]:
    interned = corpus.text_column(column)
    return [str(interned.values[code]) for code in interned.codes.tolist()]


def reproduce(files: Files, models: Sequence[str], log: Log[Job], out: Path, talk: bool = True) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    records, complete = [], True
    try:
        for model in models:
            records.append(log.record(files, Job(files.task, model), _line if talk else None))
    except KeyboardInterrupt:
        complete = False
        log.say_stopped()
    result = {"complete": complete, "trainings": records}
    write(result, out)
    return result


def _line(record: Mapping[str, Any]) -> str:
    return f"{duration(record['seconds'])}, {record['weights']:,} weights"


def show(result: Mapping[str, Any]) -> None:
    """The table as text."""
    table = empty_table("model", "decode", "F1", "95 %", "precision", "recall", "training", "CPU", "weights", "file",
                        "tokens/s", left=("decode",))  # fmt: skip
    for one in result["trainings"]:
        costs = (
            duration(one["seconds"]), f"{one['cpu_seconds']:.0f} s", f"{one['weights']:,}",
            f"{one['bytes'] / 1e6:.1f} MB", f"{one['tokens_per_second']:,.0f}",
        )  # fmt: skip
        for rule, row in one["rules"].items():
            low, high = row["interval"]
            scores = (f"{row['f1']:.2f}", f"{low:.2f} to {high:.2f}", f"{row['precision']:.2f}", f"{row['recall']:.2f}")
            table.add_row(one["model"], rule, *scores, *(costs if rule == "joint" else ()))
    print_table(table)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("task", choices=[*TASKS])
    parser.add_argument("--train", type=Path, required=True, metavar="FILE", help="lines `word pos label`, in IOB2")
    parser.add_argument("--test", type=Path, metavar="FILE")
    parser.add_argument("--held-out", type=int, metavar="N", help="in place of --test: the last N training sentences")
    parser.add_argument("--tagged", type=Path, metavar="FILE", help="lines `word pos`, for a second tagger")
    parser.add_argument("--lexicon", type=Path, metavar="FILE", help="of this tagger: lines of a word and its tags")
    parser.add_argument("--model", action="append", help="default: all that the files allow")
    add_options(parser, quick=f"{QUICK_SENTENCES} sentences", beside="its log .jsonl and a folder of models")
    options = parser.parse_args(arguments)
    if (options.test is None) == (options.held_out is None):
        parser.error("expected --test or --held-out")
    if (options.tagged is None) != (options.lexicon is None):
        parser.error("--tagged and --lexicon go together")
    known = [name for name in TASKS[options.task].models if options.tagged is not None or name in FREE]
    unknown = [name for name in options.model or () if name not in known]
    if unknown:
        parser.error(f"no model {unknown[0]!r} with these files: expected {', '.join(known)}")
    with refusals(json.JSONDecodeError):
        models = [name for name in known if name in (options.model or known)]
        result = reproduce(Files(options), models, Log(options.out.with_suffix(".jsonl"), Job), options.out)
        show(result)
    return exit_status(result)


if __name__ == "__main__":
    sys.exit(main())
