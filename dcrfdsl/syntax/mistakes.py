"""Known mistakes: each function recognises one at the place where the parser stopped.

Each takes a `Failure` and returns a `Diagnostic`, or None for any other mistake. `hints` orders them. First those of
quotes, brackets, words and operators, then those of lines, blocks, commas and colons. Not here: how a
statement begins (`statement_start_errors`), the words of other languages (`vocabulary`).
"""

from __future__ import annotations

import difflib
import re

from lark import Token

from ..foundation import Diagnostic, Label, Span
from .comments import BEHIND, about, comment_span
from .failure import ENDS_AN_ITEM, Failure
from .lexing import CLOSERS, OPENERS, REGEX, UNEVEN
from .resources import other_words
from .vocabulary import CLAUSES, KEYWORDS, RESERVED, describe_character

CLOSING = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
SIGNED = re.compile(r"[+-] ?[0-9]+(?![\w.])")
TESTS = ("is", "in", "has", "matches", "not", "and", "or", "=", "!=", "<", "<=", ">", ">=")
WINDOW_TEST = re.compile(r"(\w+)\[ *([+-]?[0-9]{1,4}) *\.\. *([+-]?[0-9]{1,4}) *\] *(.+)")
LONGEST_WINDOW = 12  # positions that a message writes out
TIMES_OFFSET = re.compile(r"(offset\([^()]*)\) *\* *([\w.]+)|([\w.]+) *\* *(offset\([^()]*)\)")
IN_PARENTHESES = re.compile(r"\( *([+-]?[0-9]+(?: *\.\. *[+-]?[0-9]+)?) *\)")


# quotes, slashes, characters ----------------------------------------------------------------------------------


def unclosed_string(at: Failure) -> Diagnostic | None:
    if at.unexpected != '"':
        return None
    return at.error("unclosed-string", 'this `"` is not closed on its line', help='end the text with a second `"`')


def quoted_regex(at: Failure) -> Diagnostic | None:
    if not at.follows("MATCHES", "HAS") or len(at.unexpected) < 2 or not at.unexpected.startswith('"'):
        return None
    operator, regex = at.token(1), f"/{at.unexpected[1:-1].replace('/', chr(92) + '/')}/"
    help = f"write `{operator} {regex}`" if REGEX.fullmatch(regex) else None
    return at.error("quoted-regex", f"`{operator}` takes a regex between slashes, found a quoted text", help=help)


def unclosed_regex(at: Failure) -> Diagnostic | None:
    if at.unexpected != "/" or not at.follows("MATCHES", "HAS"):
        return None
    if at.rest.startswith("//"):
        return at.error("unclosed-regex", "this regex is empty", "expected a pattern between the slashes")
    help = "end it with a second `/`; inside it a slash is written `\\/` and a single bracket `\\[`"
    return at.error("unclosed-regex", "this regex is not closed on its line", help=help)


def bare_regex(at: Failure) -> Diagnostic | None:
    if not at.follows("MATCHES", "HAS") or at.at_end:
        return None
    bare, operator = re.split(r"[\s,]", at.rest, maxsplit=1)[0], at.token(1)
    raw = re.fullmatch(r"r?([\"'])(.*)\1", bare)
    regex = f"/{raw[2] if raw else bare}/"
    help = f"write `{operator} {regex}`" if REGEX.fullmatch(regex) else None
    message = f"`{operator}` takes a regex between slashes, found `{bare}`"
    return at.error("bare-regex", message, span=at.ahead(len(bare)), help=help)


def strange_character(at: Failure) -> Diagnostic | None:
    """A character that looks like one of the language, or an invisible one."""
    description = describe_character(at.unexpected[:1])
    if description is None:
        return None
    shown, help = description
    return at.error("strange-character", f"unexpected character {shown}", help=help)


def foreign_comment(at: Failure) -> Diagnostic | None:
    """`clique y: word // why`. After `;` the user may have meant another statement."""
    match = BEHIND.match(at.rest)
    statement = re.match(r";[ \t]*(\w+)", at.rest)
    if match is None or (statement is not None and statement[1] in KEYWORDS):
        return None
    return about(comment_span(at.source, at.place, match[0]))


