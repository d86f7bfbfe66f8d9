"""Threads that share the sequences of a data set. Not here: the work on them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from ..errors import DcrfError, Diagnostic, require_whole

__all__ = ["RUNS", "Workers", "even_runs"]

RUNS = 16  # into which work is cut: enough that all threads have work until shortly before the end

Result = TypeVar("Result")


class Workers:
    """A pool of threads for runs of sequences. The result does not depend on the number of threads."""

    def __init__(self, threads: int | None = None):
        if threads is not None:
            require_whole(threads, "threads")
        wanted = threads if threads is not None else _requested_threads()
        self.threads = wanted or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def map(self, task: Callable[[int, int], Result], runs: Sequence[tuple[int, int]]) -> list[Result]:
        """`task(first, last)` for each run, results in order."""
        if self._pool is None or len(runs) < 2:
            return [task(first, last) for first, last in runs]
        return list(self._pool.map(lambda run: task(*run), runs))


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
