r"""Regular expressions of RE2 as patterns of Python's `re` that match the same texts.

The two differ in what a class holds (`\w`, `\p{Lu}`, letters under `i`), in `$`, and in notation. So a pattern is taken
apart, and each class is written out as the characters that RE2 itself finds in it. Groups are of no account. Syntax:
https://github.com/google/re2/wiki/Syntax. Not here: patterns that RE2 refuses.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any, NamedTuple

from ..foundation import data_error, dataclass
from ..syntax import Regex

_ESCAPE = re.compile(r"\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP]\{[^}]*\}|[pP].|[0-7]{1,3}|.)", re.DOTALL)
_REPEAT = re.compile(r"[*+?]|\{\d+(?:,\d*)?\}")
_FLAGS = re.compile(r"\(\?(?P<on>[imsU]*)(?:-(?P<off>[imsU]*))?(?P<end>[:)])")
_NAMED = re.compile(r"\(\?P?<\w+>")
_POSIX = re.compile(r"\[:\^?\w+:\]")
# One class or one escaped character of Python, which a repetition may follow as it is.
_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\[^xuUAZ]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")


def python_pattern(regex: Regex) -> str:
    """The pattern for `re.compile`. DcrfError `cannot-export` if RE2 and Python would differ."""
    reader = _Reader(regex.pattern, _Modes(ignore_case=regex.ignore_case))
    try:
        pattern = reader.alternatives()
        if reader.at != len(reader.text):
            raise _Different("it is not understood")
        re.compile(pattern)
    except (re.error, _Different, OverflowError) as error:
        message = f"`/{regex.pattern}/` has no equal among the patterns of Python: {error}"
        remedy = "write the test in another way, and train again"
        raise data_error("cannot-export", message, help=remedy) from None
    return pattern


def backtracks(regex: Regex) -> bool:
    """Whether a repetition lies inside another: on long texts Python may then try very many ways to match."""
    reader = _Reader(regex.pattern, _Modes())
    reader.alternatives()
    return reader.nested


class _Different(Exception):
    """What Python cannot do."""


# characters -----------------------------------------------------------------------------------------------------------


class _Modes(NamedTuple):
    """The flags in force at a place of a pattern."""

    ignore_case: bool = False
    lines: bool = False  # `m`
    dot_all: bool = False  # `s`
    ungreedy: bool = False  # `U`


@cache
def _every_character() -> bytes:
    """All characters in order, in UTF-8. Halves of surrogate pairs are none."""
    return "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1)))).encode()


@cache
def _ranges(part: str, ignore_case: bool) -> tuple[tuple[int, int], ...]:
    """The ranges of characters that RE2 finds in a class, an escape or a letter."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    every = _every_character()
    runs = (match.group().decode() for match in re2.compile(f"(?:{part})+", options).finditer(every))
    return tuple((ord(run[0]), ord(run[-1])) for run in runs)


def _character(code: int) -> str:
    char = chr(code)
    if char.isascii():
        return char if char.isalnum() else f"\\x{code:02x}" if not char.isprintable() else re.escape(char)
    if char.isprintable() and not char.isspace():
        return char
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _in_class(code: int) -> str:
    char = chr(code)
    return f"\\{char}" if char in "&~|-]^[\\" else char if char == "#" else _character(code)


def _class(ranges: tuple[tuple[int, int], ...]) -> str:
    """A class of Python with these characters: as it is, or by what it lacks if that is shorter."""
    if not ranges:
        return "(?!)"
    ends = [-1, *(end for pair in ranges for end in pair), sys.maxunicode + 1]
    gaps = [(ends[n] + 1, ends[n + 1] - 1) for n in range(0, len(ends), 2)]
    gaps = [(low, high) for low, high in gaps if low <= high and not (low >= 0xD800 and high <= 0xDFFF)]
    if not gaps:
        return "[\\x00-\\U0010ffff]"
    if len(gaps) < len(ranges):
        return f"[^{_listed(gaps)}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0])
    return f"[{_listed(ranges)}]"


def _listed(ranges: Any) -> str:
    def one(low: int, high: int) -> str:
        return _in_class(low) + ("-" if high > low + 1 else "") + (_in_class(high) if high > low else "")

    return "".join(one(low, high) for low, high in ranges)


# patterns -------------------------------------------------------------------------------------------------------------

