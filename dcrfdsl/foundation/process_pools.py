"""Processes of ours that work for this one, and end with it.

They are forked where a system can fork safely (Linux), so that they share what this process has in memory; elsewhere
that is pickled. They leave Ctrl-C to this process. Not here: the work.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from threading import Thread
from typing import Any

MANAGER_SECONDS = 5.0  # in which a pool's thread sees that its processes have ended


def _context() -> Any:
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def new_event() -> Any:
    """An event that this process may set for the others; it goes to them as an argument of `begin`."""
    return _context().Event()


@contextmanager
def processes(
    count: int, begin: Callable[..., None], *arguments: Any, ends_at_once: bool = True
) -> Iterator[ProcessPoolExecutor]:
    """`count` processes, each of which calls `begin(*arguments)` first. After an error in the block they are ended at
    once if `ends_at_once`, else after what they have begun.
    """
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(count, _context(), _begin, (begin, arguments))
    try:
        yield pool
    except BaseException:  # an error or a signal: nothing waits for the end of their work
        for process in multiprocessing.active_children():
            if ends_at_once and process not in others:
                process.terminate()
        if ends_at_once:
            _unblock(pool)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _unblock(pool: ProcessPoolExecutor) -> None:
    """Closes the pipe by which work goes to processes that have ended: what is being written would wait for ever for
    somebody to read it, and the pool for its writer. Not every Python 3.11 does this itself; where the pool's thread
    does, and ends, nothing is left to do, and two threads must not close the same file.
    """
    manager = getattr(pool, "_executor_manager_thread", None)
    reader = getattr(getattr(pool, "_call_queue", None), "_reader", None)
    if manager is not None:
        manager.join(MANAGER_SECONDS)
        if manager.is_alive() and reader is not None and not reader.closed:
            reader.close()


def _begin(begin: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    for name, action in (("SIGINT", signal.SIG_IGN), ("SIGHUP", signal.SIG_IGN), ("SIGTERM", signal.SIG_DFL)):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), action)
    Thread(target=_end_with_parent, daemon=True).start()
    begin(*arguments)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
