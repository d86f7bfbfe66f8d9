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
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import HELD_OUT, METHODS, Experiment, Job
from running import Log, add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import COMPARED, PAPER, cut_rows, cut_table, dev_table, score_rows, score_table, test_table

from dcrfdsl.cli.report import duration, print_table

SEEDS = 5
CUT_TRIED = {"map": (0, 1), "mce_f_map": (5, 6), "mce_f": (6,)}  # fewer, since each is trained for every cut


@dataclass(frozen=True)
class Plan:
    """sentences, tested: of training and test, None for all.   held_out: development data.   tried: n of C = 10ⁿ where
    they are not those of `METHODS`.   seeds: random cuts of the training sentences.
    """

    sentences: int | None = None
    tested: int | None = None
    held_out: int = HELD_OUT
    tried: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    methods: tuple[str, ...] = tuple(METHODS)
    seeds: int = SEEDS

    def powers(self, method: str, cut: int = 0) -> tuple[int, ...]:
        tried = self.tried.get(method, METHODS[method].tried)
        return tuple(n for n in tried if n in CUT_TRIED[method]) or tried[:1] if cut else tried


FULL = {
    "chunk": Plan(),
    # fewer than for chunking: a training takes longer
    "ner": Plan(tried={name: own.tried[-2:] for name, own in METHODS.items() if own.tried}),
}
QUICK = dict.fromkeys(
    FULL, Plan(600, 400, 200, {name: own.tried[:2] for name, own in METHODS.items() if own.tried}, seeds=2)
)
TITLES = {"chunk": "Chunking (CoNLL-2000)", "ner": "Named entities (CoNLL-2002, Spanish)"}

DIFFERENCES = {
    "both": (
        "All labels are free to follow each other, and moves have a bias each; a feature has weights with the labels "
        "that training shows with it.",
        "ML has no prior, and data that are nearly separable: where its weights end is the work of the rule that stops "
        "L-BFGS.",
        "The criteria of classification error are not convex and have kinks where two labellings tie. They are trained "
        "by Quickprop after 10 passes of GPD, as in the paper, for 150 iterations at most; MCE-F from MAP by 60 "
        "iterations of L-BFGS too, with the same C. The paper does not give its rule.",
        "C is chosen by F1 on the development data from fewer values than the paper's 10⁻⁵ to 10⁵; "
        "that of MCE is the paper's 10³.",
        "Random cuts are not in the paper: as many sentences as the development data are drawn from the training data, "
        "C is chosen on them, and what was trained on the others is tested. Cuts share most of their training data and "
        "the test set, so that intervals over cuts are of the choice of training data alone.",
    ),
    "chunk": (),
    "ner": (
        "Bigrams are of neighbouring words, parts of speech and shapes.",
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
    result: dict[str, Any] = {"complete": True, "date": f"{date.today()}", "tasks": {}}
    try:
        for lab in labs:
            own: dict[str, Any] = {
                "train_sentences": lab.train.num_sentences,
                "test_sentences": lab.test.num_sentences,
                "held_out": lab.held_out,
                "differences": [*DIFFERENCES["both"], *DIFFERENCES[lab.task]],
                "dev": [],
                "cuts": [],
                "cut_rows": [],
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


Recorded = Callable[[Job], dict[str, Any]]


def _run_task(lab: Experiment, plan: Plan, record: Recorded, own: dict[str, Any]) -> None:
    """Fills the lists of `own`, a training at a time: MAP before what starts from it, what matters most first."""
    first = [name for name in plan.methods if name in COMPARED]
    best = _train_methods(lab, plan, record, own, first, {})
    for seed in range(1, plan.seeds + 1):
        own["cuts"].append(_train_cut(lab, plan, record, first, seed))
        own["cut_rows"] = cut_rows(own["cuts"])
    best = _train_methods(lab, plan, record, own, [name for name in plan.methods if name not in first], best)
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


def _train_methods(
    lab: Experiment, plan: Plan, record: Recorded, own: dict[str, Any], names: Sequence[str], known: Mapping[str, Any]
) -> dict[str, int | None]:
    """C on the last sentences, then everything on all of them. By method n of the best C, with those that are known."""
    best: dict[str, int | None] = {**known}
    for name in names:
        method = METHODS[name]
        map_n = best["map"] if method.starts == "map" else None
        tried, powers = [], plan.powers(name)
        for n in powers if len(powers) > 1 else ():
            tried.append(record(Job(lab.task, name, n, map_n, "", "dev")))
            own["dev"].append(tried[-1])
        best[name] = powers[0] if len(powers) == 1 else chosen(tried)
        for optimizer in ("", *([method.other] if method.other else [])):
            own["trainings"].append(record(Job(lab.task, name, best[name], map_n, optimizer, "test")))
            own["rows"] = score_rows(lab.task, own["trainings"])
    return best


def _train_cut(
    lab: Experiment, plan: Plan, record: Recorded, names: Sequence[str], seed: int
) -> dict[str, dict[str, Any]]:
    """By method the training with the C that is best on the sentences that this seed cuts off."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        map_n = found["map"]["n"] if METHODS[name].starts == "map" else None
        tried = [record(Job(lab.task, name, n, map_n, "", "dev", seed)) for n in plan.powers(name, seed)]
        found[name] = next(own for own in tried if own["n"] == chosen(tried))
    return found


def show(result: Mapping[str, Any]) -> None:
    """The tables as text, and what differs from the paper."""
    for task, own in result["tasks"].items():
        say(f"\n{TITLES[task]}: C on the last {own['held_out']:,} of {own['train_sentences']:,} training sentences\n")
        print_table(dev_table(own["dev"]))
        if own["cut_rows"]:
            counts = f"{len(own['cuts'])} random cuts of {own['held_out']:,} sentences"
            say(f"\n{counts}, C by these, trained on the others: means, and more than MAP\n")
            print_table(cut_table(own["cut_rows"]))
        say(f"\nTables 1 and 2, {TITLES[task]}: test on {own['test_sentences']:,} sentences, {result['date']}\n")
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
    parser.add_argument("--seeds", type=int, metavar="N", help=f"random cuts of the training data; default {SEEDS}")
    add_options(parser, quick="600 sentences, two values of C, two cuts", beside="FILE.jsonl")
    options = parser.parse_args(argv)
    plans = QUICK if options.quick else FULL
    if options.seeds is not None:
        if options.seeds < 0:
            parser.error("--seeds: at least 0")
        plans = {task: replace(plan, seeds=options.seeds) for task, plan in plans.items()}
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
