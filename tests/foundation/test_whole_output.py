"""Streams that take fewer bytes than they are given, that do not block, and that fail: all bytes, or an error."""

from __future__ import annotations

import io
import os
import threading
import time
from typing import Any

import pytest

from dcrfdsl.foundation.files.whole_output import WholeWriter, read_waiting, whole_stream

pytestmark = pytest.mark.skipif(not hasattr(os, "set_blocking"), reason="needs pipes that do not block")


class Narrow(io.RawIOBase):
    """Takes three bytes at most each time, and `room` in all."""

    def __init__(self, room: int):
        self.taken, self._room = b"", room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self._room:
            raise OSError(28, "No space left on device")
        part = bytes(data[: min(3, self._room)])
        self._room -= len(part)
        self.taken += part
        return len(part)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 1000])
def test_all_bytes_of_a_stream_that_takes_few(size: int) -> None:
    data, raw = bytes(range(256)) * 4, Narrow(10_000)
    assert WholeWriter(raw).write(data[:size]) == size
    assert raw.taken == data[:size]


def test_a_stream_that_gets_full_is_an_error() -> None:
    raw = Narrow(100)
    with pytest.raises(OSError, match="No space left"):
        WholeWriter(raw).write(b"x" * 101)
    assert raw.taken == b"x" * 100


@pytest.mark.parametrize("buffered", [True, False])
def test_text_and_bytes_keep_their_order(buffered: bool) -> None:
    raw = Narrow(10_000)
    kept: Any = io.BufferedWriter(raw) if buffered else raw
    stream = whole_stream(io.TextIOWrapper(kept, encoding="latin-1", write_through=not buffered))
    print("né", "\ud800", file=stream, flush=True)
    stream.buffer.write(b"bytes" * 99)
    assert buffered or raw.taken.endswith(b"bytes")  # what is not buffered is there at once
    stream.buffer.flush()
    print("end", file=stream, flush=True)
    assert raw.taken == "né \\ud800\n".encode() + b"bytes" * 99 + b"end\n"


@pytest.mark.parametrize("buffered", [True, False])
def test_a_pipe_that_does_not_block_gets_all(buffered: bool) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data, got = b"0123456789" * 50_000, bytearray()

    def read() -> None:
        time.sleep(0.2)  # the pipe is full by then
        while part := os.read(reading, 10_000):
            got.extend(part)

    reader = threading.Thread(target=read)
    reader.start()
    with open(writing, "wb", buffering=-1 if buffered else 0) as file:
        kept: Any = file
        stream = whole_stream(io.TextIOWrapper(kept, write_through=not buffered))
        stream.buffer.write(data)
        stream.flush()
    reader.join()
    os.close(reading)
    assert bytes(got) == data


def test_a_reader_that_leaves_is_an_error() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Timer(0.2, os.close, [reading]).start()
    with open(writing, "wb", buffering=0) as file, pytest.raises(BrokenPipeError):
        WholeWriter(file).write(b"x" * 1_000_000)


def test_a_pipe_that_has_nothing_yet_is_not_at_its_end() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def write() -> None:
        for _ in range(3):
            time.sleep(0.1)
            os.write(writing, b"more")
        os.close(writing)

    threading.Thread(target=write).start()
    got = b""
    with open(reading, "rb") as stream:
        read = read_waiting(stream)
        while part := read(100):
            got += part
    assert got == b"more" * 3
