"""`python tests/fuzz`: its options, the kinds one after another, and a summary of each. Not here: running cases."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from .cases import Name
from .kinds import KINDS, fuzzer_of
from .runner import Finding, Report, Worker, described, minimised, run
from .worker import Request

ENDLESS = 10**12


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Hostile input by the thousand.")
    parser.add_argument("--seconds", type=float, help="how long in all, shared by the kinds (default: 60, or no end)")
    parser.add_argument("--cases", type=int, help="how many of each kind (default: as time allows)")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds of cases (default: all); repeatable")
    parser.add_argument("--seed", type=int, default=0, help="of the run (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes at once (default: 1)")
    parser.add_argument("--case", metavar="NAME", help="one case again, as `templates-0-17`")
    parser.add_argument("--show", metavar="NAME", help="print a case, and do not try it")
    asked = parser.parse_args()
    os.environ.setdefault("DCRFDSL_THREADS", "1")
    if asked.show:
        return _show(Name.of(asked.show))
    if asked.case:
        return _again(Name.of(asked.case))
    kinds = asked.only or list(KINDS)
    seconds = asked.seconds or (float("inf") if asked.cases else 60.0)
    share = seconds / len(kinds)
    reports = []
    for kind in kinds:
        begun = time.monotonic()
        numbers = iter(range(asked.first, asked.first + (asked.cases or ENDLESS)))
        try:
            reports.append(run(kind, asked.seed, numbers, asked.workers, share, lambda text: print(text, flush=True)))
        except RuntimeError as error:
            print(f"{kind}: {error}", flush=True)
            return 2
        spent = time.monotonic() - begun
        print(_summary(reports[-1], spent), flush=True)
    return int(any(report.findings or not report.cases for report in reports))


def _summary(report: Report, spent: float) -> str:
    each = 1000 * report.processor / max(1, report.cases)
    words = ", ".join(f"{count} {word}" for word, count in report.words.most_common())
    lines = [
        f"{report.kind}: {report.cases} cases in {spent:.0f} s ({report.cases / max(spent, 1e-9):.0f} a second, "
        f"{each:.1f} ms of processor time each, slowest {report.slowest[0]:.2f} s: {report.slowest[1]}); {words}"
    ]
    for finding in report.findings.values():
        lines.append(f"  {finding.count:6} × {finding.answer.kind} {finding.answer.place}, first {finding.name}")
    return "\n".join(lines)


def _again(name: Name) -> int:
    worker = Worker(name.kind)
    answer = worker.ask(Request(name, with_case=True, patient=True))
    print(answer.shown or "")
    if answer.kind is None:
        print(f"{name}: {answer.word}, {answer.seconds:.3f} s")
        worker.end()
        return 0
    print(described(Finding(name, answer, smallest=minimised(worker, name, answer))))
    worker.end()
    return 1


def _show(name: Name) -> int:
    with tempfile.TemporaryDirectory() as room:
        fuzzer = fuzzer_of(name.kind, Path(room))
        print(fuzzer.show(fuzzer.make(name.generators()[0])))
    return 0
