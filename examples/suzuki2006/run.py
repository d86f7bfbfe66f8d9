"""Reruns Tables 1 and 2 of Suzuki, McDermott and Isozaki (2006), "Training conditional random fields with multivariate
evaluation measures".

    python run.py --chunk CONLL2000 --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the tables (`tables`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import HELD_OUT, METHODS, Experiment, Job
from running import Log, add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import PAPER, dev_table, score_rows, score_table, test_table

from dcrfdsl.cli.report import duration, print_table


@dataclass(frozen=True)
class Plan:
    """sentences, tested: of training and test, None for all.   held_out: development data.   tried: n of C = 10ⁿ where
    they are not those of `METHODS`.
    """

    sentences: int | None = None
    tested: int | None = None
    held_out: int = HELD_OUT
    tried: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    methods: tuple[str, ...] = tuple(METHODS)

    def powers(self, method: str) -> tuple[int, ...]:
        return self.tried.get(method, METHODS[method].tried)


FULL = {
    "chunk": Plan(),
    # fewer than for chunking: a training takes longer
    "ner": Plan(tried={name: own.tried[-2:] for name, own in METHODS.items() if own.tried}),
}
QUICK = dict.fromkeys(FULL, Plan(600, 400, 200, {name: own.tried[1:3] for name, own in METHODS.items() if own.tried}))
TITLES = {"chunk": "Chunking (CoNLL-2000)", "ner": "Named entities (CoNLL-2002, Spanish)"}

DIFFERENCES = {
    "both": (
        "Bigrams are of neighbouring words, parts of speech and shapes; the paper does not say which pairs it took. "
        "All labels are free to follow each other, and moves have a bias each.",
        "ML has no prior, and data that are nearly separable: where its weights end is the work of the rule that stops "
        "L-BFGS.",
        "The criteria of classification error are not convex and have kinks where two labellings tie. Training from "
        "zero is by Quickprop after 10 passes of GPD, as in the paper, and ends after 150 iterations; from MAP by "
        "L-BFGS, which ends after 60, and MCE-F with the same C by Quickprop too. The paper does not give its rule.",
        "C is chosen by F1 on the development data from fewer values than the paper's 10⁻⁵ to 10⁵.",
    ),
    "chunk": (),
    "ner": (
        "Spanish (CoNLL-2002: esp.train, tested on esp.testa) instead of English (CoNLL-2003); C is chosen on the last "
        "sentences of esp.train, since there is no other test set.",
        "Character patterns are shapes (X, x, d); prefixes and suffixes have no bigrams.",
    ),
}


def _line(record: Mapping[str, Any]) -> str:
    f1, sentence = (100 * record["scores"][name] for name in ("f1", "sentence"))
    times = f"{duration(record['seconds'])}, {record['iterations']} iterations"
    return f"{times}, F1 {f1:.2f}, sentences {sentence:.2f}"


def chosen(records: Sequence[Mapping[str, Any]]) -> int | None:
    """n of C = 10ⁿ that scores best on the development data, the first one of several; None where there is no prior."""
    return max(records, key=lambda own: own["scores"]["f1"])["n"] if records else None


def reproduce(
    labs: Sequence[Experiment], plans: Mapping[str, Plan], log: Log[Job], out: Path, talk: bool = True
) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    result: dict[str, Any] = {"complete": True, "tasks": {}}
    try:
        for lab in labs:
            own: dict[str, Any] = {
                "train_sentences": lab.train.num_sentences,
                "test_sentences": lab.test.num_sentences,
                "held_out": lab.held_out,
                "differences": [*DIFFERENCES["both"], *DIFFERENCES[lab.task]],
                "dev": [],
                "rows": [],
                "trainings": [],
                "dev_of_paper": [],
                "rows_of_paper": [],
            }
            result["tasks"][lab.task] = own
            _run_task(lab, plans[lab.task], functools.partial(log.record, lab, line=_line if talk else None), own)
    except KeyboardInterrupt:
        result["complete"] = False
        log.say_stopped()
    write(result, out)
    return result


def _run_task(lab: Experiment, plan: Plan, record: Callable[[Job], dict[str, Any]], own: dict[str, Any]) -> None:
    """Fills the lists of `own`, a training at a time: MAP before what starts from it."""
    best: dict[str, int | None] = {}
    for name in plan.methods:
        method = METHODS[name]
        map_n = best["map"] if method.starts == "map" else None
        tried = []
        for n in plan.powers(name):
            tried.append(record(Job(lab.task, name, n, map_n, "", "dev")))
            own["dev"].append(tried[-1])
        best[name] = chosen(tried)
        for optimizer in ("", *([method.other] if method.other else [])):
            own["trainings"].append(record(Job(lab.task, name, best[name], map_n, optimizer, "test")))
            own["rows"] = score_rows(lab.task, own["trainings"])
    paper_n = PAPER[lab.task]["map"].n
    if best["map"] != paper_n:
        # What the paper compares: MCE-F that begins at MAP of less variance than is best here.
        tried = [record(Job(lab.task, "mce_f_map", n, paper_n, "", "dev")) for n in plan.powers("mce_f_map")]
        own["dev_of_paper"] = tried
        pair = [
            record(Job(lab.task, "map", paper_n, None, "", "test")),
            record(Job(lab.task, "mce_f_map", chosen(tried), paper_n, "", "test")),
        ]
        own["rows_of_paper"] = score_rows(lab.task, pair)


def show(result: Mapping[str, Any]) -> None:
    """The tables as text, and what differs from the paper."""
    for task, own in result["tasks"].items():
        say(f"\n{TITLES[task]}: C on the last {own['held_out']:,} of {own['train_sentences']:,} training sentences\n")
        print_table(dev_table(own["dev"]))
        say(f"\nTables 1 and 2, {TITLES[task]}: test on {own['test_sentences']:,} sentences\n")
        print_table(score_table(own["rows"]))
        say("\np of McNemar's test against ML and MAP, by label and by sentence\n")
        print_table(test_table(own["rows"]))
        if own["rows_of_paper"]:
            say("\nFrom MAP with the C that the paper chose\n")
            for table in (dev_table(own["dev_of_paper"]), score_table(own["rows_of_paper"])):
                print_table(table)
                say("")
            print_table(test_table(own["rows_of_paper"]))
    say_differences(text for own in result["tasks"].values() for text in own["differences"])


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--chunk", type=Path, metavar="DIR", help="CoNLL-2000: train.txt, test.txt")
    parser.add_argument("--ner", type=Path, metavar="DIR", help="CoNLL-2002 Spanish: esp.train, esp.testa")
    add_options(parser, quick="600 sentences, two values of C", beside="FILE.jsonl")
    options = parser.parse_args(argv)
    plans = QUICK if options.quick else FULL
    folders = {task: folder for task in plans if (folder := getattr(options, task)) is not None}
    if not folders:
        parser.error("give --chunk, --ner or both")
    with refusals():
        labs = [
            Experiment.of(
                task, folder, plans[task].sentences, plans[task].tested,
                held_out=plans[task].held_out, threads=options.threads,
            )
            for task, folder in folders.items()
        ]  # fmt: skip
        result = reproduce(labs, plans, Log(options.out.with_suffix(".jsonl"), Job), options.out)
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
