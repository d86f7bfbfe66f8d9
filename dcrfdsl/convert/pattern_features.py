r"""What a pattern of CRF++ or Wapiti is in our language: features that fire where its strings differ.

A macro is replaced by alternatives, of which one holds at each token: `%x` by the column itself, `%t` by a test and its
negation, `%m` by `extract` and, where nothing matches, the negated test. A pattern is the crosses of the alternatives
of its macros. Texts between the macros only tell patterns apart (`chain_templates`).

Outside the sentence CRF++ puts `_B-1`, Wapiti `_x-1` (from the fifth place on `_x-#`), and Wapiti's regexes see that
text. Here a column has a value of its own for each place outside, and tests and their negations are false. So tests
name the positions that read outside, `(first or word[-1] has /[0-9]/)`. Where values differ, a note says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..foundation import Diagnostic
from ..syntax import RegexProblem, WapitiRegex, wapiti_regex
from .column_names import Columns
from .foreign_patterns import ForeignPattern, Macro, remark

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


def features_of(pattern: ForeignPattern, columns: Columns) -> PatternFeatures | Diagnostic:
    """The features of a pattern, or the message why there are none."""
    parts: dict[tuple[Feature, ...], tuple[Macro, _Alternatives]] = {}  # a macro that is repeated says nothing new
    for macro in pattern.macros:
        problem = columns.problem(macro.column)
        if problem is not None:
            return remark("bad-foreign-line", macro.span, problem)
        alternatives = _COMMANDS[macro.command](macro, columns.names[macro.column])
        if isinstance(alternatives, Diagnostic):
            return alternatives
        parts.setdefault(alternatives.features, (macro, alternatives))
    if math.prod(map(len, parts)) > MOST_FEATURES:
        message = f"the tests of this pattern have more than {MOST_FEATURES} outcomes, each a feature here"
        return remark("not-converted", pattern.span, message, help="split the pattern into several")
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


def _test(macro: Macro, column: str) -> _Alternatives | Diagnostic:
    regex = _regex(macro)
    if isinstance(regex, Diagnostic):
        return regex
    if regex.always:
        return _Alternatives(((),), remarks=_hints(macro, regex))
    outside = [text is not None for text in _matches_outside(macro, regex)]
    holds, fails = _outcomes(regex.test(_placed(column, macro.row)), macro.row, outside)
    differs = _FAR_OUTSIDE if abs(macro.row) > FARTHEST_TEST else None
    return _Alternatives(((Factor(holds),), (Factor(fails),)), differs=differs, remarks=_hints(macro, regex))


def _match(macro: Macro, column: str) -> _Alternatives | Diagnostic:
    regex = _regex(macro)
    if isinstance(regex, Diagnostic):
        return regex
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
    differs = None if nowhere or apart else _matched_outside(outside)
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


def _matched_outside(texts: Sequence[str | None]) -> str:
    shown = ", ".join(f"`{text or ''}`" for text in dict.fromkeys(texts))
    return f"outside the sentence this matches {shown}; here each place outside is a value of its own"


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


_COMMANDS: Mapping[str, Callable[[Macro, str], _Alternatives | Diagnostic]] = {
    "x": _value, "t": _test, "m": _match,
}  # fmt: skip


# regular expressions --------------------------------------------------------------------------------------------------


def _regex(macro: Macro) -> WapitiRegex | Diagnostic:
    try:
        return wapiti_regex(macro.regex)
    except RegexProblem as problem:
        return remark("bad-foreign-line", macro.span, f"Wapiti does not take this regular expression: {problem}")


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
