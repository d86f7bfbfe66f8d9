"""Prefetching: another thread prepares the next item while the current one is in use. Not here: the items."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["prefetched"]

_Item = TypeVar("_Item")


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

    Thread(target=make, daemon=True).start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        with suppress(Empty):
            made.get_nowait()  # unblocks the other thread, so that it ends
