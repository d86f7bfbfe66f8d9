"""Reruns Tables 1 and 3 and Figure 3 of Sutton, Rohanimanesh and McCallum (2004), "Dynamic conditional random fields".

    python run.py --data CONLL2000 --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the tables (`tables`), the plot (`figure`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import MODELS, Experiment, Job, read_lists
from figure import figure3
from running import Log, add_options, exit_status, parser_of, refusals, say, say_differences, write
from tables import METHODS, table1, table1_rows, table3, table3_rows

from dcrfdsl.cli.report import duration, print_table


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
            Job(model, "table1", size, subset)
            for size in self.sizes
            for subset in range(self.subsets if size < sentences else 1)
            for model in MODELS
        ]

    def table3(self) -> list[Job]:
        return [
            Job("fcrf", setting, self.timed_size, subset) for subset in range(self.timed_subsets) for setting in METHODS
        ]


FULL = Plan(sizes=(223, 447, 670, 894, 2234, 8936), subsets=5, timed_size=447, timed_subsets=5)
QUICK = Plan(sizes=(223, 447), subsets=2, timed_size=223, timed_subsets=2)

DIFFERENCES = (
    "The corpus's parts of speech are the output of Brill's tagger, as in the paper; 44 of them, not 45, occur.",
    "Features read the words alone.",
    "The paper does not say which tags the second CRF of CRF+CRF was trained on. Here: the Viterbi tags that the first "
    "one gives to its own training data.",
    "Edges read the words at -1 and 0; the paper's offsets of -3 to 3 may be meant for them too, and score worse here.",
    "Training stops at ‖g‖/‖g₀‖ < 1e-5 with the objective at rest. Table 1 trains by exact inference and "
    "`optimizer = auto`, which finds the same optimum in fewer passes; Table 3 by L-BFGS that remembers 20 steps. The "
    "paper does not give its rule, so numbers of iterations do not compare.",
    "Message passing begins each evaluation with the messages of the last one and damps those that oscillate, so three "
    "iterations an evaluation come closer to convergence than the paper's, which seem to begin anew.",
    "Table 3: every model tags the test set by its own method run to convergence. Times are of this machine.",
    "CRF+CRF, Brill+CRF and FCRF are given the same subsets here, but the two-sample test does not use that (as the "
    "paper's).",
)
WITHOUT_EDGES = "Edges between labels have a bias each and no observations, where the potentials of eq. 4 have them."
WITHOUT_LEXICON = (
    "Brill's lexicon of words by part of speech is not used: unknown words must be guessed from capitals, digits and "
    "their neighbours, or from the words of other corpora (--tagged). This lowers all scores, most on few sentences."
)
LISTS = (
    "Of the paper's lists there are days and months, and with --names first names and places; none of last names and "
    "names of companies. The paper's own are not at hand."
)


def reproduce(
    lab: Experiment, plan: Plan, log: Log[Job], out: Path, tables: Sequence[str], talk: bool = True
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
        log.say_stopped()
    found = {
        name: [log.records[job, wanted[job]] for job in part if (job, wanted[job]) in log.records]
        for name, part in jobs.items()
    }
    result: dict[str, Any] = {
        "complete": not stopped,
        "seed": lab.seed,
        "threads": sorted({record["threads"] or 0 for part in found.values() for record in part}),
        "differences": [
            *DIFFERENCES,
            *([] if lab.edges else [WITHOUT_EDGES]),
            *([] if lab.lists.lexicon else [WITHOUT_LEXICON]),
            LISTS,
        ],
        "table1": table1_rows(found["1"]),
        "table3": table3_rows(found["3"]),
        "trainings": [record for part in found.values() for record in part],
    }
    write(result, out)
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
    say_differences(result["differences"])


TESTS = {
    "1": "the difference with an interval of 95 %; p of a two-sample t-test of CRF+CRF and FCRF, and of a paired one",
    "3": "p of paired t-tests against Exact",
}


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="CoNLL-2000: train.txt, test.txt")
    parser.add_argument("--table", choices=("1", "3", "all"), default="all", help="Figure 3 comes with Table 1")
    add_options(
        parser,
        quick="two subsets of the two smallest sizes",
        beside="FILE.jsonl, FILE.svg",
        seed="of the random subsets",
    )
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="Table 1: these numbers of sentences alone")
    parser.add_argument(
        "--lexicon", type=Path, metavar="FILE", help="Brill's, of words by part of speech: `word tag tag …`"
    )
    parser.add_argument("--names", type=Path, metavar="DIR", help="lists: first-names.txt, places.txt")
    parser.add_argument(
        "--tagged", type=Path, action="append", default=[], metavar="FILE",
        help="corpus whose words join the lexicon: `word tag` lines, or *.conllu; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--bias-edges", action="store_true", help="cliques of two labels have biases alone, in all models"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", dest="overrides", help="as in `dcrfdsl train`"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = _arguments(argv)
    tables = ("1", "3") if options.table == "all" else (options.table,)
    with refusals(), tempfile.TemporaryDirectory() as folder:
        lab = Experiment.of(
            options.data,
            lists=read_lists(options.names, options.lexicon, options.tagged, Path(folder)),
            overrides=tuple(options.overrides),
            threads=options.threads,
            seed=options.seed,
            edges=not options.bias_edges,
        )
        log = Log(options.out.with_suffix(".jsonl"), Job)
        plan = QUICK if options.quick else FULL
        plan = replace(plan, sizes=tuple(options.sizes)) if options.sizes else plan
        result = reproduce(lab, plan, log, options.out, tables)
    show(result, tables)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
