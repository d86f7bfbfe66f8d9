"""The value that a setting expects, in words. Not here: reading settings (`settings_reading`)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import ErrorDetails

__all__ = ["expected_words"]

EXPECTED: Mapping[str, str] = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:,}",
    "literal_error": "{expected}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "`yes` or `no`",
    "bool_type": "`yes` or `no`",
}


def expected_words(detail: ErrorDetails) -> str:
    """What pydantic expected, in the words of the language."""
    context, template = dict(detail.get("ctx", {})), EXPECTED.get(detail["type"])
    if "expected" in context:
        context["expected"] = str(context["expected"]).replace("'", "`")
    return template.format(**context) if template else detail["msg"].lower()
