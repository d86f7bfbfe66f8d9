"""The words of the language, odd characters, and colours.

The table of colours has a rule for each kind of word, from which every highlighter is made: the Pygments lexer reads it
(`highlighting`), and `grammar/editors/generate.py` writes the grammar of TextMate and VS Code and the syntax of Vim
from it. Patterns are those that Python and Oniguruma read alike. Highlighters see words, not statements, so that
unfinished text has colours, too; what no rule knows is an error. Not here: words of other tools (`other_words.md`);
names of methods, metrics and feature functions; the parser, whose terminals are in `grammar/dcrf.lark`; a test holds
the words of both equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .nodes import RESERVED as RESERVED
from .statement_base import NAME
from .statements import KEYWORDS as KEYWORDS, SHAPES

# The clauses of a statement in their order, by the first words before its parts.
CLAUSES = {keyword: tuple(part.before.split()[0] for part in parts if part.before) for keyword, parts in SHAPES.items()}

LOOKALIKES = {
    "QUOTATION MARK": 'write a plain `"`', "SPACE": "write an ordinary blank", "DASH": "write a plain `-`",
    "MINUS": "write a plain `-`", "ELLIPSIS": "write `..`", "COMMA": "write a plain `,`", "COLON": "write a plain `:`",
    "PARENTHESIS": "write a plain bracket",
}  # fmt: skip


def describe_character(char: str) -> tuple[str, str | None] | None:
    """How to show a character that is not a plain mark, letter or digit, and a replacement if known."""
    if not char or char.isalnum() or (char.isascii() and char.isprintable()):
        return None
    code, name = f"U+{ord(char):04X}", unicodedata.name(char, "CONTROL CHARACTER")
    shown = f"`{char}` ({code}, {name.lower()})" if char.isprintable() else f"{code} ({name.lower()})"
    return shown, next((help for part, help in LOOKALIKES.items() if part in name), None)


OPERATOR_WORDS = tuple(sorted(RESERVED - {"locked", "where", "with"}))
_AFTER_OTHERS = {"locked", "to"}  # `up to`, and a mark of a piece's member
CLAUSE_WORDS = tuple(
    sorted(({word for words in CLAUSES.values() for word in words if word.isalpha()} | _AFTER_OTHERS) - {"in"})
)
CONSTANT_WORDS = ("all", "inf", "no", "none", "off", "seen", "yes")
# Statements whose second word is the name that they declare, and those where it is a format or a method.
NAMING_WORDS = tuple(keyword for keyword, parts in SHAPES.items() if parts[0] == NAME)
METHOD_WORDS = tuple(keyword for keyword, parts in SHAPES.items() if parts[0].name in ("call", "metrics"))

_NAME = r"[^\W\d]\w*"
_STATE = r'[^\s{}(),"#:=&\[\]]+'
_NUMBER = r"[+-]?(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[0-9]+)"
_REGEX = r"/(?:\\.|\[(?:\\.|[^\]\\\r\n])*\]|[^/\\\r\n\[])+/i?"


class TokenRule(NamedTuple):
    """pattern: of one line.   kinds: of each group, or of the whole match where there is none.   into: the state that
    begins with it, `leave` for the one before.
    """

    pattern: str
    kinds: tuple[str, ...]
    into: str = ""


def _words(words: Iterable[str]) -> str:
    return rf"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})\b"


_EVERYWHERE = (
    TokenRule(r"#.*", ("comment",)),
    TokenRule(r'"(?:\\.|[^"\\\r\n])*"', ("string",)),
    TokenRule(r",", ("punctuation",)),
    TokenRule(r"\s+", ("blank",)),
)

# By state, the rules in the order in which they are tried. `states` is what stands in braces.
STATES: Mapping[str, tuple[TokenRule, ...]] = {
    "root": (
        TokenRule(r"^##.*", ("doc",)),
        TokenRule(rf"^({_words(NAMING_WORDS)})(\s+)({_NAME})", ("statement", "blank", "declared")),
        TokenRule(rf"^({_words(METHOD_WORDS)})(\s+)({_NAME})", ("statement", "blank", "function")),
        TokenRule(rf"^{_words(KEYWORDS)}", ("statement",)),
        *_EVERYWHERE,
        TokenRule(_REGEX, ("regex",)),
        TokenRule(r"\{", ("punctuation",), into="states"),
        TokenRule(rf"\b(is)(\s+)(not)(\s+)({_STATE})", ("operator word", "blank", "operator word", "blank", "state")),
        TokenRule(rf"\b(is)(\s+)(?!not\b)({_STATE})", ("operator word", "blank", "state")),
        TokenRule(rf"\b(initially)(\s+)({_STATE})", ("clause", "blank", "state")),
        TokenRule(rf"\b(as|after)(\s+)({_NAME})", ("clause", "blank", "declared")),
        TokenRule(rf"\b{_words(OPERATOR_WORDS)}", ("operator word",)),
        TokenRule(rf"\b{_words(CLAUSE_WORDS)}", ("clause",)),
        TokenRule(rf"{_NAME}(?=\()", ("function",)),
        TokenRule(rf"\b{_words(CONSTANT_WORDS)}", ("constant",)),
        TokenRule(_NAME, ("name",)),
        TokenRule(_NUMBER, ("number",)),
        TokenRule(r"\.\.|!=|[<>]=?|[=&+-]", ("operator",)),
        TokenRule(r"[\[\]():.]", ("punctuation",)),
    ),
    "states": (
        TokenRule(r"\}", ("punctuation",), into="leave"),
        *_EVERYWHERE,
        TokenRule(_STATE, ("state",)),
    ),
}
