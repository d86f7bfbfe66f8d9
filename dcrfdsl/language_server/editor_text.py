"""Places in a text as editors count them, and the words and marks of a statement.

Editors count lines, and columns in units of an encoding (UTF-16 unless agreed otherwise). Line ends are `\n`,
`\r\n` and a lone `\r`, as the protocol has it; Python's `splitlines` knows more of them. A byte order mark belongs to
the text of the editor and not to that of the parser, which begins behind it. Source: Language Server Protocol 3.17,
"Text Documents" and "Position".

Words come from a scanner that never fails: the parser's own tokens end at the first mistake, and depend on what is
expected. Not here: ranges in answers (`lsp_server`), the grammar.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from ..foundation import dataclass

UTF16 = "utf-16"

BYTE_ORDER_MARK = "\ufeff"
LINE_END = re.compile(r"\r\n|\n|\r")


# Units of a text in each encoding that the protocol knows.
UNITS: Mapping[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode(errors="surrogatepass")),
    UTF16: lambda text: len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text),
    "utf-32": len,
}


@dataclass(frozen=True)
class EditorText:
    """A text as the editor has it, and `code`, the same without a byte order mark, to which all offsets refer."""

    text: str
    encoding: str = UTF16

    @cached_property
    def code(self) -> str:
        return self.text.removeprefix(BYTE_ORDER_MARK)

    @property
    def _lead(self) -> int:
        return len(self.text) - len(self.code)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    @cached_property
    def _plain(self) -> bool:
        """Whether every character is one unit."""
        return self.text.isascii() or (self.encoding == UTF16 and max(self.text) <= "\uffff")

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 0, of an offset in `code`."""
        place = min(max(offset + self._lead, self._lead), len(self.text))
        line = bisect.bisect_right(self._starts, place) - 1
        start = self._starts[line]
        return line, place - start if self._plain else UNITS[self.encoding](self.text[start:place])

    def length(self, start: int, end: int) -> int:
        """How many units stand between two offsets of a line."""
        return end - start if self._plain else UNITS[self.encoding](self.code[start:end])

    def offset(self, line: int, column: int) -> int:
        """The offset in `code`; the end of the line or of the text for places beyond it."""
        return max(0, self._place(line, column) - self._lead)

    def changed(self, start: tuple[int, int], end: tuple[int, int], new: str) -> EditorText:
        """With `new` in place of what stands from `start` to `end`, both lines and columns."""
        first, last = self._place(*start), self._place(*end)
        first, last = min(first, last), max(first, last)
        return EditorText(self.text[:first] + new + self.text[last:], self.encoding)

    def _place(self, line: int, column: int) -> int:
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        if content.isascii() or self.encoding == "utf-32":
            return start + min(max(column, 0), len(content))
        units, place = UNITS[self.encoding], 0
        for char in content:
            column -= units(char)
            if column < 0:  # inside a character: before it
                break
            place += 1
        return start + place


# words ----------------------------------------------------------------------------------------------------------------


STRING = r'"(?:\\.|[^"\\\r\n])*"?'
NUMBER = r"[+-]?(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+(?:[eE][+-]?[0-9]+)?)(?![\w])"
NAME = r"[^\W\d]\w*"
WORDS = re.compile(
    rf"(?P<comment>\#[^\n]*)|(?P<text>{STRING})|(?P<range>\.\.)|(?P<number>{NUMBER})|(?P<name>{NAME})"
    r"|(?P<mark>!=|<=|>=|[=<>&])|(?P<bracket>[()\[\]{}])|(?P<point>[,:.])|(?P<other>\S)"
)
REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\r\n])*\]?|[^/\\\r\n\[])*(?:/i?)?")
STATE = re.compile(r'[^\s{}(),"#:=&\[\]]+')
BEFORE_REGEX = ("matches", "has", "(", ",", "=")
BEFORE_STATE = ("is", "initially", "others")
PLAIN_NAME = re.compile(rf"{NAME}\Z")


class Word(NamedTuple):
    """A piece of a statement. kind: `name`, `text`, `number`, `range`, `state`, `regex`, `mark`, `bracket`, `point`,
    `comment` or `other`.
    """

    kind: str
    text: str
    start: int
    end: int


def is_name(text: str) -> bool:
    """Whether a text can be a name, reserved words apart."""
    return PLAIN_NAME.match(text) is not None


@lru_cache(maxsize=512)
def words_of(text: str) -> tuple[Word, ...]:
    """All words of a statement, comments included."""
    return tuple(_scan(text))


def _scan(text: str) -> Iterator[Word]:
    place, before, braces = 0, ("", ""), 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        special = _special(text, place, before, braces)
        match = special[1] if special else WORDS.match(text, place)
        if match is None or match.end() == place:
            place += 1
            continue
        word = Word(special[0] if special else str(match.lastgroup), match[0], place, match.end())
        place = match.end()
        yield word
        if word.kind != "comment":
            braces = max(0, braces + (word.text == "{") - (word.text == "}"))
            before = (before[1], word.text)


def _special(text: str, place: int, before: tuple[str, str], braces: int) -> tuple[str, re.Match[str]] | None:
    """A regular expression or a state, which look like other things outside their places."""
    char = text[place]
    if char == "/" and before[1] in BEFORE_REGEX:
        regex = REGEX.match(text, place)
        return ("regex", regex) if regex else None
    of_states = braces or before[1] in BEFORE_STATE or before == ("is", "not") or before == ("others", "=")
    if of_states and char not in '#"' and not (before[1] in BEFORE_STATE and char == "="):
        state = STATE.match(text, place)
        if state and not (not braces and state[0] == "not"):
            return "state", state
    return None
