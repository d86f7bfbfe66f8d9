"""Numbers in cells: how they are written, which are missing, and what is said about cells that are none.

    how = NumberFormat.of(data)      # `missing = "?"` and `decimal = ","` of a `data` statement
    how.number("1,5")                # 1.5;  of "?" NaN

Not here: vectors (`vector_columns`), columns (`columns`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..foundation import DcrfError, Diagnostic
from ..semantics import ColumnType, DataSpec, missing_mark, plain
from .vector_columns import number_of_text, shown

NULL = "null"  # what stands for a value that a program does not have, where texts are read
_MISSING_WORDS = frozenset(("", "-", "--", ".", "?", "_", "*", "#n/a", "n/a", "na", "nan", "nil", "none", NULL))
_GAP = re.compile(r"\b(nan|null|none|na)\b", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_POINT = "."


def is_null(value: Any) -> bool:
    """Whether a Python value stands for none: None, or the marks of pandas that equal nothing."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a file are written: the mark of missing ones, None if none may be, and the decimal sign."""

    missing: str | None = None
    decimal: str = _POINT

    @classmethod
    def of(cls, data: DataSpec) -> NumberFormat:
        """As the options of a `data` statement say."""
        decimal = next((str(plain(option.value)) for option in data.options if option.name == "decimal"), _POINT)
        return cls(missing_mark(data), decimal)

    def is_missing(self, text: str) -> bool:
        """Whether a cell is the mark, `nan` or `null`, where numbers may be missing."""
        return self.missing is not None and (text == self.missing or text.lower() in ("nan", NULL))

    def number(self, text: str) -> float:
        """The finite number that a cell holds, NaN for a missing one. ValueError for any other text."""
        if self.is_missing(text):
            return math.nan
        if self.decimal != _POINT:
            if _POINT in text:
                raise ValueError(f"found {shown(text)}, expected a number with a decimal comma")
            text = text.replace(self.decimal, _POINT)
        return number_of_text(text)

    def written(self, number: float, spell: Callable[[float], str]) -> str:
        """The cell of a number, the mark (or `nan`) of a missing one."""
        if math.isnan(number):
            return "nan" if self.missing is None else self.missing
        return spell(number).replace(_POINT, self.decimal)


@dataclass
class BadNumbers:
    """The cells of a column that hold no number, counted; the first of them is kept."""

    column: str
    type: ColumnType
    data: DataSpec
    count: int = 0
    first: tuple[str, str, int] = field(default=("", "", 0))  # its text, what is wrong with it, and its line

    def add(self, text: str, reason: str, line: int, count: int) -> None:
        """Counts cells of one block, of which the first is given."""
        self.first = self.first if self.count else (text, reason, line)
        self.count += count

    def diagnostic(self, file: str) -> Diagnostic:
        """The error about the column."""
        text, reason, line = self.first
        more = f" (the first of {self.count:,} such cells)" if self.count > 1 else ""
        message = f"column `{self.column}`: {reason}{more}"
        return Diagnostic("bad-value", message, location=f"{file}:{line}", help=self._remedy(text))

    def _remedy(self, text: str) -> str | None:
        how, is_word = NumberFormat.of(self.data), not any(char.isdigit() for char in text)
        if self.type.size is not None:
            gap = "a vector has all of its numbers: declare a column for each number that may be missing"
            return gap if text == "" or _GAP.search(text) else None
        if _COMMA.fullmatch(text) and how.decimal == _POINT:
            if self.data.format in ("csv", "tsv"):
                return 'if the comma is the decimal sign, declare `decimal = ","` in `data`'
            return "write a decimal point in place of the comma"
        if how.missing is None and is_word:
            mark = "" if text.lower() in ("nan", NULL) else text
            return f'if it stands for a number that is not known, declare `missing = "{mark}"` in `data`'
        if is_word:
            return f'missing are numbers that are written as `missing = "{how.missing}"` says, and `nan` and `null`'
        return f"correct it, or declare texts: `{self.column}` in place of `{self.column}: {self.type.name}`"

    @staticmethod
    def raise_all(bad: list[BadNumbers], file: str) -> None:
        """DcrfError with one problem a column, if there is any."""
        if bad:
            raise DcrfError([one.diagnostic(file) for one in bad])
