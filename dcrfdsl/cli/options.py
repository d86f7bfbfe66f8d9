"""How a command declares its arguments and options: as annotations of its parameters.

    def new(
        template: Annotated[str | None, Argument("[NAME]")] = None,
        output: Annotated[Path | None, Option("FILE", short="-o")] = None,
        compares: bool = False,
    ) -> None: ...

The type says what is read, a list what may be repeated, a default what need not be given; `commands.md` says what each
is for. A command with more than a dozen takes them as one dataclass:

    @dataclass(frozen=True, kw_only=True)
    class TagOptions:
        model: Annotated[str, Argument("MODEL")]

    @with_options(TagOptions)
    def tag(options: TagOptions) -> None: ...

`command_parser(name, function)` makes the parser of it, by click: what a command line leaves out has the default of the
parameter. Here are also the options that several commands share. Not here: which commands there are.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from ..foundation import dataclass
from .command_table import CommandHelp, command_help

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Options = TypeVar("Options", bound="DataclassInstance")


class Argument(NamedTuple):
    """What a command takes without a name.   metavar: as the usage line has it, `[FILE...]`."""

    metavar: str


class Option(NamedTuple):
    """What a command takes by a name.

    metavar: of its value, in the help.   name: where it is not that of the parameter, `--clique-marginals` of
    `clique_marginals`; "--yes/--no" is a pair of flags.   min, max: the least and the largest number that are allowed,
    max beside min only.   envvar: the variable of the environment that stands in for it.   dash: whether `-` is stdout;
    elsewhere it is refused as the name of an output.
    """

    metavar: str | None = None
    name: str | None = None
    short: str | None = None
    min: int | None = None
    max: int | None = None
    envvar: str | None = None
    dash: bool = False

    def names(self, parameter: str) -> list[str]:
        """`--output` and `-o`, or one of them."""
        return [self.name or f"--{parameter.strip('_').replace('_', '-')}", *([self.short] if self.short else [])]


def is_stdout(output: Path | None) -> bool:
    """Whether the output of an option with `dash` goes to stdout: nothing is named, or `-`."""
    return output is None or os.fspath(output) == "-"


def with_options(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """A decorator that turns a function of the dataclass `kind` into one that takes its fields as keyword arguments."""
    types = get_type_hints(kind, include_extras=True)
    signature = Signature(
        [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=types[field.name],
            )
            for field in fields(kind)
        ]
    )

    def decorated(body: Callable[[Options], None]) -> Callable[..., None]:
        @functools.wraps(body)
        def command(**values: Any) -> None:
            body(kind(**values))

        command.__annotations__ = types
        command.__signature__ = signature  # type: ignore[attr-defined]
        return command

    return decorated


FILES = {"DATA", "FILE", "MODEL", "TEMPLATE"}  # words of a metavar that stand for the name of a file or folder
DASH = "this is not written to stdout; give the name of a file, or `./-` for one that is called `-`"
EMPTY = "the name is empty, expected that of a file or folder"


def command_parser(name: str, function: Callable[..., None], **settings: Any) -> click.Command:
    """The click command `name` that calls `function`.   settings: of click's context."""
    hints, said = get_type_hints(function, include_extras=True), command_help().get(name, CommandHelp())
    parameters = inspect.signature(function).parameters.values()
    examples = ["\n".join(["\b\nExample:", *(f"  {line}" for line in said.examples)])] if said.examples else []
    return _Parser(
        name,
        callback=partial(_call, function),
        params=[_parameter(each.name, hints[each.name], each.default, said.meanings) for each in parameters],
        help="\n\n".join([inspect.getdoc(function) or "", *examples, *said.paragraphs]),
        context_settings=settings,
    )


