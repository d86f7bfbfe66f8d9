"""From a malformed statement to a message.

`HINTS` is read from top to bottom, and the first hint that recognises the failure answers. If none recognises it, the
message lists what the parser would have accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from ..foundation import Diagnostic
from . import mistakes, python_syntax_hints
from .failure import Failure


def explain(failure: Failure) -> Diagnostic:
    """The message about `failure`."""
    for hint in HINTS:
        problem = hint(failure)
        if problem is not None:
            return problem
    if failure.at_end:
        return failure.error("unexpected-end", "the line ends too early", failure.expectation())
    return failure.error("unexpected-text", f"unexpected `{failure.unexpected}`", failure.expectation())


# Mistakes of layout come first: a misplaced line says nothing about its words.
HINTS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    mistakes.unmatched_bracket, mistakes.uneven_block, mistakes.indented_statement, mistakes.continued_line,
    mistakes.missing_colon_before_block, mistakes.unexpected_block, mistakes.unclosed_string, mistakes.quoted_regex,
    mistakes.strange_character, mistakes.unclosed_regex, mistakes.bare_regex, mistakes.foreign_comment,
    mistakes.tested_argument, python_syntax_hints.python_call, python_syntax_hints.python_slice,
    python_syntax_hints.range_dash, mistakes.missing_braces, python_syntax_hints.bare_exception,
    python_syntax_hints.missing_limit, python_syntax_hints.bracketed_list, python_syntax_hints.quoted_name,
    python_syntax_hints.options_behind, python_syntax_hints.arrow, python_syntax_hints.comma_in_condition,
    python_syntax_hints.several_labels, python_syntax_hints.file_as_lexicon, mistakes.window_dots,
    mistakes.offset_brackets, mistakes.unclosed_bracket, mistakes.and_in_features, mistakes.ampersand_in_condition,
    mistakes.scaled_offset, mistakes.foreign_operator, python_syntax_hints.number_first,
    python_syntax_hints.chained_comparison, mistakes.reserved_word, mistakes.clause_order, mistakes.late_clause,
    mistakes.two_statements, mistakes.misspelt_word, mistakes.semicolon, mistakes.odd_name, mistakes.unquoted_state,
    mistakes.unquoted_text, mistakes.missing_parentheses, mistakes.missing_with, mistakes.empty_list,
    mistakes.missing_comma, mistakes.missing_colon,
)  # fmt: skip
