"""Reruns Table 1 of McCallum and Sutton (2004), "Piecewise training with parameter independence diagrams".

    python run.py --pos wsj.txt --np CONLL2000 --ner CONLL2002 --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the arithmetic of the table (`tables`), the models (`pos.dcrf`, `np.dcrf`, `ner.dcrf`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from running import (
    Log,
    Record,
    add_options,
    exit_status,
    fingerprint,
    parser_of,
    refusals,
    say,
    say_differences,
    sentences_of,
    timed,
    write,
)
from tables import MODELS, score_of, table1, table1_rows

from dcrfdsl import fit, load_template, read_corpus, to_text
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus
from dcrfdsl.metrics import sentence_counts
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
SENTENCES, DRAWS = 1154, 5  # so many sentences as in the paper's parts of speech
QUICK_SENTENCES, QUICK_DRAWS, QUICK_TESTED = 200, 2, 300
WARM_UP = 20  # sentences of the training that compiles and loads the kernels before the clock starts


class RowSpec(NamedTuple):
    """Which stage of the template is trained, how its model tags, and whether factors a source state scale it first."""

    stage: str
    decode: str
    scaled: bool = False


# A model is trained once for all its rows.
ROWS: Mapping[str, RowSpec] = {
    "memm": RowSpec("memm", "local"),
    "crf": RowSpec("crf", "joint"),
    "plain": RowSpec("memm", "joint"),
    "plain_scaled": RowSpec("memm", "joint", scaled=True),
    "nota": RowSpec("nota", "joint"),
    "nota_scaled": RowSpec("nota", "joint", scaled=True),
    "nota_local": RowSpec("nota", "local"),
    "few": RowSpec("few", "joint"),
    "few_scaled": RowSpec("few", "joint", scaled=True),
    "few_local": RowSpec("few", "local"),
}
STAGES = tuple(dict.fromkeys(row.stage for row in ROWS.values()))


class Job(NamedTuple):
    """One training: a stage of a task's template, on draw number `draw` of so many sentences; 0: on all of them."""

    task: str
    stage: str
    sentences: int
    draw: int

    def __str__(self) -> str:
        return f"{self.task} {self.stage}, {self.sentences or 'all'} sentences, draw {self.draw + 1}"


@dataclass(frozen=True)
class Task:
    """What is tagged, and on what.

    pool: training sentences are drawn from it.   test: None where the others of the pool are the test.   tested: of the
    test, the first so many sentences.   score: the metric of the table, of `label`.
    """

    name: str
    label: str
    score: str
    pool: Corpus
    test: Corpus | None = None
    tested: int | None = None

    @property
    def resolved(self) -> Resolved:
        return load_template(HERE / f"{self.name}.dcrf")

    def parts(self, sentences: int, draw: int, seed: int) -> tuple[Corpus, Corpus]:
        """The training and the test sentences of a draw, without replacement, in the order of the corpus."""
        order = np.random.default_rng([seed, draw]).permutation(self.pool.num_sentences)
        chosen = order[: min(sentences, len(order))] if sentences else order
        test = self.test or sentences_of(self.pool, np.sort(order[len(chosen) :]))
        train = sentences_of(self.pool, np.sort(chosen))
        return train, test.slice(0, min(self.tested or test.num_sentences, test.num_sentences))


DIFFERENCES = {
    "both": (
        "The paper gives neither its features nor its prior and stopping rule. Here: those of the templates, a "
        "Gaussian prior of variance 10, and L-BFGS that ends at ‖g‖/‖g₀‖ < 1e-4 (factors: after 5 iterations).",
        "A feature has a weight for each move that training shows it with, a bias for every move.",
        "Times are processor time of this machine and hold the extraction of features; a scaled row holds the training "
        "that it scales.",
    ),
    "ner": (
        "Spanish (CoNLL-2002: esp.train, tested on esp.testa) instead of English (CoNLL-2003), with parts of speech as "
        "a column and no lists of names.",
    ),
    "np": ("Noun phrases of CoNLL-2000 are not in the paper.",),
    "pos": (
        "Training sentences are drawn from a sample of the Penn Treebank, not from sections 0–18; the test is the "
        "sample's other sentences, not sections 20 and 21.",
        "Features are those of Lafferty, McCallum and Pereira (2001).",
    ),
}


# data -----------------------------------------------------------------------------------------------------------


def ner_task(directory: Path, tested: int | None = None) -> Task:
    """CoNLL-2002 Spanish."""
    train, test = (_read(directory / f"esp.{part}", "ner") for part in ("train", "testa"))
    return Task("ner", "ner", "segments(ner)", train, test, tested)


def np_task(directory: Path, tested: int | None = None) -> Task:
    """CoNLL-2000, noun phrases alone."""
    train, test = (_read(directory / f"{part}.txt", "np") for part in ("train", "test"))
    return Task("np", "chunk", "segments(chunk)", train, test, tested)


def pos_task(file: Path, tested: int | None = None) -> Task:
    return Task("pos", "pos", "accuracy(pos)", _read(file, "pos"), None, tested)


def _read(path: Path, task: str) -> Corpus:
    data = load_template(HERE / f"{task}.dcrf").require().data
    assert data is not None
    return read_corpus(path, data)


