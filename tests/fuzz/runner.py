"""Runs cases in workers, replaces workers that die, groups findings by cause, and minimises the first of each.

Not here: what a case is, and the limits on processor time and memory (`worker`).
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from .cases import Name
from .worker import Answer, Request, died, work

CLOCK = 30.0  # seconds until a worker that does not answer is killed
PATIENT_CLOCK = 300.0
SHRINKING = 30.0  # seconds to minimise one finding


class Worker:
    """A worker process for one kind of cases, restarted when it dies."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._context = multiprocessing.get_context("spawn")
        self._begin()

    def _begin(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process: BaseProcess = self._context.Process(target=work, args=(theirs, self.kind), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._connection.recv()
        except EOFError:
            raise RuntimeError(f"the worker for {self.kind} cannot begin: its error is above") from None

    def ask(self, request: Request) -> Answer:
        """The worker's answer; if the worker died or hung, an answer that says how."""
        connection: Connection = self._connection
        connection.send(request)
        begun = time.monotonic()
        try:
            if connection.poll(PATIENT_CLOCK if request.patient else CLOCK):
                answer: Answer = connection.recv()
                return answer
            failure = Answer("slow", "hang", "", "no answer, and no signal is heard", time.monotonic() - begun)
        except (EOFError, ConnectionResetError):
            self._process.join()
            failure = replace(died(self._process.exitcode or 0), seconds=time.monotonic() - begun)
        self.end()
        self._begin()
        return failure

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join()


@dataclass
class Finding:
    """The first case of a cause, the number of cases, and the smallest case with the same fault."""

    name: Name
    answer: Answer
    count: int = 1
    smallest: str = ""


@dataclass
class Report:
    """The outcomes of the cases of a kind."""

    kind: str
    cases: int = 0
    processor: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    words: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str | None, str], Finding] = field(default_factory=dict)


def run(
    kind: str, seed: int, numbers: Iterator[int], workers: int, seconds: float, say: Callable[[str], None]
) -> Report:
    """Tries cases until `numbers` ends or `seconds` are over; each new finding is minimised at once.

    The start of the workers, which may have to compile, does not count. Raises the error that kept a worker from
    starting.
    """
    report, lock = Report(kind), threading.Lock()
    failures: list[Exception] = []

    def serve() -> None:
        try:
            try_cases(Worker(kind))
        except Exception as error:
            failures.append(error)

    def try_cases(worker: Worker) -> None:
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                _one(worker, Name(kind, seed, number), report, lock, say)
        finally:
            worker.end()

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # so that Ctrl-C is handled
            thread.join(0.2)
    if failures:
        raise failures[0]
    return report


def _one(worker: Worker, name: Name, report: Report, lock: threading.Lock, say: Callable[[str], None]) -> None:
    answer = worker.ask(Request(name))
    if answer.kind in ("slow", "hang", "memory") or answer.word == "died":
        answer = _again(worker, name, answer)
    with lock:
        report.cases += 1
        report.processor += answer.seconds
        report.words[answer.word] += 1
        report.slowest = max(report.slowest, (answer.seconds, str(name)))
        if answer.kind is None:
            return
        if answer.cause in report.findings:
            report.findings[answer.cause].count += 1
            return
        finding = report.findings[answer.cause] = Finding(name, answer)
    finding.smallest = minimised(worker, name, answer)
    with lock:
        say(described(finding))


def _again(worker: Worker, name: Name, first: Answer) -> Answer:
    """The answer of a second try, which rules out time spent on compiling and the effects of earlier cases."""
    patient = worker.ask(Request(name, patient=True))
    if patient.kind not in (None, first.kind):
        return patient
    second = worker.ask(Request(name))
    return second


def minimised(worker: Worker, name: Name, answer: Answer) -> str:
    """The smallest case found with the same cause, as text."""
    request = Request(name, with_case=True, with_smaller=True, apart=answer.word == "died")
    first = worker.ask(request)
    shown, candidates, until = first.shown, list(first.smaller), time.monotonic() + SHRINKING
    while candidates and time.monotonic() < until:
        smaller_answer = worker.ask(replace(request, case=candidates.pop(0), is_given=True))
        if smaller_answer.cause == answer.cause:
            shown, candidates = smaller_answer.shown, list(smaller_answer.smaller)
    return shown


def described(finding: Finding) -> str:
    answer = finding.answer
    head = f"{finding.name}: {answer.kind} {answer.place} ({answer.seconds:.2f} s)"
    return f"{head}\n{_indented(answer.details)}\n  smallest:\n{_indented(finding.smallest)}\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
