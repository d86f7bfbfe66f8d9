"""A text file as a stream of blocks of whole sentences: memory stays bounded however long the file is.

Each block is checked once to be UTF-8 text. Not here: the meaning of the lines, or where a sentence ends: each format
brings its own `cut`.
"""

from __future__ import annotations

import functools
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..foundation import READING, clear_os_errors, data_error, read_waiting, shell_word

TextSource: TypeAlias = str | Path | BufferedIOBase  # a path, `-` for standard input, or an open stream of bytes

_STREAM, _STDIN = "<stream>", "<stdin>"
_BOM = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MARKS = (_BOM, *_UTF16_MARKS)
_NEWLINE = 10
_LONGEST = 1 << 26  # bytes without the end of a sentence: a longer text is not labelled data
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")


class Block(NamedTuple):
    """Whole lines of a file, from line `first_line` (from 1); `bom` is the byte order mark, if it led the file.

    A file that is no text has `rows` instead of lines. Of a JSON array `text` has a record a line, and `lines` the line
    of the file where each begins.
    """

    text: bytes
    first_line: int
    bom: bytes = b""
    rows: Any = None
    lines: Sequence[int] | None = None

    def place(self, at: int) -> tuple[int, int]:
        """The line in the file and the byte in that line, both from 1, of byte `at` of the text."""
        line = self.first_line + self.text.count(b"\n", 0, at)
        return line, at - self.text.rfind(b"\n", 0, at)

    def line_of(self, n: int) -> int:
        """The line of the file where line `n` of the text begins, which is counted from 0."""
        return self.first_line + n if self.lines is None else self.lines[n]


@contextmanager
def open_source(source: TextSource) -> Iterator[tuple[str, BufferedIOBase]]:
    """The name for messages, and the stream of bytes. `DcrfError` if the file cannot be opened or read."""
    if isinstance(source, BufferedIOBase):
        yield _STREAM, source
    elif source == "-":
        assert isinstance(sys.stdin.buffer, BufferedIOBase)
        yield _STDIN, sys.stdin.buffer
    else:
        name = os.fspath(source)
        if "\0" in name:
            raise data_error("file-error", f"{name!r} is no file name: it has a NUL character")
        with clear_os_errors(name, READING), open(name, "rb") as stream:
            assert isinstance(stream, BufferedIOBase)
            yield name, stream


def blocks(
    stream: BufferedIOBase, cut: Callable[[bytes], int], *, size: int, file: str, flush: bool | None = None
) -> Iterator[Block]:
    """Cuts `stream` into blocks of about `size` bytes; a block ends at the last sentence end that `cut` finds.

    `cut(text)` returns the number of bytes of `text` up to that end, 0 if no sentence ends in it. A sentence longer
    than `size` makes a longer block.   flush: yield a block as soon as no more bytes are available, so that a consumer
    who waits for an answer gets one; by default for terminals, pipes and sockets.
    """
    waits = _can_wait(stream) if flush is None else flush
    read = functools.partial(_read_what_is_there, stream) if waits else read_waiting(stream)
    rest, line, bom = b"", 1, b""
    fresh = True
    while more := read(max(size, len(rest))):  # doubling: a sentence of any length is scanned only a few times
        if fresh:
            while any(mark.startswith(more) and mark != more for mark in _MARKS) and (next_one := read(1)):
                more += next_one
            if more.startswith(_UTF16_MARKS):
                message = f"`{file}` is UTF-16 text; expected UTF-8"
                raise data_error("not-utf8", message, file=file, line=1, help=_converting("UTF-16", file))
            if more.startswith(_BOM):
                bom, more = _BOM, more[len(_BOM) :]
            fresh = False
        if b"\0" in more:  # checked before `cut` runs: `/dev/zero` has no sentence end
            raise _binary(Block(rest + more, line), len(rest) + more.find(b"\0"), file)
        text = rest + more
        end = cut(text)
        if end:
            yield _checked(Block(text[:end], line, bom), file)
            # bytes.count is ten times slower
            line += int(np.count_nonzero(np.frombuffer(text, np.uint8, end) == _NEWLINE))
            bom = b""
        rest = text[end:]
        if len(rest) > _LONGEST:
            message = f"no sentence ends within {_LONGEST >> 20} MiB from line {line} on"
            raise data_error("no-sentence-end", message, file=file, line=line, help="a blank line ends a sentence")
    if rest or bom:
        yield _checked(Block(rest, line, bom), file)


def _can_wait(stream: BufferedIOBase) -> bool:
    """Whether the bytes come from a producer that may wait for the answer."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # not a file
        return False
    return stream.isatty() or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _read_what_is_there(stream: BufferedIOBase, size: int) -> bytes:
    """Up to `size` bytes; waits for the first byte only. Returns nothing at the end."""
    _is_ready(stream, None)  # a blocking read would hold a lock, which breaks the end of the process
    parts = [stream.read1(size)]
    left = size - len(parts[0])
    while parts[-1] and left > 0 and _is_ready(stream):
        parts.append(stream.read1(left))
        left -= len(parts[-1])
    return b"".join(parts)


def _is_ready(stream: BufferedIOBase, milliseconds: int | None = 0) -> bool:
    """Whether a read returns at once, or within `milliseconds` (None: waits until it does).

    `read1` has left nothing in Python's buffer at this point. False where a system cannot tell.
    """
    if not hasattr(select, "poll"):  # Windows
        return False
    try:
        waiting = select.poll()
        waiting.register(stream.fileno(), select.POLLIN)
        return bool(waiting.poll(milliseconds))
    except OSError:  # not a file
        return False


def _checked(block: Block, file: str) -> Block:
    """The block itself if it is UTF-8 text; otherwise `DcrfError` names the line and the byte."""
    text = block.text
    nul = text.find(b"\0")
    if nul >= 0:
        raise _binary(block, nul, file)
    if text.isascii():
        return block
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if any(byte < 32 and byte not in _TEXT_CONTROLS for byte in text[:4096]):
            raise _binary(block, error.start, file) from None
        line, column = block.place(error.start)
        message = f"byte {column} of line {line} is 0x{text[error.start]:02x}, which is not UTF-8"
        remedy = _converting("ISO-8859-1", file)
        raise data_error("not-utf8", message, file=file, line=line, column=column, help=remedy) from None
    return block


def _converting(encoding: str, file: str) -> str:
    if file in (_STREAM, _STDIN):
        return f"convert the text from its encoding first: … | iconv -f {encoding} -t UTF-8 | dcrfdsl …"
    return f"convert the file from its encoding: iconv -f {encoding} -t UTF-8 {shell_word(file)} > converted.txt"


def _binary(block: Block, at: int, file: str) -> Exception:
    line, column = block.place(at)
    message = f"`{file}` is a binary file (byte 0x{block.text[at]:02x} in line {line}); expected UTF-8 text"
    return data_error("binary-file", message, file=file, line=line, column=column, help="unpack it if it is compressed")