_WORDS = "(?a:\\b)"
_ASSERTIONS = {"b": _WORDS, "A": "\\A", "z": "\\Z"}
_OF_BYTES = {
    "\\C": "is a byte, and Python matches characters",
    "\\B": "also holds between the bytes of one character, and Python matches characters",
}


def _quoted(char: str) -> str:
    return f"\\{char}" if char.isascii() and not char.isalnum() else char


@dataclass
class _Reader:
    """Reads a pattern from left to right. `nested`: whether it has met a repetition inside another."""

    text: str
    modes: _Modes
    at: int = 0
    nested: bool = False
    _repeats: int = 0  # without an end, so far

    def alternatives(self) -> str:
        """Up to the end, or a `)`."""
        modes, branches = self.modes, [self._branch()]
        while self._next("|"):
            branches.append(self._branch())
        self.modes = modes  # flags that are set in a group end with it
        return "|".join(branches)

    def _branch(self) -> str:
        parts = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            before = self._repeats
            part = self._part()
            if part and (repeat := _REPEAT.match(self.text, self.at)):
                self.at = repeat.end()
                lazy = "?" * (self._next("?") != self.modes.ungreedy)
                endless = repeat[0] in "*+" or repeat[0].endswith(",}")
                self.nested = self.nested or (endless and self._repeats > before)
                self._repeats += endless
                grouped = f"(?:{part})" if len(part) > 1 and not _CLASS.fullmatch(part) else part
                part = grouped + repeat[0] + lazy
            parts.append(part)
        return "".join(parts)

    def _next(self, char: str) -> bool:
        there = self.text.startswith(char, self.at)
        self.at += len(char) * there
        return there

    def _part(self) -> str:
        char = self.text[self.at]
        if char in _PARTS:
            return _PARTS[char](self)
        self.at += 1
        return self._letter(char)

    def _letter(self, char: str) -> str:
        if self.modes.ignore_case and char.isalpha():
            return _class(_ranges(char, True))
        return _character(ord(char))

    def _sign(self) -> str:
        plain, other, mode = _SIGNS[self.text[self.at]]
        self.at += 1
        return other if getattr(self.modes, mode) else plain

    def _group(self) -> str:
        flags = _FLAGS.match(self.text, self.at)
        modes = self.modes
        if flags:
            self.at = flags.end()
            on, off = flags["on"], flags["off"] or ""
            names = {"ignore_case": "i", "lines": "m", "dot_all": "s", "ungreedy": "U"}
            changed = {name: flag in on for name, flag in names.items() if flag in on + off}
            self.modes = modes._replace(**changed)
            if flags["end"] == ")":
                return ""  # until the end of the group around it
        else:
            named = _NAMED.match(self.text, self.at)
            self.at = named.end() if named else self.at + 1
        inside = self.alternatives()
        self.modes = modes
        self._next(")")
        return f"(?:{inside})"

    def _brackets(self) -> str:
        start = self.at
        self.at += 1
        self._next("^")
        self._next("]")
        while self.at < len(self.text) and self.text[self.at] != "]":
            inner = _POSIX.match(self.text, self.at) or _ESCAPE.match(self.text, self.at)
            self.at = inner.end() if inner else self.at + 1
        self.at += 1
        return _class(_ranges(self.text[start : self.at], self.modes.ignore_case))

    def _escape(self) -> str:
        found = _ESCAPE.match(self.text, self.at)
        assert found is not None  # RE2 refuses a single `\` at the end
        escape, self.at = found[0], found.end()
        if escape == "\\Q":  # its letters are read one by one, as a repetition after `\E` is of the last one
            literal, _, rest = self.text[self.at :].partition("\\E")
            self.text = self.text[: self.at] + "".join(map(_quoted, literal)) + rest
            return ""
        if escape in _OF_BYTES:
            raise _Different(f"`{escape}` {_OF_BYTES[escape]}")
        return _ASSERTIONS.get(escape[1:]) or _class(_ranges(escape, self.modes.ignore_case))


# A sign: as it is, and with a mode.
_SIGNS = {
    ".": ("[^\\n]", "[\\x00-\\U0010ffff]", "dot_all"), "^": ("\\A", "(?m:^)", "lines"), "$": ("\\Z", "(?m:$)", "lines"),
}  # fmt: skip
_PARTS = {**dict.fromkeys(_SIGNS, _Reader._sign), "(": _Reader._group, "[": _Reader._brackets, "\\": _Reader._escape}
