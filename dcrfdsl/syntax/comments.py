"""Comments of other languages: found, blanked out so that reading continues, and reported once for each mark.

No line of this language begins like one of these, so such a line is taken for a comment before the file is split into
statements. After a statement the parser finds them (`mistakes.foreign_comment`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..foundation import Diagnostic, Label, Source, Span

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
