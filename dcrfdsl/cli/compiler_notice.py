"""A notice while kernels are being compiled, which delays the first use after an install.

It is shown only on a terminal. Not here: the cache in which the next process finds the kernels (`kernels`).
"""

from __future__ import annotations

import sys

from numba.core.event import Event, Listener, register

from .console import Talk


class _Announcer(Listener):
    def __init__(self, talk: Talk):
        self._talk, self._said = talk, False

    def on_start(self, event: Event) -> None:
        if not self._said:
            self._said = True
            self._talk("compiling kernels, once after an install: up to half a minute …")

    def on_end(self, event: Event) -> None:
        pass


def announce_compiling(talk: Talk) -> None:
    if sys.stderr.isatty() and not talk.quiet:
        register("numba:compile", _Announcer(talk))
