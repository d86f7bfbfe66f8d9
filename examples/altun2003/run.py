"""Reruns Table 1 of Altun and Hofmann (2003), "Large margin methods for label sequence learning".

    python run.py --ner CONLL2002 --pos wsj.txt --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the table (`tables`).
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiment import FOLDS, HELD_OUT, METHODS, SENTENCES, Experiment, Job, combinations
from rich.console import Console
from tables import accuracy_table, choice_table, rows_of

from dcrfdsl import DcrfError
from dcrfdsl.cli.report import duration, print_table

__all__ = ["FULL", "QUICK", "Log", "Plan", "chosen", "main", "reproduce", "trained"]

Tried = Mapping[str, Sequence[str]]  # values of settings by name

say = Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print


@dataclass(frozen=True)
class Plan:
    """tried: values of settings by stage."""

    sentences: int = SENTENCES
    folds: int = FOLDS
    tried: Mapping[str, Tried] = field(default_factory=lambda: {name: own.tried for name, own in METHODS.items()})


FULL = Plan()
QUICK = Plan(60, 2, {name: {key: values[:2] for key, values in own.items()} for name, own in FULL.tried.items()})
TITLES = {"ner": "Named entities (CoNLL-2002, Spanish)", "pos": "Parts of speech (Penn Treebank sample)"}

DIFFERENCES = {
    "both": (
        "The sentences are another draw, and the paper names its features only as words in a window and spelling. "
        "Here: those of the templates, the same for all methods; the HMM emits words, with overlapping features all.",
        "The paper says neither how it divided its sentences nor how it chose constants. Here: cross-validation, with "
        "settings chosen for each fold on a fifth of its training sentences, then trained on all of these.",
        "Labels are those that training sentences show; one that they do not show cannot be right.",
        "MRF is decoded label by label, all others by the best labelling. Accuracy is of labels, with O among them.",
        "p is of a paired t-test on wrong labels a sentence, over all folds; the paper has no test. The SVM with the "
        "Hamming loss, the steepest boosting and the averaged perceptron are not in its table.",
    ),
    "ner": ("Labels are in the IOB2 scheme and free to follow each other.",),
    "pos": (),
}


class Log:
    """The trainings that have finished, one JSON object a line."""

    def __init__(self, path: Path):
        self.path = path
        self.records: dict[tuple[Job, str], dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue  # the line that was being written when the run was stopped
                self._keep(record)

    def add(self, record: dict[str, Any]) -> None:
        # A broken last line must not take the new one with it.
        broken = self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + json.dumps(record) + "\n")
        self._keep(record)

    def _keep(self, record: dict[str, Any]) -> None:
        settings = tuple((name, value) for name, value in record["settings"])
        job = Job(record["task"], record["method"], record["fold"], settings, record["part"])
        self.records[job, record["inputs"]] = record


def trained(lab: Experiment, log: Log, talk: bool, job: Job) -> dict[str, Any]:
    """The record of a job, from the log if it is there."""
    known = (job, lab.fingerprint(job))
    if known not in log.records:
        log.add(lab.run(job))
        if talk:
            own = log.records[known]
            say(f"{job}: {duration(own['seconds'])}, {own['iterations']} iterations, {100 * own['accuracy']:.2f}")
    return log.records[known]


def chosen(jobs: Sequence[Job], record: Callable[[Job], Mapping[str, Any]]) -> Job:
    """The job that scores best, the first one of several; one alone is not run."""
    if len(jobs) == 1:
        return jobs[0]
    return max(jobs, key=lambda job: float(record(job)["accuracy"]))


def reproduce(labs: Sequence[Experiment], plan: Plan, log: Log, out: Path, talk: bool = True) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    result: dict[str, Any] = {"complete": True, "tasks": {}}
    try:
        for lab in labs:
            own: dict[str, Any] = {
                "sentences": lab.corpus.num_sentences,
                "tokens": lab.corpus.num_tokens,
                "labels": len(set(lab.corpus.text_column(lab.label).values)),
                "folds": lab.folds,
                "differences": [*DIFFERENCES["both"], *DIFFERENCES[lab.task]],
                "trainings": [],
                "rows": [],
            }
            result["tasks"][lab.task] = own
            _run_task(lab, plan, functools.partial(trained, lab, log, talk), own)
    except KeyboardInterrupt:
        result["complete"] = False
        say(f"stopped; the same command goes on with what {log.path} does not have yet")
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


def _run_task(lab: Experiment, plan: Plan, record: Callable[[Job], dict[str, Any]], own: dict[str, Any]) -> None:
    """Fills `trainings` and `rows` of `own`, a method at a time."""
    for method, tried in plan.tried.items():
        for fold in range(lab.folds):
            jobs = [Job(lab.task, method, fold, settings, "dev") for settings in combinations(tried)]
            best = chosen(jobs, record)
            own["trainings"].append(record(best._replace(part="test")))
        own["rows"] = rows_of(lab.task, own["trainings"])


def show(result: Mapping[str, Any]) -> None:
    """The table as text, and what differs from the paper."""
    for task, own in result["tasks"].items():
        counts = f"{own['sentences']} sentences, {own['tokens']:,} tokens, {own['labels']} labels"
        say(f"\nTable 1, {TITLES[task]}: {counts}; mean accuracy of {own['folds']} folds\n")
        print_table(accuracy_table(own["rows"]))
        say(f"\nSettings, chosen on every {HELD_OUT}th training sentence\n")
        print_table(choice_table(own["trainings"]))
    say("\nWhat differs from the paper:")
    for text in dict.fromkeys(text for own in result["tasks"].values() for text in own["differences"]):
        say(f"* {text}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train")
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--folds", type=int, metavar="N", help=f"default {FOLDS}")
    parser.add_argument("--quick", action="store_true", help="60 sentences, 2 folds, fewer settings")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help="also FILE.jsonl")
    parser.add_argument("--threads", type=int, metavar="N", help="default: DCRFDSL_THREADS, else all cores")
    parser.add_argument("--seed", type=int, default=0, help="of the sentences that are drawn")
    options = parser.parse_args(argv)
    plan = QUICK if options.quick else FULL
    plan = Plan(
        plan.sentences,
        options.folds or plan.folds,
        {name: plan.tried[name] for name in options.methods or plan.tried},
    )
    if plan.folds < 2:
        parser.error("--folds: at least 2")
    paths = {task: path for task in TITLES if (path := getattr(options, task)) is not None}
    if not paths:
        parser.error("give --ner, --pos or both")
    try:
        labs = [
            Experiment.of(task, path, plan.sentences, options.seed, folds=plan.folds, threads=options.threads)
            for task, path in paths.items()
        ]
        result = reproduce(labs, plan, Log(options.out.with_suffix(".jsonl")), options.out)
    except (DcrfError, OSError) as error:
        raise SystemExit(str(error)) from None
    show(result)
    return 0 if result["complete"] else 130


if __name__ == "__main__":
    raise SystemExit(main())
