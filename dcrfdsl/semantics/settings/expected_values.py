"""The value that a setting expects, in words. Not here: reading settings (`settings_reading`)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import ErrorDetails

from ...foundation import number_text

__all__ = ["expected_words"]

EXPECTED: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
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
    context = {name: _text(value) for name, value in detail.get("ctx", {}).items()}
    template = EXPECTED.get(detail["type"])
    if "expected" in context:
        context["expected"] = context["expected"].replace("'", "`")
    return template.format(**context) if template else detail["msg"].lower()


def _text(value: object) -> str:
    if isinstance(value, float):
        return number_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
