"""Patterns of CRF++ and Wapiti, read line by line, and the features that they are in our language.

A pattern is a text with macros: `U02:%x[0,0]/%x[1,0]`. At each token the macros are replaced by values of the columns,
and the text that results is a feature: of the label (`U`), of the pair of labels (`B`), or of both (`*`). What the
tools accept is in CRF++'s manual and `feature.cpp`, in Wapiti's manual page, `pattern.c` and `reader.c`.

A macro becomes alternatives, of which one holds at each token: `%x` the column itself, `%t` a test and its negation,
`%m` `extract` and, where nothing matches, the negated test. A pattern is the crosses of the alternatives of its macros.
Texts between the macros only tell patterns apart (`chain_templates`).

Outside the sentence CRF++ puts `_B-1`, Wapiti `_x-1` (from the fifth place on `_x-#`), and Wapiti's regexes see that
text. Here a column has a value of its own for each place outside, and tests and their negations are false. So tests
name the positions that read outside, `(first or word[-1] has /[0-9]/)`. Where values differ, a note says so.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from ..foundation import DcrfError, Diagnostic, Label, Source, Span, dataclass, shortened
from ..syntax import RegexProblem, WapitiRegex, wapiti_regex
from .template_text import Columns

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


def remark(
    slug: str, span: Span, message: str, *, severity: Literal["error", "warning", "note"] = "error",
    help: str | None = None,
) -> Diagnostic:  # fmt: skip
    """A message about a place in the other tool's file."""
    return Diagnostic(slug, message, Label(span), help=help, severity=severity)


def wrong(slug: str, span: Span, message: str, help: str | None = None) -> DcrfError:
    """What is raised for a line that cannot be converted."""
    return DcrfError(remark(slug, span, message, help=help))


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
        try:
            patterns.append(_pattern(span, dialect))
        except DcrfError as error:
            problems += error.diagnostics
    return patterns, problems


def _pattern(span: Span, dialect: Dialect) -> ForeignPattern:
    text, begin = span.text, Span(span.source, span.start, span.start + 1)
    if len(text) > LONGEST_LINE:
        message = f"this line has {len(text):,} characters, at most {LONGEST_LINE:,} are read"
        raise wrong("bad-foreign-line", begin, message)
    if re.match(r"(UNIGRAM|BIGRAM)\b", text):
        message = f"`{shortened(text)}` belongs to a feature.def of MeCab, whose features read a dictionary"
        raise wrong("not-converted", span, message, "a template reads the columns of a data file")
    kind = dialect.kinds.get(text[0].lower() if dialect.fold_kinds else text[0])
    if kind is None:
        letters = ", ".join(f"`{letter}`" for letter in dialect.kinds)
        message = f"a line of a {dialect.tool} template begins with {letters} or `#`, found `{shortened(text)}`"
        raise wrong("bad-foreign-line", begin, message)
    parts: list[str | Macro] = []
    end = 0
    for match in MACRO.finditer(text):
        _refuse_stray_percent(text, end, match.start(), span, dialect)
        if match.start() > end:
            parts.append(text[end : match.start()])
        place = Span(span.source, span.start + match.start(), span.start + match.end())
        parts.append(_macro(match, place, dialect))
        end = match.end()
    _refuse_stray_percent(text, end, len(text), span, dialect)
    if end < len(text):
        parts.append(text[end:])
    return ForeignPattern(*kind, tuple(parts), span)


def _refuse_stray_percent(text: str, start: int, end: int, span: Span, dialect: Dialect) -> None:
    at = text.find("%", start, end)
    if at >= 0:
        usage = "`%x[row,column]`" if dialect.commands == "x" else '`%x[row,column]` or `%t[row,column,"regex"]`'
        place = Span(span.source, span.start + at, span.start + at + 1)
        raise wrong("bad-foreign-line", place, f"a `%` begins a macro of {dialect.tool}, {usage}")


def _macro(match: re.Match[str], span: Span, dialect: Dialect) -> Macro:
    command = match["command"]
    if command not in dialect.commands:
        message = f"`%{command}` is no macro of {dialect.tool}"
        wapiti = command in WAPITI.commands
        raise wrong("bad-foreign-line", span, message, "Wapiti has it: `--from wapiti`" if wapiti else None)
    if match["anchor"]:
        if dialect.commands == "x":
            raise wrong("bad-foreign-line", span, f"a row of {dialect.tool} is a whole number")
        whose = "of a token that a column points to" if match["anchor"] == "*" else "of the first or last tokens"
        message = f"`{shortened(span.text)}` reads a value {whose}, which no place of ours names"
        raise wrong(
            "not-converted", span, message, "write this value into a column of its own, on each line of the data"
        )
    if (match["regex"] is None) != (command in "xX"):
        message = f"`%{command}` takes {'no' if command in 'xX' else 'a'} regular expression"
        raise wrong("bad-foreign-line", span, message)
    return Macro(
        command.lower(), command.isupper(), int(match["row"]), int(match["column"]), match["regex"] or "", span
    )


