"""Threads that share the sequences of a data set. Not here: what they do with them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from ..errors import DcrfError, Diagnostic, require_whole

__all__ = ["RUNS", "Workers", "even_runs"]

RUNS = 16  # into which work is cut: enough for the threads there are, and for none of them to wait long

Result = TypeVar("Result")


class Workers:
    """A pool of threads for runs of sequences. The result does not depend on the number of threads."""

    def __init__(self, threads: int | None = None):
        if threads is not None:
            require_whole(threads, "threads")
        wanted = threads if threads is not None else _threads_asked_for()
        self.threads = wanted or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def map(self, task: Callable[[int, int], Result], runs: Sequence[tuple[int, int]]) -> list[Result]:
        """`task(first, last)` for each run, results in order."""
        if self._pool is None or len(runs) < 2:
            return [task(first, last) for first, last in runs]
        return list(self._pool.map(lambda run: task(*run), runs))


def even_runs(count: int, most: int = RUNS) -> list[tuple[int, int]]:
    """At most so many runs of about equally many of `count` things."""
    return list(itertools.pairwise(np.unique(np.linspace(0, count, most + 1).astype(int)).tolist()))


def _threads_asked_for() -> int:
    """What `DCRFDSL_THREADS` says; 0 where it says nothing."""
    said = os.environ.get("DCRFDSL_THREADS") or "0"
    if not said.strip().isdecimal():
        message = f"`DCRFDSL_THREADS` is `{said}`: expected a number of threads"
        raise DcrfError(Diagnostic("bad-setting", message))
    return int(said)
