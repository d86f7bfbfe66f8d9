"""The words and marks of a statement, finished or not: a scanner that never fails.

The parser's own tokens end at the first mistake, and depend on what is expected; these are for colours, and for finding
out what stands at the cursor. Not here: the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

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