# trainings ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """The tasks by name, and what all trainings share. seed: of the draws."""

    tasks: Mapping[str, Task]
    threads: int | None = None
    seed: int = 0
    _warm: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def fingerprint(self, job: Job) -> str:
        """What the outcome of a job depends on, beside the program: a record with another one is of another job."""
        task = self.tasks[job.task]
        text = "\0".join([to_text(task.resolved.require()), str(self.seed), str(task.tested)])
        return fingerprint(text, [task.pool, *([task.test] if task.test else [])])

    def run(self, job: Job) -> Record:
        """Trains, then tags training and test data in each way that the table has a row for."""
        task = self.tasks[job.task]
        train, test = task.parts(job.sentences, job.draw, self.seed)
        if (job.task, job.stage) not in self._warm:
            self.fit(task, train.slice(0, min(WARM_UP, train.num_sentences)), job.stage)
            self._warm.add((job.task, job.stage))
        model, times = timed(lambda: self.fit(task, train, job.stage))
        rows = {}
        for name, row in ROWS.items():
            if row.stage != job.stage:
                continue
            own, seconds, iterations = model, times.cpu_seconds, model.record.iterations
            if row.scaled:
                own, more = timed(lambda: self.fit(task, train, "scaled", model))
                seconds, iterations = seconds + more.cpu_seconds, iterations + own.record.iterations
            rows[name] = {
                "train": _sums(self.counts(own, task, train, row.decode)["counts"]),
                **self.counts(own, task, test, row.decode),
                "cpu_seconds": seconds,
                "iterations": iterations,
                "reason": own.record.reason,
            }
        return {**job._asdict(), "inputs": self.fingerprint(job), "weights": model.num_weights, "rows": rows}

    def fit(self, task: Task, corpus: Corpus, stage: str, start: TrainedModel | None = None) -> TrainedModel:
        return fit(task.resolved, corpus, stage=stage, start=start, threads=self.threads)

    def counts(self, model: TrainedModel, task: Task, corpus: Corpus, decode: str) -> dict[str, list[Any]]:
        """Of each sentence. counts: right and all tags, or right, predicted and gold segments.   wrong: tags."""
        found = model.scores.judged(corpus, model.predict(corpus, threads=self.threads, decode=decode))
        by_name = {one.name: one.counts for one in sentence_counts(found, (task.label,))}
        tags = by_name[f"accuracy({task.label})"]
        return {"counts": by_name[task.score].tolist(), "wrong": (tags[:, 1] - tags[:, 0]).tolist()}


def _sums(counts: Sequence[Sequence[int]]) -> list[int]:
    return [int(total) for total in np.sum(counts, axis=0)]


def reproduce(
    lab: Experiment, sizes: Mapping[str, int], draws: int, log: Log[Job], out: Path, talk: bool = True
) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes tables and differences from the paper to `out`.

    sizes: sentences of each task's draws; 0: all of them, once.   Ctrl-C ends training; the tables are then of what has
    finished.
    """
    result: dict[str, Any] = {"complete": True, "threads": lab.threads, "seed": lab.seed, "tasks": {}}
    wanted = [
        Job(task, stage, size, draw)
        for draw in range(draws)
        for task, size in sizes.items()
        for stage in STAGES
        if size or not draw
    ]
    try:
        for job in wanted:
            log.record(lab, job, _line if talk else None)
    except KeyboardInterrupt:
        result["complete"] = False
        log.say_stopped()
    for task, size in sizes.items():
        found = [log.records.get((job, lab.fingerprint(job))) for job in wanted if job.task == task]
        records = [record for record in found if record is not None]
        train, test = lab.tasks[task].parts(size, 0, lab.seed)
        result["tasks"][task] = {
            "train_sentences": train.num_sentences,
            "test_sentences": test.num_sentences,
            "draws": len({record["draw"] for record in records}),
            "rows": table1_rows(task, records),
            "differences": [*DIFFERENCES["both"], *DIFFERENCES[task]],
        }
    write(result, out)
    return result


def _line(record: Record) -> str:
    rows = record["rows"].items()
    return ", ".join(f"{MODELS[name]} {score_of(row):.2f}" for name, row in rows)


TITLES = {"ner": "named entities", "np": "noun phrases", "pos": "parts of speech"}


def show(result: Mapping[str, Any]) -> None:
    """The tables as text, and what differs from the paper."""
    for name, task in result["tasks"].items():
        counts = f"{task['train_sentences']:,} sentences for training, {task['test_sentences']:,} for test"
        say(f"\nTable 1, {TITLES[name]}: {counts}, draws: {task['draws']}\n")
        print_table(table1(name, task["rows"]))
    say_differences(text for task in result["tasks"].values() for text in task["differences"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    parser.add_argument("--np", type=Path, metavar="DIR", help="CoNLL-2000: train.txt, test.txt")
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train, esp.testa")
    parser.add_argument("--draws", type=int, metavar="N", help=f"of training sentences; default: {DRAWS}")
    parser.add_argument("--sentences", type=int, metavar="N", help=f"of a draw; default: {SENTENCES}")
    parser.add_argument("--whole", action="store_true", help="noun phrases and entities: trains on all sentences, once")
    add_options(parser, quick="two draws of 200 sentences", beside="FILE.jsonl", seed="of the draws")
    options = parser.parse_args(argv)
    tested = QUICK_TESTED if options.quick else None
    kinds = {"pos": pos_task, "np": np_task, "ner": ner_task}
    with refusals():
        tasks = {name: kinds[name](path, tested) for name in kinds if (path := getattr(options, name)) is not None}
        if not tasks:
            parser.error("give --pos, --np or --ner")
        draws = options.draws or (QUICK_DRAWS if options.quick else DRAWS)
        sentences = options.sentences or (QUICK_SENTENCES if options.quick else SENTENCES)
        sizes = {name: 0 if options.whole and name != "pos" else sentences for name in tasks}
        log = Log(options.out.with_suffix(".jsonl"), Job)
        result = reproduce(Experiment(tasks, options.threads, options.seed), sizes, draws, log, options.out)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