def tested_argument(at: Failure) -> Diagnostic | None:
    """`any(word[-2..-1] in days)`: a test as the argument of a function."""
    negated = at.token(1) is not None and str(at.token(1)) == "not"  # read as the name of an argument
    if not (at.unexpected in TESTS or negated) or not at.within("LPAR") or at.opener is None:
        return None
    before = [token for token in at.tokens if (token.end_pos or 0) <= (at.opener.start_pos or 0)]
    if not before or before[-1].type != "NAME" or at.expects("and"):
        return None
    name, start = before[-1], at.opener.end_pos or 0
    body = _enclosed(at.source.text[start : at.chunk.end])
    span = Span(at.source, name.start_pos or 0, start + len(body) + 1)
    joint = {"any": "or", "some": "or", "exists": "or", "all": "and", "every": "and", "none": "or"}.get(
        str(name).lower()
    )
    message = f"`{name}(…)` is given a test, and functions take a column, or a function of one"
    window = WINDOW_TEST.fullmatch(body.strip())
    positions = range(int(window[2]), int(window[3]) + 1) if window else range(0)
    if joint and window and 0 < len(positions) <= LONGEST_WINDOW:
        parts = f" {joint} ".join(f"{window[1]}{f'[{k}]' if k else ''} {window[4]}" for k in positions)
        help = f"name the positions: write `{'not ' if str(name).lower() == 'none' else ''}({parts})`"
    else:
        help = f"a test stands by itself: write `{body.strip()}`" if window is None else "join the positions by `or`"
    return at.error("test-as-argument", message, "a test", span=span, help=help)


def _enclosed(text: str) -> str:
    """`text`, which begins inside a bracket, up to the end of that bracket, or of the line."""
    depth = 1
    for n, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 or char == "\n":
            return text[:n]
    return text


# places -------------------------------------------------------------------------------------------------------


def window_dots(at: Failure) -> Diagnostic | None:
    if not at.follows("INT") or at.unexpected not in (":", "...", "to") or not at.expects(".."):
        return None
    last = re.match(r" *([+-]?[0-9]+)", at.rest[len(at.unexpected) :])
    help = f"write `{at.token(1)}..{last[1]}`" if last else "write `-2..2`"
    return at.error("window-dots", f"a window is written with `..`, found `{at.unexpected}`", help=help)


def offset_brackets(at: Failure) -> Diagnostic | None:
    """`chunk-1`, and `chunk(-1)` where no call is allowed"""
    name, signed, enclosed = at.token(1), SIGNED.match(at.rest), IN_PARENTHESES.match(at.rest)
    match = signed or enclosed
    if name is None or name.type != "NAME" or match is None or not at.expects("["):
        return None
    shift = (signed[0].replace(" ", "") if signed else match[1]).removeprefix("+")
    span = at.span_of(name).to(at.ahead(len(match[0])))
    message = f"an offset stands in square brackets, found `{span.text}`"
    return at.error("offset-brackets", message, span=span, help=f"write `{name}[{shift}]`")


# brackets -----------------------------------------------------------------------------------------------------


def unmatched_bracket(at: Failure) -> Diagnostic | None:
    """A closing bracket of the wrong kind or without an opening one"""
    if at.unexpected not in CLOSING.values():
        return None
    if at.opener is None:
        return at.error("unmatched-bracket", f"`{at.unexpected}` closes nothing", "no bracket is open here")
    expected = CLOSING[at.opener.type]
    if at.unexpected == expected:
        return None
    also = (Label(at.span_of(at.opener), "opened here"),)
    message = f"`{at.opener}` is closed by `{at.unexpected}`"
    return at.error("unmatched-bracket", message, f"expected `{expected}`", also=also)


def unclosed_bracket(at: Failure) -> Diagnostic | None:
    """The statement ends inside a bracket, or the parser stopped in one that is not closed on its line."""
    if at.opener is None:
        return None
    span, opening, closing = at.span_of(at.opener), str(at.opener), CLOSING[at.opener.type]
    on_the_line_of_the_bracket = "\n" not in at.source.text[span.end : at.place]
    if not at.at_end and on_the_line_of_the_bracket and _closes(at.rest, opening, closing):
        return None
    also = () if at.at_end else (Label(at.span, f"expected `{closing}` before this"),)
    return at.error("unclosed-bracket", f"this `{opening}` is never closed", span=span, also=also)


