r"""Patterns of CRF++ and Wapiti, read line by line.

A pattern is a text with macros: `U02:%x[0,0]/%x[1,0]`. At each token the macros are replaced by values of the columns,
and the text that results is a feature: of the label (`U`), of the pair of labels (`B`), or of both (`*`).

What the tools accept is in CRF++'s manual and `feature.cpp`, in Wapiti's manual page, `pattern.c` and `reader.c`. Not
here: what a pattern is in our language (`pattern_features`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..foundation import Diagnostic, Label, Source, Span, shortened

LONGEST_LINE = 4000  # characters; those of the tools are read into buffers of 8,192 bytes or less
MACRO = re.compile(
    r"""%(?P<command>.)\[ [ ]* (?P<anchor>[@*]?) (?P<row>[+-]?[0-9]{1,6}) [ ]*,[ ]* (?P<column>[0-9]{1,6}) [ ]*
        (?:, [ ]* "(?P<regex>(?:\\.|[^"\\])*)" [ ]*)? \]""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Macro:
    """`%X[row,column]`, `%t[row,column,"regex"]`, `%m[row,column,"regex"]`.

    command: `x` the value, `t` whether the regex matches, `m` what it matches.
    lower: the result is put into lower case.
    """

    command: str
    lower: bool
    row: int
    column: int
    regex: str
    span: Span


@dataclass(frozen=True)
class ForeignPattern:
    """A line: texts and macros in turn. `label`, `pair`: what its features go with."""

    label: bool
    pair: bool
    parts: tuple[str | Macro, ...]
    span: Span

    @property
    def macros(self) -> tuple[Macro, ...]:
        return tuple(part for part in self.parts if isinstance(part, Macro))

    @property
    def identity(self) -> tuple[str, ...]:
        """The texts around the macros. Patterns with the same ones can give the same strings."""
        return tuple("\0" if isinstance(part, Macro) else part for part in self.parts)


@dataclass(frozen=True)
class Dialect:
    """What a tool reads.

    kinds: the first letter of a line -> whether its features go with the label, and with the pair of labels.
    commands: its macros; comments_anywhere: `#` begins a comment in the middle of a line, too.
    """

    tool: str
    kinds: Mapping[str, tuple[bool, bool]]
    commands: str
    comments_anywhere: bool
    fold_kinds: bool  # `U` and `u` are the same


CRFPP = Dialect("CRF++", {"U": (True, False), "B": (False, True)}, "x", comments_anywhere=False, fold_kinds=False)
WAPITI = Dialect(
    "Wapiti", {"u": (True, False), "b": (False, True), "*": (True, True)}, "xXtTmM", comments_anywhere=True,
    fold_kinds=True,
)  # fmt: skip


def remark(slug: str, span: Span, message: str, *, severity: str = "error", help: str | None = None) -> Diagnostic:
    """A message about a place in the other tool's file."""
    assert severity in ("error", "warning", "note")
    return Diagnostic(slug, message, Label(span), help=help, severity=severity)  # type: ignore[arg-type]


def lines_of(source: Source) -> Iterator[Span]:
    """The lines that are not blank, without blanks at their ends."""
    start = 0
    for line in source.text.split("\n"):
        text = line.strip()
        if text:
            at = start + line.index(text)
            yield Span(source, at, at + len(text))
        start += len(line) + 1


def read_patterns(source: Source, dialect: Dialect) -> tuple[list[ForeignPattern], list[Diagnostic]]:
    """The patterns of a file, and a message for each line that is none."""
    patterns: list[ForeignPattern] = []
    problems: list[Diagnostic] = []
    for span in lines_of(source):
        if dialect.comments_anywhere and "#" in span.text:
            span = Span(source, span.start, span.start + len(span.text.partition("#")[0].rstrip()))
        if not span.text or span.text.startswith("#"):
            continue
        found = _pattern(span, dialect)
        if isinstance(found, Diagnostic):
            problems.append(found)
        else:
            patterns.append(found)
    return patterns, problems


def _pattern(span: Span, dialect: Dialect) -> ForeignPattern | Diagnostic:
    text = span.text
    if len(text) > LONGEST_LINE:
        place = Span(span.source, span.start, span.start + 1)
        return remark(
            "bad-foreign-line", place, f"this line has {len(text):,} characters, at most {LONGEST_LINE:,} are read"
        )
    if re.match(r"(UNIGRAM|BIGRAM)\b", text):
        message = f"`{shortened(text)}` belongs to a feature.def of MeCab, whose features read a dictionary"
        return remark("not-converted", span, message, help="a template reads the columns of a data file")
    kind = dialect.kinds.get(text[0].lower() if dialect.fold_kinds else text[0])
    if kind is None:
        letters = ", ".join(f"`{letter}`" for letter in dialect.kinds)
        message = f"a line of a {dialect.tool} template begins with {letters} or `#`, found `{shortened(text)}`"
        return remark("bad-foreign-line", Span(span.source, span.start, span.start + 1), message)
    parts: list[str | Macro] = []
    end = 0
    for match in MACRO.finditer(text):
        wrong = _stray_percent(text, end, match.start(), span, dialect)
        if wrong is not None:
            return wrong
        if match.start() > end:
            parts.append(text[end : match.start()])
        macro = _macro(match, Span(span.source, span.start + match.start(), span.start + match.end()), dialect)
        if isinstance(macro, Diagnostic):
            return macro
        parts.append(macro)
        end = match.end()
    wrong = _stray_percent(text, end, len(text), span, dialect)
    if wrong is not None:
        return wrong
    if end < len(text):
        parts.append(text[end:])
    return ForeignPattern(*kind, tuple(parts), span)


def _stray_percent(text: str, start: int, end: int, span: Span, dialect: Dialect) -> Diagnostic | None:
    at = text.find("%", start, end)
    if at < 0:
        return None
    usage = "`%x[row,column]`" if dialect.commands == "x" else '`%x[row,column]` or `%t[row,column,"regex"]`'
    place = Span(span.source, span.start + at, span.start + at + 1)
    return remark("bad-foreign-line", place, f"a `%` begins a macro of {dialect.tool}, {usage}")


def _macro(match: re.Match[str], span: Span, dialect: Dialect) -> Macro | Diagnostic:
    command = match["command"]
    if command not in dialect.commands:
        message = f"`%{command}` is no macro of {dialect.tool}"
        wapiti = command in WAPITI.commands
        return remark("bad-foreign-line", span, message, help="Wapiti has it: `--from wapiti`" if wapiti else None)
    if match["anchor"]:
        if dialect.commands == "x":
            return remark("bad-foreign-line", span, f"a row of {dialect.tool} is a whole number")
        whose = "of a token that a column points to" if match["anchor"] == "*" else "of the first or last tokens"
        return remark(
            "not-converted", span, f"`{shortened(span.text)}` reads a value {whose}, which no place of ours names",
            help="write this value into a column of its own, on each line of the data",
        )  # fmt: skip
    if (match["regex"] is None) != (command in "xX"):
        message = f"`%{command}` takes {'no' if command in 'xX' else 'a'} regular expression"
        return remark("bad-foreign-line", span, message)
    return Macro(
        command.lower(), command.isupper(), int(match["row"]), int(match["column"]), match["regex"] or "", span
    )
