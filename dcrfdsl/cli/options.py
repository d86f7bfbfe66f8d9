"""Commands that take their arguments and options as one dataclass, for commands with more than a dozen.

    @dataclass(frozen=True, kw_only=True)
    class TagOptions:
        model: Annotated[str, typer.Argument(help="Model file.")]

    @with_options(TagOptions)
    def tag(options: TagOptions) -> None: ...

typer derives a command from the signature of a function. The decorated function has one parameter for each field, in
order; called with these, it builds the dataclass. Not here: the options that several commands share (`console`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["with_options"]

Options = TypeVar("Options", bound="DataclassInstance")


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
