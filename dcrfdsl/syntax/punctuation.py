"""Mistakes of layout and punctuation: misplaced lines, missing commas, colons and words of clauses.

As in `mistakes`, each function takes a `Failure` and returns a `Diagnostic`, or None for any other mistake.
"""

from __future__ import annotations

import re

from lark import Token

from ..foundation import Diagnostic, Label, Span
from .failure import ENDS_AN_ITEM, Failure
from .lexing import CLOSERS, OPENERS, UNEVEN
from .vocabulary import KEYWORDS

DECLARED = re.compile(r"^(?:label|latent|memory|view)[ \t]+(\w+)", re.MULTILINE)


# lines, commas, colons ----------------------------------------------------------------------------------------


def uneven_block(at: Failure) -> Diagnostic | None:
    if at.layout != UNEVEN:
        return None
    message = "this line is not indented like the first line of its block"
    help = "the lines of a block begin in the same column, and nothing nests deeper"
    return at.error("uneven-block", message, span=_rest_of_line(at), help=help)


def indented_statement(at: Failure) -> Diagnostic | None:
    """A statement that is indented below one without a block."""
    word = re.match(r"(\w+) +[^\W\d]", at.rest)
    if at.layout != "_INDENT" or word is None or word[1] not in KEYWORDS:
        return None
    message = f"`{word[1]}` starts a statement, but this line is indented"
    return at.error("indented-statement", message, span=at.ahead(len(word[1])), help="remove the blanks before it")


def continued_line(at: Failure) -> Diagnostic | None:
    last = at.token(1)
    if at.layout != "_INDENT" or last is None or last.type != "COMMA":
        return None
    also = (Label(at.span_of(last), "the list ends here"),)
    message = "a statement ends with its line, even after a comma"
    help = "write the list on one line; a list after `:` may also be a block, with nothing after the `:` on its line"
    return at.error("continued-line", message, span=_rest_of_line(at), also=also, help=help)


def missing_colon_before_block(at: Failure) -> Diagnostic | None:
    last = at.token(1)
    if at.layout != "_INDENT" or last is None or not at.expects(":"):
        return None
    message = f"an indented block after `{at.keyword} …`, but no `:` before it"
    also = (Label(_rest_of_line(at), "the block"),)
    span = at.span_of(last)
    return at.error(
        "missing-colon", message, "expected `:` after this", span=span, also=also, help="end this line with `:`"
    )


def unexpected_block(at: Failure) -> Diagnostic | None:
    if at.layout != "_INDENT":
        return None
    message = f"this line is indented, but the `{at.keyword}` above it takes no block"
    goes_on = at.expects(at.unexpected)
    help = "join it with the line above" if goes_on else "remove the blanks before it"
    return at.error("unexpected-block", message, span=_rest_of_line(at), help=help)


def empty_list(at: Failure) -> Diagnostic | None:
    last = at.token(1)
    if not at.at_end or last is None or last.type != "COLON" or at.opener is not None:
        return None
    help = "write the list after the `:`, or as an indented block on the lines below"
    return at.error("empty-list", "nothing follows this `:`", at.expectation(), span=at.span_of(last), help=help)


def semicolon(at: Failure) -> Diagnostic | None:
    if at.unexpected != ";":
        return None
    help = "begin a new line" if at.rest[1:].strip() else "remove it"
    return at.error("semicolon", "a statement ends with its line, not with `;`", help=help)


def missing_with(at: Failure) -> Diagnostic | None:
    if not at.expects("with") or re.match(r"\w+ *=[^=]", at.rest) is None:
        return None
    message = f"the settings of `{at.keyword}` stand after `with`"
    return at.error("missing-with", message, "expected `with` before this", help=f"write `with {at.unexpected} = …`")


def missing_parentheses(at: Failure) -> Diagnostic | None:
    """`data conll word, pos`"""
    if at.keyword != "data" or len(at.tokens) != 2 or not _starts_an_item(at):
        return None
    message = "the columns stand in brackets after the name of the format"
    return at.error(
        "missing-brackets", message, "expected `(` before this", help=f"write `{at.token(1)}({at.unexpected}, …)`"
    )


def missing_comma(at: Failure) -> Diagnostic | None:
    last = at.token(1)
    if last is None or not at.expects(",") or not at.follows(*ENDS_AN_ITEM) or not _starts_an_item(at):
        return None
    if at.expects(":") and at.opener is None and not _is_site(at):
        return None
    message = f"a comma is missing between `{_item_before(at)}` and `{at.unexpected}`"
    return at.error(
        "missing-comma", message, "expected `,` before this", help=f"write `{_item_before(at)}, {at.unexpected}`"
    )


def missing_colon(at: Failure) -> Diagnostic | None:
    last = at.token(1)
    if last is None or not at.expects(":") or at.opener is not None or not _starts_an_item(at):
        return None
    message = f"a `:` is missing before `{at.unexpected}`"
    return at.error("missing-colon", message, "expected `:` before this", help=f"write `{last}: {at.unexpected}`")


def _rest_of_line(at: Failure) -> Span:
    return at.ahead(len(at.rest.partition("#")[0].rstrip()))


def _starts_an_item(at: Failure) -> bool:
    return at.unexpected[:1].isalnum() or at.unexpected[:1] in ("_", '"', "-") or at.unexpected == "("


def _is_site(at: Failure) -> bool:
    """Whether a word between the sites of a clique and its features belongs to the sites."""
    return ":" in at.rest.partition("#")[0] or at.unexpected in DECLARED.findall(at.source.text)


def _item_before(at: Failure) -> str:
    """The last item: back to the comma, colon or word before it."""
    depth = 0
    for back in range(1, len(at.tokens) + 1):
        token = at.tokens[-back]
        depth += (token.type in CLOSERS) - (token.type in OPENERS)
        previous = at.token(back + 1)
        if depth == 0 and (previous is None or not _joined(previous, token)):
            return at.span_of(token).to(at.span_of(at.tokens[-1])).text
    return str(at.token(1) or "")


def _joined(previous: Token, token: Token) -> bool:
    """Whether two tokens belong together: `word` and `[`, `lower` and `(`, `)` and `[`."""
    return token.type in OPENERS and previous.type in ("NAME", "RPAR")
