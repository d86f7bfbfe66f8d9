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
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import FOLDS, HELD_OUT, METHODS, SENTENCES, Experiment, Job, combinations
from running import Log, add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import accuracy_table, choice_table, rows_of

from dcrfdsl.cli.report import duration, print_table

Tried = Mapping[str, Sequence[str]]  # values of settings by name


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


def _line(record: Mapping[str, Any]) -> str:
    return f"{duration(record['seconds'])}, {record['iterations']} iterations, {100 * record['accuracy']:.2f}"


def chosen(jobs: Sequence[Job], record: Callable[[Job], Mapping[str, Any]]) -> Job:
    """The job that scores best, the first one of several; one alone is not run."""
    if len(jobs) == 1:
        return jobs[0]
    return max(jobs, key=lambda job: float(record(job)["accuracy"]))


def reproduce(labs: Sequence[Experiment], plan: Plan, log: Log[Job], out: Path, talk: bool = True) -> dict[str, Any]:
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
            _run_task(lab, plan, functools.partial(log.record, lab, line=_line if talk else None), own)
    except KeyboardInterrupt:
        result["complete"] = False
        log.say_stopped()
    write(result, out)
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
    say_differences(text for own in result["tasks"].values() for text in own["differences"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train")
    parser.add_argument("--pos", type=Path, metavar="FILE", help="lines `word tag`, an empty line after a sentence")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--folds", type=int, metavar="N", help=f"default {FOLDS}")
    add_options(
        parser,
        quick="60 sentences, 2 folds, fewer settings",
        beside="FILE.jsonl",
        seed="of the sentences that are drawn",
    )
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
    with refusals():
        labs = [
            Experiment.of(task, path, plan.sentences, options.seed, folds=plan.folds, threads=options.threads)
            for task, path in paths.items()
        ]
        result = reproduce(labs, plan, Log(options.out.with_suffix(".jsonl"), Job), options.out)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
