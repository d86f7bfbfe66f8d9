"""Errors of the estimators: what scikit-learn's users catch, with the place in the arguments that they passed.

scikit-learn's convention is a ValueError for data that an estimator cannot use. Ours is a `DcrfError`. `InputError` is
both, so either is caught by those who know it. Not here: what is wrong with a value (`data`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from ..foundation import DcrfError, Diagnostic


class InputError(DcrfError, ValueError):
    """A `DcrfError` that is also a ValueError. The estimators raise it for whatever is wrong with their arguments.

    Its `diagnostics` are those of a `DcrfError`. A place is written as in Python: `X[3][0]` is the first token of the
    fourth sentence.
    """


@contextmanager
def input_errors() -> Iterator[None]:
    """Turns every `DcrfError` into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except DcrfError as error:
        raise InputError(error.diagnostics) from None


def shown(value: object) -> str:
    """A value as messages show it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def misfit(message: str, place: str, help: str | None = None, slug: str = "bad-sentence") -> InputError:
    """The error about a value at a place such as `y[2]`."""
    return InputError(Diagnostic(slug, message, location=place, help=help))


def refuse_others(method: str, given: Mapping[str, object]) -> None:
    """TypeError for arguments that a method does not take. Those that scikit-learn's users expect get a reason."""
    for name in given:
        reason = "" if name not in _REASONS else f": {_REASONS[name]}"
        raise TypeError(f"`{method}` takes no `{name}`{reason}")


_REASONS: Mapping[str, str] = {
    "sample_weight": "sentences have no weights. Pass a sentence twice to count it twice",
    "classes": "the states of labels are declared in the template, or are learned from `y`",
}


def first_bad(count: int, problem: Callable[[int, int], DcrfError | None]) -> tuple[int, Diagnostic] | None:
    """The first of `count` items that is wrong by itself, and its problem; None if items only do not fit each other.

    problem: the error that the items `first` to `last` (excluded) cause together, None if there is none.
    """
    first, last = 0, count
    if not count or problem(first, last) is None:
        return None
    while last - first > 1:
        middle = (first + last) // 2
        if problem(first, middle) is not None:
            last = middle
        elif problem(middle, last) is not None:
            first = middle
        else:
            return None
    error = problem(first, last)
    return None if error is None else (first, error.diagnostics[0])


def at_place(found: Diagnostic, place: str, help: str | None = None) -> InputError:
    """The problem with its place in the arguments."""
    return InputError(replace(found, location=place, help=help or found.help))
