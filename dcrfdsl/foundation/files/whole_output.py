"""Output streams that write all bytes, or say why not. Python's own need not.

A raw stream takes as many bytes as there is room for, and returns how many; where nothing is buffered
(PYTHONUNBUFFERED) `sys.stdout` is raw, and drops the rest without a word. A pipe that does not block takes what fits.
Not here: files (`whole_files`), what is said of an error.
"""

from __future__ import annotations

import io
import select
import time
from collections.abc import Callable
from typing import Any, BinaryIO, cast

PAUSE = 0.01  # seconds before the next try, where a system cannot say when a stream is ready


class WholeWriter(io.RawIOBase):
    """A raw stream whose `write` takes all bytes: it writes again what was not taken, and waits for the reader of a
    pipe that does not block. OSError, as of the stream, where that cannot be: a full disk, a pipe without a reader.

    raw: the stream.   owner: what would close it when it is no longer needed itself.
    """

    def __init__(self, raw: io.RawIOBase, owner: object = None):
        self._raw = raw
        self._owner = owner  # kept, as it would close the raw stream when it goes

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw.isatty()

    def fileno(self) -> int:
        return self._raw.fileno()

    def write(self, data: Any) -> int:
        """Writes all bytes of `data`, and returns how many there are."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            taken = self._raw.write(rest)
            if taken is None:
                _wait(self._raw, reading=False)
            else:
                rest = rest[taken:]
        return size


def whole_stream(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream of text in UTF-8 in place of `stream`, buffered as that is, which writes all or fails."""
    stream.flush()
    buffer: Any = stream.buffer
    raw = WholeWriter(getattr(buffer, "raw", buffer), stream)
    is_buffered = not isinstance(buffer, io.RawIOBase)
    kept = io.BufferedWriter(raw) if is_buffered else cast(io.BufferedWriter, raw)
    # a file name may hold half of a surrogate pair, which has no encoding: it is written as an escape
    return io.TextIOWrapper(
        kept, encoding="utf-8", errors="backslashreplace", line_buffering=stream.line_buffering,
        write_through=not is_buffered,
    )  # fmt: skip


def read_waiting(stream: io.BufferedIOBase | BinaryIO) -> Callable[[int], bytes]:
    """`stream.read`, which waits for bytes where the stream does not block and has none yet: Python returns None."""

    def read(size: int) -> bytes:
        while (got := cast("bytes | None", stream.read(size))) is None:
            _wait(stream, reading=True)
        return got

    return read


def _wait(stream: io.IOBase | BinaryIO, *, reading: bool) -> None:
    """Returns when the stream is ready, or the other end is gone."""
    if not hasattr(select, "poll"):
        time.sleep(PAUSE)
        return
    waiting = select.poll()
    waiting.register(stream.fileno(), select.POLLIN if reading else select.POLLOUT)
    waiting.poll()
