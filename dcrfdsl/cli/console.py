"""What all commands share: data on stdout and messages on stderr, exit codes, signals.

Exit codes: 0 done, 1 unusable input, 2 wrong usage (from click), 70 an internal error, 128 + n ended by signal n.

Ctrl-C, SIGTERM and SIGHUP while a model is trained save finished work and leave no partial file:

    before training   the command ends at once: there is nothing to save
    in training       the first signal stops after the current iteration, the second ends the command at once
    while saving      the first signal waits until the file is written, the second ends the command at once

To end at once means to raise an exception, so that every `finally` runs. Not here: what a command does.
"""

from __future__ import annotations

import errno
import functools
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn, ParamSpec, TextIO

import click

from ..foundation import DcrfError, Diagnostic, printable, printable_lines, render_all

INPUT_ERROR = 1
OUR_FAULT = 70
MOST_PRINTED = 200  # messages of one command
_ENDED_BY = 128  # shells add this to the number of the signal that ended a process
# Errors of a write to stdout that are not internal errors.
_NO_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

Parameters = ParamSpec("Parameters")


class Talk:
    """Messages to the user on stderr; silent with `--quiet`."""

    def __init__(self, quiet: bool):
        self.quiet = quiet

    def __call__(self, text: str = "") -> None:
        if not self.quiet:
            with suppress(OSError):  # stderr is closed: no reason to give up the work
                print(printable_lines(text), file=sys.stderr, flush=True)


class EndedBySignal(KeyboardInterrupt):
    """Raised when a signal ends the command."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Prints messages on stderr, separated by blank lines; at most `MOST_PRINTED`, errors preferred."""
    every = list(diagnostics)
    shown = every
    if len(every) > MOST_PRINTED:
        first = sorted(range(len(every)), key=lambda n: every[n].severity != "error")[:MOST_PRINTED]
        shown = [every[n] for n in sorted(first)]
    text = render_all(shown)
    with suppress(OSError):  # as `Talk`
        if text:
            print(text, file=sys.stderr)
        if len(shown) < len(every):
            print(f"\n… and {len(every) - len(shown):,} more", file=sys.stderr)


def refuse(slug: str, message: str, remedy: str | None = None) -> NoReturn:
    """Raises a `DcrfError` about the command line."""
    raise DcrfError(Diagnostic(slug, message, help=remedy))


def check_decode(rule: str | None) -> None:
    """Raises a `DcrfError` if there is no such decoding rule, before anything is loaded."""
    from ..semantics import read_decoding

    if rule is not None:
        read_decoding(rule)


# the guard -----------------------------------------------------------------------------------------------------------


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """`command` with every failure turned into a message and an exit code."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        code = 0
        try:
            sys.stdout.flush()  # commands that write bytes pass by the text that was printed before them
            command(*args, **kwargs)
            sys.stdout.flush()
        except (click.exceptions.Exit, click.BadParameter):  # click prints the usage
            raise
        except DcrfError as error:
            print_diagnostics(error.diagnostics)
            code = INPUT_ERROR
        except KeyboardInterrupt as error:
            code = _interrupted(error)
        except MemoryError:
            print_diagnostics([Diagnostic("out-of-memory", "this does not fit into memory")])
            code = INPUT_ERROR
        except OSError as error:
            code = file_failed(error)
        except Exception as error:  # any other exception is an internal error
            interrupt = _interrupt_behind(error)
            code = _apologise(error) if interrupt is None else _interrupted(interrupt)
        if code:
            raise click.exceptions.Exit(code)

    return run


def file_failed(error: OSError) -> int:
    """The exit code after `error`: of a file that cannot be opened, or of output that cannot be written."""
    if isinstance(error, BrokenPipeError):
        _abandon(sys.stdout)  # the reader (such as `head`) has closed the pipe
        return 0
    if not error.filename and error.errno not in _NO_OUTPUT:
        return _apologise(error)
    if not error.filename:
        _abandon(sys.stdout)
    print_diagnostics([os_error(error)])
    return INPUT_ERROR


def _interrupted(error: KeyboardInterrupt) -> int:
    with suppress(OSError):
        print("interrupted", file=sys.stderr)
    return _ENDED_BY + (error.number if isinstance(error, EndedBySignal) else signal.SIGINT)


def _interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt that `error` comes from: a signal that arrives while Numba unpacks a kernel's argument or loads
    a kernel reaches Python as a SystemError about a result with an exception set."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, KeyboardInterrupt) else None


def _abandon(stream: TextIO) -> None:
    """Discards what could not be written; otherwise Python would try again, and complain, when it flushes at exit."""
    with suppress(io.UnsupportedOperation):  # a stream that is no file needs nothing
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def abandon_messages() -> None:
    """Discards messages that cannot be written: Python would end with an exit code of its own for them."""
    try:
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)


def open_standard_streams() -> None:
    """Replaces standard streams that are closed: input is then empty, and writing output fails.

    Otherwise the next file opened would get the descriptor of a standard stream, and the data meant for that.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest free descriptor; writing to one for reading fails (EBADF)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


def lost_output(error: OSError | None) -> list[Diagnostic]:
    """The message, if lines of stdout were lost while the command went on; none if their reader had seen enough."""
    return [] if error is None or isinstance(error, BrokenPipeError) else [os_error(error)]


def os_error(error: OSError) -> Diagnostic:
    """The message about a file that cannot be opened, or output that cannot be written."""
    what = f"`{error.filename}`" if error.filename else "the output cannot be written"
    return Diagnostic("file-error", f"{what}: {(error.strerror or str(error)).lower()}")


def _apologise(error: Exception) -> int:
    import tempfile
    import traceback

    if os.environ.get("DCRFDSL_TRACEBACK"):
        traceback.print_exception(error)
        return OUR_FAULT
    place = ""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="dcrfdsl-", suffix=".txt", delete=False) as file:
            traceback.print_exception(error, file=file)
            place = f"The traceback is in {file.name}. "
    except OSError:
        place = "Set DCRFDSL_TRACEBACK=1 to see the traceback. "
    with suppress(OSError):
        what = f"{type(error).__name__}: {printable(str(error))}"
        print(f"dcrfdsl has failed, and it is not your fault: {what}", file=sys.stderr)
        print(f"{place}Please report it with what you did.", file=sys.stderr)
    return OUR_FAULT


# signals while a model is trained ------------------------------------------------------------------------------------


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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
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
