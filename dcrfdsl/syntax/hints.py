"""From a malformed statement to a message.

`HINTS` is read from top to bottom, and the first hint that recognises the failure answers; a test checks the slug of
every sample. If none recognises it, the message lists what the parser would have accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from ..foundation import Diagnostic, dataclass
from . import mistakes, python_syntax_hints
from .failure import Failure


@dataclass(frozen=True)
class Hint:
    """One mistake: its slug, the smallest text that contains it, and the function that recognises it."""

    slug: str
    sample: str
    recognise: Callable[[Failure], Diagnostic | None]


def explain(failure: Failure) -> Diagnostic:
    """The message about `failure`."""
    for hint in HINTS:
        problem = hint.recognise(failure)
        if problem is not None:
            return problem
    if failure.at_end:
        return failure.error("unexpected-end", "the line ends too early", failure.expectation())
    return failure.error("unexpected-text", f"unexpected `{failure.unexpected}`", failure.expectation())


# Mistakes of layout come first: a misplaced line says nothing about its words.
HINTS = (
    Hint("unmatched-bracket", "features f: lower(word]", mistakes.unmatched_bracket),
    Hint("uneven-block", "features f:\n    word\n      pos", mistakes.uneven_block),
    Hint("indented-statement", "infer exact\n  decode joint", mistakes.indented_statement),
    Hint("continued-line", "clique a[-1],\n    a", mistakes.continued_line),
    Hint("missing-colon", "features f\n    word", mistakes.missing_colon_before_block),
    Hint("unexpected-block", "label a\n    in {A, B}", mistakes.unexpected_block),
    Hint("unclosed-string", 'use "nouns.dcrf', mistakes.unclosed_string),
    Hint("quoted-regex", 'features f: word matches "[A-Z]+"', mistakes.quoted_regex),
    Hint("strange-character", "features f: word\u00a0& pos", mistakes.strange_character),
    Hint("unclosed-regex", "features f: word has /[0-9]", mistakes.unclosed_regex),
    Hint("bare-regex", "features f: word has [0-9]", mistakes.bare_regex),
    Hint("foreign-comment", "infer exact // fits", mistakes.foreign_comment),
    Hint("test-as-argument", "features f: any(word[-2..-1] in days)", mistakes.tested_argument),
    Hint("python-call", "features f: word.lower()", python_syntax_hints.python_call),
    Hint("python-slice", "features f: word[-3:]", python_syntax_hints.python_slice),
    Hint("window-dots", "features f: suffix(word, 1-3)", python_syntax_hints.range_dash),
    Hint("missing-braces", "features f: word not in [a, b]", mistakes.missing_braces),
    Hint("missing-braces", "once y except NOTE", python_syntax_hints.bare_exception),
    Hint("missing-limit", "segment y: length", python_syntax_hints.missing_limit),
    Hint("bracketed-list", "features f: [word, pos]", python_syntax_hints.bracketed_list),
    Hint("quoted-name", 'features f: "word"', python_syntax_hints.quoted_name),
    Hint("clause-order", "clique y: word with states = all", python_syntax_hints.options_behind),
    Hint("foreign-operator", "forbid A -> B", python_syntax_hints.arrow),
    Hint("foreign-operator", "forbid y is A, y is B", python_syntax_hints.comma_in_condition),
    Hint("two-statements", "label pos, chunk", python_syntax_hints.several_labels),
    Hint("unexpected-text", 'forbid word in "days.txt"', python_syntax_hints.file_as_lexicon),
    Hint("window-dots", "features f: word[-2:2]", mistakes.window_dots),
    Hint("offset-brackets", "clique chunk-1, chunk", mistakes.offset_brackets),
    Hint("offset-brackets", "clique chunk(-1), chunk", mistakes.offset_brackets),
    Hint("unclosed-bracket", "features f: lower(word, pos", mistakes.unclosed_bracket),
    Hint("and-in-features", "features f: word and pos", mistakes.and_in_features),
    Hint("ampersand-in-condition", "forbid a is X & b is Y", mistakes.ampersand_in_condition),
    Hint("foreign-operator", "clique y: offset(logits) * 0.5", mistakes.scaled_offset),
    Hint("foreign-operator", "forbid a == b", mistakes.foreign_operator),
    Hint("unexpected-text", "features f: 3 < length(word)", python_syntax_hints.number_first),
    Hint("unexpected-text", "features f: length(word) > 3 < 5", python_syntax_hints.chained_comparison),
    Hint("reserved-word", "features f: word, not, pos", mistakes.reserved_word),
    Hint("clause-twice", "clique a as x as y", mistakes.clause_order),
    Hint("clause-order", "clique a with states = all as x", mistakes.clause_order),
    Hint("clause-order", "clique a[i], a[j]:\n    bias\n    where w[i] = w[j]", mistakes.late_clause),
    Hint("two-statements", "infer exact decode joint", mistakes.two_statements),
    Hint("misspelt-word", "clique a wiht states = all", mistakes.misspelt_word),
    Hint("semicolon", "infer exact;", mistakes.semicolon),
    Hint("odd-name", "features my-group: word", mistakes.odd_name),
    Hint("unquoted-state", "label a with others = B-NP", mistakes.odd_name),
    Hint("unquoted-state", "label a in {A, :}", mistakes.unquoted_state),
    Hint("unquoted-text", "use nouns.dcrf", mistakes.unquoted_text),
    Hint("missing-brackets", "data conll word, pos", mistakes.missing_parentheses),
    Hint("missing-with", "features f min_count = 2: word", mistakes.missing_with),
    Hint("empty-list", "features f:", mistakes.empty_list),
    Hint("missing-comma", "features f: word pos", mistakes.missing_comma),
    Hint("missing-colon", "features f word", mistakes.missing_colon),
)