# what a pattern is in our language -----------------------------------------------------------------------------------


MOST_FEATURES = 64  # of one pattern: six tests double it six times
NAMED_PLACES = 4  # outside the sentence, on each side, that Wapiti tells apart from those further away
FARTHEST_TEST = 8  # places outside the sentence where a test is what it is in Wapiti


@dataclass(frozen=True)
class Factor:
    """Part of a cross: its text, and its term and offset if it is a value at a place."""

    text: str
    term: str = ""
    offset: int = 0


Feature = tuple[Factor, ...]  # the cross of its factors; `bias` without any


@dataclass(frozen=True)
class PatternFeatures:
    """features: of the pattern; inside: those of them that are left out outside the sentence."""

    features: tuple[Feature, ...]
    inside: frozenset[Feature]
    remarks: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Alternatives:
    """Of one macro. `inside`: the value is left out outside the sentence. `differs`: how its edges differ from ours."""

    features: tuple[Feature, ...]
    inside: Factor | None = None
    differs: str | None = None
    remarks: tuple[Diagnostic, ...] = ()


def features_of(pattern: ForeignPattern, columns: Columns) -> PatternFeatures:
    """The features of a pattern. DcrfError if it cannot be converted."""
    parts: dict[tuple[Feature, ...], tuple[Macro, _Alternatives]] = {}  # a macro that is repeated says nothing new
    for macro in pattern.macros:
        problem = columns.problem(macro.column)
        if problem is not None:
            raise wrong("bad-foreign-line", macro.span, problem)
        alternatives = _COMMANDS[macro.command](macro, columns.names[macro.column])
        parts.setdefault(alternatives.features, (macro, alternatives))
    if math.prod(map(len, parts)) > MOST_FEATURES:
        message = f"the tests of this pattern have more than {MOST_FEATURES} outcomes, each a feature here"
        raise wrong("not-converted", pattern.span, message, "split the pattern into several")
    crosses = (itertools.chain.from_iterable(chosen) for chosen in itertools.product(*parts))
    features = tuple(dict.fromkeys(tuple(dict.fromkeys(factors)) for factors in crosses))
    alone = len(parts) == 1
    remarks: list[Diagnostic] = []
    for macro, part in parts.values():
        differs = part.differs or (None if alone or part.inside is None else _EMPTY_OUTSIDE)
        if differs is not None:
            remarks.append(remark("converts-differently", macro.span, differs, severity="note"))
        remarks.extend(part.remarks)
    inside = frozenset((part.inside,) for _, part in parts.values() if alone and part.inside is not None)
    remarks.extend(_glued(pattern))
    return PatternFeatures(features, inside, tuple(remarks))


_EMPTY_OUTSIDE = (
    "outside the sentence this matches nothing, as in words without a match; here each place outside is a value of "
    "its own"
)


_FAR_OUTSIDE = f"more than {FARTHEST_TEST} places outside the sentence tests and their negations are false here"


def _glued(pattern: ForeignPattern) -> list[Diagnostic]:
    """A note if two macros stand side by side: `ab` and `c` then give the string of `a` and `bc`."""
    for one, other in itertools.pairwise(pattern.parts):
        if isinstance(one, Macro) and isinstance(other, Macro) and "x" in (one.command, other.command):
            message = "nothing stands between these macros, so different values can give one string; here they do not"
            return [remark("converts-differently", one.span.to(other.span), message, severity="note")]
    return []


# macros ---------------------------------------------------------------------------------------------------------------


def _placed(term: str, offset: int) -> str:
    return f"{term}[{offset}]" if offset else term


def _value(macro: Macro, column: str) -> _Alternatives:
    term = f"lower({column})" if macro.lower else column
    factor = Factor(_placed(term, macro.row), term, macro.row)
    far = abs(macro.row) > NAMED_PLACES + 1
    differs = f"all places more than {NAMED_PLACES} outside the sentence are one value there, and several here"
    return _Alternatives(((factor,),), differs=differs if far else None)


def _test(macro: Macro, column: str) -> _Alternatives:
    regex = _regex(macro)
    if regex.always:
        return _Alternatives(((),), remarks=_hints(macro, regex))
    outside = [text is not None for text in _matches_outside(macro, regex)]
    holds, fails = _outcomes(regex.test(_placed(column, macro.row)), macro.row, outside)
    differs = _FAR_OUTSIDE if abs(macro.row) > FARTHEST_TEST else None
    return _Alternatives(((Factor(holds),), (Factor(fails),)), differs=differs, remarks=_hints(macro, regex))


