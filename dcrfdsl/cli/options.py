"""How a command declares its arguments and options: as annotations of its parameters.

    def new(
        template: Annotated[str | None, Argument("[NAME]", help="A template.")] = None,
        output: Annotated[Path | None, Option("--output", "-o", metavar="FILE", help="Write it here.")] = None,
    ) -> None: ...

The type says what is read, a list what may be repeated, a default what need not be given. A command with more than a
dozen takes them as one dataclass:

    @dataclass(frozen=True, kw_only=True)
    class TagOptions:
        model: Annotated[str, Argument("MODEL", help="Model file.")]

    @with_options(TagOptions)
    def tag(options: TagOptions) -> None: ...

Not here: the parser that is made of them (`parsers`), the options that several commands share (`console`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")


class Argument(NamedTuple):
    """What a command takes without a name.   metavar: as the usage line has it, `[FILE...]`."""

    metavar: str
    help: str


class Option:
    """What a command takes by a name.

    names: the long one first; "--yes/--no" is a pair of flags.   metavar: of its value, in the help.   min, max: the
    least and the largest number that are allowed, max beside min only.   envvar: the variable of the environment that
    stands in for it.   dash: whether `-` is stdout; elsewhere it is refused as the name of an output.
    """

    def __init__(
        self, *names: str, help: str, metavar: str | None = None, min: int | None = None, max: int | None = None,
        envvar: str | None = None, dash: bool = False,
    ):  # fmt: skip
        self.dash = dash
        self.names, self.help, self.metavar, self.min, self.max, self.envvar = names, help, metavar, min, max, envvar


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
