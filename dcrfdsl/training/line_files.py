"""Files that grow by a line at a time while training goes on, so that the lines survive whatever ends it.

Not here: what the lines say (`curves`, `training_log`).
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ..foundation import WRITING, DcrfError, Diagnostic, clear_os_errors, ensure_writable, lock


class LineFile:
    """Writes lines as they come, each flushed. A context manager.

    path: of the file, which keeps its content until the first line comes.   what: the file is, for messages.   option:
    of `train` that names it.   append: keeps its whole lines for good.

    Raises DcrfError where the file cannot be opened, or another training is writing it. A line that cannot be written
    does not stop training.
    """

    def __init__(self, path: Path, what: str, option: str, *, append: bool = False):
        ensure_writable(path)
        self._path, self._what, self._option, self._append = path, what, option, append
        self._is_begun = False
        self._failure: OSError | None = None
        self._opened = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        with clear_os_errors(self._path, WRITING):
            self._file = self._opened.enter_context(open(self._path, "a", encoding="utf-8"))
            try:
                lock(self._file.fileno())
            except BlockingIOError:
                self._opened.close()
                message = f"another training is writing its {self._what} to `{self._path}`"
                raise DcrfError(
                    Diagnostic("file-error", message, help=f"name another file after `{self._option}`")
                ) from None
            except OSError:  # a file system without locks
                pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # all lines are there: each was flushed
            self._opened.close()

    @property
    def failure(self) -> OSError | None:
        """Why a line could not be written; later lines are dropped. None so far."""
        return self._failure

    def write(self, line: str, head: str = "") -> None:
        """Writes a line.   head: stands before the first one."""
        if self._failure is not None or self._file is None:
            return
        try:
            if not self._is_begun:
                self._is_begun = True
                with suppress(OSError):  # a pipe
                    self._file.truncate(self._whole_lines() if self._append else 0)
                self._file.write(head)
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self._failure = error

    def _whole_lines(self) -> int:
        """The bytes up to the end of the last whole line: a training that was killed may have left part of one."""
        with open(self._path, "rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - 65536)
                stream.seek(start)
                newline = stream.read(end - start).rfind(b"\n")
                if newline >= 0:
                    return start + newline + 1
                end = start
        return 0
