"""The room `syntax`: what parses, where everything is, what a mistake is called, and what `fmt` makes of it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import EXAMPLES, LANGUAGE, ROOT, items, marked
from hypothesis import given, strategies as st
from lark import Lark

from dcrfdsl.foundation.errors.diagnostics import DcrfError, render_all
from dcrfdsl.syntax import format_template, nodes, parse_partial, resource_path, statements
from dcrfdsl.syntax.build import MAX_DIGITS
from dcrfdsl.syntax.hints import HINTS
from dcrfdsl.syntax.lexing import REGEX, STATE, STRING, LayoutFilter, grammar_text, parser
from dcrfdsl.syntax.parser import MAX_CHARACTERS, MAX_ERRORS, MAX_NESTING, parse
from dcrfdsl.syntax.resources import other_words
from dcrfdsl.syntax.statement_base import Statement
from dcrfdsl.syntax.vocabulary import KEYWORDS

IDENTITY = items(LANGUAGE / "identity.dcrfs")
BAD = sorted((LANGUAGE / "bad" / "syntax").glob("*.dcrf"))


def one(text: str) -> Statement:
    (statement,) = parse(text).statements
    return statement


def slugs(text: str) -> list[str]:
    return [problem.slug for problem in parse_partial(text)[1]]


def hash_comments(text: str) -> list[str]:
    """The comments of a text without quotes or regexes that hold a `#`."""
    return sorted(re.findall(r"#.*", text))


# the grammar ------------------------------------------------------------------------------------------------


def test_the_grammar_has_no_conflicts_and_no_colliding_terminals() -> None:
    pytest.importorskip("interegular")
    Lark(grammar_text(), parser="lalr", postlex=LayoutFilter(), strict=True)


@pytest.mark.parametrize(("name", "pattern"), [("STATE", STATE), ("STRING", STRING), ("REGEX", REGEX)])
def test_patterns_outside_the_grammar_are_those_of_the_grammar(name: str, pattern: re.Pattern[str]) -> None:
    (terminal,) = (terminal for terminal in parser().terminals if terminal.name == name)
    assert pattern.pattern.replace("\\r\\n", "\r\n") == terminal.pattern.value


def test_the_keywords_are_those_that_the_grammar_lets_a_statement_begin_with() -> None:
    accepted = parser().parse_interactive("").accepts()
    spelling = {terminal.name: terminal.pattern.value for terminal in parser().terminals}
    assert {spelling[name] for name in accepted} == set(KEYWORDS)


def test_synonyms_lead_to_keywords_and_are_none_themselves() -> None:
    synonyms = other_words("statements")
    assert set(synonyms.values()) <= set(KEYWORDS)
    assert not set(synonyms) & set(KEYWORDS)


def test_resources_are_found() -> None:
    assert resource_path("grammar", "dcrf.lark").is_file()
    assert resource_path("templates").is_dir()
    with pytest.raises(FileNotFoundError, match=r"grammar/none\.lark"):
        resource_path("grammar", "none.lark")


# trees ------------------------------------------------------------------------------------------------------


def ref(text: str, place: nodes.Place = nodes.HERE) -> nodes.Reference:
    return nodes.Reference(name=text, place=place)


def at(value: int) -> nodes.At:
    return nodes.At(offset=value)


def test_a_clique_is_a_comma_list_of_sites() -> None:
    assert one("clique y[-1], y as chain: bias") == statements.CliqueSpec(
        sites=(
            nodes.Site(variable="y", place=at(-1)),
            nodes.Site(variable="y", place=nodes.HERE),
        ),
        name="chain",
        features=(ref("bias"),),
    )


CONDITIONS = {
    "a or b and c": nodes.Or(parts=(ref("a"), nodes.And(parts=(ref("b"), ref("c"))))),
    "(a or b) and c": nodes.And(parts=(nodes.Or(parts=(ref("a"), ref("b"))), ref("c"))),
    "not a and b": nodes.And(parts=(nodes.Not(inner=ref("a")), ref("b"))),
    "not a = b": nodes.Not(inner=nodes.Equals(left=ref("a"), right=ref("b"))),
    "a != b": nodes.Equals(left=ref("a"), right=ref("b"), negated=True),
    "a is not O": nodes.Is(term=ref("a"), state="O", negated=True),
    'a is "not"': nodes.Is(term=ref("a"), state="not"),
    "a is -LRB-": nodes.Is(term=ref("a"), state="-LRB-"),
    "a not in b": nodes.InLexicon(term=ref("a"), lexicon="b", negated=True),
    "a in {WP$, '', \",\"}": nodes.InSet(term=ref("a"), states=("WP$", "''", ",")),
    r"a has /[\/]\/#/i": nodes.Has(term=ref("a"), regex=nodes.Regex(pattern=r"[\/]\/#", ignore_case=True)),
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions(text: str) -> None:
    assert one(f"forbid {text}") == statements.Constraint(action="forbid", condition=CONDITIONS[text])


PLACES = {
    "-1": at(-1),
    "+1": at(1),
    "-2..2": nodes.Window(first=-2, last=2),
    "-2 .. 2": nodes.Window(first=-2, last=2),
    "-2, 0, 3": nodes.Several(offsets=(-2, 0, 3)),
    "i": nodes.Named(position="i"),
    "i-1": nodes.Named(position="i", shift=-1),
    "i - 1": nodes.Named(position="i", shift=-1),
    "i + 2": nodes.Named(position="i", shift=2),
    "all": nodes.Named(position="all"),
}


@pytest.mark.parametrize("place", PLACES)
def test_places(place: str) -> None:
    group = one(f"features f: word[{place}]")
    assert isinstance(group, statements.FeatureGroup)
    assert group.features == (ref("word", PLACES[place]),)


# Two ways to write the same tree.
SAME = {
    "no newline at the end": ("label a", "label a\n"),
    "byte order mark": ("\ufefflabel a\n", "label a\n"),
    "carriage returns": ("features f:\r\n    word # c\r\n\r\n    pos\r\n", "features f:\n    word\n    pos\n"),
    "trailing blanks": ("label a  \t\n  \n\t\n", "label a\n"),
    "tabs between words": ("label\ta\tin\t{A,\tB}", "label a in {A, B}"),
    "trailing comma on a line": ("features f: word, pos,", "features f: word, pos"),
    "trailing commas in a block": ("features f:\n  word,\n  pos,\n", "features f:\n  word\n  pos\n"),
    "trailing commas in brackets": ("label a in {A, B,}\nlet x = f(1, 2,)", "label a in {A, B}\nlet x = f(1, 2)"),
    "several settings on a line of a block": ("train a:\n  b = 1, c = 2\n  d = 3", "train a: b = 1, c = 2, d = 3"),
    "brackets over lines": ("data conll(\n  word, # c\n\n  pos\n)\nlabel a", "data conll(word, pos)\nlabel a"),
    "no blanks at all": ("train a:b=1,c=f(d=2)", "train a: b = 1, c = f(d = 2)"),
    "comments in a block": ("features f: # a\n# b\n  word # c\n  # d\n", "features f:\n  word\n"),
    "two columns or eight": ("features f:\n  word\n", "features f:\n        word\n"),
    "the edition": ("dcrf 1\nlabel a", "label a"),
}


@pytest.mark.parametrize("case", SAME)
def test_two_ways_to_write_the_same_tree(case: str) -> None:
    left, right = SAME[case]
    assert parse(left) == parse(right)


# Texts whose trees must differ: what equality must not overlook.
DIFFERENT = [
    ("label a in {A}", "label a in {B}"),
    ("features f: word[-1]", "features f: word[1]"),
    ("features f: word has /a/", "features f: word has /a/i"),
    ("features f: word has /a/", "features f: word matches /a/"),
    ("piece p over a: b", "piece p over a: locked b"),
    ("## one\n\nlabel a", "## two\n\nlabel a"),
    ("dcrf 1\n\n## one\nlabel a", "dcrf 1\n## one\n\nlabel a"),
]


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_trees(left: str, right: str) -> None:
    assert parse(left) != parse(right)


VALUES = {
    "10": 10,
    "-3": -3,
    "1e-3": 0.001,
    ".5": 0.5,
    '"a b"': "a b",
    r'"\t\n\r\"\\\|"': '\t\n\r"\\|',
    "9" * MAX_DIGITS: int("9" * MAX_DIGITS),
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text: str) -> None:
    statement = one(f"let x = {text}")
    assert isinstance(statement, statements.Let)
    assert isinstance(statement.value, nodes.Number | nodes.Text)
    assert statement.value.value == VALUES[text]
    assert type(statement.value.value) is type(VALUES[text])


# Docs: text -> those of the file and those of its statements.
DOCS = {
    "## f\n\nlabel a": (("f",), [()]),
    "## a\nlabel a": ((), [("a",)]),
    "dcrf 1\n## f\nlabel a": (("f",), [()]),
    "dcrf 1\n\n## a\nlabel a": ((), [("a",)]),
    "dcrf 1\n\n## f\n\nlabel a": (("f",), [()]),
    "## f\ndcrf 1\nlabel a": (("f",), [()]),
    "## f\n##  g\ndcrf 1\n## h\n\n## a\nlabel a\n##b\n# c\nlabel b": (("f", " g", "h"), [("a",), ("b",)]),
    "label a\n\n## b\n\nlabel b": ((), [(), ("b",)]),
    "### a ruler\nlabel a # ## no doc\nfeatures f:\n  ## none\n  word": ((), [(), ()]),
    "## f": (("f",), []),
}


@pytest.mark.parametrize("text", DOCS)
def test_docs_belong_to_the_file_or_to_the_statement_below(text: str) -> None:
    template = parse(text)
    assert (template.doc, [statement.doc for statement in template.statements]) == DOCS[text]


# places in the text -----------------------------------------------------------------------------------------

# What is marked is the text of the node that the path leads to.
SPANS = [
    ("<label a in {A, B}>\nlabel b", "statements.0"),
    ("label a\n<label> b", "statements.1.keyword"),
    ("label a\nlabel <étiquette> # c", "statements.1.name"),
    ("label a in <{A, B}>", "statements.0.domain"),
    ('label a in {A, <"b c">}', "statements.0.domain.states.1"),
    ("features f: word, <lower(word)[-1]>", "statements.0.features.1"),
    ("features f: word, <lower>(word)[-1]", "statements.0.features.1.function"),
    ("features f: word, lower(<word>)[-1]", "statements.0.features.1.arguments.0.value.name"),
    ("features f: word[<-2..2>]", "statements.0.features.0.place"),
    ("# c\n\n<features f: # c\n  word # c\n  # d\n  pos> # e\n  # g\n", "statements.0"),
    ("features f:\n  word\n  <word & pos>", "statements.0.features.1"),
    ("features f: word has </[0-9]/>", "statements.0.features.0.regex"),
    ("forbid <a is X and (b is Y or c)> as n", "statements.0.condition"),
    ("forbid a is X and (<b is Y or c>) as n", "statements.0.condition.parts.1"),
    ("forbid not <a>", "statements.0.condition.inner"),
    ("clique <y[i - 1]>, y[j] where a[i] = a[j]", "statements.0.sites.0"),
    ("clique y[<i - 1>], y[j] where a[i] = a[j]", "statements.0.sites.0.place"),
    ("clique y[i], y[j]:\n  where <a[i] = a[j]>\n  bias", "statements.0.where"),
    ("train likelihood:\r\n  a = 1\r\n  <prior.words = none>\r\n", "statements.0.criterion.settings.1"),
    ("train likelihood:\n  <prior.words> = none", "statements.0.criterion.settings.0.key"),
    ("train likelihood: prior = gaussian(<variance = 10>)", "statements.0.criterion.settings.0.value.arguments.0"),
    ("data conll(word, <temp: float>)", "statements.0.columns.1"),
    ("piece p over y: a, <locked b[1]>", "statements.0.members.1"),
    ("\ufefflet x = <1e-3>", "statements.0.value"),
]


@pytest.mark.parametrize(("text", "path"), SPANS)
def test_every_node_knows_its_place(text: str, path: str) -> None:
    plain, (start, end) = marked(text.removeprefix("\ufeff"))
    tree = parse(("\ufeff" if text.startswith("\ufeff") else "") + plain)
    *steps, last = path.split(".")
    if last.isdigit():
        *steps, listed = steps
    node: Any = tree
    for step in steps:
        node = node[int(step)] if step.isdigit() else getattr(node, step)
    span = node.place_of(listed, int(last)) if last.isdigit() else node.place_of(last)
    assert (span.start, span.end) == (start, end), span.text


def inner_nodes(node: object) -> Iterator[nodes.Node]:
    if isinstance(node, nodes.Node):
        yield node
    if isinstance(node, tuple):
        for item in node:
            yield from inner_nodes(item)
    elif isinstance(node, Statement):
        yield from inner_nodes(tuple(node.written_parts().values()))
    elif isinstance(node, nodes.Node):
        yield from inner_nodes(tuple(getattr(node, name) for name in nodes.field_names(type(node))))


@pytest.mark.parametrize("text", [text for _, text in IDENTITY], ids=[title for title, _ in IDENTITY])
def test_nodes_lie_inside_their_parents_and_hold_text(text: str) -> None:
    for outer in filter(lambda node: node.is_written, inner_nodes(parse(text))):
        assert outer.span.text
        for inner in filter(lambda node: node.is_written, inner_nodes(outer)):
            assert outer.span.start <= inner.span.start <= inner.span.end <= outer.span.end


# errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_example_has_the_mistake_of_its_name(path: Path) -> None:
    assert path.stem in slugs(path.read_text(encoding="utf-8"))


def test_messages(golden: Callable[[Path, str], None]) -> None:
    parts = []
    for path in BAD:
        problems = parse_partial(path.read_text(encoding="utf-8"), path.name)[1]
        parts.append(f"=== {path.name}\n{render_all(problems)}\n")
    golden(LANGUAGE / "bad" / "syntax" / "expected.txt", "\n".join(parts))


# Of each mistake the smallest text that contains it: the function that recognises it, its slug, the text.
SAMPLES = [
    ("unmatched_bracket", "unmatched-bracket", "features f: lower(word]"),
    ("uneven_block", "uneven-block", "features f:\n    word\n      pos"),
    ("indented_statement", "indented-statement", "infer exact\n  decode joint"),
    ("continued_line", "continued-line", "clique a[-1],\n    a"),
    ("missing_colon_before_block", "missing-colon", "features f\n    word"),
    ("unexpected_block", "unexpected-block", "label a\n    in {A, B}"),
    ("unclosed_string", "unclosed-string", 'use "nouns.dcrf'),
    ("quoted_regex", "quoted-regex", 'features f: word matches "[A-Z]+"'),
    ("strange_character", "strange-character", "features f: word\u00a0& pos"),
    ("unclosed_regex", "unclosed-regex", "features f: word has /[0-9]"),
    ("bare_regex", "bare-regex", "features f: word has [0-9]"),
    ("foreign_comment", "foreign-comment", "infer exact // fits"),
    ("tested_argument", "test-as-argument", "features f: any(word[-2..-1] in days)"),
    ("python_call", "python-call", "features f: word.lower()"),
    ("python_slice", "python-slice", "features f: word[-3:]"),
    ("range_dash", "window-dots", "features f: suffix(word, 1-3)"),
    ("missing_braces", "missing-braces", "features f: word not in [a, b]"),
    ("bare_exception", "missing-braces", "once y except NOTE"),
    ("missing_limit", "missing-limit", "segment y: length"),
    ("bracketed_list", "bracketed-list", "features f: [word, pos]"),
    ("quoted_name", "quoted-name", 'features f: "word"'),
    ("options_behind", "clause-order", "clique y: word with states = all"),
    ("arrow", "foreign-operator", "forbid A -> B"),
    ("comma_in_condition", "foreign-operator", "forbid y is A, y is B"),
    ("several_labels", "two-statements", "label pos, chunk"),
    ("file_as_lexicon", "unexpected-text", 'forbid word in "days.txt"'),
    ("window_dots", "window-dots", "features f: word[-2:2]"),
    ("offset_brackets", "offset-brackets", "clique chunk-1, chunk"),
    ("offset_brackets", "offset-brackets", "clique chunk(-1), chunk"),
    ("unclosed_bracket", "unclosed-bracket", "features f: lower(word, pos"),
    ("and_in_features", "and-in-features", "features f: word and pos"),
    ("ampersand_in_condition", "ampersand-in-condition", "forbid a is X & b is Y"),
    ("scaled_offset", "foreign-operator", "clique y: offset(logits) * 0.5"),
    ("foreign_operator", "foreign-operator", "forbid a == b"),
    ("number_first", "unexpected-text", "features f: 3 < length(word)"),
    ("chained_comparison", "unexpected-text", "features f: length(word) > 3 < 5"),
    ("reserved_word", "reserved-word", "features f: word, not, pos"),
    ("clause_order", "clause-twice", "clique a as x as y"),
    ("clause_order", "clause-order", "clique a with states = all as x"),
    ("late_clause", "clause-order", "clique a[i], a[j]:\n    bias\n    where w[i] = w[j]"),
    ("two_statements", "two-statements", "infer exact decode joint"),
    ("misspelt_word", "misspelt-word", "clique a wiht states = all"),
    ("semicolon", "semicolon", "infer exact;"),
    ("odd_name", "odd-name", "features my-group: word"),
    ("odd_name", "unquoted-state", "label a with others = B-NP"),
    ("unquoted_state", "unquoted-state", "label a in {A, :}"),
    ("unquoted_text", "unquoted-text", "use nouns.dcrf"),
    ("missing_parentheses", "missing-brackets", "data conll word, pos"),
    ("missing_with", "missing-with", "features f min_count = 2: word"),
    ("empty_list", "empty-list", "features f:"),
    ("missing_comma", "missing-comma", "features f: word pos"),
    ("missing_colon", "missing-colon", "features f word"),
]


@pytest.mark.parametrize(("hint", "slug", "sample"), SAMPLES)
def test_each_hint_recognises_its_sample(hint: str, slug: str, sample: str) -> None:
    assert slugs(sample) == [slug]
    assert hint in {one.__name__ for one in HINTS}


def test_each_hint_has_a_sample() -> None:
    assert {one.__name__ for one in HINTS} == {name for name, _, _ in SAMPLES}


def test_each_mistake_that_the_room_knows_has_a_bad_example() -> None:
    files = [path for path in (ROOT / "dcrfdsl" / "syntax").glob("*.py") if path.stem != "statement_options"]
    code = "".join(path.read_text(encoding="utf-8") for path in files)  # a statement with a bad option parses
    known = set(re.findall(r'(?:error|_fail|Diagnostic)\(\s*"([a-z]+(?:-[a-z]+)*)"', code))
    without = {"file-too-large", "too-many-errors"}  # tested below
    assert known - without == {path.stem for path in BAD}


def test_a_syntax_error_costs_one_statement() -> None:
    template, problems = parse_partial("label a\nfeatures f: word[-1:1]\nfactor a\n\nclique a: f")
    assert [type(statement) for statement in template.statements] == [statements.Label, statements.CliqueSpec]
    assert [problem.slug for problem in problems] == ["window-dots", "unknown-statement"]


def test_parse_raises_every_problem_at_once() -> None:
    with pytest.raises(DcrfError) as error:
        parse("label\nclique a-1\n", "m.dcrf")
    assert [problem.slug for problem in error.value.diagnostics] == ["unexpected-end", "offset-brackets"]
    assert "--> m.dcrf:2:8" in str(error.value)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("features f: " + "(" * 10_000, "nested-too-deep"),
        ("let x = " + "f(" * 10_000 + "1" + ")" * 10_000, "nested-too-deep"),
        ("forbid " + "not " * 10_000 + "a", "nested-too-deep"),
        ("forbid " + "not (" * 10_000 + "a", "nested-too-deep"),
        ("let x = " + "9" * 10_000, "number-too-large"),
        ("a" * (MAX_CHARACTERS + 1), "file-too-large"),
        ("\t" * 200_000 + "#", None),
        ("label a in {" + "A, " * 20_000 + "A}", None),
        ("clique " + "[" * 5_000, "unexpected-text"),
        ("U00:%x[" + "9" * 10_000 + ",0]", "foreign-line"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_limits_have_one_clear_message(text: str, slug: str | None) -> None:
    assert slugs(text) == ([slug] if slug else [])


def test_what_is_just_within_the_limit_can_be_walked() -> None:
    text = "forbid " + "(not " * (MAX_NESTING // 2) + "a" + ")" * (MAX_NESTING // 2) + "\n"
    template = parse(text)
    assert parse(format_template(template)) == template


def test_a_data_file_instead_of_a_template_is_not_reported_line_by_line() -> None:
    assert slugs("Confidence NN B-NP\n" * (MAX_ERRORS + 500)) == ["no-template"]
    found = slugs("labl chunk\n" * (MAX_ERRORS + 500))
    assert found == ["unknown-statement"] * MAX_ERRORS + ["too-many-errors"]


BAD_TEXTS = [path.read_text(encoding="utf-8") for path in BAD]
PIECES = st.sampled_from([*(text for _, text in IDENTITY), *BAD_TEXTS, *'\t\n ()[]{}"/#&:,=-.\\\r\0é'])


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Two texts of the test set, cut and pasted into each other, with some characters of any kind put in."""
    left, right = draw(PIECES), draw(PIECES)
    text: str = left[: draw(st.integers(0, len(left)))] + right[draw(st.integers(0, len(right))) :]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.text(max_size=3) | PIECES) + text[place + draw(st.integers(0, 3)) :]
    return text


