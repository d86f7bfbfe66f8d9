"""Habits of other languages: Python's methods, slices, lists and quotes, arrows, options after the `:`.

As in `mistakes`, each function takes a `Failure` and returns a `Diagnostic`, or None for any other mistake.
Not here: lines of other tools' templates (`foreign`), their comments (`comments`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..foundation import Diagnostic, Label, Span
from .failure import Failure
from .vocabulary import KEYWORDS

METHOD = re.compile(r"\.(\w+)\(([^()\n]*)\)")
PATTERN = re.compile(r"r?([\"'])(.*?)\1 *(?:, *(\w+))?")
# Methods of Python's strings and functions of `re` -> the test or function; `{0}` is the column, `{1}` the pattern.
METHODS: Mapping[str, str] = {
    "lower": "lower({0})", "casefold": "lower({0})", "isupper": r"{0} matches /\p{{Lu}}+/",
    "islower": r"{0} matches /\p{{Ll}}+/", "istitle": r"{0} matches /\p{{Lu}}\p{{Ll}}*/",
    "isdigit": "{0} matches /[0-9]+/", "isnumeric": "{0} matches /[0-9]+/",
    "isalpha": r"{0} matches /\p{{L}}+/", "isalnum": r"{0} matches /[\p{{L}}0-9]+/",
    "startswith": "{0} has /^{1}/", "endswith": "{0} has /{1}$/",
    "match": "{0} has /^{1}/", "search": "{0} has /{1}/", "fullmatch": "{0} matches /{1}/",
}  # fmt: skip
VARIABLE = re.compile(r"^(?:label|latent|memory)[ \t]+(\w+)", re.MULTILINE)
LONGEST_COUNT = 4  # digits of a repetition count worth repeating
ARROW = re.compile(r"(\S+) *-> *(\S+) *$")


def python_call(at: Failure) -> Diagnostic | None:
    """`word.lower()`, `re.match("[A-Z]", word)`"""
    name, match = at.token(1), METHOD.match(at.rest)
    if name is None or not at.follows("NAME") or not at.adjacent or match is None:
        return None
    argument = PATTERN.match(match[2])
    column = str(name) if name != "re" else (argument[3] if argument and argument[3] else "COLUMN")
    ours = METHODS.get(match[1], f"{match[1]}({{0}})")
    pattern = argument[2].replace("/", r"\/") if argument else ""
    span = at.span_of(name).to(at.ahead(len(match[0])))
    message = f"`{span.text}` is Python; here a function stands before its column, and a regex behind it"
    return at.error("python-call", message, span=span, help=f"write `{ours.format(column, pattern)}`")


def python_slice(at: Failure) -> Diagnostic | None:
    """`word[-3:]`, `word[:3]`"""
    if at.unexpected != ":" or not at.within("LSQB") or at.opener is None or at.token(1) is None:
        return None
    match = re.match(r": *([+-]?[0-9]+)? *\]", at.rest)
    first = str(at.token(1)) if at.follows("INT") else ""
    name = at.token(3 if first else 2)
    if match is None or name is None or (first and match[1]):
        return None
    digits = first or match[1] or ""
    count = int(digits or 0) if len(digits) <= LONGEST_COUNT else 0
    span = at.span_of(name).to(at.ahead(len(match[0])))
    ours = f"suffix({name}, {-count})" if first and count < 0 else f"prefix({name}, {count})" if count > 0 else ""
    help = f"letters of a word are `{ours or f'prefix({name}, 1..3)'}`; positions around it `{name}[-1..1]`"
    message = f"`{span.text}` is a slice of Python; brackets hold positions in the sentence"
    return at.error("python-slice", message, span=span, help=help)


def range_dash(at: Failure) -> Diagnostic | None:
    """`suffix(word, 1-3)`"""
    match = re.match(r" ?[-–] ?([0-9]+)", at.rest)
    if not at.within("LPAR") or not at.follows("INT") or not at.adjacent or match is None:
        return None
    message = f"a range is written with `..`, found `{match[0].strip()}`"
    return at.error("window-dots", message, span=at.ahead(len(match[0])), help=f"write `{at.token(1)}..{match[1]}`")


def quoted_name(at: Failure) -> Diagnostic | None:
    """`clique y: "word"`: the name of a column in quotes."""
    match = re.match(r"([\"'])([^\W\d]\w*)\1", at.rest)
    if match is None or not at.expects("NAME") or at.expects("STRING"):
        return None
    message = f"{match[0]} is a text, and a name is needed here"
    tests = at.follows("EQUAL") and at.follows("NAME", back=2) and at.keyword in ("forbid", "require")
    help = f"to test a column, write `{at.token(2)} is {match[0]}`; a state is `{match[2]}`" if tests else None
    return at.error("quoted-name", message, span=at.ahead(len(match[0])), help=help or f"write `{match[2]}`")


def bracketed_list(at: Failure) -> Diagnostic | None:
    """`features f: [word, pos]`, `features f { word }`, `clique (a, b)`"""
    closing = {"[": "]", "{": "}", "(": ")"}.get(at.unexpected)
    listed = at.follows("COLON", "CLIQUE") or (at.unexpected == "{" and at.expects(":"))
    if closing is None or closing not in at.rest or at.opener is not None or not listed:
        return None
    body = at.rest[1:].partition(closing)[0].strip()
    if not body:
        return None
    rest = at.rest.partition(closing)[2].strip()
    before = at.source.text[at.chunk.start : at.place].rstrip()
    colon = ":" if at.unexpected == "{" and not before.endswith(":") else ""
    message = "a list stands without brackets"
    return at.error("bracketed-list", message, help=f"write `{before}{colon} {body}{rest}`")


def options_behind(at: Failure) -> Diagnostic | None:
    """`clique y: word with states = all`"""
    colon = next((token for token in at.tokens if token.type == "COLON"), None)
    if (
        at.unexpected not in ("with", "where")
        or colon is None
        or at.opener is not None
        or at.keyword not in ("clique", "features")
    ):
        return None
    head = at.source.text[at.chunk.start : colon.start_pos].rstrip()
    items = at.source.text[colon.end_pos : at.place].strip()
    message = f"`{at.unexpected}` stands before the `:`"
    also = (Label(at.span_of(colon), "before this"),)
    help = f"write `{head} {at.rest.partition('#')[0].strip()}: {items}`" if "\n" not in items else None
    return at.error("clause-order", message, also=also, help=help)


def arrow(at: Failure) -> Diagnostic | None:
    """`clique a -> b`, `forbid A -> B`"""
    if at.keyword == "clique" and at.unexpected == "->" and ":" not in at.rest:
        return at.error("foreign-operator", "`->` is no operator of this language", help="write `,`")
    statement = at.source.text[at.chunk.start : at.chunk.end].partition("\n")[0]
    match = ARROW.fullmatch(statement.partition(" ")[2].strip())
    if match is None or at.keyword not in ("forbid", "require"):
        return None
    name = VARIABLE.search(at.source.text)
    label = name[1] if name else "LABEL"
    start = at.chunk.start + statement.index("->")
    message = "`->` is no operator of this language; a condition says what each position is"
    help = f"write `{at.keyword} {label}[-1] is {match[1]} and {label} is {match[2]}`"
    return at.error("foreign-operator", message, span=Span(at.source, start, start + 2), help=help)


def number_first(at: Failure) -> Diagnostic | None:
    """`3 < length(word)`"""
    match = re.match(r"([+-]?[0-9.]+) *(<=?|>=?|!?=) *([^\s,]+)", at.rest)
    if match is None or not at.expects("NAME"):
        return None
    turned = match[2].translate(str.maketrans("<>", "><"))
    help = f"write `{match[3]} {turned} {match[1]}`"
    message = f"a comparison begins with what is read, and `{match[1]}` is a number"
    return at.error("unexpected-text", message, span=at.ahead(len(match[1])), help=help)


def chained_comparison(at: Failure) -> Diagnostic | None:
    """`length(word) > 3 < 5`"""
    signs = [token for token in at.tokens[-8:] if token.type == "COMPARES"]  # a side has few tokens
    if at.unexpected not in ("<", "<=", ">", ">=") or not signs:
        return None
    message = f"a comparison has two sides, and `{at.unexpected}` begins a third"
    return at.error(
        "unexpected-text", message, help="join two comparisons: `A < B and B < C`, in brackets as a feature"
    )


def comma_in_condition(at: Failure) -> Diagnostic | None:
    if at.unexpected != "," or at.keyword not in ("forbid", "require") or not at.expects("and"):
        return None
    return at.error("foreign-operator", "`,` lists things; tests are joined by words", help="write `and`")


def several_labels(at: Failure) -> Diagnostic | None:
    """`label pos, chunk`"""
    if at.unexpected != "," or at.keyword not in ("label", "latent") or len(at.tokens) != 2:
        return None
    names = re.findall(r"[^\W\d]\w*", f"{at.token(1)} {at.rest.partition('#')[0]}")
    if set(names) & {"in", "with", *KEYWORDS}:
        names = names[:2]
    ours = "` and `".join(f"{at.keyword} {name}" for name in names)
    return at.error("two-statements", f"`{at.keyword}` declares one variable", help=f"write `{ours}`, each on its line")


def file_as_lexicon(at: Failure) -> Diagnostic | None:
    """`word in "days.txt"`"""
    if (
        not at.follows("IN")
        or not at.unexpected.startswith('"')
        or len(at.unexpected) < 3
        or at.keyword in ("label", "latent")
    ):
        return None
    name = re.sub(r"\W+", "_", at.unexpected[1:-1].rpartition("/")[2].partition(".")[0]).strip("_") or "entries"
    help = f"declare `lexicon {name} = {at.unexpected}` and write `in {name}`"
    return at.error("unexpected-text", f"`in` takes a lexicon or a set, found {at.unexpected}", help=help)


def bare_exception(at: Failure) -> Diagnostic | None:
    """`once y except A`, `once y except A, B`"""
    if at.keyword != "once" or not at.expects("{") or str(at.token(1)) != "except" or at.at_end:
        return None
    listed = re.match(r"[\[(]?\s*([^\s,\[\](){}#]+(?:\s*,\s*[^\s,\[\](){}#]+)*)", at.rest)
    help = f"write `except {{{listed[1]}}}`" if listed else "write `except {A, B}`"
    return at.error("missing-braces", "a set of states stands between `{` and `}`", "expected `{`", help=help)


def missing_limit(at: Failure) -> Diagnostic | None:
    """`segment y: length`, `segment y up 5: length`, `segment y 5: length`"""
    if at.keyword != "segment" or not at.expects("up", "to"):
        return None
    number = re.match(r"(?:to\s+)?([0-9]+)", at.rest)
    said = number[1] if number else "N"
    message = f"`segment {at.tokens[1]}` does not say how long segments may be"
    words = f"expected `up to {said}`" if at.expects("up") else f"expected `to {said}`"
    help = f"write `segment {at.tokens[1]} up to {said if number else 8}`: the most tokens of a segment"
    if not number:
        help += "; longer ones are possible `with longer = together`"
    return at.error("missing-limit", message, words, help=help)
