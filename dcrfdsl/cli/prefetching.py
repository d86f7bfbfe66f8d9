"""Prefetching: another thread prepares the next item while the current one is in use. Not here: the items.

A caller that leaves early, as where the reader of a pipe has seen enough, does not wait for the thread: it may stand in
a read that never ends. A process must then end by `os._exit` (`is_at_work`): Python would end the thread by unwinding
its stack, which aborts the process where functions of C++ are on it, as those of RE2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

_Item = TypeVar("_Item")
_WORKERS: list[Thread] = []  # whose callers have left before the end


def is_at_work() -> bool:
    """Whether a thread still prepares an item that nobody waits for."""
    return any(worker.is_alive() for worker in _WORKERS)


def prefetched(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items, each made by another thread while the caller works on the one before it."""
    made: Queue[_Item | BaseException | None] = Queue(maxsize=1)
    left = Event()

    def make() -> None:
        try:
            for item in items:
                made.put(item)
                if left.is_set():
                    return
            made.put(None)
        except BaseException as error:  # raised in place of the item
            made.put(error)

    worker = Thread(target=make, daemon=True)
    worker.start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        with suppress(Empty):
            made.get_nowait()  # unblocks the other thread, so that it ends
        _WORKERS[:] = [one for one in (*_WORKERS, worker) if one.is_alive()]