@pytest.mark.long
@given(mutated())
def test_any_text_gives_a_tree_or_messages_and_formats_to_the_same_tree(text: str) -> None:
    template, problems = parse_partial(text)
    for problem in problems:
        assert problem.message
        assert render_all([problem])
    canonical = format_template(template)
    again = parse(canonical)
    assert again == template
    assert format_template(again) == canonical
    if not problems:
        assert parse(text) == template


# fmt --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [text for _, text in IDENTITY], ids=[title for title, _ in IDENTITY])
def test_canonical_text_stays_as_it_is(text: str) -> None:
    assert format_template(parse(text)).rstrip("\n") == text.rstrip("\n")


FORMATTED = {
    "single spaces, no alignment": ("label  a   in {A,B}   # c", "dcrf 1\nlabel a in {A, B} # c\n"),
    "runs of blank lines are one": ("\n\nlabel a\n\n\n\nlabel b\n\n\n", "dcrf 1\nlabel a\n\nlabel b\n"),
    "four columns": ("features f:\n word\n pos", "dcrf 1\nfeatures f:\n    word\n    pos\n"),
    "needless brackets and quotes": ('forbid ((a is "X"))', "dcrf 1\nforbid a is X\n"),
    "needed quotes": ('forbid a is "not" or a in {"", "a b"}', 'dcrf 1\nforbid a is "not" or a in {"", "a b"}\n'),
    "numbers as spelt": ("train a: b = 1e-3, c = 1.50", "dcrf 1\ntrain a: b = 1e-3, c = 1.50\n"),
    "brackets over lines": (
        "data conll(\n    # about words\n    word, # one\n    pos\n) # end",
        "dcrf 1\n# about words\n# one\ndata conll(word, pos) # end\n",
    ),
    "brackets over lines in a block": (
        "features f:\n  a\n  lower( # c\n    b)\n",
        "dcrf 1\nfeatures f:\n    a\n    # c\n    lower(b)\n",
    ),
    "the edition goes to the top": ("# c\n\nlabel a", "dcrf 1\n# c\n\nlabel a\n"),
    "a doc stays the statement's": ("## d\nlabel a", "dcrf 1\n\n## d\nlabel a\n"),
    "a comment between the lines of a block": (
        "features f:\n  a\n# c\n  b\n  # d\n# e\n",
        "dcrf 1\nfeatures f:\n    a\n    # c\n    b\n    # d\n# e\n",
    ),
    "an empty file": ("", "dcrf 1\n"),
}


