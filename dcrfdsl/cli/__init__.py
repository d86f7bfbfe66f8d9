"""The `dcrfdsl` command: one module per command, collected here. A module is loaded when its command is asked for.

Heavy libraries are loaded only inside commands.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

from .. import __version__
from .console import guarded, open_standard_streams

__all__ = ["COMMANDS", "main", "run"]

YOUNG_OBJECTS = 50_000  # allocations before a collection; Python's 700 are exceeded a hundred times during start-up

# In the order of the help screen. NAME is a function of the module `NAME_command`, but `eval` is a word of Python.
NAMES = (
    "demo", "new", "convert", "check", "explain", "fmt", "train", "tag", "eval", "show", "export", "unroll", "infer",
)  # fmt: skip
FUNCTIONS = {"eval": "evaluate"}
# What `explain` is asked about may look like an option.
CONTEXT_SETTINGS = {"explain": {"ignore_unknown_options": True}}

Made = TypeVar("Made")


class _MadeLate(Mapping[str, Made]):
    """Values by their names, each of which is made when it is first asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Made]):
        self._names, self._make = tuple(names), cache(make)

    def __getitem__(self, name: str) -> Made:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _function(name: str) -> Callable[..., None]:
    function = FUNCTIONS.get(name, name)
    command: Callable[..., None] = getattr(import_module(f".{function}_command", __name__), function)
    return command


def _parser(name: str) -> Any:
    """The command as typer has it."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, context_settings=CONTEXT_SETTINGS.get(name))(guarded(COMMANDS[name]))
    return get_command(app)


COMMANDS: Mapping[str, Callable[..., None]] = _MadeLate(NAMES, _function)


class _Commands(TyperGroup):
    """All commands. Typer itself would make every one of them to run one."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands: Any = _MadeLate(NAMES, _parser)


def _app() -> typer.Typer:
    app = typer.Typer(
        name="dcrfdsl",
        cls=_Commands,
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
    # Pydantic would search the metadata of every installed package for plugins, and load them.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a file name may hold half of a surrogate pair, which has no encoding: it is written as an escape
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)
