"""The `dcrfdsl` command. The module of a command is loaded when it is asked for (`command_table`).

Heavy libraries are loaded only inside commands.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

import click

from .. import __version__
from ..foundation import did_you_mean, whole_stream
from .command_table import COMMANDS, GROUPS
from .console import abandon_messages, file_failed, guarded, open_standard_streams
from .options import command_parser

__all__ = ["COMMANDS", "load_ipython_extension", "main", "run", "unload_ipython_extension"]

YOUNG_OBJECTS = 300_000  # allocations before a collection; Python's 700 are exceeded three hundred times in `tag`

# What `explain` is asked about may look like an option.
CONTEXT_SETTINGS = {"explain": {"ignore_unknown_options": True}}
INTERRUPTED = 130  # as shells have it: 128 + SIGINT
HELP = """Dynamic conditional random fields: write a template, train it on a corpus, tag text with it.

\b
dcrfdsl new --for train.txt -o chunk.dcrf
dcrfdsl check chunk.dcrf --data train.txt
dcrfdsl train chunk.dcrf train.txt -o chunk.model
dcrfdsl tag chunk.model test.txt

`dcrfdsl COMMAND --help` has examples, and `dcrfdsl explain WORD` explains any word.
"""


class _Commands(click.Group):
    """All commands. Only the one that is run is loaded."""

    def __init__(self) -> None:
        super().__init__(
            "dcrfdsl",
            help=HELP,
            no_args_is_help=True,
            params=[_VERSION],
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return command_parser(name, guarded(COMMANDS[name]), **CONTEXT_SETTINGS.get(name, {}))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the help screen, and not of the alphabet."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In sections whose columns are in line."""
        width = max(map(len, COMMANDS))
        for caption, names in GROUPS.items():
            with formatter.section(caption):
                parsers = ((name, command_parser(name, COMMANDS[name])) for name in names)
                formatter.write_dl([(name.ljust(width), parser.get_short_help_str(99)) for name, parser in parsers])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant, and its arguments. Says which command has the nearest name if there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = did_you_mean(name, COMMANDS)
            ctx.fail(f"there is no command `{name}`" + (f"; did you mean `{near}`?" if near else ""))
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(f"dcrfdsl {__version__}")
        ctx.exit()


_VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)


def run(arguments: Sequence[str]) -> int:
    """The exit code of `dcrfdsl ARGUMENTS…`."""
    try:
        code = _Commands().main(list(arguments), prog_name="dcrfdsl", standalone_mode=False)
        sys.stdout.flush()
    except OSError as error:  # of the help or the version; commands are guarded
        return file_failed(error)
    except click.ClickException as error:  # the command line is wrong
        with suppress(OSError):
            error.show()
        return error.exit_code
    except click.Abort:  # Ctrl-C before a command has begun
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as leave:  # of click, where the reader of the help or the output of completion is gone
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    return code if isinstance(code, int) else 0


def load_ipython_extension(shell: Any) -> None:
    """Tells IPython, which hands its shell over, of the cell magic `%%dcrf`, and how to show templates."""
    from .notebook_magic import load_magic

    load_magic(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Takes back what `load_magic` did."""
    from .notebook_magic import unload_magic

    unload_magic(shell)


def main() -> None:
    # Garbage collection during the imports and at the end finds no cycles; it would take a tenth of a short command.
    gc.set_threshold(YOUNG_OBJECTS)
    # Pydantic would search the metadata of every installed package for plugins, and load them.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    open_standard_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout = whole_stream(sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr = whole_stream(sys.stderr)
    code = run(sys.argv[1:])
    abandon_messages()
    gc.freeze()
    files = sys.modules.get(f"{__name__}.command_files")
    if files is not None and files.is_prefetching():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
