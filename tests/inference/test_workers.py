"""Threads: one pool a process, results in order, errors, calls within calls, forks, the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dcrfdsl.foundation.errors import DcrfError
from dcrfdsl.inference import Workers
from dcrfdsl.inference.workers import POOL

RUNS = [(n, n + 1) for n in range(40)]


def squares(threads: int) -> list[int]:
    return Workers(threads).map(lambda first, last: first * first, RUNS)


def pool_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("dcrfdsl")}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_order(threads: int) -> None:
    assert squares(threads) == [n * n for n, _ in RUNS]


def test_all_calls_share_the_threads_of_one_pool() -> None:
    for _ in range(30):
        squares(3)
    most = POOL.size
    assert most >= 2 and len(pool_threads()) <= most
    for _ in range(30):
        Workers(2).map(lambda first, last: squares(3), RUNS[:5])
    assert POOL.size == most and len(pool_threads()) <= most


def test_a_call_does_the_work_itself_where_the_pool_is_busy() -> None:
    """Every thread of the pool waits until another call, which finds none free, has ended."""
    squares(3)
    free, begun = threading.Event(), threading.Barrier(POOL.size + 2, timeout=60)

    def wait(first: int, last: int) -> str:
        begun.wait()
        free.wait(60)
        return "done"

    with ThreadPoolExecutor(1) as caller:
        held = caller.submit(Workers(POOL.size + 1).map, wait, RUNS[: POOL.size + 1])
        begun.wait()
        try:
            assert squares(3) == [n * n for n, _ in RUNS]
        finally:
            free.set()
        assert set(held.result(60)) == {"done"}


def test_work_within_work_ends() -> None:
    totals = Workers(3).map(lambda first, last: sum(squares(3)) + first, RUNS)
    assert totals == [sum(n * n for n, _ in RUNS) + n for n, _ in RUNS]


@pytest.mark.parametrize("threads", [1, 4])
def test_the_error_of_the_first_run_is_raised_and_no_other_begins(threads: int) -> None:
    done = []

    def fail(first: int, last: int) -> None:
        done.append(first)
        if first >= 3:
            raise ValueError(f"run {first}")

    with pytest.raises(ValueError, match="run 3"):
        Workers(threads).map(fail, RUNS)
    assert len(done) < 3 + 2 * threads


def test_an_interrupt_is_raised_at_once_and_no_other_run_begins() -> None:
    raised = threading.Event()

    def interrupted(first: int, last: int) -> None:
        if threading.current_thread() is threading.main_thread():
            raised.set()
            raise KeyboardInterrupt
        raised.wait(60)  # or the other thread might be through before this one begins

    with pytest.raises(KeyboardInterrupt):
        Workers(2).map(interrupted, RUNS)
    assert squares(2) == [n * n for n, _ in RUNS]


def test_the_variable_limits_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCRFDSL_THREADS", "3")
    assert Workers().threads == 3 and Workers(2).threads == 2
    monkeypatch.setenv("DCRFDSL_THREADS", "many")
    with pytest.raises(DcrfError, match="expected a number of threads"):
        Workers()


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_a_pool_of_its_own() -> None:
    squares(4)
    stop = threading.Event()
    busy = [threading.Thread(target=lambda: [squares(4) for _ in iter(stop.is_set, True)]) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        for _ in range(10):  # in the middle of calls of other threads, whatever they hold
            child = os.fork()
            if child == 0:
                os._exit(0 if POOL.size == 0 and squares(4) == [n * n for n, _ in RUNS] else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in busy:
            thread.join()


def test_the_interpreter_ends_while_threads_wait_for_work(tmp_path: Path) -> None:
    program = """
import atexit
from dcrfdsl.inference import Workers
runs = [(n, n + 1) for n in range(9)]
late = lambda: print(Workers(3).map(lambda first, last: first, runs))
late()
atexit.register(late)  # runs when no thread can be started any more
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[0, 1, 2, 3, 4, 5, 6, 7, 8]\n" * 2
