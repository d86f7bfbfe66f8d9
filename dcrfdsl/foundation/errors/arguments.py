"""Checks of the types of arguments to public functions, before anything is done with them.

Not here: templates and data of the right type but with wrong content (`problems`).
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from .diagnostics import DcrfError, Diagnostic

CORPUS = "a Corpus, as `read_corpus` or `corpus_from_rows` gives it"
DATA = "what a template says of its data, as in `resolved.require().data`"
PATHS = (str, os.PathLike)
MOST_DIGITS = 18  # of a whole number
SHOWN_DIGITS = 24  # of a number in a message


def require_kind(value: object, kinds: type | tuple[type, ...], name: str, words: str) -> None:
    """TypeError, "`corpus` takes a Corpus, …: found the text 'train.txt'", unless `value` is one of `kinds`."""
    if not isinstance(value, kinds):
        raise TypeError(f"`{name}` takes {words}: found {_shown(value)}")


def require_callable(value: object, name: str) -> None:
    """TypeError unless `value` is None or callable."""
    if value is not None and not callable(value):
        raise TypeError(f"`{name}` takes a function to call: found {_shown(value)}")


def require_list(value: object, name: str, words: str) -> None:
    """TypeError unless `value` is iterable and not a text, which would be taken for its letters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"`{name}` takes a list of {words}: found {_shown(value)}")


def require_whole(value: Any, name: str, *, least: int = 1) -> None:
    """TypeError unless `value` is an integer, ValueError if it is less than `least`."""
    words = f"`{name}` takes a whole number, at least {least}: found"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{words} {_shown(value)}") from None
    if isinstance(value, bool):
        raise TypeError(f"{words} {value}")
    if number < least:
        raise ValueError(f"{words} {number}")


def plain_number(value: Real) -> int | float:
    """A number of Python for any kind of number, such as those of NumPy.

    DcrfError, as in a template, for a whole one of more digits than `MOST_DIGITS`.
    """
    if not isinstance(value, Integral):
        return float(value)
    number = int(value)
    if abs(number) < 10**MOST_DIGITS:
        return number
    digits = int(math.log10(abs(number))) + 1  # `str` refuses very long ones
    shown = f"{number}" if digits <= SHOWN_DIGITS else f"{number // 10 ** (digits - 20)}…"
    help = f"expected at most {MOST_DIGITS} digits, found {digits:,}"
    raise DcrfError(Diagnostic("number-too-large", f"the number `{shown}` is too large", help=help))


def _shown(value: object) -> str:
    """A value in a few words: `None`, the text 'train.txt', a list"""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
