"""Per-letter errors on the OCR letters, both ways that the literature uses: train nine folds and test one, and train
one fold and test nine.

    python run.py --data letters.npz --quick --out quick.json

Every training that has finished is a line of a `.jsonl` file beside the result, so a run that was stopped goes on where
it was. Not here: the trainings (`experiment`), the arithmetic of the tables (`tables`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiment import FOLDS, PROTOCOLS, Experiment, Job, Words, jobs_of
from rich.console import Console
from tables import NAMES, PUBLISHED, error_rows, error_table, published_table

from dcrfdsl import DcrfError
from dcrfdsl.cli.report import duration, print_table

__all__ = ["Log", "main", "reproduce"]

say = Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print
QUICK_WORDS = 60  # of each fold
QUICK_FOLDS = 2


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


def reproduce(lab: Experiment, jobs: Sequence[Job], log: Log, out: Path, talk: bool = True) -> dict[str, Any]:
    """Trains what `log` does not have yet, and writes everything to `out`. Ctrl-C keeps what has finished."""
    records, complete = [], True
    try:
        for job in jobs:
            known = (job, lab.fingerprint(job))
            if known not in log.records:
                log.add(lab.run(job))
                if talk:
                    own = log.records[known]
                    times = f"{duration(own['seconds'])}, {own['iterations']} iterations"
                    say(f"{job}: {times}, {own['error']:.2f} % of letters wrong")
            records.append(log.records[known])
    except KeyboardInterrupt:
        complete = False
        say(f"stopped; the same command goes on with what {log.path} does not have yet")
    rows = {name: error_rows([own for own in records if own["protocol"] == name]) for name in PROTOCOLS}
    result = {"complete": complete, "words": len(lab.words.fold), "rows": rows, "trainings": records}
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


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
    parser = argparse.ArgumentParser(description=" ".join((__doc__ or "").split("\n\n")[0].split()))
    parser.add_argument("--data", type=Path, required=True, metavar="FILE.npz", help="the letters")
    parser.add_argument("--protocol", action="append", choices=[*PROTOCOLS], help="default: both")
    parser.add_argument("--method", action="append", choices=[*NAMES], help="default: all")
    parser.add_argument("--folds", type=int, default=FOLDS, metavar="N", help="only the first N")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_WORDS} words a fold, {QUICK_FOLDS} folds")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json", help="also FILE.jsonl")
    parser.add_argument("--threads", type=int, metavar="N", help="default: DCRFDSL_THREADS, else all cores")
    options = parser.parse_args(argv)
    folds = min(options.folds, QUICK_FOLDS if options.quick else FOLDS)
    jobs = jobs_of(options.protocol or [*PROTOCOLS], options.method or [*NAMES], folds)
    if folds and not jobs:
        parser.error("`--protocol nine` has no kernels: they compare all pairs of letters, too many in nine folds")
    try:
        words = Words.of(options.data, QUICK_WORDS if options.quick else None)
        result = reproduce(
            Experiment(words, options.threads), jobs, Log(options.out.with_suffix(".jsonl")), options.out
        )
    except (DcrfError, OSError, KeyError) as error:
        raise SystemExit(str(error)) from None
    show(result)
    return 0 if result["complete"] else 130


if __name__ == "__main__":
    raise SystemExit(main())
