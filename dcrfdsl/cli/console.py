"""What every command shares: data on stdout, talk on stderr, the options that all have, and exit codes.

0 done, 1 the user's input cannot be used, 2 wrong usage (typer's), 70 our own fault. Not here: what a command does.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn, ParamSpec

import typer

from ..errors import DcrfError, Diagnostic, render, render_all
from ..printing import printable, printable_lines

__all__ = [
    "INPUT_ERROR", "OUR_FAULT", "Features", "Json", "Quiet", "Rounds", "SetPaths", "StageName", "Talk", "Threads",
    "guarded", "print_diagnostics", "refuse",
]  # fmt: skip

INPUT_ERROR = 1
OUR_FAULT = 70
_INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
SetPaths = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a setting: infer.tolerance=1e-6. Repeatable."),
]
StageName = Annotated[
    str | None, typer.Option("--stage", metavar="NAME", help="Training stage to run (default: the last).")
]
Features = Annotated[
    list[str] | None,
    typer.Option("--features", metavar="FILE.py", help="Python file with @dcrfdsl.feature functions. Repeatable."),
]
Rounds = Annotated[
    int | None, typer.Option("--rounds", min=0, metavar="N", help="A boosted model as it was after N rounds.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, envvar="DCRFDSL_THREADS", help="Threads to compute with (default: all cores)."),
]

Parameters = ParamSpec("Parameters")


class Talk:
    """Says things to a person, on stderr; silent with `--quiet`."""

    def __init__(self, quiet: bool):
        self.quiet = quiet

    def __call__(self, text: str = "") -> None:
        if not self.quiet:
            print(printable_lines(text), file=sys.stderr)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Messages on stderr, a blank line between them."""
    text = render_all(diagnostics)
    if text:
        print(text, file=sys.stderr)


def refuse(slug: str, message: str, remedy: str | None = None) -> NoReturn:
    """Raises a `DcrfError` about what was asked for on the command line."""
    raise DcrfError(Diagnostic(slug, message, help=remedy))


# the guard -----------------------------------------------------------------------------------------------------------


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """`command` with every way to fail turned into a message and an exit code."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        code = _exit_code(functools.partial(command, *args, **kwargs))
        if code:
            raise typer.Exit(code)

    return run


def _exit_code(action: Callable[[], Any]) -> int:
    try:
        action()
        sys.stdout.flush()
    except (typer.Exit, typer.BadParameter):  # typer prints the usage
        raise
    except DcrfError as error:
        print_diagnostics(error.diagnostics)
        return INPUT_ERROR
    except BrokenPipeError:
        # The reader (`head`) has seen enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except MemoryError:
        print(render(Diagnostic("out-of-memory", "this does not fit into memory")), file=sys.stderr)
        return INPUT_ERROR
    except OSError as error:
        if not error.filename and error.errno != errno.ENOSPC:
            return _apologise(error)
        print(render(_os_error(error)), file=sys.stderr)
        return INPUT_ERROR
    except Exception as error:  # every other exception is a bug of ours
        return _apologise(error)
    return 0


def _os_error(error: OSError) -> Diagnostic:
    """A file that cannot be opened, or output that finds no room."""
    what = f"`{error.filename}`" if error.filename else "the output cannot be written"
    return Diagnostic("file-error", f"{what}: {(error.strerror or str(error)).lower()}")


def _apologise(error: Exception) -> int:
    if os.environ.get("DCRFDSL_TRACEBACK"):
        traceback.print_exception(error)
        return OUR_FAULT
    place = ""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="dcrfdsl-", suffix=".txt", delete=False) as file:
            traceback.print_exception(error, file=file)
            place = f"The traceback is in {file.name}. "
    except OSError:
        place = "Set DCRFDSL_TRACEBACK=1 to see the traceback. "
    print(
        f"dcrfdsl has failed, and it is not your fault: {type(error).__name__}: {printable(str(error))}\n"
        f"{place}Please report it with what you did.",
        file=sys.stderr,
    )
    return OUR_FAULT
