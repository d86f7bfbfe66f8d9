"""Items that another thread prepares while the one before is in use. Not here: what they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["ahead"]

_Item = TypeVar("_Item")


def ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items, each made by another thread while the one before it is worked on."""
    made: Queue[_Item | BaseException | None] = Queue(maxsize=1)
    left = Event()

    def make() -> None:
        try:
            for item in items:
                made.put(item)
                if left.is_set():
                    return
            made.put(None)
        except BaseException as error:  # raised where the item would have come
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
            made.get_nowait()  # lets the other thread go on, and so end
