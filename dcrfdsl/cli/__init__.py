"""The `dcrfdsl` command: one module per command, collected here. Heavy libraries are loaded only inside commands."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper

import typer

from .. import __version__
from . import (
    check_command as check,
    convert_command as convert,
    demo_command as demo,
    evaluate_command as evaluate,
    explain_command as explain,
    export_command as export,
    fmt_command as fmt,
    infer_command as infer,
    new_command as new,
    show_command as show,
    tag_command as tag,
    train_command as train,
    unroll_command as unroll,
)
from .console import guarded, open_standard_streams

__all__ = ["COMMANDS", "main", "run"]

YOUNG_OBJECTS = 50_000  # allocations before a collection; Python's 700 are exceeded a hundred times during start-up

# In the order of the help screen.
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "new": new.new,
    "convert": convert.convert,
    "check": check.check,
    "explain": explain.explain,
    "fmt": fmt.fmt,
    "train": train.train,
    "tag": tag.tag,
    "eval": evaluate.evaluate,
    "show": show.show,
    "export": export.export,
    "unroll": unroll.unroll,
    "infer": infer.infer,
}
# What `explain` is asked about may look like an option.
CONTEXT_SETTINGS = {"explain": {"ignore_unknown_options": True}}


def _app() -> typer.Typer:
    app = typer.Typer(
        name="dcrfdsl",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root(
        version: bool = typer.Option(
            False, "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        """Dynamic conditional random fields: write a template, train it on a corpus, tag text with it.

        \b
        dcrfdsl new linear_chain -o chunk.dcrf
        dcrfdsl check chunk.dcrf --data train.txt
        dcrfdsl train chunk.dcrf train.txt -o chunk.model
        dcrfdsl tag chunk.model test.txt
        """

    for name, command in COMMANDS.items():
        app.command(name, context_settings=CONTEXT_SETTINGS.get(name))(guarded(command))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dcrfdsl {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str]) -> int:
    """The exit code of `dcrfdsl ARGUMENTS…`."""
    try:
        _app()(list(arguments), prog_name="dcrfdsl")
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    return 0


def main() -> None:
    """The console script."""
    # Garbage collection during the imports and at the end finds no cycles; it would take a fifth of a short command.
    gc.set_threshold(YOUNG_OBJECTS)
    open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a file name may hold half of a surrogate pair, which has no encoding: it is written as an escape
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)
