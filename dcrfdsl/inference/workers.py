"""Threads that share the sequences of a data set. Not here: the work on them.

A process has one pool of threads, which all calls share. It is made when a call first wants more than one thread, grows
to the most that any call wants, is made anew in a forked process, where no thread survives, and ends with the
interpreter. A fork waits until no thread compiles a kernel. The caller works too and takes whatever the pool has no
thread for. So a call ends even if the pool is busy or it runs within another call.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from ..foundation import DcrfError, Diagnostic, require_whole

RUNS = 16  # into which work is cut: enough that all threads have work until shortly before the end

Result = TypeVar("Result")


class _Pool:
    """The threads of this process beside the callers'."""

    _executor: ThreadPoolExecutor | None

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begins anew: a forked process has neither the threads of its parent nor the one that held the lock."""
        self._lock, self._executor, self.size = Lock(), None, 0

    def submit(self, task: Callable[[], None], count: int) -> list[Future[None]]:
        """`count` runs of the task; fewer while the interpreter ends and starts no threads."""
        begun: list[Future[None]] = []
        with self._lock:
            if self._executor is None or self.size < count:
                if self._executor is not None:
                    self._executor.shutdown(wait=False)  # its threads end after what they have begun
                self._executor, self.size = ThreadPoolExecutor(count, thread_name_prefix="dcrfdsl"), count
            with suppress(RuntimeError):
                for _ in range(count):
                    begun.append(self._executor.submit(task))
        return begun


POOL = _Pool()


def _compiler_lock() -> Any:
    """Numba's lock, which it holds while it compiles or loads a kernel; None before Numba is loaded."""
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None)


def _before_fork() -> None:
    if (lock := _compiler_lock()) is not None:
        lock.acquire()  # no other thread compiles, which in the child none would finish


def _after_fork() -> None:
    if (lock := _compiler_lock()) is not None:
        lock.release()


def _after_fork_in_child() -> None:
    POOL.forget()
    _after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


class Workers:
    """Up to `threads` threads for runs of sequences. The result does not depend on their number."""

    def __init__(self, threads: int | None = None):
        if threads is not None:
            require_whole(threads, "threads")
        wanted = threads if threads is not None else _requested_threads()
        self.threads = wanted or os.cpu_count() or 1

    def map(self, task: Callable[..., Result], runs: Sequence[tuple[int, int]], *arguments: Any) -> list[Result]:
        """`task(first, last, *arguments)` for each run, results in order. The error of the first run that raises one is
        raised.
        """
        if self.threads == 1 or len(runs) < 2:
            found = []
            for first, last in runs:  # no comprehension, which would be one more call on the way
                found.append(task(first, last, *arguments))
            return found
        results: list[Result | None] = [None] * len(runs)
        errors: dict[int, BaseException] = {}
        pending = deque(enumerate(runs))  # taken in order by all threads

        def work() -> None:
            while pending and not errors:
                try:
                    number, run = pending.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    results[number] = task(*run, *arguments)
                except Exception as error:
                    errors[number] = error

        helpers = POOL.submit(work, min(self.threads, len(runs)) - 1)
        try:
            work()
            for helper in helpers:
                if not helper.cancel():
                    helper.result()
        except BaseException:  # a signal: no thread begins another run
            pending.clear()
            raise
        if errors:
            raise errors[min(errors)]
        return results  # type: ignore[return-value]  # each run wrote its result


def even_runs(count: int, most: int = RUNS) -> list[tuple[int, int]]:
    """0 to `count` cut into at most `most` runs of about equal length, each as (first, last + 1)."""
    return list(itertools.pairwise(np.unique(np.linspace(0, count, most + 1).astype(int)).tolist()))


def _requested_threads() -> int:
    """The value of `DCRFDSL_THREADS`, 0 if it is unset or empty. DcrfError if it is no whole number."""
    value = os.environ.get("DCRFDSL_THREADS") or "0"
    if not value.strip().isdecimal():
        message = f"`DCRFDSL_THREADS` is `{value}`: expected a number of threads"
        raise DcrfError(Diagnostic("bad-setting", message))
    return int(value)
