"""Places in a source text, problems found there, the one renderer of both, and the edits that messages propose.

Every complaint of the project about its user's input is a `Diagnostic`; several of them form one `DcrfError`. No other
code formats messages. Editors and the formats of `check` take the edit of a message from here: "did you mean `word`?"
puts `word` in its place. Not here: finding problems (that is the task of the parser, the checker and the readers);
remedies that leave a choice, which stay words; edits of whole statements (`language_server.code_actions`).
"""

from __future__ import annotations

import bisect
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from ..late_dataclass import dataclass
from .printing import printable

LONGEST_LINE = 160  # characters of a source line in a message
LONGEST_MESSAGE = 4000  # characters of a message, which may quote a word of any length


@dataclass(frozen=True)
class Source:
    """A named text: a template file, or a text without a file (`name` is then `<text>`)."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of a character offset."""
        line = bisect.bisect_right(self.line_starts, offset) - 1
        return line + 1, offset - self.line_starts[line] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its line end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other` (same source)."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Label:
    """A place marked in a message, with a few words beside the carets."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: what was found, what was expected, where, and what to do about it.

    slug: the stable name of the kind of problem (`unknown-name`); `dcrfdsl check --explain SLUG` explains it.
    message: what was found, and what was expected.
    primary: the place of the mistake in a template.
    secondary: the places that explain it.
    help: what to do.
    severity: `error`, `warning` or `note`.
    location: in place of `primary` if the input is data and not a template: `file:line:column` as far as known.

    >>> problem = check(load_text("data conll(tag)\\nlabel tag in {A, B, A}\\nclique tag"))[0]
    >>> problem.severity, problem.slug
    ('error', 'state-twice')
    """

    slug: str
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    help: str | None = None
    severity: Literal["error", "warning", "note"] = "error"
    location: str | None = None


class DcrfError(Exception):
    """The input cannot be used: a template, data, a model file or a setting. Its text has all problems at once.

    diagnostics: the problems, a `Diagnostic` each, in order of place.

    >>> try:
    ...     load_text("label tag in {A, A}").require()
    ... except DcrfError as error:
    ...     slugs = [problem.slug for problem in error.diagnostics]
    """

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]):
        problems = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = problems
        super().__init__("\n\n".join(render(d) for d in problems))

    def __reduce__(self) -> tuple[type[DcrfError], tuple[tuple[Diagnostic, ...]]]:
        """Pickled by its diagnostics, since a worker process sends its errors back."""
        return type(self), (self.diagnostics,)


class DcrfWarning(UserWarning):
    """A warning of the checker to Python programs: the model can be used, but is hardly what was meant.

    It is issued by `warnings.warn`, and is among the notes of the training record. To stop at one:

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DcrfWarning)
    ...     model = fit("address.dcrf", corpus)
    """


def data_error(
    slug: str,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    column: int | None = None,
    help: str | None = None,
) -> DcrfError:
    """A `DcrfError` of one problem that has no place in a template: it is in a file of data or of a model, or nowhere.

    file: None for data without a file.   line, column: from 1. Without file and line the message names no place.
    """
    parts = [file or "<input>", *(str(n) for n in (line, column) if n is not None)]
    location = ":".join(parts) if file or line is not None else None
    return DcrfError(Diagnostic(slug, message, location=location, help=help))


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """All messages, a blank line between them."""
    return "\n\n".join(render(d) for d in diagnostics)


def in_a_line(diagnostic: Diagnostic) -> str:
    """The message, its place and its page on one line: for records and Python's warnings."""
    place = diagnostic.primary.span if diagnostic.primary is not None else diagnostic.location
    return f"{diagnostic.message}{f' ({place})' if place is not None else ''} [{diagnostic.slug}]"


def warn_of(remarks: Iterable[Diagnostic], depth: int) -> None:
    """Issues a `DcrfWarning` for each remark, located at the caller `depth` calls up."""
    for remark in remarks:
        warnings.warn(in_a_line(remark), DcrfWarning, stacklevel=depth + 1)


def render(diagnostic: Diagnostic) -> str:
    """One message as plain text, in the style of compilers: header, place, source lines, carets, help."""
    lines = [f"{diagnostic.severity}[{diagnostic.slug}]: {_bounded(diagnostic.message)}"]
    if diagnostic.primary is not None:
        lines.extend(_render_places(diagnostic.primary, diagnostic.secondary))
    elif diagnostic.location is not None:
        lines.append(f"  --> {printable(diagnostic.location)}")
    if diagnostic.help:
        labels = (diagnostic.primary, *diagnostic.secondary) if diagnostic.primary is not None else ()
        gutter = " " * (2 + max((len(str(label.span.line)) for label in labels), default=0))  # `=` below the bars
        first, *rest = map(_bounded, diagnostic.help.split("\n"))
        lines.append(f"{gutter}= help: {first}")
        lines.extend(f"{gutter}        {more}" for more in rest)
    return "\n".join(lines)


def _bounded(text: str) -> str:
    """The text on one line, without its middle if it is extremely long."""
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[: LONGEST_MESSAGE // 2]} … {text[-LONGEST_MESSAGE // 4 :]}"
    return printable(text)


def _render_places(primary: Label, secondary: Sequence[Label]) -> list[str]:
    source = primary.span.source
    here = [primary, *(label for label in secondary if label.span.source == source)]
    elsewhere = [label for label in secondary if label.span.source != source]
    width = 1 + max(len(str(label.span.line)) for label in [*here, *elsewhere])
    out = [f"{' ' * width}--> {printable(str(primary.span))}"]
    out.extend(_render_source(here, primary, width))
    for label in elsewhere:
        out.append(f"{' ' * width}::: {printable(str(label.span))}")
        out.extend(_render_source([label], primary, width))
    return out


def _render_source(labels: Sequence[Label], primary: Label, width: int) -> list[str]:
    """The source lines of `labels`, in order, each followed by its marks."""
    empty = " " * width
    out = [f"{empty} |"]
    by_line: dict[int, list[Label]] = {}
    for label in labels:
        by_line.setdefault(label.span.line, []).append(label)
    for number in sorted(by_line):
        marks = sorted(by_line[number], key=lambda item: -item.span.start)
        text = labels[0].span.source.line(number)
        # a mark too far from the primary one is left out
        first, last = _window(len(text), primary if primary in marks else marks[-1])
        text = text.replace("\t", " ")
        shown = ("…" if first else "") + printable(text[first:last]) + ("…" if last < len(text) else "")
        out.append(f"{number:>{width}} | {shown}".rstrip())
        for label in marks:
            start = label.span.column - 1
            if not first <= start <= last:
                continue
            # an escape is wider than the character it replaces
            before = len(printable(text[first:start])) + bool(first)
            length = max(1, len(printable(text[start : min(last, start + label.span.end - label.span.start)])))
            mark = "^" if label is primary else "-"
            out.append(f"{empty} | {' ' * before}{mark * length} {printable(label.text)}".rstrip())
    return out


def _window(length: int, mark: Label) -> tuple[int, int]:
    """The part of a line of `length` characters that is shown: all of it, or the surroundings of a mark."""
    if length <= LONGEST_LINE:
        return 0, length
    start = max(0, mark.span.column - 1 - LONGEST_LINE // 4)
    start = min(start, length - LONGEST_LINE)
    return start, start + LONGEST_LINE


# edits that a message proposes ----------------------------------------------------------------------------------------


# What a remedy says before the word to write in place of the one that was found.
_INSTEAD = re.compile(
    r"(?:did you mean|this language calls it|keywords are written in lower case:|this language writes) `([^`]+)`"
)
_QUOTED = re.compile(r"`([^`]+)`")
_ONE_WORD = re.compile(r"[\w.=<>!&|:~^*+-]+")


@dataclass(frozen=True, slots=True)
class QuickFix:
    """Replace the text at `span` by `replacement`."""

    span: Span
    replacement: str

    @property
    def title(self) -> str:
        """What the edit does, in words."""
        return f"write `{self.replacement}` in place of `{self.span.text}`"


def word_instead(diagnostic: Diagnostic, text: str) -> tuple[int, int, str] | None:
    """Where in the marked `text` another word belongs, and the word; None if the remedy proposes none.

    It takes the place of all of the text if that is one word, else of the word that the message quotes, which is likest
    to it and stands in the text once.
    """
    match = _INSTEAD.search(diagnostic.help or "")
    if match is None:
        return None
    new = match[1]
    if _ONE_WORD.fullmatch(text) and "=" not in new.strip("="):
        return 0, len(text), new
    quoted = set(_QUOTED.findall(diagnostic.message)) - {new}
    for word in sorted(quoted, key=lambda word: (SequenceMatcher(None, word, new).ratio(), word), reverse=True):
        places = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text)]
        if len(places) == 1:
            return places[0], places[0] + len(word), new
    return None


def quick_fix(diagnostic: Diagnostic) -> QuickFix | None:
    """The edit that the remedy of a message proposes; None if it proposes none, or not at one place."""
    if diagnostic.primary is None:
        return None
    span = diagnostic.primary.span
    if (found := word_instead(diagnostic, span.text)) is None:
        return None
    first, last, new = found
    return QuickFix(Span(span.source, span.start + first, span.start + last), new)