def _match(macro: Macro, column: str) -> _Alternatives:
    regex = _regex(macro)
    remarks = _hints(macro, regex, matched=True)
    if not regex.pattern:
        return _Alternatives(((),), remarks=remarks)  # nothing is matched, everywhere
    term = f"extract({column}, /{regex.pattern}/)"
    term = f"lower({term})" if macro.lower else term
    value = Factor(_placed(term, macro.row), term, macro.row)
    outside = [text.lower() if macro.lower and text else text for text in _matches_outside(macro, regex)]
    nowhere = not any(outside)
    # nor is it likely that a word has such a match: `_x`, `+1`, but not the `1` of `_x+1`
    apart = len(set(outside)) == len(outside) and all(text and not text.isalnum() for text in outside)
    differs = None
    if not nowhere and not apart:
        shown = ", ".join(f"`{text or ''}`" for text in dict.fromkeys(outside))
        differs = f"outside the sentence this matches {shown}; here each place outside is a value of its own"
    if abs(macro.row) > FARTHEST_TEST:
        differs = _FAR_OUTSIDE
    if regex.always:
        if nowhere and outside:
            differs = _EMPTY_OUTSIDE
        return _Alternatives(((value,),), differs=differs, remarks=remarks)
    # the empty text stands for no match, outside the sentence too
    _, fails = _outcomes(regex.test(_placed(column, macro.row)), macro.row, [not nowhere] * len(outside))
    return _Alternatives(
        ((value,), (Factor(fails),)), inside=value if outside and nowhere else None, differs=differs, remarks=remarks
    )


def _outcomes(test: str, row: int, outside: Sequence[bool]) -> tuple[str, str]:
    """The condition that a test holds, and that it fails.

    outside: whether it holds one place outside the sentence, two places and so on. There tests and their negations are
    false here, so the positions that read outside are named: `word[-2]` does at `first` and `first[-1]`.
    """
    edge, step = ("first", -1) if row < 0 else ("last", 1)
    holds: list[str] = []
    fails: list[str] = []
    if abs(row) <= FARTHEST_TEST:
        at_edges = [(_placed(edge, step * (abs(row) - n)), there) for n, there in enumerate(outside, 1)]
        holds = [position for position, there in reversed(at_edges) if there]
        fails = [position for position, there in reversed(at_edges) if not there]
    return _any(holds, test), _any(fails, f"not {test}")


def _any(positions: Sequence[str], test: str) -> str:
    return f"({' or '.join([*positions, test])})" if positions else test


_COMMANDS: Mapping[str, Callable[[Macro, str], _Alternatives]] = {"x": _value, "t": _test, "m": _match}


# regular expressions --------------------------------------------------------------------------------------------------


def _regex(macro: Macro) -> WapitiRegex:
    try:
        return wapiti_regex(macro.regex)
    except RegexProblem as problem:
        message = f"Wapiti does not take this regular expression: {problem}"
        raise wrong("bad-foreign-line", macro.span, message) from None


def _matches_outside(macro: Macro, regex: WapitiRegex) -> list[str | None]:
    """What Wapiti matches on the texts that it puts one place outside the sentence, two places and so on; None for no
    match.
    """
    if not macro.row:
        return []
    import re2  # on use: a template without regexes needs no engine

    side, last = ("-", -macro.row) if macro.row < 0 else ("+", macro.row)
    texts = [f"_x{side}{n if n <= NAMED_PLACES else '#'}" for n in range(1, min(last, FARTHEST_TEST) + 1)]
    found = [re2.search(regex.pattern, text) for text in texts]
    return [None if match is None else match.group() for match in found]


def _hints(macro: Macro, regex: WapitiRegex, *, matched: bool = False) -> tuple[Diagnostic, ...]:
    """Notes on what an expression does in Wapiti, where it is hardly meant."""
    hints: list[Diagnostic] = []
    if regex.literal:
        marks = " ".join(dict.fromkeys(regex.literal))
        message = f"`{marks}` are plain characters to Wapiti, and so they are in the template"
        hints.append(remark("literal-marks", macro.span, message, severity="note"))
    if matched and regex.lazy_end:
        message = "in Wapiti a `*` takes as little as it can, at the end nothing; the template does the same"
        help = "`%m` of `^\\u*$` takes all; in the template, remove the `?` behind the `*`"
        hints.append(remark("lazy-repetition", macro.span, message, severity="note", help=help))
    return tuple(hints)
