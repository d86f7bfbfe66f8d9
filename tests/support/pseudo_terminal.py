"""Runs a command of `dcrfdsl` in this process on a pseudo-terminal, as a person would see it."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Sequence

import pytest

from dcrfdsl.cli import run

COLOUR = "\x1b["  # how a colour, another style or a movement begins


def run_on_terminal(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, *, no_color: str | None = None, columns: int = 100
) -> tuple[int, str]:
    """The exit code, and all that stdout and stderr show, line ends as on any stream.

    no_color: the value of `NO_COLOR`; None is unset.   columns: the width of the terminal.
    """
    ours, theirs = pty.openpty()
    for name in ("NO_COLOR", "FORCE_COLOR", "LINES", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(columns))
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    shown = bytearray()

    def read() -> None:
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # nobody writes any more
                return
            if not chunk:
                return
            shown.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w", encoding="utf-8") as out, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", out)
        code = run(arguments)
    reader.join()
    os.close(ours)
    return code, shown.decode().replace("\r\n", "\n")
