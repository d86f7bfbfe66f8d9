"""The `with` options of labels, feature groups and cliques: names, types, ranges.

One table per statement: option → reader of its value. A reader returns the Python value, or `Expected` with the words
for the message. An option that takes a number also accepts the name of a constant (`let`), which stays a reference;
`check_constants` checks it once all constants are known. Not here: settings of methods (`settings.training_settings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...foundation import Diagnostic, Label, SpellingGuesses, did_you_mean
from .expressions import Apply, Number, Range, Reference, Regex, Text, Value
from .model_spec import ModelSpec, Setting
from .source_spans import Path, SpanTable


@dataclass(frozen=True)
class Expected:
    """Why a value does not fit: the expected value in words, and a remedy if there is one."""

    words: str
    help: str | None = None


OptionReader: TypeAlias = Callable[[Value], Any]


def _state(value: Value) -> str | Expected:
    """A state: a plain name or a quoted text."""
    if isinstance(value, Text):
        return value.value
    if isinstance(value, Reference) and value.place.kind == "here":
        return value.name
    if isinstance(value, Number):
        return Expected("a state", f'quote a state that is a number: `"{value.value}"`')
    return Expected("a state", "quote a state that is no plain name")


def _yes_no(value: Value) -> bool | Expected:
    if isinstance(value, Reference) and value.name in ("yes", "no"):
        return value.name == "yes"
    return Expected("`yes` or `no`")


def _choice(*words: str) -> OptionReader:
    listed = " or ".join(f"`{word}`" for word in words)

    def read(value: Value) -> str | Expected:
        if isinstance(value, Reference) and value.name in words:
            return value.name
        guess = did_you_mean(value.name, words) if isinstance(value, Reference) else None
        return Expected(listed, f"did you mean `{guess}`?" if guess else None)

    return read


def _count(value: Value) -> int | Reference | Expected:
    """A whole number of at least 1, or a constant."""
    if isinstance(value, Number) and isinstance(value.value, int) and value.value >= 1:
        return value.value
    if isinstance(value, Reference) and value.place.kind == "here":
        return value
    return Expected("a whole number, at least 1")


def _count_or_none(value: Value) -> int | Reference | Expected | None:
    return None if isinstance(value, Reference) and value.name == "none" else _count(value)


LABEL_OPTIONS: Mapping[str, OptionReader] = {
    "others": _state,
    "missing": _state,
    "ambiguous": _state,
    "constrain": _yes_no,
}
LEXICON_OPTIONS: Mapping[str, OptionReader] = {"case": _choice("exact", "ignore")}
GROUP_OPTIONS: Mapping[str, OptionReader] = {"min_count": _count, "outside": _choice("boundary", "skip")}
CLIQUE_OPTIONS: Mapping[str, OptionReader] = {
    "states": _choice("seen", "all"),
    "edges": _choice("inside", "pad"),
    "min_gap": _count,
    "max_gap": _count_or_none,
    "link": _choice("next", "all"),
    "order": _choice("forward", "any"),
}
SEGMENT_OPTIONS: Mapping[str, OptionReader] = {
    "states": _choice("seen", "all"),
    "longer": _choice("forbidden", "together"),
    "min_count": _count,
}
SEGMENT_LIMIT: Mapping[str, OptionReader] = {"up_to": _count}  # written `up to`
NO_OPTIONS: Mapping[str, OptionReader] = {}
_OWNERS: Mapping[str, Mapping[str, OptionReader]] = {
    "label": LABEL_OPTIONS, "lexicon": LEXICON_OPTIONS, "features": GROUP_OPTIONS, "clique": CLIQUE_OPTIONS,
    "segment": SEGMENT_OPTIONS,
}  # fmt: skip

# The names of these options in other tools.
_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("cutoff", "minfreq", "min_freq", "minfrequency", "threshold", "min_df", "freq"), "min_count"),
    **dict.fromkeys(("default", "other", "otherwise", "unknown"), "others"),
    **dict.fromkeys(("fold", "casefold", "ignore_case", "insensitive", "lower", "lowercase"), "case"),
    **dict.fromkeys(("na", "null", "unlabelled", "unlabeled"), "missing"),
}

# Numbers of a specification that may be constants: (part, field).
_CONSTANT_COUNTS = (
    ("groups", "min_count"),
    ("cliques", "min_gap"),
    ("cliques", "max_gap"),
    ("cliques", "up_to"),
    ("cliques", "min_count"),
)


def read_options(
    settings: Iterable[Setting], table: Mapping[str, OptionReader], statement: str, at: Path, spans: SpanTable
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The options of one statement by name, and their problems.

    `at` is the path of the settings: `spans` has `(*at, n, "key")` and `(*at, n, "value")` for setting number n.
    """
    options: dict[str, Any] = {}
    places: dict[str, Label | None] = {}
    problems: list[Diagnostic] = []
    for n, setting in enumerate(settings):
        name = ".".join(setting.key)
        key_label = spans.label(*at, n, "key", text="unknown option")
        if name not in table:
            problems.append(_unknown(name, table, statement, key_label))
            continue
        if name in places:
            again = spans.label(*at, n, "key", text="given again here")
            problems.append(Diagnostic("declared-twice", f"`{name}` is given twice", again, _present(places[name])))
            continue
        places[name] = spans.label(*at, n, "key", text="first given here")
        value = table[name](setting.value)
        if isinstance(value, Expected):
            label = spans.label(*at, n, "value", text=f"expected {value.words}")
            message = f"`{shown(setting.value)}` is no value for `{name}`: expected {value.words}"
            problems.append(Diagnostic("bad-setting", message, label, help=value.help))
        else:
            options[name] = value
    return options, problems


