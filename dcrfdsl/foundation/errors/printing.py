"""Values as text: safe to print, as JSON, as figures for people; and texts cut at white space.

Data, templates, file names and models contain texts of unknown origin. In a message such a text must not move the
cursor, reverse the line or look like another line, so each invisible or acting character is replaced by its escape,
`\\x1b`. Data that goes to stdout is not changed. Not here: the messages (`diagnostics`), tables of figures
(`cli.report`), tokenizers.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

# C0, DEL and C1 controls; marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs;
# the byte order mark; halves of surrogate pairs; noncharacters.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text on one line, with the escapes `\\n`, `\\x1b`, `\\u202e` in place of these characters."""
    if text.isprintable() and text.isascii():
        return text  # the usual case
    return _ACTING.sub(lambda match: ascii(match.group())[1:-1], text)


def printable_lines(text: str) -> str:
    """`printable` for a text of several lines, which stay separate."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(value: object, most: int = 40) -> str:
    """A text, or any other value in Python's notation, on one line and cut if it is long."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a list in a list in a list …
        text = f"a value of type {type(value).__name__}"
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


def shell_word(name: object) -> str:
    """The name of a file as it stands in a command to type: quoted where it must be, and never taken for an option."""
    text = str(name)
    return shlex.quote(f"./{text}" if text.startswith("-") and text != "-" else text)


def json_text(value: Any, *, ensure_ascii: bool = True) -> str:
    """The value as JSON, on one line. `null` replaces numbers that JSON cannot represent."""
    try:
        text = json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)
    except ValueError:
        text = json.dumps(_of_finite(value), ensure_ascii=ensure_ascii, allow_nan=False)
    # half of a surrogate pair has no bytes, only an escape
    return text.encode(errors="backslashreplace").decode()


def _of_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _of_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_of_finite(item) for item in value]
    return value


# numbers --------------------------------------------------------------------------------------------------------------


def figure(value: float) -> str:
    """Four decimals, or five significant digits for values below 1: `3395.5312`, `0.10542`, `3.1e-07`."""
    return f"{value:.4f}" if not abs(value) < 1.0 else f"{value:.5g}"


def number_text(value: float) -> str:
    """Six significant digits at most, as a template has them: `0.5`, `1e-12`, `1e6`."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


# white space ----------------------------------------------------------------------------------------------------------


ASCII_SPACE = " \t\n\v\f\r"
_PART = re.compile(f"[^{ASCII_SPACE}]+")


def parts_of(text: str) -> list[str]:
    """The parts of a text between white space."""
    return _PART.findall(text)