def _closes(text: str, opening: str, closing: str) -> bool:
    """Whether `text`, which begins inside a bracket, closes it. Brackets in quotes and comments do not count."""
    depth = 1
    for char in re.sub(r'"(\\.|[^"\\])*"|#.*', "", text):
        depth += (char == opening) - (char == closing)
        if depth == 0:
            return True
    return False


# words and operators ------------------------------------------------------------------------------------------


def and_in_features(at: Failure) -> Diagnostic | None:
    if at.unexpected not in ("and", "or") or not at.expects("&"):
        return None
    message = f"`{at.unexpected}` joins conditions; features are crossed with `&`"
    help = {"and": "write `&`", "or": "list both features, or put the condition in brackets: `(a or b)`"}
    return at.error("and-in-features", message, "expected `&` or `,`", help=help[at.unexpected])


def ampersand_in_condition(at: Failure) -> Diagnostic | None:
    if at.unexpected not in ("&", "&&") or not at.expects("and"):
        return None
    where = "inside brackets" if at.within("LPAR") else "in a condition"
    message = f"`{at.unexpected}` crosses features; {where} tests are joined by `and`"
    return at.error("ampersand-in-condition", message, "expected `and` or `or`", help="write `and`")


def scaled_offset(at: Failure) -> Diagnostic | None:
    """`offset(logits) * 0.5`, or `0.5 * offset(logits)`, where the parser stopped before the number"""
    match = TIMES_OFFSET.match((_item_before(at) if at.unexpected == "*" else "") + at.rest)
    if match is None:
        return None
    help = f"write `{match[1] or match[4]}, scale = {match[2] or match[3]})`"
    return at.error("foreign-operator", "scores have their factor in brackets, and `*` is no operator", help=help)


def foreign_operator(at: Failure) -> Diagnostic | None:
    """`a || b`, or `a == b`: the parser took the first half of `==` for an operator of this language"""
    last, operator, span, known = at.token(1), at.unexpected, at.span, other_words("operators")
    ours = known.get(operator)
    if last is not None and at.adjacent and f"{last}{operator}" in known:
        operator, span = f"{last}{operator}", at.span_of(last).to(at.span)
        ours = str(last) if operator == f"{last}{last}" else known[operator]  # `=` of `==`, `&` of `&&`
    elif ours is None or not at.expects(ours):
        return None
    return at.error(
        "foreign-operator", f"`{operator}` is no operator of this language", span=span, help=f"write `{ours}`"
    )


def reserved_word(at: Failure) -> Diagnostic | None:
    """A word of the language as a name: the parser read it as that word and stopped after it."""
    word = at.token(1)
    if word is None or str(word) not in RESERVED or not at.expects("NAME") or word.type == "NAME":
        return None
    if not at.at_end and at.unexpected not in (",", ")", "]", "[", "&", ":", "="):
        return None
    if at.follows(*ENDS_AN_ITEM, back=2):  # it does not begin an item
        return None
    message = f"`{word}` is a word of the language and cannot be a name"
    return at.error("reserved-word", message, "expected a name", span=at.span_of(word))


def misspelt_word(at: Failure) -> Diagnostic | None:
    if not at.unexpected.isidentifier():
        return None
    words = [word for word in at.expected if word.isalpha() and word.islower()]
    close = difflib.get_close_matches(at.unexpected.lower(), words, n=1, cutoff=0.75)
    other = other_words("words").get(at.unexpected.lower())
    if close:
        return at.error("misspelt-word", f"unexpected `{at.unexpected}`", help=f"did you mean `{close[0]}`?")
    if other is not None and at.expects(other):
        return at.error("misspelt-word", f"unexpected `{at.unexpected}`", help=f"this language writes `{other}`")
    return None


def clause_order(at: Failure) -> Diagnostic | None:
    clauses = CLAUSES.get(at.keyword, ())
    if at.unexpected not in clauses or at.opener is not None:
        return None
    later = [token for token in at.tokens[1:] if str(token) in clauses and token.type != "NAME"]
    after = [token for token in later if clauses.index(str(token)) > clauses.index(at.unexpected)]
    if str(at.unexpected) in map(str, later):
        message = f"`{at.unexpected}` is given twice"
        return at.error("clause-twice", message, "the second one", help="keep one of them")
    if not after:
        return None
    also = (Label(at.span_of(after[0]), f"`{after[0]}` comes after it"),)
    order = ", ".join(f"`{clause}`" for clause in clauses)
    message = f"`{at.unexpected}` stands before `{after[0]}`"
    return at.error("clause-order", message, also=also, help=f"the order in a `{at.keyword}` statement is {order}")


