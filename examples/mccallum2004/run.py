"""Reruns Table 1 of McCallum and Sutton (2004), "Piecewise training with parameter independence diagrams".

    python run.py --ner CONLL2002 --pos wsj.txt --quick --out quick.json

Not here: the arithmetic of the table (`tables`), the models (`ner.dcrf`, `pos.dcrf`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

import numpy as np
from running import add_options, exit_status, parser_of, refusals, say, say_differences, sentences_of, write
from tables import MODELS, table1, table1_rows

from dcrfdsl import fit, load_template, read_corpus
from dcrfdsl.cli.report import print_table
from dcrfdsl.data import Corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
POS_SENTENCES = 1154  # as in the paper
QUICK_NER, QUICK_POS = (400, 400), (300, 500)  # training and test
WARM_UP = 20  # sentences of the training that compiles and loads the kernels before the clock starts


class RowSpec(NamedTuple):
    """Which stage of the template is trained, and how its model tags."""

    stage: str
    decode: str


# A model of the table is trained once for all its rows.
ROWS: Mapping[str, RowSpec] = {
    "memm": RowSpec("memm", "local"),
    "crf": RowSpec("crf", "joint"),
    "plain": RowSpec("memm", "joint"),
    "plain_scaled": RowSpec("memm_scaled", "joint"),
    "nota": RowSpec("nota", "joint"),
    "nota_local": RowSpec("nota", "local"),
    "nota_scaled": RowSpec("nota_scaled", "joint"),
    "few": RowSpec("few", "joint"),
    "few_local": RowSpec("few", "local"),
}


class Task(NamedTuple):
    """label, score: what is tagged, and the metric of the table.   notes: what else differs from the paper."""

    name: str
    resolved: Resolved
    train: Corpus
    test: Corpus
    label: str
    score: str
    notes: tuple[str, ...] = ()


DIFFERENCES = {
    "both": (
        "The paper gives neither its features nor its prior and stopping rule. Here: those of the templates, a "
        "Gaussian prior of variance 10, and L-BFGS that ends at ‖g‖/‖g₀‖ < 1e-4 (factors: after 5 iterations).",
        "A feature has a weight for each move that training shows it with, a bias for every move. The CRF has features "
        "of the end of a sentence, which pieces have not.",
        "Times are of this machine and hold the extraction of features; rows of one model share its training, and a "
        "scaled row holds the training that it scales.",
    ),
    "ner": (
        "Spanish (CoNLL-2002: esp.train, tested on esp.testa) instead of English (CoNLL-2003), with parts of speech as "
        "a column and no lists of names.",
    ),
    "pos": (
        "Training sentences are drawn from a sample of the Penn Treebank, not from sections 0–18; the test is the "
        "sample's other sentences, not sections 20 and 21.",
        "Features are those of Lafferty, McCallum and Pereira (2001).",
    ),
}


# data -----------------------------------------------------------------------------------------------------------


def ner_task(directory: Path, sentences: int | None = None, tested: int | None = None) -> Task:
    """CoNLL-2002 Spanish; the first `sentences` of training and `tested` of test, by default all."""
    resolved = load_template(HERE / "ner.dcrf")
    data = resolved.require().data
    assert data is not None
    train, test = (read_corpus(directory / f"esp.{part}", data) for part in ("train", "testa"))
    whole = train.num_sentences
    train = train.slice(0, min(sentences or whole, whole))
    test = test.slice(0, min(tested or test.num_sentences, test.num_sentences))
    notes = (f"Trained on the first {train.num_sentences:,} of {whole:,} sentences.",) * (train.num_sentences < whole)
    return Task("ner", resolved, train, test, "ner", "segments(ner).f1", notes)


def pos_task(file: Path, seed: int, sentences: int = POS_SENTENCES, tested: int | None = None) -> Task:
    """`sentences` drawn for training without replacement; the test is the others, or the first `tested` of them."""
    resolved = load_template(HERE / "pos.dcrf")
    data = resolved.require().data
    assert data is not None
    corpus = read_corpus(file, data)
    order = np.random.default_rng(seed).permutation(corpus.num_sentences)
    drawn, others = np.sort(order[:sentences]), np.sort(order[sentences:])
    return Task(
        "pos", resolved, sentences_of(corpus, drawn), sentences_of(corpus, others[:tested]), "pos", "accuracy(pos)"
    )


# the rows -------------------------------------------------------------------------------------------------------


def wrong_tags(model: TrainedModel, corpus: Corpus, label: str, decode: str, threads: int | None) -> list[int]:
    """How many tags of each sentence are wrong."""
    gold = corpus.text_column(label)
    found = model.predict(corpus, threads=threads, decode=decode).texts(label)
    wrong = np.fromiter((text != gold.text(n) for n, text in enumerate(found)), np.int64, corpus.num_tokens)
    return [int(part) for part in np.add.reduceat(wrong, corpus.sentence_off[:-1])]


def run_task(task: Task, threads: int | None = None, talk: bool = True) -> dict[str, dict[str, Any]]:
    """The record of each row of the table: scores as shares, times, iterations, wrong tags of each test sentence."""
    records: dict[str, dict[str, Any]] = {}
    for stage in dict.fromkeys(row.stage for row in ROWS.values()):
        fit(task.resolved, task.train.slice(0, min(WARM_UP, task.train.num_sentences)), stage=stage, threads=threads)
        wall, cpu = time.perf_counter(), time.process_time()
        model = fit(task.resolved, task.train, stage=stage, threads=threads)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        for name, row in ROWS.items():
            if row.stage != stage:
                continue
            before = [int(record["iterations"]) for record in model.record.before]
            train, test = (
                float(model.evaluate(part, threads=threads, decode=row.decode)[task.score])
                for part in (task.train, task.test)
            )
            records[name] = {
                "train": train,
                "test": test,
                "seconds": wall,
                "cpu_seconds": cpu,
                "iterations": sum(before) + model.record.iterations,
                "reason": model.record.reason,
                "weights": model.num_weights,
                "wrong": wrong_tags(model, task.test, task.label, row.decode, threads),
            }
            if talk:
                say(f"{task.name} {MODELS[name]}: {wall:.1f} s, train {100 * train:.2f}, test {100 * test:.2f}")
    return records


def reproduce(tasks: Sequence[Task], out: Path, threads: int | None = None, talk: bool = True) -> dict[str, Any]:
    """Trains and tags all rows of all tasks and writes everything to `out`; Ctrl-C keeps what is complete."""
    result: dict[str, Any] = {"complete": True, "threads": threads, "tasks": {}}
    try:
        for task in tasks:
            records = run_task(task, threads, talk)
            result["tasks"][task.name] = {
                "train_sentences": task.train.num_sentences,
                "test_sentences": task.test.num_sentences,
                "rows": table1_rows(task.name, records),
                "records": records,
                "differences": [*DIFFERENCES["both"], *DIFFERENCES[task.name], *task.notes],
            }
            write(result, out)
    except KeyboardInterrupt:
        result["complete"] = False
    write(result, out)
    return result


TITLES = {"ner": "Named entities", "pos": "Parts of speech"}


def show(result: Mapping[str, Any]) -> None:
    """The table as text, and what differs from the paper."""
    for name, task in result["tasks"].items():
        counts = f"{task['train_sentences']:,} sentences for training, {task['test_sentences']:,} for test"
        say(f"\nTable 1, {TITLES[name]}: {counts}\n")
        print_table(table1(name, task["rows"]))
    say_differences(text for task in result["tasks"].values() for text in task["differences"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train, esp.testa")
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    parser.add_argument("--sentences", type=int, metavar="N", help="named entities: train on the first N alone")
    add_options(parser, quick="a few hundred sentences", seed="of the sentences drawn for parts of speech")
    options = parser.parse_args(argv)
    if options.ner is None and options.pos is None:
        parser.error("give --ner, --pos or both")
    with refusals():
        tasks = []
        if options.pos is not None:
            sizes = QUICK_POS if options.quick else (POS_SENTENCES, None)
            tasks.append(pos_task(options.pos, options.seed, *sizes))
        if options.ner is not None:
            sizes = QUICK_NER if options.quick else (options.sentences, None)
            tasks.append(ner_task(options.ner, *sizes))
        result = reproduce(tasks, options.out, options.threads)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