def value_type(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several. None, which stands for no value, is left out."""
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    return (get_args(hint)[0], True) if get_origin(hint) is list else (hint, False)


def _call(function: Callable[..., None], **values: Any) -> None:
    """Calls the function with lists for click's tuples. Nothing given to an option that may be repeated is None."""
    for name, value in values.items():
        if isinstance(value, tuple):
            values[name] = list(value) or None
    function(**values)


def _parameter(name: str, hint: Any, default: Any, meanings: Mapping[str, str]) -> click.Parameter:
    hint, declared = get_args(hint) if get_origin(hint) is Annotated else (hint, Option())
    kind, is_list = value_type(hint)
    required = default is inspect.Parameter.empty
    given: dict[str, Any] = {"required": True} if required else {"default": () if is_list else default}
    if isinstance(declared, Argument):
        given = {"required": required}  # before click 8.3 a default of None is none, and several have none at all
        help = meanings.get(declared.metavar.strip("[.]"), "")
        return _Argument(
            [name], declared.metavar, help, type=_click_type(kind, declared), nargs=-1 if is_list else 1, **given
        )
    if kind is bool:
        given |= {"is_flag": True}
    else:
        given |= {"type": _click_type(kind, declared), "multiple": is_list, "metavar": declared.metavar}
    names = declared.names(name)
    return click.Option(
        [name, *names], help=meanings.get(names[0].partition("/")[0]), envvar=declared.envvar, show_envvar=True,
        show_default=not is_list, **given,
    )  # fmt: skip


def _click_type(kind: Any, declared: Argument | Option) -> Any:
    """A type of click, or one of Python, which click knows."""
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if isinstance(declared, Option) and declared.min is not None:
        return _AtLeast(min=declared.min, max=declared.max)
    if kind is str and FILES.intersection(re.findall("[A-Z]+", declared.metavar or "")):
        return FILE_NAME
    return _PathType(dash=isinstance(declared, Option) and declared.dash) if kind is Path else kind


class _PathType(click.Path):
    """Paths. The empty one is none: Python would take it for the current folder.

    dash: whether `-` is stdout; no input is a path of this type.
    """

    def __init__(self, *, dash: bool):
        super().__init__(path_type=Path)
        self._dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail(EMPTY, param, ctx)
        if value == "-" and not self._dash:
            self.fail(DASH, param, ctx)
        return super().convert(value, param, ctx)


class _FileName(click.types.StringParamType):
    """Names of files that may be `-` too. The empty one is none: an unset variable of a shell becomes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail(EMPTY, param, ctx)
        return super().convert(value, param, ctx)


class _AtLeast(click.IntRange):
    name = "integer"  # as messages have it; click's name is "integer range"


FILE_NAME = _FileName()


class _Argument(click.Argument):
    """An argument with a help text, which click has from 8.5 on."""

    def __init__(self, names: list[str], metavar: str, help: str, **settings: Any):
        required = settings.get("required") or metavar.startswith("[")
        super().__init__(names, metavar=metavar if required else f"[{metavar}]", **settings)
        self.help = help


class _Parser(click.Command):
    """A command whose help has its arguments before its options, and these in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [(each.metavar or "", each.help or "") for each in self.params if isinstance(each, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        named = command_help().get(self.name or "", CommandHelp()).sections
        sections: dict[str, list[tuple[str, str]]] = {"Options": [], **{caption: [] for caption in named.values()}}
        sections["Options of many commands"] = []
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                caption = "Options of many commands" if SHARED.intersection(each.opts) else "Options"
                sections[named.get(each.opts[0], caption)].append(record)
        for caption, records in sections.items():
            if records:
                with formatter.section(caption):
                    formatter.write_dl(records)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Nothing: click 8.5 would list the arguments again."""


# What several commands share stands last in the help.
SHARED = {"--set", "--stage", "--features", "--threads", "--json", "--quiet", "--help"}
MOST_JOBS = 1_000  # processes of one command: more are a slip of the keyboard
MOST_DRAWS = 1_000_000  # of a bootstrap, whose sums are kept: hundreds of megabytes

Quiet = Annotated[bool, Option(short="-q")]
Json = Annotated[bool, Option(name="--json")]
SetPaths = Annotated[list[str] | None, Option("PATH=VALUE")]
StageName = Annotated[str | None, Option("NAME")]
Features = Annotated[list[str] | None, Option("FILE.py")]
Decode = Annotated[str | None, Option("RULE")]
TableFormat = Annotated[Literal["text", "markdown", "latex", "csv"], Option("text|markdown|latex|csv")]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What `eval` and `cv` have in common."""

    by_label: bool = False
    confusion: bool = False
    format: TableFormat = "text"


Level = Annotated[float, Option("SHARE")]
Draws = Annotated[int, Option("N", min=1, max=MOST_DRAWS)]
OutputOrStdout = Annotated[Path | None, Option("FILE", short="-o", dash=True)]
Rounds = Annotated[int | None, Option("N", min=0)]
Threads = Annotated[int | None, Option("N", min=1, envvar="DCRFDSL_THREADS")]