def late_clause(at: Failure) -> Diagnostic | None:
    """`where` or `with` below the features in a clique's block, where it was read as the name of a feature"""
    word = at.token(1)
    if at.keyword != "clique" or word is None or word not in ("where", "with") or word.type != "NAME":
        return None
    message = f"in the block of a clique `{word}` stands above the features"
    help = "the order is: one line `where …`, one line `with …`, then the features"
    return at.error("clause-order", message, span=at.span_of(word), help=help)


def two_statements(at: Failure) -> Diagnostic | None:
    if at.unexpected not in KEYWORDS or at.opener is not None or at.expects("NAME"):
        return None
    message = f"`{at.unexpected}` starts a statement of its own"
    return at.error("two-statements", message, at.expectation(), help="put it on a new line")


# names and states ---------------------------------------------------------------------------------------------


def odd_name(at: Failure) -> Diagnostic | None:
    """`my-group`, `B-NP` after `=`: a name with a mark inside, or a state that needs quotes."""
    name = at.token(1)
    match = re.match(r"[^\s\"#(){}\[\],:=&]+", at.rest)
    if name is None or not at.follows("NAME") or not at.adjacent or match is None:
        return None
    span = at.span_of(name).to(at.ahead(len(match[0])))
    if at.follows("EQUAL", back=2) or (at.keyword in ("label", "latent", "memory") and at.within("LPAR")):
        message = f"`{span.text}` is no plain name"
        return at.error(
            "unquoted-state", message, "expected a name or a quoted text", span=span, help=f'write `"{span.text}"`'
        )
    plain = re.sub(r"\W+", "_", span.text).strip("_")
    if plain == name:
        return None
    message = f"`{span.text}` is no name; a name has letters, digits and `_`"
    return at.error("odd-name", message, span=span, help=f"for instance `{plain}`")


def unquoted_state(at: Failure) -> Diagnostic | None:
    """A mark of the language as a state: `{A, :}`, `missing = ?`"""
    wants_state = at.expects("STATE") and at.unexpected in tuple(":=&")
    wants_value = at.follows("EQUAL") and at.expects("FLOAT") and not at.at_end and not at.unexpected.isidentifier()
    if not wants_state and not wants_value:
        return None
    text = re.split(r"[\s,)}]", at.rest, maxsplit=1)[0] or at.unexpected
    message = f"`{text}` needs quotes here"
    return at.error("unquoted-state", message, at.expectation(), span=at.ahead(len(text)), help=f'write `"{text}"`')


def unquoted_text(at: Failure) -> Diagnostic | None:
    if at.expected != {"STRING"} or at.at_end:
        return None
    text = at.rest.partition(" ")[0]
    message = f"`{text}` needs quotes here"
    return at.error("unquoted-text", message, at.expectation(), span=at.ahead(len(text)), help=f'write `"{text}"`')


def missing_braces(at: Failure) -> Diagnostic | None:
    """`label y in (A, B)`, `label y in A, B`"""
    bracket, comma = at.follows("IN") and at.unexpected in ("(", "["), at.follows("IN", back=2) and at.unexpected == ","
    if not bracket and not comma:
        return None
    message = "a set of states stands between `{` and `}`"
    inside = re.match(r"[(\[]([^()\[\]{}\n]+)[)\]]", at.rest) if bracket else None
    listed = re.sub(r"(['\"])([^\s{}(),\"'#:=&\[\]]+)\1", r"\2", inside[1].strip()) if inside else ""
    help = f"write `in {{{listed}}}`" if listed else "for instance `in {B, I, O}`"
    return at.error("missing-braces", message, "expected `{`" if bracket else "", help=help)


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
    if at.layout != "_INDENT" or not at.follows("COMMA"):
        return None
    also = (Label(at.span_of(at.tokens[-1]), "the list ends here"),)
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
    if not at.at_end or not at.follows("COLON") or at.opener is not None:
        return None
    help = "write the list after the `:`, or as an indented block on the lines below"
    return at.error(
        "empty-list", "nothing follows this `:`", at.expectation(), span=at.span_of(at.tokens[-1]), help=help
    )


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
    if not at.expects(",") or not at.follows(*ENDS_AN_ITEM) or not _starts_an_item(at):
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
