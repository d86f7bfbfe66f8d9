"""Lines of other tools' template files, with their translations into this language.

CRF++ (`U00:%x[-2,0]`, `B`), Wapiti (`u:%x[0,0]`, `b`, `*`, with `%t` and `%m` tests) and GRMM
(`new ACRF.BigramTemplate (0)`). A `%x[row,col]` is column `col` at offset `row`; its name is taken from the file's
`data` statement if that can be read. Not here: whole files (`convert`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

from ..foundation import Diagnostic, Label, Source, dataclass
from .split import Chunk

# A macro of CRF++ or Wapiti: %x[row,col], %X[row,col], %t[row,col,"regex"], %m[row,col,"regex"].
MACRO = re.compile(r'%([xXtTmM])\[ *([+-]?[0-9]{1,6}) *, *([0-9]{1,6}) *(?:, *("(?:\\.|[^"\\])*") *)?\]')
COLUMNS = re.compile(r"^data\s+\w+\(([^()\n]*)", re.MULTILINE)
LABEL = re.compile(r"^label\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class _Names:
    """The names for a tool's column numbers and its single label."""

    columns: tuple[str, ...]
    label: str

    @classmethod
    def of(cls, source: Source) -> _Names:
        data, label = COLUMNS.search(source.text), LABEL.search(source.text)
        columns = tuple(re.findall(r"(?:^|,)\s*([^\W\d]\w*)", data[1])) if data else ()
        return cls(columns, label[1] if label else "LABEL")

    def column(self, number: str) -> str:
        index = int(number)
        return self.columns[index] if index < len(self.columns) else f"COLUMN{index}"


def look_for_foreign_line(chunk: Chunk) -> Diagnostic | None:
    """The message about the first line of `chunk`, if it belongs to another tool's template."""
    line = chunk.first_line.text
    for pattern, (tool, translate) in FOREIGN.items():
        match = re.fullmatch(pattern, line)
        if match is not None:
            help = translate(match, _Names.of(chunk.source))
            if "FEATURE" in help:
                help += "\nwith `FEATURE` a function of your own (`@dcrfdsl.feature`)"
            if _first_foreign_line(chunk.source) == chunk.start:
                help += "\n`dcrfdsl convert FILE` translates a whole file"
            shown = line if len(line) <= 60 else f"{line[:59]}…"
            message = f"`{shown}` is a line of a {tool} template"
            return Diagnostic("foreign-line", message, Label(chunk.first_line), help=help)
    return None


@functools.lru_cache(maxsize=1)
def _first_foreign_line(source: Source) -> int:
    """Where the first line of `source` begins that belongs to another tool's template."""
    for start in source.line_starts:
        line = source.text[start : source.text.find("\n", start) % (len(source.text) + 1)].rstrip()
        if any(re.fullmatch(pattern, line) for pattern in FOREIGN):
            return start
    return -1


def tool_of(line: str) -> str:
    """The tool whose template has the line."""
    return next((tool for pattern, (tool, _) in FOREIGN.items() if re.fullmatch(pattern, line)), "another tool")


def _feature(text: str, names: _Names) -> str:
    """The macros of a pattern as one crossed feature: `%x[-1,0]/%x[0,0]` is `word[-1] & word`.

    `FEATURE` if a macro cannot be read.
    """
    if len(MACRO.findall(text)) < text.count("%"):
        return "FEATURE"
    try:
        return " & ".join(_factor(match, names) for match in MACRO.finditer(text))
    except RegexProblem:
        return "FEATURE"


def _factor(match: re.Match[str], names: _Names) -> str:
    """One macro: `%t[0,1,"^\\u"]` is `pos has /^[A-Z]/`, `%m[0,0,".?$"]` is `extract(word, /.?$/)`."""
    command, row, column, regex = match.groups()
    place = f"[{int(row)}]" if int(row) else ""
    name = names.column(column)
    expression = None if regex is None else wapiti_regex(regex[1:-1])
    if expression is None or command in "xX":
        return f"lower({name}){place}" if command.isupper() else f"{name}{place}"
    if command in "tT":
        return expression.test(f"{name}{place}")
    term = f"extract({name}, /{expression.pattern}/)"
    return f"lower({term}){place}" if command.isupper() else f"{term}{place}"


def _unary(match: re.Match[str], names: _Names) -> str:
    return f"in this language: `clique {names.label}: {_feature(match[0], names) or 'bias'}`"


def _pair(match: re.Match[str], names: _Names) -> str:
    feature = _feature(match[0], names)
    return f"in this language: `clique {names.label}[-1], {names.label}{': ' + feature if feature else ''}`"


def _both(match: re.Match[str], names: _Names) -> str:
    feature = _feature(match[0], names)
    body = f": {feature}" if feature else ""
    return (
        f"in this language: `clique {names.label}{body}` for the single label\n"
        f"and `clique {names.label}[-1], {names.label}{body}` for each pair of neighbours"
    )


def _grmm(match: re.Match[str], names: _Names) -> str:
    first, second = [*re.findall(r"[0-9]+", match[2]), "0", "1"][:2]
    shapes = {
        "Unigram": f"`clique {names.label}: …` with the features after the `:`",
        "Bigram": f"`clique {names.label}[-1], {names.label}` for the label of level {first}",
        "Trigram": f"`clique {names.label}[-2], {names.label}[-1], {names.label}` for the label of level {first}",
        "Pairwise": f"`clique FIRST, SECOND` for the labels of levels {first} and {second}",
    }
    other = "a `clique` over the labels that the template joins"
    return f"in this language: {next((text for word, text in shapes.items() if match[1].startswith(word)), other)}"


Translate = Callable[[re.Match[str], _Names], str]

# The pattern of a whole line -> its tool, and the translation.
FOREIGN: Mapping[str, tuple[str, Translate]] = {
    r"U\w*:.*|U\d*": ("CRF++", _unary),
    r"B\w*:.*|B\d*": ("CRF++", _pair),
    r"u\w*:.*": ("Wapiti", _unary),
    r"b\w*:.*|b": ("Wapiti", _pair),
    r"\*.*": ("Wapiti", _both),
    r"(?:new +)?(?:\w+\.)*(\w+Template) *(\([^()]*\)).*": ("GRMM", _grmm),
}


# regular expressions of Wapiti ------------------------------------------------------------------------------------

# Wapiti knows characters, `.`, `\` with a class or a character, `*` and `?` behind one of these, `^` at the start and
# `$` at the end; everything else stands for itself. `*` takes as little as it can, `?` as much. Classes are ASCII's;
# capitals are complements. From `pattern.c`. Wapiti matches bytes and RE2 characters, which differ beyond ASCII only.
CLASSES: Mapping[str, str] = {
    "a": "A-Za-z", "d": "0-9", "l": "a-z", "p": "[:punct:]", "s": r"\t-\r ", "u": "A-Z", "w": "0-9A-Za-z",
}  # fmt: skip
SPECIAL = frozenset("\\.+*?()|[]{}^$/")
ELSEWHERE = frozenset("+|()[]{}")  # of other dialects; here they stand for themselves


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
        if regex[at] in ELSEWHERE:
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
