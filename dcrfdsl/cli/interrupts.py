"""Ctrl-C during training: the first asks for an end after the current iteration, the second ends at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from .console import Talk

__all__ = ["Interruption"]


class Interruption:
    """Catches SIGINT while the context is open; `requested()` tells whether it came.

    Outside the main thread signals cannot be caught; then nothing is requested ever.
    """

    def __init__(self, talk: Talk):
        self._talk = talk
        self._asked = False
        self._before: Any = None  # what handled SIGINT before

    def requested(self) -> bool:
        return self._asked

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._talk("stopping after this iteration, the model will be saved; Ctrl-C again stops at once")
