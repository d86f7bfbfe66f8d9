"""Texts from elsewhere as a person may see them, and values as a program may read them.

Data, templates, file names and models bring texts along that nobody here has written. In a message such a text must
not move the cursor, turn the line around or pass for another line, so that every character which acts and does not show
stands as its escape, `\\x1b`. What is data and goes to stdout is not touched. Not here: which message (`problems`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["json_text", "printable", "printable_lines", "shortened"]

# C0, DEL and C1 controls; marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs;
# the byte order mark; halves of surrogate pairs; what is no character.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text on one line, with `\\n`, `\\x1b`, `\\u202e` where these characters are."""
    if text.isprintable() and text.isascii():
        return text  # nearly always
    return _ACTING.sub(lambda found: ascii(found.group())[1:-1], text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(value: object, most: int = 40) -> str:
    """A text, or any other value as Python writes it, on one line and cut if it is long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in a list in a list …
        text = f"a value of type {type(value).__name__}"
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


def json_text(value: Any, *, ensure_ascii: bool = True) -> str:
    """The value as JSON, on one line. `null` stands for the numbers that JSON does not have."""
    try:
        text = json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)
    except ValueError:
        text = json.dumps(_of_finite(value), ensure_ascii=ensure_ascii, allow_nan=False)
    # half of a surrogate pair has no bytes of its own, only an escape
    return text.encode(errors="backslashreplace").decode()


def _of_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _of_finite(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_of_finite(own) for own in value]
    return value
