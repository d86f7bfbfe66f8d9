"""What functions of users give on the distinct values of a corpus.

Not here: one call and its result (`user_calls`), finding the functions (`registered`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...foundation import DcrfError, Diagnostic
from ...semantics import Apply, ModelSpec, Number, Reference, Text
from ..plan import term_text
from .bag_values import Bags
from .user_calls import FunctionCalls, kind_of
from .value_kinds import Numbers, Source, Texts, Truths, Values

if TYPE_CHECKING:
    from .distinct_values import CorpusValues

__all__ = ["own_values"]

GIVEN: Mapping[str, str] = {"value": "text", "test": "truth", "number": "number"}


def own_values(values: CorpusValues, term: Apply, inner: Values, source: Source) -> Values:
    """A function of one value, on the values `inner` that its first argument has on those of a source."""
    calls = _calls(values, term, source)
    if isinstance(inner, Bags):
        raise _error("not-a-text", f"`{calls.name}` is called with single values, and this is a weighted bag")
    extra = [_constant(values.spec, term, argument.value) for argument in term.arguments[1:]]
    arguments = inner.of if isinstance(inner, Texts) else [() if v != v else (v,) for v in inner.of.tolist()]
    results = [[calls.result(n, value, extra) for value in several] for n, several in enumerate(arguments)]
    return _gathered(values, calls.name, results)


def _calls(values: CorpusValues, term: Apply, source: Source) -> FunctionCalls:
    name = term.function
    if name not in values.registered:
        raise _error(
            "unknown-function", f"`{name}` is no feature function",
            "load the file that defines it: `--features FILE.py`, or pass it as `features`",
        )  # fmt: skip
    return FunctionCalls(name, values.registered[name].function, values.corpus, source.codes)


def _gathered(values: CorpusValues, name: str, results: list[list[Any]]) -> Values:
    """The results for each distinct value; DcrfError unless all are of the kind that the function has in training."""
    kinds = {kind for row in results for kind in map(kind_of, row) if kind}
    kind = values.kinds.get(name) or min(kinds, default="value")
    if kinds - {kind}:
        raise _error(
            "mixed-results",
            f"feature function `{name}` gives a {GIVEN[kind]} here and a {GIVEN[min(kinds - {kind})]} there",
            "a function must give texts, truths or numbers, always the same",
        )  # fmt: skip
    values.kinds[name] = kind
    return GATHERED[kind](results)


def _texts(results: list[list[Any]]) -> Texts:
    def several(row: list[Any]) -> Iterable[str]:
        for result in row:
            yield from (result,) if isinstance(result, str) else result or ()

    return Texts([tuple(dict.fromkeys(several(row))) for row in results])


def _sum(row: Sequence[float | None]) -> float:
    return float(sum(number or 0 for number in row)) if any(number is not None for number in row) else np.nan


GATHERED: Mapping[str, Callable[[list[list[Any]]], Values]] = {
    "value": _texts,
    "test": lambda results: Truths(np.array([any(row) for row in results], np.bool_)),
    "number": lambda results: Numbers(np.array([_sum(row) for row in results], np.float64)),
}


def _constant(spec: ModelSpec, term: Apply, value: object) -> int | float | str:
    settled = spec.settled(value) if isinstance(value, Reference) else value
    if isinstance(settled, Number | Text):
        return settled.value
    raise _error("bad-argument", f"the further arguments of `{term_text(term)}` must be numbers or quoted texts")


def _error(slug: str, message: str, help: str | None = None) -> DcrfError:
    return DcrfError(Diagnostic(slug, message, help=help))