@pytest.mark.parametrize("case", FORMATTED)
def test_fmt(case: str) -> None:
    text, expected = FORMATTED[case]
    assert format_template(parse(text)) == expected
    assert format_template(parse(expected)) == expected


BUILT: list[tuple[Statement, str]] = [
    (
        statements.FeatureGroup(
            name="f", features=(ref("a", at(-1)), nodes.And(parts=(ref("b"), ref("c")))), min_count=2
        ),
        "features f with min_count = 2:\n    a[-1]\n    (b and c)",
    ),
    (
        statements.Label(name="y", domain=nodes.Enumerated(states=("O", "a b", '"', "")), missing="\t\\"),
        r'label y in {O, "a b", "\"", ""} with missing = "\t\\"',
    ),
    (statements.Let(name="x", value=nodes.Number(value=1e-7)), "let x = 1e-07"),
]


@pytest.mark.parametrize(("statement", "text"), BUILT)
def test_trees_that_a_program_built_are_printed(statement: Statement, text: str) -> None:
    template = statements.Template(statements=(statement,))
    printed = format_template(template)
    assert printed == f"dcrf 1\n{text}\n"
    assert parse(printed) == template


# the whole --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.dcrf")))
def test_the_examples_keep_their_tree_and_comments(example: str) -> None:
    text = (EXAMPLES / f"{example}.dcrf").read_text(encoding="utf-8")
    template = parse(text)
    canonical = format_template(template)
    assert parse(canonical) == template
    assert format_template(parse(canonical)) == canonical
    assert hash_comments(canonical) == hash_comments(text)


def test_reading_a_template_loads_nothing_heavy() -> None:
    """Start-up stays short because numbers, kernels and the specification are not needed to read a template."""
    code = (
        "import sys\n"
        "from dcrfdsl.syntax import parse\n"
        "parse('features f:\\n    word\\n')\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "'lark'" in run.stdout
    for heavy in ("numba", "numpy", "scipy", "networkx", "pydantic", "pandas"):
        assert f"'{heavy}'" not in run.stdout
