"""Comments: those of other languages, and the statements that those of this one belong to.

A comment of another language is found, blanked out so that reading continues, and reported once for each mark. No line
of this language begins like one, so such a line is taken for a comment before the file is split into statements; behind
a statement the parser finds them (`mistakes.foreign_comment`).

Comments are not tokens of the grammar, so they are read from the gaps between tokens. A `##` block at the top documents
the file, any other one the statement below it; other comments are kept for `format`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lark import Token

from ..foundation import Diagnostic, Label, Source, Span, dataclass
from .lexing import LAYOUT
from .split import Chunk, Line
from .statement_base import Trivia

SLUG = "foreign-comment"  # of `about`
LONGEST = 20_000  # characters within which the end of a comment is searched
SHOWN = 3  # further places in a message

# The start of a comment elsewhere -> its end, "" for the end of the line.
MARKS = {"//": "", "/*": "*/", "<!--": "-->", '"""': '"""', "'''": "'''", "--": "", ";": "", "%": ""}
SURE = ("//", "/*", "<!--", '"""', "'''")  # the other marks may be states in a list over several lines
LINE = re.compile(rf"^([ \t]*)({'|'.join(map(re.escape, MARKS))})(?!-)([^\n]*)", re.MULTILINE)
WORD = re.compile(r"[ \t]+[^\W\d]")
BEHIND = re.compile(r"//|/\*|<!--|--(?=\s)|%(?=\s)|;(?=[ \t]*\S)")


def comment_lines(source: Source) -> Iterator[Span]:
    """The comments on lines of their own."""
    end = 0
    for match in LINE.finditer(source.text):
        blank, mark, rest = match.groups()
        if match.start() < end or (blank and mark not in SURE and not WORD.match(rest)):
            continue
        span = comment_span(source, match.start(2), mark)
        end = span.end
        yield span


def comment_span(source: Source, start: int, mark: str) -> Span:
    """From `mark` to the end of the comment; to the end of the line if it has none."""
    text = source.text
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    closed = text.find(MARKS[mark], start + len(mark), start + LONGEST) if MARKS[mark] else -1
    return Span(source, start, line_end if closed < 0 else closed + len(MARKS[mark]))


def blanked(text: str, spans: Iterable[Span]) -> str:
    """`text` with blanks in place of everything inside `spans` except line ends. The spans are in order."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], re.sub(r"[^\n]", " ", text[span.start : span.end])]
        at = span.end
    return "".join([*parts, text[at:]])


def about(span: Span) -> Diagnostic:
    """The message about one comment."""
    mark = next(mark for mark in MARKS if span.text.startswith(mark))
    line = Span(span.source, span.start, span.start + len(span.text.partition("\n")[0].rstrip()))
    words = line.text[len(mark) :].removesuffix(MARKS[mark] or "\n").strip()
    message = f"`{mark}` begins no comment in this language"
    help = f"write `# {words}`" if words and "\n" not in span.text else "begin every line of a comment with `#`"
    return Diagnostic("foreign-comment", message, Label(line, "a comment begins with `#`"), help=help)


def merged(problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The problems, with all comments of one kind in a single message at the place of the first."""
    by_message: dict[str, list[Diagnostic]] = {}
    rest: list[Diagnostic] = []
    for problem in sorted(problems, key=_start):
        (by_message.setdefault(problem.message, []) if problem.slug == SLUG else rest).append(problem)
    for first, *others in by_message.values():
        labels = [replace(other.primary, text="and here") for other in others[:SHOWN] if other.primary is not None]
        more = f"; so do {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        help = "begin every comment with `#`" + more if others else first.help
        rest.append(replace(first, secondary=tuple(labels), help=help))
    return sorted(rest, key=_start)


def _start(problem: Diagnostic) -> int:
    return problem.primary.span.start if problem.primary is not None else 0


BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True)
class Head:
    """The lines before the first statement: the file's doc, the comments above `dcrf 1`, and the rest."""

    doc: tuple[str, ...]
    opening: tuple[str, ...]
    rest: tuple[Line, ...]