def check_constants(spec: ModelSpec, spans: SpanTable) -> list[Diagnostic]:
    """Problems of options that name a constant which does not exist or is not a whole number of at least 1."""
    problems, guesses = [], SpellingGuesses()
    names = [let.name for let in spec.lets]
    for part, field in _CONSTANT_COUNTS:
        for n, item in enumerate(getattr(spec, part)):
            reference = getattr(item, field)
            if not isinstance(reference, Reference):
                continue
            value = spec.settled(reference)
            label = spans.label(part, n, field, text="expected a whole number, at least 1")
            if spec.constant(reference.name) is None:
                guess = guesses.near(reference.name, names)
                message = f"`{reference.name}` is not a constant, and `{field}` needs a whole number"
                problems.append(
                    Diagnostic("unknown-name", message, label, help=f"did you mean `{guess}`?" if guess else None)
                )
            elif isinstance(_count(value), Expected | Reference):
                described = f"the constant `{reference.name}` is `{shown(value)}`"
                message = f"{described}, and `{field}` needs a whole number, at least 1"
                problems.append(Diagnostic("bad-setting", message, label))
    return problems


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


def _unknown(name: str, table: Mapping[str, OptionReader], statement: str, label: Label | None) -> Diagnostic:
    if not table:
        return Diagnostic("unknown-setting", f"`{statement}` takes no option, found `{name}`", label)
    guess = did_you_mean(name, table, _SYNONYMS)
    owner = next((other for other, options in _OWNERS.items() if _SYNONYMS.get(name.lower(), name) in options), None)
    known = ", ".join(f"`{option}`" for option in table)
    remedy = f"did you mean `{guess}`?" if guess else f"the options of `{statement}` are {known}"
    if owner and not guess:
        remedy = f"`{_SYNONYMS.get(name.lower(), name)}` is an option of `{owner}`; {remedy}"
    return Diagnostic("unknown-setting", f"`{name}` is not an option of `{statement}`", label, help=remedy)


def _present(label: Label | None) -> tuple[Label, ...]:
    return () if label is None else (label,)
