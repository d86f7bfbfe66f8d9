"""Reruns Tables 1 and 3 and Figure 3 of Sutton, Rohanimanesh and McCallum (2004), "Dynamic conditional random fields".

    python run.py --data CONLL2000 --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the tables (`tables`), the plot (`figure`).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment import MODELS, SETTINGS, Experiment, Job, read_lists
from figure import figure3
from rich.console import Console
from tables import table1, table1_rows, table3, table3_rows

from dcrfdsl import DcrfError
from dcrfdsl.cli.report import duration, print_table

__all__ = ["FULL", "QUICK", "Log", "Plan", "main", "reproduce"]

say = Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print


@dataclass(frozen=True)
class Plan:
    """How much is trained. A size that is the whole training set is trained on once.

    sizes, subsets: of Table 1.   timed_size, timed_subsets: of Table 3.
    """

    sizes: tuple[int, ...]
    subsets: int
    timed_size: int
    timed_subsets: int

    def table1(self, sentences: int) -> list[Job]:
        """Small sizes first."""
        return [
            Job(model, "tree" if model == "fcrf" else "exact", size, subset)
            for size in self.sizes
            for subset in range(self.subsets if size < sentences else 1)
            for model in MODELS
        ]

    def table3(self) -> list[Job]:
        return [
            Job("fcrf", setting, self.timed_size, subset)
            for subset in range(self.timed_subsets)
            for setting in SETTINGS
        ]


FULL = Plan(sizes=(223, 447, 670, 894, 2234, 8936), subsets=5, timed_size=447, timed_subsets=5)
QUICK = Plan(sizes=(223, 447), subsets=2, timed_size=223, timed_subsets=2)

DIFFERENCES = (
    "The corpus's parts of speech are the output of Brill's tagger, as in the paper; 44 of them, not 45, occur.",
    "Features read the words alone: edges between labels have a bias each and no observations. The paper does not say.",
    "The paper does not say which tags the second CRF of CRF+CRF was trained on. Here: the Viterbi tags that the first "
    "one gives to its own training data.",
    "L-BFGS remembers 20 steps and stops at ‖g‖/‖g₀‖ < 1e-5 with the objective at rest; the paper does not give its "
    "rule, so numbers of iterations do not compare.",
    "Message passing begins each evaluation with the messages of the last one and damps those that oscillate, so three "
    "iterations an evaluation come closer to convergence than the paper's, which seem to begin anew.",
    "Table 3: every model tags the test set by its own method run to convergence. Times are of this machine.",
    "CRF+CRF, Brill+CRF and FCRF are given the same subsets here, but the two-sample test does not use that (as the "
    "paper's).",
)
WITHOUT_LISTS = (
    "Brill's lexicon of words by part of speech is not used, nor any list of names: unknown words must be guessed from "
    "capitals, digits and their neighbours. This lowers all scores of parts of speech, most on few sentences."
)
WITH_LISTS = (
    "Brill's lexicon of words by part of speech is replaced by one of the words and tags of the given corpora "
    "(--tagged), which is smaller; of lists of names there are those given (--names). The paper's own are not at hand."
)


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
        self.records[Job(*(record[name] for name in Job._fields)), record["inputs"]] = record


def reproduce(
    lab: Experiment, plan: Plan, log: Log, out: Path, tables: Sequence[str], talk: bool = True
) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes tables to `out` and the figure beside it. Returns the tables.

    Ctrl-C ends training; the tables are then of what has finished.
    """
    jobs = {
        "1": plan.table1(lab.train.num_sentences) if "1" in tables else [],
        "3": plan.table3() if "3" in tables else [],
    }
    # Table 3 first: what it times then runs close together, and Table 1 may use it again.
    wanted = {job: lab.fingerprint(job) for job in dict.fromkeys([*jobs["3"], *jobs["1"]])}
    stopped = False
    try:
        for number, (job, inputs) in enumerate(wanted.items(), 1):
            if (job, inputs) in log.records:
                continue
            record = lab.run(job)
            log.add(record)
            if talk:
                say(f"[{number}/{len(wanted)}] {_line(job, record)}")
    except KeyboardInterrupt:
        stopped = True
        say(f"stopped; the same command goes on with what {log.path} does not have yet")
    found = {
        name: [log.records[job, wanted[job]] for job in part if (job, wanted[job]) in log.records]
        for name, part in jobs.items()
    }
    result: dict[str, Any] = {
        "complete": not stopped,
        "seed": lab.seed,
        "threads": sorted({record["threads"] or 0 for part in found.values() for record in part}),
        "differences": [*DIFFERENCES, WITH_LISTS if lab.lists.text else WITHOUT_LISTS],
        "table1": table1_rows(found["1"]),
        "table3": table3_rows(found["3"]),
        "trainings": [record for part in found.values() for record in part],
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if "1" in tables:
        out.with_suffix(".svg").write_text(figure3(result["table1"]), encoding="utf-8")
    return result


def _line(job: Job, record: dict[str, Any]) -> str:
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in record["scores"].items())
    return f"{job}: {duration(record['seconds'])}, {record['iterations']} iterations, {scores}"


def show(result: dict[str, Any], tables: Iterable[str]) -> None:
    """The tables as text, and what differs from the paper."""
    for number, rows, table in (("1", result["table1"], table1), ("3", result["table3"], table3)):
        if number in tables:
            say(f"\nTable {number}: mean ± sample standard deviation over random subsets; {TESTS[number]}\n")
            print_table(table(rows))
    say("\nWhat differs from the paper:")
    for text in result["differences"]:
        say(f"* {text}")


TESTS = {
    "1": "p of a two-sample t-test between CRF+CRF and FCRF",
    "3": "p of paired t-tests against Exact",
}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="CoNLL-2000: train.txt, test.txt")
    parser.add_argument("--table", choices=("1", "3", "all"), default="all", help="Figure 3 comes with Table 1")
    parser.add_argument("--quick", action="store_true", help="two subsets of the two smallest sizes")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help="also FILE.jsonl, FILE.svg")
    parser.add_argument("--threads", type=int, metavar="N", help="default: DCRFDSL_THREADS, else all cores")
    parser.add_argument("--seed", type=int, default=0, help="of the random subsets")
    parser.add_argument("--names", type=Path, metavar="DIR", help="lists: first-names.txt, places.txt")
    parser.add_argument(
        "--tagged", type=Path, action="append", default=[], metavar="FILE",
        help="corpus to make a lexicon of words by part of speech of: `word tag` lines, or *.conllu; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides", help="as in `dcrfdsl train`"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = _arguments(argv)
    tables = ("1", "3") if options.table == "all" else (options.table,)
    try:
        with tempfile.TemporaryDirectory() as folder:
            lab = Experiment.of(
                options.data,
                lists=read_lists(options.names, options.tagged, Path(folder)),
                overrides=tuple(options.overrides),
                threads=options.threads,
                seed=options.seed,
            )
            log = Log(options.out.with_suffix(".jsonl"))
            result = reproduce(lab, QUICK if options.quick else FULL, log, options.out, tables)
    except (DcrfError, OSError) as error:
        raise SystemExit(str(error)) from None
    show(result, tables)
    return 0 if result["complete"] else 130


if __name__ == "__main__":
    raise SystemExit(main())
