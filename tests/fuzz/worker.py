"""A process that tries cases one after another, under limits of processor time and memory.

It answers each request with an `Answer`. The `runner` notices if the process dies, or hangs without handling signals.
Not here: the cases, and the handling of answers.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from .cases import Name, Wrong
from .kinds import fuzzer_of

SECONDS = 5.0  # processor time of a case
PATIENT = 120.0  # the same if a kernel may have to be compiled
MEMORY = 1 << 30  # bytes beyond what the worker had before its first case
PACKAGE = f"{os.sep}dcrfdsl{os.sep}"
COMPILER = f"{os.sep}numba{os.sep}core{os.sep}"
YOUNG_OBJECTS = 50_000  # as in `dcrfdsl.cli`


@dataclass(frozen=True)
class Request:
    """A request to try a case. case: replaces the case that the name makes.   with_…: what to send back.   patient: a
    kernel may have to be compiled.   apart: use a separate process, because this one may die.
    """

    name: Name
    case: Any = None
    is_given: bool = False
    with_case: bool = False
    with_smaller: bool = False
    patient: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Answer:
    """The outcome of a case. word: in one word.   kind: the kind of finding, None if there is none.   place: the
    project's innermost function at that time; with `kind` it identifies the cause.   seconds: processor time.
    """

    word: str = ""
    kind: str | None = None
    place: str = ""
    details: str = ""
    seconds: float = 0.0
    case: Any = None
    shown: str = ""
    smaller: tuple[Any, ...] = ()

    @property
    def cause(self) -> tuple[str | None, str]:
        return self.kind, self.place


class TooSlow(BaseException):
    """The processor time of a case is used up. Not an `Exception`, so that the tested code cannot catch it."""


def work(connection: Connection, kind: str) -> None:
    """Answers requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner stops its workers
    warnings.simplefilter("ignore")  # warnings of the checker are no findings
    signal.signal(signal.SIGPROF, _too_slow)
    gc.set_threshold(YOUNG_OBJECTS)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as room:
        fuzzer = fuzzer_of(kind, Path(room))
        connection.send("ready")
        _limit_memory()
        while True:
            try:
                request = connection.recv()
            except EOFError:
                return
            connection.send(_answer(fuzzer, request))


def _answer(fuzzer: Any, request: Request) -> Answer:
    makes, tries = request.name.generators()
    case = request.case if request.is_given else fuzzer.make(makes)
    trial = _tried_apart if request.apart else _tried
    answer = trial(fuzzer, case, tries, PATIENT if request.patient else SECONDS)
    extra: dict[str, Any] = {}
    if request.with_case or answer.kind:
        extra = {"case": case, "shown": fuzzer.show(case)}
    if request.with_smaller:
        extra["smaller"] = tuple(itertools.islice(fuzzer.smaller(case), MOST_CANDIDATES))
    return Answer(**{**vars(answer), **extra})


MOST_CANDIDATES = 400


def _tried(fuzzer: Any, case: Any, rng: Any, limit: float) -> Answer:
    begun = time.process_time()
    try:
        with _alarm(limit):
            word = fuzzer.attempt(case, rng)
    except TooSlow as slow:
        return Answer("slow", "slow", _place(slow), _trace(slow), time.process_time() - begun)
    except MemoryError as error:
        return Answer("memory", "memory", _place(error), _trace(error), time.process_time() - begun)
    except Wrong as wrong:
        return Answer("wrong", wrong.kind, "", str(wrong), time.process_time() - begun)
    except BaseException as error:
        if type(error).__name__ == "DcrfError":  # the package may not be loaded
            return Answer("refused", seconds=time.process_time() - begun)
        return Answer("crash", type(error).__name__, _place(error), _trace(error), time.process_time() - begun)
    return Answer(word, seconds=time.process_time() - begun)


def _tried_apart(fuzzer: Any, case: Any, rng: Any, limit: float) -> Answer:
    """The answer of a fork of this process, or an answer that says how the fork died."""
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(ours, pickle.dumps(_tried(fuzzer, case, rng, limit)))
        finally:
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(said) if said else died(os.waitstatus_to_exitcode(status))


def died(code: int) -> Answer:
    """The answer for a worker that died, from its exit code."""
    what = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return Answer("died", what, "", f"the process died: {what}")


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(number: int, frame: FrameType | None) -> None:
    if _compiles(frame):  # an interrupted compilation would be left incomplete
        signal.setitimer(signal.ITIMER_PROF, 1.0)
        return
    raise TooSlow


def _compiles(frame: FrameType | None) -> bool:
    """Whether a kernel is being compiled, which happens once and is no fault of the case."""
    while frame is not None:
        if COMPILER in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _limit_memory() -> None:
    """Limits the address space to `MEMORY` beyond the current use, if the system reports that."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))


def _place(error: BaseException) -> str:
    """The innermost function of the package, or of a kind of cases where the package is not on the stack."""
    frames = [
        f"{frame.filename.rpartition(PACKAGE)[2]}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if PACKAGE in frame.filename
    ]
    return frames[-1] if frames else ""


def _trace(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines[-12:]) if len(lines) > 12 else "".join(lines)


if sys.platform == "win32":
    raise ImportError("fuzzing needs the limits of a POSIX system")
