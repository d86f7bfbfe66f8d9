"""Regular expressions of features, compiled by RE2 for matching against UTF-8.

With texts, RE2 would also compute positions in characters, which nobody uses. Not here: conditions on labels, and what
is wrong with an expression (`semantics`).
"""

from __future__ import annotations

from typing import Any

from ...foundation import DcrfError, Diagnostic
from ...semantics import Regex


def compiled(regex: Regex) -> Any:
    """The compiled pattern, without groups. Match it against encoded text."""
    import re2  # here only: a template without regexes needs no engine

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = not regex.ignore_case
    try:
        return re2.compile(regex.pattern, options)
    except re2.error as error:
        detail = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error.args[0]
        raise DcrfError(Diagnostic("bad-regex", f"`/{regex.pattern}/` is no regular expression: {detail}")) from None
