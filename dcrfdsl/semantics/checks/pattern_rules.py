r"""Rules on lexicons, lists of states and regular expressions.

Files are read only as far as a template can be wrong about them: whether they exist, whether a lexicon is a set or a
map, whether its entries can match. RE2 says what is wrong with a pattern but not where; the fragment that it quotes is
located in the pattern. Not here: loading files for training (`features`, `data`), matching.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ...foundation import Diagnostic, Span
from ...syntax import Apply, Has, InLexicon, Lexicon, Matches, Reference, Regex, StateFile, other_words
from ..conditions import compile_regex
from ..schema import nodes, reference_names
from .context import Context, Rule, every_node


def is_map(context: Context, lexicon: Lexicon) -> bool | None:
    """Whether a lexicon has values; None if its file cannot be read."""
    lines = _lines(context, lexicon)
    if isinstance(lines, str):
        return None
    return next(("\t" in line for line in lines), None)


def missing_lexicon(context: Context) -> Iterator[Diagnostic]:
    for lexicon in context.spec.lexicons:
        lines, at = _lines(context, lexicon), lexicon.place_of("path")
        if lexicon.name in context.directories and isinstance(lines, str):
            message = f"cannot read the file of lexicon `{lexicon.name}`: {lines}"
            remedy = "the path is relative to the file that declares the lexicon"
            yield context.complaint("missing-lexicon", message, at, "this file", remedy)
        elif not isinstance(lines, str) and not lines:
            message = f"the file of lexicon `{lexicon.name}` is empty"
            yield context.complaint("bad-lexicon", message, at, "this file", "a lexicon has one entry a line")
        elif not isinstance(lines, str) and len({"\t" in line for line in lines}) == 2:
            first = "\t" in lines[0]
            odd = next(line for line in lines if ("\t" in line) != first)
            message = f"lexicon `{lexicon.name}` mixes lines with and without a TAB: `{odd.strip()}`"
            remedy = "a set has one entry a line; a map has an entry, a TAB and a value in every line"
            yield context.complaint("bad-lexicon", message, at, "this file", remedy)


def missing_states(context: Context) -> Iterator[Diagnostic]:
    for variable in context.spec.variables:
        domain = variable.domain
        if not isinstance(domain, StateFile) or variable.name not in context.directories:
            continue
        lines = context.lines(context.directories[variable.name] / domain.path)
        if not lines or isinstance(lines, str):
            message = f"cannot read the states of `{variable.name}`: {lines or 'the file is empty'}"
            remedy = "the path is relative to the file that declares the variable; the file has one state a line"
            yield context.complaint("missing-states", message, domain, "this file", remedy)


def multi_word_entries(context: Context) -> Iterator[Diagnostic]:
    """`word in places` compares a token with whole entries: an entry of several words never matches one."""
    data = context.spec.data
    if data is None or data.format != "conll" or any(option.name == "separator" for option in data.options):
        return  # tokens may have spaces
    lexicons = {lexicon.name: lexicon for lexicon in context.spec.lexicons}
    uses: dict[str, tuple[Span, str]] = {}
    spanned = set[str]()
    for _, node in every_node(context.spec):
        match node:
            case InLexicon(lexicon=name, term=Reference(name=column)):
                uses.setdefault(name, (node.place_of("lexicon"), column))
            case Apply(function="span", arguments=(_, *further)):
                spanned.update(one.value.name for one in further if isinstance(one.value, Reference))
            case Apply(function=name, arguments=(first, *_)) if name in lexicons:
                column = next(reference_names(nodes(first.value)), "COLUMN")
                uses.setdefault(name, (node.place_of("function"), column))
    for name, (place, column) in uses.items():
        if name not in lexicons or name in spanned:
            continue
        lines = _lines(context, lexicons[name])
        entries = [] if isinstance(lines, str) else [line.partition("\t")[0].strip() for line in lines]
        several = [entry for entry in entries if len(entry.split()) > 1]
        if several:
            have = f"{len(several)} entries of `{name}` have several words (such as `{several[0]}`)"
            if len(several) == 1:
                have = f"1 entry of `{name}` has several words (`{several[0]}`)"
            message = f"{have} and can never match one token"
            remedy = f"`span({column}, {name})` marks entries of several words"
            where = [(lexicons[name].place_of("path"), f"{len(entries)} entries are read from here")]
            yield context.warning("multi-word-entry", message, place, "compared with single tokens", remedy, where)


def _lines(context: Context, lexicon: Lexicon) -> tuple[str, ...] | str:
    """The non-blank lines of a lexicon, or why they cannot be read."""
    if lexicon.name not in context.directories:
        return "its directory is not known"
    return context.lines(context.directories[lexicon.name] / lexicon.path)


# regular expressions --------------------------------------------------------------------------------------------------


Fault: TypeAlias = tuple[int, int, str, str | None]  # first and last+1 character, what is wrong, remedy


def bad_regex(context: Context) -> Iterator[Diagnostic]:
    for _, node in every_node(context.spec):
        if isinstance(node, Regex):
            error = compile_error(node)
            if error is not None:
                start, end, wrong, remedy = _fault(node.pattern, error)
                message = f"`/{node.pattern}/` is no regular expression: {wrong}"
                yield context.complaint("bad-regex", message, _inside(node, start, end), "here", remedy)


def ascii_class(context: Context) -> Iterator[Diagnostic]:
    r"""`[A-Z]` and `\w` are ASCII: worth a message only if the pattern or the data has other letters."""
    for _, node in every_node(context.spec):
        if not isinstance(node, Matches | Has) or compile_error(node.regex) is not None:
            continue
        match = _ASCII_CLASS.search(node.regex.pattern)
        if match is None:
            continue
        letter = next((c for c in node.regex.pattern if c.isalpha() and not c.isascii()), None)
        value = None if letter else _foreign_value(context, node.term)
        if letter is None and value is None:
            continue
        name, better = match.group(), _BETTER[match.group()]
        seen = f"and the pattern has `{letter}`" if letter else f"and the data has `{value}`"
        message = f"`{name}` stands for ASCII letters only, {seen}"
        at, remedy = _inside(node.regex, *match.span()), f"`{better}` stands for the letters of every script"
        yield context.complaint("ascii-class", message, at, "ASCII only", remedy, severity="note")


def _foreign_value(context: Context, term: Reference | Apply) -> str | None:
    """A value of the term's columns in the data that has a non-ASCII letter."""
    columns = context.data.columns if context.data else {}
    for node in nodes(term):
        values: Any = getattr(columns.get(node.name), "values", ()) if isinstance(node, Reference) else ()
        for value in values:
            if isinstance(value, str) and not value.isascii() and any(c.isalpha() and not c.isascii() for c in value):
                return value
    return None


