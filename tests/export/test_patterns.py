"""Patterns of RE2 as patterns of Python: the two match the same texts, or the pattern is refused."""

from __future__ import annotations

import random
import re

import pytest
import re2

from dcrfdsl.export.python_patterns import backtracks, python_pattern
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.syntax import Regex

CASES = (
    "", "^", "$", "a", "é", ".", "a.b", "(?s)a.b", "[A-Z]", "[^a-z]", "[]a]", "[^]a]", r"[a\]b]", r"[\d\-x]",
    "[&&a||b~]", r"[a#\- ]", "[[:alpha:]]+", "[[:^digit:]x]", r"[\x00-\x{10FFFF}]", "[é-ÿ]", r"[^\p{L}]",
    r"[\p{L}\d_-]+", r"\d+", r"\D", r"\w+-\w+", r"\W$", r"\s", r"\S\S", r"\p{Lu}.+", r"\pN", r"\PL", r"\P{Lu}",
    r"\p{^Lu}", r"\p{Greek}", r"\.", r"\$\d", r"\x41", r"\x{e9}", r"\141", r"\t", r"\Qa.b*\E+", r"\Qa.b",
    "^\\d+[.,]?\\d*$", r"\Aa\z", r"\bfoo\b", r"x\b", "(?m)^a$", "(?m:^)b", "(a|b)*c", "(?:|a)+b", "a{2}", "a{2,}",
    "a{1,3}?b", "x{,3}", "(?P<one>a)(?<two>b)", "(?i)abc", "(?i:k)s", "a(?i)b|c", "(a(?i)b|c)d", "(?-i)A",
    "(?i)a(?-i:B)c", "(?i)[k-s]", "(?i)straße", "(?i)\\x{3c3}", "^*a", r"(?:\b)*a", "#x y", "(?U)a+", "[[:word:]]",
    r"(?i)\Qks\E",
)  # fmt: skip
CHARACTERS = [*"abcdfoxyzABKSks19 .,-_$#[]{}^&|~\\\n\t", *"éÉÿΣσςßẞſKİı日ǅ٣\u00a0\u2028"]


def re2_pattern(regex: Regex) -> object:
    options = re2.Options()
    options.log_errors, options.case_sensitive = False, not regex.ignore_case
    return re2.compile(regex.pattern, options)


@pytest.mark.parametrize("pattern", CASES)
def test_the_same_texts_match(pattern: str) -> None:
    draw = random.Random(pattern)
    letters = [char for char in pattern if char.isalnum()] or ["a"]
    texts = ["".join(draw.choices([*CHARACTERS, *letters * 3], k=draw.randrange(7))) for _ in range(150)]
    for ignore_case in (False, True):
        regex = Regex(pattern=pattern, ignore_case=ignore_case)
        ours, theirs = re.compile(python_pattern(regex)), re2_pattern(regex)
        for text in texts:
            for way in ("search", "fullmatch"):
                found = getattr(theirs, way)(text.encode()) is not None
                assert (getattr(ours, way)(text) is not None) == found, (ours.pattern, text, way)


@pytest.mark.parametrize("pattern", [r"\w", r"\p{Ll}", "[^é]", r"(?i)k", "(?i)[^a-z]", r"\PN", "[[:punct:]]"])
def test_a_class_has_the_same_characters(pattern: str) -> None:
    """All of Unicode, one by one."""
    regex = Regex(pattern=pattern)
    ours, theirs = re.compile(python_pattern(regex)), re2_pattern(regex)
    every = [
        chr(code) for code in (*range(0x3100), *range(0xD700, 0xD800), *range(0xE000, 0xE010), *range(0x1D400, 0x1D800))
    ]
    assert [c for c in every if ours.fullmatch(c)] == [c for c in every if theirs.fullmatch(c.encode())]


@pytest.mark.parametrize("pattern", [r"a\B", r"\C+"])
def test_what_looks_at_bytes_is_refused(pattern: str) -> None:
    with pytest.raises(DcrfError, match="Python matches characters") as refused:
        python_pattern(Regex(pattern=pattern))
    assert refused.value.diagnostics[0].slug == "cannot-export"
    assert f"`/{pattern}/`" in refused.value.diagnostics[0].message


def test_repetitions_of_repetitions_are_noted() -> None:
    nested = [pattern for pattern in ("(a+)+", r"(\d+,?)*x", "(?:a|b*){2,}") if backtracks(Regex(pattern=pattern))]
    assert len(nested) == 3
    assert not any(backtracks(Regex(pattern=pattern)) for pattern in ("a+b+", "(a+){3}", "(ab)*", "[a+]*"))
