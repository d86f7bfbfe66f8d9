"""The value that a setting expects, in words. Not here: reading settings (`settings_reading`)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from ...foundation import number_text

EXPECTED: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number, {limits}",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "bool_parsing": "`yes` or `no`",
    "bool_type": "`yes` or `no`",
}


def expected_words(detail: ErrorDetails, settings: type[BaseModel]) -> str:
    """What pydantic expected of a value of `settings`, in the words of the language."""
    context = {name: _text(value) for name, value in detail.get("ctx", {}).items()}
    template = EXPECTED.get(detail["type"])
    if "expected" in context:
        context["expected"] = context["expected"].replace("'", "`")
    if detail["type"] == "int_parsing_size":
        context["limits"] = _limits(settings, str(detail["loc"][0]))
    return template.format(**context) if template else detail["msg"].lower()


def _text(value: object) -> str:
    if isinstance(value, float):
        return number_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _limits(settings: type[BaseModel], name: str) -> str:
    """Those of a whole number. Numbers of the language have at most 18 digits."""
    declared = settings.model_fields[name].metadata
    least = next((f"at least {limit.ge}" for limit in declared if hasattr(limit, "ge")), "")
    most = next((f"at most {limit.le:,}" for limit in declared if hasattr(limit, "le")), "of at most 18 digits")
    return ", ".join(filter(None, (least, most)))
