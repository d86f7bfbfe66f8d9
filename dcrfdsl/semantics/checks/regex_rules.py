r"""Rules on regular expressions: patterns that RE2 cannot read, with the caret inside, and ASCII-only classes.

RE2 says what is wrong but not where; the fragment that it quotes is located in the pattern. Not here: matching.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ...foundation import Diagnostic, Span
from ..conditions import compile_regex
from ..schema import Apply, Has, Matches, Path, Reference, Regex, nodes
from .context import Context, Rule
from .walk import every_node

Fault: TypeAlias = tuple[int, int, str, str | None]  # first and last+1 character, what is wrong, remedy


def bad_regex(context: Context) -> Iterator[Diagnostic]:
    for path, node in every_node(context.spec):
        if isinstance(node, Regex):
            error = compile_error(node)
            if error is not None:
                start, end, wrong, remedy = _fault(node.pattern, error)
                message = f"`/{node.pattern}/` is no regular expression: {wrong}"
                where = _inside(context, path, start, end)
                yield context.complaint("bad-regex", message, where or path, "here", help=remedy)


def ascii_class(context: Context) -> Iterator[Diagnostic]:
    r"""`[A-Z]` and `\w` are ASCII: worth a message only if the pattern or the data has other letters."""
    for path, node in every_node(context.spec):
        if not isinstance(node, Matches | Has) or compile_error(node.regex) is not None:
            continue
        match = _ASCII_CLASS.search(node.regex.pattern)
        if match is None:
            continue
        letter = next((c for c in node.regex.pattern if c.isalpha() and not c.isascii()), None)
        value = None if letter else _foreign_value(context, node.term)
        if letter is None and value is None:
            continue
        name, better = match.group(), _BETTER[match.group()]
        seen = f"and the pattern has `{letter}`" if letter else f"and the data has `{value}`"
        where = _inside(context, (*path, "regex"), match.start(), match.end())
        yield context.complaint(
            "ascii-class",
            f"`{name}` stands for ASCII letters only, {seen}",
            where or (*path, "regex"),
            "ASCII only",
            help=f"`{better}` stands for the letters of every script",
            severity="note",
        )


def _foreign_value(context: Context, term: Reference | Apply) -> str | None:
    """A value of the term's columns in the data that has a non-ASCII letter."""
    columns = context.data.columns if context.data else {}
    for _, node in nodes(term):
        values: Any = getattr(columns.get(node.name), "values", ()) if isinstance(node, Reference) else ()
        for value in values:
            if isinstance(value, str) and not value.isascii() and any(c.isalpha() and not c.isascii() for c in value):
                return value
    return None


_BETTER: Mapping[str, str] = {
    "A-Z": r"\p{Lu}", "a-z": r"\p{Ll}", r"\w": r"[\p{L}\p{N}_]", r"\W": r"[^\p{L}\p{N}_]", "[:alpha:]": r"\p{L}",
    "[:upper:]": r"\p{Lu}", "[:lower:]": r"\p{Ll}",
}  # fmt: skip
_ASCII_CLASS = re.compile("|".join(re.escape(name) for name in _BETTER))


# the place of an error ------------------------------------------------------------------------------------------


def compile_error(regex: Regex) -> str | None:
    """RE2's error message; None if the pattern is valid."""
    import re2

    try:
        compile_regex(regex)
    except re2.error as error:
        text = error.args[0] if error.args else ""
        return text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    except (UnicodeError, ValueError, OverflowError) as error:  # a lone surrogate
        return f"not usable text: {error}"
    return None


def _inside(context: Context, path: Path, start: int, end: int) -> Span | None:
    """Characters of a pattern as a span; the pattern begins after the `/`."""
    span = context.spans.nearest(*path)
    if span is None or not span.text.startswith("/"):
        return None
    return Span(span.source, span.start + 1 + start, span.start + 1 + max(end, start + 1))


def _fault(pattern: str, error: str) -> Fault:
    kind, _, fragment = error.partition(": ")
    describe = _FAULTS.get(kind)
    if describe is not None:
        return describe(pattern, fragment)
    start, end = _find(pattern, fragment)
    return start, end, f"{kind}{f' `{fragment}`' if fragment else ''}", None


def _find(pattern: str, fragment: str) -> tuple[int, int]:
    start = pattern.find(fragment) if fragment else -1
    return (start, start + len(fragment)) if start >= 0 else (0, len(pattern))


def _unclosed_class(pattern: str, fragment: str) -> Fault:
    start, _ = _find(pattern, fragment)
    return start, start + 1, "`[` is never closed", r"write `\[` for the character"


def _unclosed_group(pattern: str, fragment: str) -> Fault:
    opened, _ = _parentheses(pattern)
    start = opened[-1] if opened else 0
    return start, start + 1, "`(` is never closed", r"write `\(` for the character"


def _unopened_group(pattern: str, fragment: str) -> Fault:
    _, stray = _parentheses(pattern)
    start = 0 if stray is None else stray
    return start, start + 1, "`)` closes nothing", r"write `\)` for the character"


def _nothing_to_repeat(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    return start, end, f"`{fragment}` has nothing to repeat", f"write `\\{fragment}` for the character"


def _repeated_repeat(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    return start, end, f"`{fragment}` repeats what is repeated already", None


def _repeat_size(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    return start, end, f"`{fragment}` is no repetition", "the first number must not be larger, and none over 1000"


def _look_around(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    remedy = "join two tests by `and`, or cross features with `&`"
    return start, end, f"`{fragment}` is not in RE2, which has no look-ahead and no look-behind", remedy


def _escape(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    if fragment[1:].isdigit():
        return start, end, f"`{fragment}` refers back to a group, and RE2 has no back references", None
    return start, end, f"`{fragment}` is no escape sequence", f"write `{fragment[1:]}` for the character"


def _range(pattern: str, fragment: str) -> Fault:
    start, end = _find(pattern, fragment)
    if fragment.startswith(("\\p", "\\P")):
        remedy = r"for example `\p{Lu}` (upper case), `\p{Ll}` (lower case), `\p{L}` (letters), `\p{Greek}`"
        return start, end, f"`{fragment}` is no class of characters", remedy
    return start, end, f"`{fragment}` is no range of characters", None


def _trailing(pattern: str, fragment: str) -> Fault:
    return len(pattern) - 1, len(pattern), "`\\` escapes nothing", r"write `\\` for the character"


_FAULTS: Mapping[str, Callable[[str, str], Fault]] = {
    "missing ]": _unclosed_class,
    "missing )": _unclosed_group,
    "unexpected )": _unopened_group,
    "no argument for repetition operator": _nothing_to_repeat,
    "bad repetition operator": _repeated_repeat,
    "invalid repetition size": _repeat_size,
    "invalid perl operator": _look_around,
    "invalid escape sequence": _escape,
    "invalid character class range": _range,
    "trailing \\": _trailing,
}


def _parentheses(pattern: str) -> tuple[list[int], int | None]:
    """The parentheses still open at the end, and the first one that closes nothing."""
    opened: list[int] = []
    stray = None
    in_class = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += pattern[at + 1 : at + 2] in ("]",)
        elif char == "(":
            opened.append(at)
        elif char == ")" and opened:
            opened.pop()
        elif char == ")" and stray is None:
            stray = at
        at += 1
    return opened, stray


RULES: tuple[Rule, ...] = (bad_regex, ascii_class)