def is_doc(comment: str) -> bool:
    """Whether a comment is `## text`; a ruler of three or more `#` is an ordinary comment."""
    return comment.startswith("##") and not comment.startswith("###")


def doc_text(comment: str) -> str:
    return comment[2:].removeprefix(" ")


def kept_lines(lines: Iterable[Line | str]) -> tuple[str, ...]:
    """The lines as a statement keeps them: a run of blank lines becomes one."""
    kept: list[str] = []
    for line in lines:
        text = line if isinstance(line, str) else line.text
        if text or not kept or kept[-1]:
            kept.append(text)
    return tuple(kept)


def split_doc(lines: Sequence[Line]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The `##` text of the statement below `lines`, and the other comments."""
    doc = tuple(doc_text(line.text) for line in lines if is_doc(line.text))
    return doc, kept_lines(line for line in lines if not is_doc(line.text))


def head(before: Sequence[Line], after: Sequence[Line], *, edition: bool, statement: bool) -> Head:
    """Divides the lines at the top of a file, `before` and `after` its `dcrf 1` (all are `after` if it has none).

    The first `##` block after `dcrf 1` belongs to the file if it follows at once, or if a blank line separates it from
    the first statement (`statement`: there is one). Blocks above `dcrf 1` always do.
    """
    doc = [doc_text(line.text) for line in before if is_doc(line.text)]
    opening = kept_lines(line for line in before if not is_doc(line.text))
    first = next((i for i, line in enumerate(after) if is_doc(line.text)), len(after))
    last = next((i for i in range(first, len(after)) if not is_doc(after[i].text)), len(after))
    separated = not statement or any(not line.text for line in after[last:])
    if (edition and first == 0) or separated:
        doc += [doc_text(line.text) for line in after[first:last]]
        after = [*after[:first], *after[last:]]
    return Head(tuple(doc), strip_end(strip(opening)), tuple(after))


def strip(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without a blank line at the start. (Runs of blank lines are already merged.)"""
    return lines[1:] if lines and not lines[0] else lines


def strip_end(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without a blank line at the end."""
    return lines[:-1] if lines and not lines[-1] else lines


def between(gap: Sequence[Line], block: bool) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Divides the lines between two statements: the tail of the first one's block, and the lines before the second.

    The tail ends with the last indented comment that follows no unindented one.
    """
    if not block:
        return (), tuple(gap)
    tail = 0
    for i, line in enumerate(gap):
        if line.text and not line.indented:
            break
        if line.text:
            tail = i + 1
    return tuple(gap[:tail]), tuple(gap[tail:])


def is_plain(text: str) -> bool:
    """Whether a statement has neither a comment nor a blank line inside it, so that `inner` finds nothing."""
    return "#" not in text and BLANK_LINE.search(text) is None


def inner(chunk: Chunk, tokens: Sequence[Token], tail: Sequence[Line]) -> tuple[tuple[str, ...], Trivia]:
    """The comments inside a statement. Those inside brackets over several lines come first or, in a block, before their
    line, because `format` closes such brackets on one line."""
    above: list[str] = []
    ends = [""]  # for the statement's first line, then for each line of its block
    inside: list[list[str]] = []
    text, place = chunk.source.text, chunk.start
    breaks = False
    for token in tokens:
        if token.type in LAYOUT:
            breaks = breaks or token.type in ("_INDENT", "_NL")
            continue
        end, lines = _gap(text[place : token.start_pos])
        place = token.end_pos or place
        if breaks:
            inside.append(lines)
            ends[-1] = end
            ends.append("")
        else:
            (inside[-1] if inside else above).extend(line for line in (end, *lines) if line)
        breaks = False
    ends[-1] = _gap(text[place : chunk.end])[0]
    inside.append([line.text for line in tail])
    rows = tuple(kept_lines(lines) for lines in inside)
    return tuple(above), Trivia(
        end=ends[0], inside=rows if any(rows) else (), ends=tuple(ends[1:]) if any(ends[1:]) else ()
    )


def _gap(text: str) -> tuple[str, list[str]]:
    """The text between two tokens: the comment at the end of the first line, and the lines before the second token."""
    first, *rest = [line.strip(" \t\r") for line in text.split("\n")]
    return first, rest[:-1]
