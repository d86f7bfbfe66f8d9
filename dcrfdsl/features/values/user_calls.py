"""Calls of users' feature functions: the results that are allowed, and the message when a call fails.

A message names the file and line of the function, the values it was called with, and a place of them in the data. Not
here: the choice of values (`own_functions`), finding the functions (`registered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...data import Corpus
from ...foundation import DcrfError, Diagnostic, shortened
from .registered import place_of

Place = Callable[[], int | None]  # the token that a call is about, if there is one
ALLOWED = "a text, several texts, a bool, a number, a mapping of names to numbers, or None"


@dataclass(frozen=True)
class FunctionCalls:
    """Calls of one function on a corpus."""

    name: str
    function: Callable[..., Any]
    corpus: Corpus

    def result(self, arguments: Sequence[Any], token: Place) -> Any:
        """The result of the function. DcrfError if it raises, or if its result cannot be a feature."""
        return self._checked(self._called(arguments, token), arguments, token)

    def results(self, arguments: Sequence[Any], first: int, length: int) -> list[Any]:
        """The results for the tokens of a sentence, from its lists of values. DcrfError unless they are so many."""
        found = self._called(arguments, lambda: first)
        if not isinstance(found, Iterable) or isinstance(found, str | Mapping) or len(found := list(found)) != length:
            what = f"{len(found):,} results" if isinstance(found, list) else f"`{shortened(repr(found))}`"
            remedy = f"of a whole sentence it returns a list, a result a token: {ALLOWED}"
            what = f"returns {what} for {length:,} tokens"
            raise self._failed("bad-result", what, arguments, lambda: first, help=remedy)
        return [self._checked(_kept(one), arguments, partial(int, first + n)) for n, one in enumerate(found)]

    def _called(self, arguments: Sequence[Any], token: Place) -> Any:
        try:
            return _kept(self.function(*arguments))
        except Exception as error:  # users' code may raise anything
            what = f"raises {type(error).__name__}"
            raise self._failed("feature-function-failed", what, arguments, token, str(error), error) from error

    def _checked(self, result: Any, arguments: Sequence[Any], token: Place) -> Any:
        numbers = result.values() if isinstance(result, Mapping) else [result]
        odd = next((one for one in numbers if _is_number(one) and not np.isfinite(one)), None)
        if odd is not None:
            raise self._failed("bad-result", f"returns `{odd}`, which is no finite number,", arguments, token)
        if kind_of(result) == "nothing":
            remedy = f"it may return {ALLOWED}"
            raise self._failed("bad-result", f"returns `{shortened(repr(result))}`", arguments, token, help=remedy)
        return result

    def _failed(
        self,
        slug: str,
        what: str,
        arguments: Sequence[Any],
        token: Place,
        why: str = "",
        error: Exception | None = None,
        help: str | None = None,
    ) -> DcrfError:
        number = token()
        where = "" if number is None else f" ({self.corpus.file}:{self.corpus.token_line[number]})"
        shown = ", ".join(shortened(str(one)) for one in arguments)
        message = f"feature function `{self.name}` {what} on `{shown}`{where}{f': {why}' if why else ''}"
        place = place_of(self.function, error)
        return DcrfError(Diagnostic(slug, message, location=":".join(map(str, place)) if place else None, help=help))


def _kept(result: Any) -> Any:
    """A result that can be read twice: an iterator can be read once only."""
    plain = str | np.generic | Mapping
    return tuple(result) if isinstance(result, Iterable) and not isinstance(result, plain) else result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def kind_of(result: Any) -> str | None:
    """`test`, `number`, `value` or `weights`; None for no result, and `nothing` for what cannot be a feature."""
    if result is None:
        return None
    if isinstance(result, bool | np.bool_):
        return "test"
    if _is_number(result):
        return "number"
    if isinstance(result, Mapping):
        plain = all(isinstance(name, str) and _is_number(weight) for name, weight in result.items())
        return "weights" if plain else "nothing"
    if isinstance(result, str) or (isinstance(result, tuple) and all(isinstance(part, str) for part in result)):
        return "value"
    return "nothing"
