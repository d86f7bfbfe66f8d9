"""Ctrl-C, SIGTERM and SIGHUP while a model is trained: finished work is saved, and no partial file is left.

    before training   the command ends at once: there is nothing to save
    in training       the first signal stops after the current iteration, the second ends the command at once
    while saving      the first signal waits until the file is written, the second ends the command at once

To end at once means to raise an exception, so that every `finally` runs. Not here: saving.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from .console import EndedBySignal, Talk

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none
if HANG_UP is not None:
    SIGNALS[HANG_UP] = "SIGHUP"
STOPPING = "stopping after this iteration, the model will be saved; {} again stops at once"
SAVING = "the model is being saved; {} again stops at once"


class Interruption:
    """A context manager that catches the signals; `requested()` tells whether training should stop.

    Outside the main thread signals cannot be caught, so `requested()` is always False. An ignored hang-up (`nohup`)
    stays ignored.
    """

    def __init__(self, talk: Talk):
        self._talk = talk
        self._asked = False
        self._number: int | None = None  # of the last signal
        self._answer: str | None = None  # the message for the first signal; None: the signal ends the command
        self._before: dict[signal.Signals, Any] = {}  # the previous handlers

    def requested(self) -> bool:
        return self._asked

    def training(self) -> None:
        """To be called when training begins: from now on there is something to save."""
        self._answer = STOPPING

    def saving(self) -> None:
        """To be called when saving begins. Earlier signals no longer count."""
        self._answer, self._asked = SAVING, False

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if number is HANG_UP and signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is KeyboardInterrupt and self._number is not None:  # asked to stop, training had nothing to save yet
            raise EndedBySignal(self._number) from error

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        if self._asked or self._answer is None:
            raise EndedBySignal(number)
        self._asked = True
        self._talk(self._answer.format(SIGNALS[signal.Signals(number)]))
