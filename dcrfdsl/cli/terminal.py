"""Where coloured output goes: terminals, and only if the user wants colours.

`NO_COLOR` in the environment, if it is not empty, means no colour and no other style (https://no-color.org). What is no
terminal gets plain text. Not here: what is printed.
"""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console
from rich.text import Text


def terminal(file: IO[str]) -> Console:
    """The console of a stream that is a terminal."""
    if os.environ.get("NO_COLOR"):
        return Console(file=file, highlight=False, color_system=None)
    return Console(file=file, highlight=False)


def print_lines(*lines: Text) -> None:
    """Lines on stdout, with their styles if that is a terminal. The terminal itself breaks lines that are long."""
    if sys.stdout.isatty():
        console = terminal(sys.stdout)
        for line in lines:
            console.print(line, soft_wrap=True)
    else:
        for line in lines:
            print(line.plain)
