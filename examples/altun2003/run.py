"""Reruns Table 1 of Altun and Hofmann (2003), "Large margin methods for label sequence learning".

    python run.py --ner CONLL2002 --pos wsj.txt --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the table (`tables`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import ASKED_FOR, FOLDS, HELD_OUT, METHODS, SEEDS, SENTENCES, Experiment, Job, combinations
from running import Log, add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import accuracy_table, boosting_rows, boosting_table, choice_table, rows_of

from dcrfdsl.cli.report import duration, print_table

Tried = Mapping[str, Sequence[str]]  # values of settings by name


@dataclass(frozen=True)
class Plan:
    """tried: values of settings by stage.   seeds: draws of sentences."""

    sentences: int = SENTENCES
    folds: int = FOLDS
    tried: Mapping[str, Tried] = field(default_factory=lambda: {name: own.tried for name, own in METHODS.items()})
    seeds: int = SEEDS


FULL = Plan()
QUICK = Plan(60, 2, {name: {key: values[:2] for key, values in own.items()} for name, own in FULL.tried.items()}, 2)
QUICK_ROUNDS = {"boost": {"rounds": ("300",)}, "boost_steepest": {"rounds": ("50",)}}
TITLES = {"ner": "Named entities (CoNLL-2002, Spanish)", "pos": "Parts of speech (Penn Treebank sample)"}

DIFFERENCES = {
    "both": (
        "The sentences are another draw, and the paper names its features only as words in a window and spelling. "
        "Here: those of the templates, the same for all methods; the HMM emits words, with overlapping features all.",
        "The paper says neither how it divided its sentences nor how it chose constants. Here: cross-validation, with "
        "settings chosen for each fold on a fifth of its training sentences, then trained on all of these.",
        "Labels are those that training sentences show; one that they do not show cannot be right.",
        "MRF is decoded label by label, all others by the best labelling. Accuracy is of labels, with O among them.",
        "± is the 95% interval of Student's t over draws, p of paired t-tests against the CRF: on accuracies of draws, "
        "and on wrong labels a sentence over all draws. The paper has neither. The SVM with the Hamming loss, the "
        "steepest boosting and the averaged perceptron are not in its table.",
    ),
    "ner": ("Labels are in the IOB2 scheme and free to follow each other.",),
    "pos": (),
}


def _line(record: Mapping[str, Any]) -> str:
    return f"{duration(record['seconds'])}, {record['iterations']} iterations, {100 * record['accuracy']:.2f}"


def chosen(jobs: Sequence[Job], record: Callable[[Job], Mapping[str, Any]]) -> Job:
    """The job that scores best, the first one of several; one alone is not run."""
    if len(jobs) == 1:
        return jobs[0]
    return max(jobs, key=lambda job: float(record(job)["accuracy"]))


def reproduce(
    draws: Mapping[str, Sequence[Experiment]], plan: Plan, log: Log[Job], out: Path, talk: bool = True
) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished.

    draws: of each task, in the order of the tasks.
    """
    result: dict[str, Any] = {"complete": True, "date": f"{date.today()}", "tasks": {}}
    try:
        for task, labs in draws.items():
            own: dict[str, Any] = {
                "seeds": [lab.seed for lab in labs],
                "sentences": [lab.corpus.num_sentences for lab in labs],
                "tokens": [lab.corpus.num_tokens for lab in labs],
                "labels": [len(set(lab.corpus.text_column(lab.label).values)) for lab in labs],
                "folds": labs[0].folds,
                "differences": [*DIFFERENCES["both"], *DIFFERENCES[task]],
                "trainings": [],
                "rows": [],
            }
            result["tasks"][task] = own
            _run_task(labs, plan, functools.partial(_record, log, talk), own)
    except KeyboardInterrupt:
        result["complete"] = False
        log.say_stopped()
    write(result, out)
    return result


def _record(log: Log[Job], talk: bool, lab: Experiment, job: Job) -> dict[str, Any]:
    return log.record(lab, job, line=_line if talk else None)


def _run_task(
    labs: Sequence[Experiment], plan: Plan, record: Callable[[Experiment, Job], dict[str, Any]], own: dict[str, Any]
) -> None:
    """Fills `trainings` and `rows` of `own`, a draw at a time."""
    for lab in labs:
        for method, tried in plan.tried.items():
            for fold in range(lab.folds):
                jobs = [Job(lab.task, method, lab.seed, fold, settings, "dev") for settings in combinations(tried)]
                best = chosen(jobs, functools.partial(record, lab))
                own["trainings"].append(record(lab, best._replace(part="test")))
            own["rows"] = rows_of(lab.task, own["trainings"])


def show(result: Mapping[str, Any]) -> None:
    """The table as text, and what differs from the paper."""
    for task, own in result["tasks"].items():
        tokens, labels = (_range(own[name]) for name in ("tokens", "labels"))
        counts = f"{len(own['seeds'])} draws of {_range(own['sentences'])} sentences, {tokens} tokens, {labels} labels"
        say(f"\nTable 1, {TITLES[task]}: {counts}; {own['folds']} folds, {result['date']}\n")
        print_table(accuracy_table(own["rows"]))
        for method in ("boost", "boost_steepest"):
            boosted = [record for record in own["trainings"] if record["method"] == method]
            if boosted:
                say(f"\nBoosting by rounds: {_proved(boosted)}\n")
                print_table(boosting_table(boosting_rows(boosted, method)))
        say(f"\nSettings, chosen on every {HELD_OUT}th training sentence\n")
        print_table(choice_table(own["trainings"]))
    say_differences(text for own in result["tasks"].values() for text in own["differences"])


def _range(counts: Sequence[int]) -> str:
    return f"{min(counts):,}" + (f" to {max(counts):,}" if len(set(counts)) > 1 else "")


def _proved(boosted: Sequence[Mapping[str, Any]]) -> str:
    """From which round on the risk proves that all training labels are right."""
    rounds = [own["proved"] for own in boosted if own["proved"] is not None]
    reached = f", after {_range(rounds)} rounds" if rounds else ""
    return f"the risk of {len(rounds)} of {len(boosted)} trainings fell below 1{reached}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train")
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--folds", type=int, metavar="N", help=f"default {FOLDS}")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"draws of sentences; default {SEEDS}")
    add_options(
        parser,
        quick="60 sentences, 2 draws, 2 folds, fewer settings",
        beside="FILE.jsonl",
        seed="of the first draw; the next ones have the next numbers",
    )
    options = parser.parse_args(argv)
    plan = QUICK if options.quick else FULL
    tried = {**plan.tried, **(QUICK_ROUNDS if options.quick else {})}
    rows = options.methods or [name for name in METHODS if name not in ASKED_FOR]
    plan = Plan(
        plan.sentences,
        plan.folds if options.folds is None else options.folds,
        {name: tried[name] for name in rows},
        plan.seeds if options.seeds is None else options.seeds,
    )
    if plan.folds < 2:
        parser.error("--folds: at least 2")
    if plan.seeds < 1:
        parser.error("--seeds: at least 1")
    paths = {task: path for task in TITLES if (path := getattr(options, task)) is not None}
    if not paths:
        parser.error("give --ner, --pos or both")
    with refusals():
        draws = {
            task: [
                Experiment.of(task, path, plan.sentences, seed, folds=plan.folds, threads=options.threads)
                for seed in range(options.seed, options.seed + plan.seeds)
            ]
            for task, path in paths.items()
        }
        result = reproduce(draws, plan, Log(options.out.with_suffix(".jsonl"), Job), options.out)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