_BETTER: Mapping[str, str] = {
    "A-Z": r"\p{Lu}", "a-z": r"\p{Ll}", r"\w": r"[\p{L}\p{N}_]", r"\W": r"[^\p{L}\p{N}_]", "[:alpha:]": r"\p{L}",
    "[:upper:]": r"\p{Lu}", "[:lower:]": r"\p{Ll}",
}  # fmt: skip
_ASCII_CLASS = re.compile("|".join(re.escape(name) for name in _BETTER))


# the place of an error ------------------------------------------------------------------------------------------


def compile_error(regex: Regex) -> str | None:
    """RE2's error message; None if the pattern is valid."""
    import re2

    try:
        compile_regex(regex)
    except re2.error as error:
        text = error.args[0] if error.args else ""
        return text.decode(errors="replace") if isinstance(text, bytes) else str(text)
    except (UnicodeError, ValueError, OverflowError) as error:  # a lone surrogate
        return f"not usable text: {error}"
    return None


def _inside(regex: Regex, start: int, end: int) -> Span:
    """Characters of a pattern as a span, which begins after the `/`; all of it where that does not hold."""
    span = regex.span
    if not span.text.startswith("/"):
        return span
    return Span(span.source, span.start + 1 + start, span.start + 1 + max(end, start + 1))


def _fault(pattern: str, error: str) -> Fault:
    """What is wrong with `{0}`, by what RE2 says of it, and the remedy, with `{1}` for it without its backslash."""
    kind, _, fragment = error.partition(": ")
    start = max(pattern.find(fragment), 0) if fragment else 0
    end = start + len(fragment) if fragment and fragment in pattern else len(pattern)
    wrong, _, remedy = other_words("faults of RE2").get(kind, "").partition("; ")
    if not wrong:
        return start, end, f"{kind}{f' `{fragment}`' if fragment else ''}", None
    opened, stray = _parentheses(pattern)
    if kind == "missing ]":
        end = start + 1
    elif kind in ("missing )", "unexpected )"):
        start = (opened or [0])[-1] if kind == "missing )" else stray or 0
        end = start + 1
    elif kind == "trailing \\":
        start, end = len(pattern) - 1, len(pattern)
    elif kind == "invalid escape sequence" and fragment[1:].isdigit():
        wrong, remedy = "`{0}` refers back to a group, and RE2 has no back references", ""
    elif kind == "invalid character class range" and fragment.startswith(("\\p", "\\P")):
        known = r"`\p{Lu}` (upper case), `\p{Ll}` (lower case), `\p{L}` (letters), `\p{Greek}`"
        return start, end, f"`{fragment}` is no class of characters", f"for example {known}"
    return start, end, wrong.format(fragment), remedy.format(fragment, fragment[1:]) or None


def _parentheses(pattern: str) -> tuple[list[int], int | None]:
    """The parentheses still open at the end, and the first one that closes nothing."""
    opened: list[int] = []
    stray = None
    in_class = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += pattern[at + 1 : at + 2] in ("]",)
        elif char == "(":
            opened.append(at)
        elif char == ")" and opened:
            opened.pop()
        elif char == ")" and stray is None:
            stray = at
        at += 1
    return opened, stray


RULES: tuple[Rule, ...] = (missing_lexicon, missing_states, multi_word_entries, bad_regex, ascii_class)
