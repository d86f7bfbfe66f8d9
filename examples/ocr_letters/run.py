"""Per-letter errors on the OCR letters, both ways that the literature uses, train nine folds and test one, and train
one fold and test nine; and on words whose spelling training does not have.

    python run.py --data letters.npz --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the tables (`tables`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # where `running` lies

from experiment import FOLDS, PROTOCOLS, Experiment, Job, Words, jobs_of
from running import Log, add_options, exit_status, parser_of, refusals, say, write
from tables import NAMES, PUBLISHED, error_rows, error_table, published_table

from dcrfdsl.cli.report import duration, print_table

QUICK_WORDS = 60  # of each fold
QUICK_FOLDS = 2


def reproduce(lab: Experiment, jobs: Sequence[Job], log: Log[Job], out: Path, talk: bool = True) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    records, complete = [], True
    try:
        for job in jobs:
            records.append(log.record(lab, job, _line if talk else None))
    except KeyboardInterrupt:
        complete = False
        log.say_stopped()
    rows = {name: error_rows([own for own in records if own["protocol"] == name]) for name in PROTOCOLS}
    result = {"complete": complete, "words": len(lab.words.fold), "rows": rows, "trainings": records}
    write(result, out)
    return result


def _line(record: Mapping[str, Any]) -> str:
    times = f"{duration(record['seconds'])}, {record['iterations']} iterations"
    return f"{times}, {record['error']:.2f} % of letters wrong"


def show(result: Mapping[str, Any]) -> None:
    """The tables as text."""
    for name, words in PROTOCOLS.items():
        if result["rows"][name]:
            say(f"\n{words[0].upper()}{words[1:]}: errors in percent, means over folds\n")
            print_table(error_table(result["rows"][name]))
            if PUBLISHED[name]:
                say("\nPublished\n")
                print_table(published_table(PUBLISHED[name]))


def main(argv: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FILE.npz", help="the letters")
    parser.add_argument("--protocol", action="append", choices=[*PROTOCOLS], help="default: all")
    parser.add_argument("--method", action="append", choices=[*NAMES], help="default: all")
    parser.add_argument("--folds", type=int, default=FOLDS, metavar="N", help="only the first N")
    add_options(parser, quick=f"{QUICK_WORDS} words a fold, {QUICK_FOLDS} folds", beside="FILE.jsonl")
    options = parser.parse_args(argv)
    folds = min(options.folds, QUICK_FOLDS if options.quick else FOLDS)
    jobs = jobs_of(options.protocol or [*PROTOCOLS], options.method or [*NAMES], folds)
    if folds and not jobs:
        parser.error("only `--protocol one` has kernels: they compare all pairs of letters, too many in nine folds")
    with refusals(KeyError):
        words = Words.of(options.data, QUICK_WORDS if options.quick else None)
        result = reproduce(
            Experiment(words, options.threads), jobs, Log(options.out.with_suffix(".jsonl"), Job), options.out
        )
    show(result)
    return exit_status(result)


if __name__ == "__main__":
    raise SystemExit(main())
