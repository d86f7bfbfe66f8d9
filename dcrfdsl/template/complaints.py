"""Errors about arguments of the builder in plain words: which argument cannot be part of a specification, and where.

Not here: valid but meaningless arguments, which the checker reports on the whole model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

Built = TypeVar("Built", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def with_plain_errors(function: Built) -> Built:
    """The function; it raises a TypeError with a one-line message if an argument cannot be part of a specification."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in problem["loc"])
            said = f"{problem['msg'][:1].lower()}{problem['msg'][1:]}"
            raise TypeError(f"`{function.__name__}`: {place}: {said}, found {problem['input']!r}") from None

    return called  # type: ignore[return-value]


def with_plain_errors_in_methods(built: Class) -> Class:
    """The class with `with_plain_errors` around its public methods."""
    for name, method in list(vars(built).items()):
        if callable(method) and not name.startswith("_"):
            setattr(built, name, with_plain_errors(method))
    return built
