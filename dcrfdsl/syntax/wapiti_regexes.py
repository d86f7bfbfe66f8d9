r"""Wapiti's regular expressions, as RE2 has them.

Wapiti knows characters, `.`, `\` with a class or a character, `*` and `?` behind one of these, `^` at the start and `$`
at the end; everything else stands for itself. `*` takes as little as it can, `?` as much. Classes are ASCII's; capitals
are complements. From `pattern.c`. Wapiti matches bytes and RE2 characters, which differ beyond ASCII only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CLASSES: Mapping[str, str] = {
    "a": "A-Za-z", "d": "0-9", "l": "a-z", "p": "[:punct:]", "s": r"\t-\r ", "u": "A-Z", "w": "0-9A-Za-z",
}  # fmt: skip
SPECIAL = frozenset("\\.+*?()|[]{}^$/")
FOREIGN = frozenset("+|()[]{}")  # of other dialects; here they stand for themselves


class RegexProblem(ValueError):
    """What Wapiti itself would refuse."""


@dataclass(frozen=True)
class WapitiRegex:
    """body: RE2, without anchors; at_start, at_end: the anchors.

    always: it matches every value, as none of its parts must be there.
    literal: characters that other dialects would not take literally.
    lazy_end: it ends in a `*`, which takes nothing there.
    """

    body: str
    at_start: bool
    at_end: bool
    always: bool
    literal: str
    lazy_end: bool

    @property
    def pattern(self) -> str:
        """RE2, to be searched for, without slashes around it."""
        return f"{'^' * self.at_start}{self.body}{'$' * self.at_end}"

    def test(self, term: str) -> str:
        """The test whether a term matches: `word has /[0-9]/`."""
        if self.at_start and self.at_end and self.body:
            return f"{term} matches /{self.body.replace('*?', '*')}/"
        return f"{term} has /{self.pattern.replace('*?', '*')}/"


def wapiti_regex(regex: str) -> WapitiRegex:
    """Raises `RegexProblem` for an expression that Wapiti does not take."""
    at_start = regex.startswith("^")
    at = int(at_start)
    pieces: list[str] = []
    needed, literal, lazy_end, at_end = False, "", False, False
    while at < len(regex):
        if regex[at] == "$" and at == len(regex) - 1:
            at_end = True
            break
        piece, width = _character(regex, at)
        if regex[at] in FOREIGN:
            literal += regex[at]
        at += width
        repeat = regex[at : at + 1] if regex[at : at + 1] in ("*", "?") else ""
        at += len(repeat)
        needed |= not repeat
        lazy_end = repeat == "*"
        pieces.append(piece + {"*": "*?", "?": "?", "": ""}[repeat])
    body = "".join(pieces)
    everything = body == ".*?" and at_start and at_end
    always = everything or (not needed and not (at_start and at_end))
    return WapitiRegex(body, at_start, at_end, always, literal, lazy_end and not at_end)


def _character(regex: str, at: int) -> tuple[str, int]:
    """What the character at `at` is in RE2, and how many characters of Wapiti's expression it takes."""
    char = regex[at]
    if char in "*?":
        raise RegexProblem(f"nothing stands before the `{char}` that could be repeated")
    if char == ".":
        return ".", 1
    if char != "\\":
        return (f"\\{char}" if char in SPECIAL else char), 1
    if at + 1 == len(regex):
        raise RegexProblem("the `\\` at the end escapes nothing")
    escaped = regex[at + 1]
    known = CLASSES.get(escaped.lower())
    if known is not None:
        return f"[{'^' * escaped.isupper()}{known}]", 2
    return (f"\\{escaped}" if escaped in SPECIAL else escaped), 2
