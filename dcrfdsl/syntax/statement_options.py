"""The `with` options of statements: what each takes, and how it is read from a text.

A reader returns the Python value of a setting, or `Expected` with the words for the message. An option that takes a
number also accepts the name of a constant (`let`), which stays a reference until all constants are known. Not here:
which statement has which options (`statements`), settings of methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..foundation import Diagnostic, Label, Span, dataclass, did_you_mean
from .nodes import Apply, Here, Number, Range, Reference, Regex, Setting, Text, Value
from .resources import other_words


@dataclass(frozen=True)
class Expected:
    """Why a value does not fit: the expected value in words, and a remedy if there is one."""

    words: str
    help: str | None = None


OptionReader: TypeAlias = Callable[[Value], Any]


def state(value: Value) -> str | Expected:
    """A state: a plain name or a quoted text."""
    if isinstance(value, Text):
        return value.value
    if isinstance(value, Reference) and isinstance(value.place, Here):
        return value.name
    if isinstance(value, Number):
        return Expected("a state", f'quote a state that is a number: `"{value.value}"`')
    return Expected("a state", "quote a state that is no plain name")


def yes_no(value: Value) -> bool | Expected:
    """`yes` or `no`"""
    if isinstance(value, Reference) and value.name in ("yes", "no"):
        return value.name == "yes"
    return Expected("`yes` or `no`")


def choice(*words: str) -> OptionReader:
    """One of some words."""
    listed = " or ".join(f"`{word}`" for word in words)

    def read(value: Value) -> str | Expected:
        if isinstance(value, Reference) and value.name in words:
            return value.name
        guess = did_you_mean(value.name, words) if isinstance(value, Reference) else None
        return Expected(listed, f"did you mean `{guess}`?" if guess else None)

    return read


def types(value: Value) -> tuple[str, ...] | Expected:
    """`types("A: X Y", "B: Z")`: its texts."""
    if isinstance(value, Apply) and value.function == "types":
        texts = [one.value.value for one in value.arguments if one.name is None and isinstance(one.value, Text)]
        if len(texts) == len(value.arguments) > 0:
            return tuple(texts)
    return Expected("`types(…)` with texts", 'for example `types("A: X Y", "B: all")`')


def count(value: Value) -> int | Reference | Expected:
    """A whole number of at least 1, or a constant."""
    if isinstance(value, Number) and isinstance(value.value, int) and value.value >= 1:
        return value.value
    if isinstance(value, Reference) and isinstance(value.place, Here):
        return value
    return Expected("a whole number, at least 1")


def amount(value: Value) -> float | Reference | Expected:
    """A number, or a constant."""
    if isinstance(value, Number) or (isinstance(value, Reference) and isinstance(value.place, Here)):
        return value.value if isinstance(value, Number) else value
    return Expected("a number")


def count_or_none(value: Value) -> int | Reference | Expected | None:
    """As `count`, or the word `none`."""
    return None if isinstance(value, Reference) and value.name == "none" else count(value)


def read_options(
    settings: Iterable[Setting],
    table: Mapping[str, OptionReader],
    statement: str,
    owners: Mapping[str, Iterable[str]],
) -> tuple[dict[str, Any], dict[str, Span], list[Diagnostic]]:
    """The options of one statement by name, the places of their values, and their problems.

    table: a reader for each option that the statement has.
    owners: the options of all statements, for the remedy where another statement has it.
    """
    options: dict[str, Any] = {}
    first: dict[str, Span] = {}
    places: dict[str, Span] = {}
    problems: list[Diagnostic] = []
    for setting in settings:
        name, key = ".".join(setting.key), setting.place_of("key")
        if name not in table:
            problems.append(_unknown(name, table, statement, owners, Label(key, "unknown option")))
            continue
        if name in first:
            there = (Label(first[name], "first given here"),)
            problems.append(
                Diagnostic("declared-twice", f"`{name}` is given twice", Label(key, "given again here"), there)
            )
            continue
        first[name] = key
        value = table[name](setting.value)
        if isinstance(value, Expected):
            label = Label(setting.value.span, f"expected {value.words}")
            message = f"`{shown(setting.value)}` is no value for `{name}`: expected {value.words}"
            problems.append(Diagnostic("bad-setting", message, label, help=value.help))
        else:
            options[name], places[name] = value, setting.value.span
    return options, places, problems


def shown(value: Value) -> str:
    """A value in a few words, for messages."""
    match value:
        case Number() | Text():
            return str(value.value)
        case Reference():
            return value.name
        case Apply():
            return f"{value.function}(…)" if value.arguments else f"{value.function}()"
        case Range():
            return f"{value.first}..{value.last}"
        case Regex():
            return f"/{value.pattern}/{'i' if value.ignore_case else ''}"


def _unknown(
    name: str, table: Mapping[str, OptionReader], statement: str, owners: Mapping[str, Iterable[str]], label: Label
) -> Diagnostic:
    if not table:
        return Diagnostic("unknown-setting", f"`{statement}` takes no option, found `{name}`", label)
    guess = did_you_mean(name, table, other_words("options"))
    meant = other_words("options").get(name.lower(), name)
    owner = next((other for other, options in owners.items() if meant in options), None)
    known = ", ".join(f"`{option}`" for option in table)
    remedy = f"did you mean `{guess}`?" if guess else f"the options of `{statement}` are {known}"
    if owner and not guess:
        remedy = f"`{meant}` is an option of `{owner}`; {remedy}"
    return Diagnostic("unknown-setting", f"`{name}` is not an option of `{statement}`", label, help=remedy)
