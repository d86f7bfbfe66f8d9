"""`parse`: from the text of a template to its tree, or to every syntax error in it.

The stages: split into statements; for each one check its beginning, run the parser, build the node, attach the
comments. A statement with an error is left out of the tree and the others continue. Not here: the messages
(`statement_start_errors`, `hints`), the meaning of names (`semantics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from lark import Token
from lark.exceptions import UnexpectedInput
from lark.utils import TextSlice

from ..foundation import DcrfError, Diagnostic, Label, Source, Span, dataclass, require_kind, shell_word
from . import comments
from .build import Edition, StatementBuilder
from .failure import Failure
from .foreign import tool_of
from .hints import explain
from .lexing import CLOSERS, LAYOUT, OPENERS, parser
from .nodes import relocated
from .split import Chunk, Line, split_statements, unindented_lines
from .statement_base import Statement, Trivia
from .statement_start_errors import NO_ADVICE, look_at_opening
from .statements import Template

EDITION = 1
FEW = 4  # lines that begin no statement
MAX_CHARACTERS = 1_000_000
MAX_ERRORS = 100
MAX_NESTING = 32  # brackets and `not`s around one expression: safe for every recursive walk over the tree


def parse(text: str, name: str = "<text>") -> Template:
    """The syntax tree of a template, for tools that look at its text; models are read by `load_text`.

    text: of the template.
    name: stands in messages for the name of a file.

    Returns a `Template` of `dcrfdsl.syntax.statements`. Raises DcrfError with all its syntax errors.

    >>> len(parse("label tag in {A, B}").statements)
    1
    """
    require_kind(text, str, "text", "the text of a template")
    template, problems = parse_partial(text, name)
    if problems:
        raise DcrfError(problems)
    return template


def parse_partial(text: str, name: str = "<text>", places: bool = True) -> tuple[Template, tuple[Diagnostic, ...]]:
    """The tree of the statements that parse, and the syntax errors of the others in order of place.

    places: False is faster, and the places of nodes then mean nothing; a layout does not need them.
    """
    source = Source(name, text.removeprefix("\ufeff"))
    if len(source.text) > MAX_CHARACTERS:
        message = f"a template of {len(source.text):,} characters; expected at most {MAX_CHARACTERS:,}"
        help = "is this a data file? A template describes a model; long lists belong in a lexicon or a state file"
        problem = Diagnostic("file-too-large", message, location=name, help=help)
        return Template(statements=()).at(Span(source, 0, 0)), (problem,)
    foreign = list(comments.comment_lines(source))
    problems = [comments.about(span) for span in foreign]
    code = comments.blanked(source.text, foreign)
    chunks, after_last = split_statements(source, code)
    strays = unindented_lines(chunks)
    gaps = [*(chunk.gap for chunk in chunks[1:]), after_last]  # gaps[i]: the lines below chunk i
    read: list[_Read] = []
    rest: Sequence[Line] = chunks[0].gap if chunks else after_last
    limit = len(problems) + MAX_ERRORS
    for i, chunk in enumerate(chunks):
        above, rest = rest, gaps[i]
        if len(problems) >= limit:
            message = f"more than {MAX_ERRORS} syntax errors; the rest of the file was not read"
            problems.append(Diagnostic("too-many-errors", message, Label(chunk.first_line)))
            break
        if i in strays:
            problems.extend(filter(None, [strays[i]]))
            continue
        parsed, mistakes, code = _parse_around_comments(chunk, code, chunks[i - 1] if i else None, places)
        problems.extend(mistakes)
        if parsed is None:
            continue
        statement, tokens, place = parsed
        tail, rest = comments.between(rest, any(token.type == "_INDENT" for token in tokens))
        # a comment of another language would not be a comment in the formatted statement
        bare = foreign or mistakes or (not tail and comments.is_plain(chunk.text))
        inner_comments = ((), Trivia()) if bare else comments.inner(place, tokens, tail)
        read.append(_Read(statement, tuple(above), *inner_comments))
    return _template(source, read, rest), tuple(_of_no_template(source, read, problems) or comments.merged(problems))


def _of_no_template(source: Source, read: Sequence[_Read], problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """A single problem for a file of another tool, or one in which almost no line begins a statement."""
    foreign = [problem for problem in problems if problem.slug == "foreign-line"]
    if not read and len(foreign) > 1 and 2 * len(foreign) > len(problems) and foreign[0].primary is not None:
        message = f"`{source.name}` is a template of {tool_of(foreign[0].primary.span.text)}"
        help = f"`dcrfdsl convert {shell_word(source.name)}` makes one of this language of it"
        return [Diagnostic("foreign-template", message, foreign[0].primary, help=help)]
    strange = [problem for problem in problems if problem.help == NO_ADVICE]
    if len(strange) < FEW or len(strange) < 9 * len(read) or 2 * len(strange) < len(problems):
        return []
    message = f"`{source.name}` is no template: its lines do not begin like statements"
    help = "is it data? a template comes first, as in `dcrfdsl train TEMPLATE DATA`; `dcrfdsl new` lists some"
    return [Diagnostic("no-template", message, strange[0].primary, help=help)]


# one statement ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """A parsed statement, the lines above it, and the comments inside it."""

    statement: Statement | Edition
    above: tuple[Line, ...]
    lifted: tuple[str, ...]  # comments inside its brackets, which `format` moves above it
    trivia: Trivia


# The node of a statement, its tokens with those of the layout filter, and the chunk in which they have their places.
_Parsed: TypeAlias = tuple[Statement | Edition, Sequence[Token], Chunk]


def _parse_around_comments(
    chunk: Chunk, code: str, previous: Chunk | None, places: bool
) -> tuple[_Parsed | None, list[Diagnostic], str]:
    """A statement if it can be read, its problems, and `code` with blanks in place of foreign comments."""
    alone = not chunk.indented and len(chunk.text) <= LONGEST_KEPT and code.startswith(chunk.text, chunk.start)
    kept = _kept_statement(chunk.text) if alone else None
    if kept is not None:
        return (_moved(kept[0], chunk) if places else kept[0], *kept[1:]), [], code
    problems: list[Diagnostic] = []
    while True:
        try:
            return _parse_chunk(chunk, code, previous), problems, code
        except DcrfError as error:
            problems.extend(error.diagnostics)
            comment = error.diagnostics[0].primary
            if error.diagnostics[0].slug != comments.SLUG or comment is None or len(problems) >= MAX_ERRORS:
                return None, problems, code
            code = comments.blanked(code, [comment.span])


def _parse_chunk(chunk: Chunk, code: str, previous: Chunk | None) -> _Parsed:
    """Raises `DcrfError` for a mistake."""
    problem = look_at_opening(chunk, previous)
    if problem is not None:
        raise DcrfError(problem)
    run = parser().parse_interactive(TextSlice(code, chunk.start, chunk.end))
    tokens: list[Token] = []
    nesting = _Nesting(chunk)
    try:
        for token in run.iter_parse():  # yields a token before the parser accepts it
            tokens.append(token)
            nesting.check(token)
        tree = run.feed_eof(tokens[-1] if tokens else None)
    except UnexpectedInput as error:
        raise DcrfError(explain(Failure.of(chunk, tokens, error, run.accepts()))) from None
    statement = StatementBuilder(chunk.source).build(tree)
    if isinstance(statement, Edition):
        _check_edition(statement, previous)
    return statement, tokens, chunk


def _check_edition(edition: Edition, previous: Chunk | None) -> None:
    if previous is not None:
        message = "`dcrf` names the edition of the language and stands at the top of a file"
        others = (Label(previous.first_line, "found after this statement"),)
        raise DcrfError(Diagnostic("misplaced-edition", message, Label(edition.span), others, "move it to the top"))
    if edition.number != EDITION:
        message = f"edition {edition.number} of the language is not known"
        help = "a newer `dcrfdsl` may read this file" if edition.number > EDITION else None
        label = Label(edition.span, f"this version reads `dcrf {EDITION}`")
        raise DcrfError(Diagnostic("unknown-edition", message, label, help=help))


class _Nesting:
    """Counts the open brackets and `not`s at a token, and refuses more than a recursion can handle."""

    def __init__(self, chunk: Chunk):
        self.chunk = chunk
        self.nots = [0]  # outside brackets, then for each open bracket: the `not`s in a row before this token

    def check(self, token: Token) -> None:
        if token.type in OPENERS:
            self.nots.append(0)
        elif token.type == "NOT":
            self.nots[-1] += 1
        elif token.type not in LAYOUT:
            if token.type in CLOSERS and len(self.nots) > 1:
                self.nots.pop()
            self.nots[-1] = 0
        if len(self.nots) - 1 + sum(self.nots) > MAX_NESTING:
            span = Span(self.chunk.source, token.start_pos or 0, token.end_pos or 0)
            message = f"brackets and `not`s are nested more than {MAX_NESTING} deep"
            raise DcrfError(Diagnostic("nested-too-deep", message, Label(span, f"level {MAX_NESTING + 1}")))


# the file -----------------------------------------------------------------------------------------------------


def _template(source: Source, read: Sequence[_Read], closing: Sequence[Line]) -> Template:
    """The statements with their comments. `closing` are the lines after the last statement."""
    edition = read[0] if read and isinstance(read[0].statement, Edition) else None
    body = read[1:] if edition else read
    top = comments.head(
        edition.above if edition else (),
        body[0].above if body else closing,
        edition=edition is not None,
        statement=bool(body),
    )
    statements = []
    for i, item in enumerate(body):
        doc, before = comments.split_doc(item.above if i else top.rest)
        if i == 0 and edition is None and not top.doc:
            before = comments.strip(before)
        if isinstance(item.statement, Statement):
            around = replace(item.trivia, before=(*before, *item.lifted))
            statements.append(item.statement.model_copy(update={"doc": doc, "trivia": around}))
    after = comments.kept_lines(closing if body else top.rest)
    return Template(
        statements=tuple(statements),
        edition=edition.statement.number if edition and isinstance(edition.statement, Edition) else None,
        doc=top.doc,
        opening=top.opening,
        edition_end=edition.trivia.end if edition else "",
        closing=comments.strip_end(after),
    ).at(Span(source, 0, len(source.text)))


# statements that were parsed before -----------------------------------------------------------------------------

# An editor sends the whole text at each key pressed. A statement is kept by its text, with places that count from its
# first character, and moved to where it stands. One with a mistake is not, as its messages depend on what is around it.
MOST_KEPT = 1024
LONGEST_KEPT = 5_000  # characters of a statement


@lru_cache(maxsize=MOST_KEPT)
def _kept_statement(text: str) -> tuple[Statement, Sequence[Token], Chunk] | None:
    """The statement of a text that says nothing wrong, whatever stands around it."""
    try:
        statement, tokens, chunk = _parse_chunk(Chunk(Source("", text), 0, len(text), ()), text, None)
    except DcrfError:
        return None
    return (statement, tokens, chunk) if isinstance(statement, Statement) and not statement.problems else None


def _moved(statement: Statement, chunk: Chunk) -> Statement:
    """The same statement at the place of a chunk, which takes longer than all else."""
    source, by = chunk.source, chunk.start
    moved: Statement = relocated(statement, lambda span: Span(source, span.start + by, span.end + by))
    return moved
