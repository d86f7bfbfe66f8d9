"""Calls of users' feature functions: the results that are allowed, and the message when a call fails.

A message names the file and line of the function, the value it was called with, and a place of that value in the data.
Not here: the choice of values (`distinct_values`), finding the functions (`registered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Corpus
from ...foundation import Codes, DcrfError, Diagnostic
from .registered import place_of

__all__ = ["FunctionCalls", "kind_of"]


@dataclass(frozen=True)
class FunctionCalls:
    """Calls of one function. `codes[n]`: the number of the distinct value at token n of the corpus."""

    name: str
    function: Callable[..., Any]
    corpus: Corpus
    codes: Codes  # [N]

    def result(self, number: int, value: Any, extra: Sequence[Any]) -> Any:
        """The result of the function for `value`, the distinct value `number`. DcrfError if the function raises or its
        result cannot be a feature.
        """
        try:
            result = self.function(value, *extra)
            # an iterator can be read once only, and the result is read twice
            if isinstance(result, Iterable) and not isinstance(result, str | np.generic):
                result = tuple(result)
        except Exception as error:  # users' code may raise anything
            what = f"raises {type(error).__name__}"
            raise self._failed("feature-function-failed", what, number, value, str(error), error) from error
        if isinstance(result, int | float | np.integer | np.floating) and not np.isfinite(result):
            raise self._failed("bad-result", f"returns `{result}`, which is no finite number,", number, value)
        if kind_of(result) == "nothing":
            remedy = "it may return a text, several texts, a bool, a number or None"
            raise self._failed("bad-result", f"returns `{result!r}`", number, value, help=remedy)
        return result

    def _failed(
        self,
        slug: str,
        what: str,
        number: int,
        value: Any,
        why: str = "",
        error: Exception | None = None,
        help: str | None = None,
    ) -> DcrfError:
        tokens = np.flatnonzero(self.codes == number)
        where = f" ({self.corpus.file}:{self.corpus.token_line[tokens[0]]})" if len(tokens) else ""
        message = f"feature function `{self.name}` {what} on `{value}`{where}{f': {why}' if why else ''}"
        place = place_of(self.function, error)
        return DcrfError(Diagnostic(slug, message, location=":".join(map(str, place)) if place else None, help=help))


def kind_of(result: Any) -> str | None:
    """`test`, `number` or `value`; None for no result, and `nothing` for a result that cannot be a feature."""
    if result is None:
        return None
    if isinstance(result, bool | np.bool_):
        return "test"
    if isinstance(result, int | float | np.integer | np.floating):
        return "number"
    if isinstance(result, str) or (isinstance(result, tuple) and all(isinstance(part, str) for part in result)):
        return "value"
    return "nothing"
