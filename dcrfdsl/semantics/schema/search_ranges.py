"""Search ranges of constants: `let NAME = V tune log(a, b)`, `linear(a, b)` or `among(V, V, …)`.

`RANGES` is the table of their kinds; each reads the arguments of a call. Not here: whether the users of the constant
accept such values (`tuned_constants`), the values that a search tries.
"""

from __future__ import annotations

from collections.abc import Callable

from ...foundation import Table, dataclass
from ...syntax import Apply, CallSpec, Here, Number, Reference, Value, other_words


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`, both included; `log`: spaced on a log scale; `whole`: whole numbers only."""

    low: float
    high: float
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Candidates:
    """One of these values."""

    values: tuple[Value, ...]


SearchRange = Interval | Candidates


@dataclass(frozen=True)
class Kind:
    """A kind of range. expected: its arguments, in words.   read: the range of these arguments, None if invalid."""

    summary: str
    expected: str
    example: str
    read: Callable[[tuple[Value, ...]], SearchRange | None]


def _interval(values: tuple[Value, ...], *, log: bool) -> SearchRange | None:
    numbers = [value.value for value in values if isinstance(value, Number)]
    if len(numbers) != 2 or len(values) != 2 or not numbers[0] < numbers[1] or (log and numbers[0] <= 0):
        return None
    return Interval(numbers[0], numbers[1], log)


def _candidates(values: tuple[Value, ...]) -> SearchRange | None:
    distinct = [value for n, value in enumerate(values) if value not in values[:n]]
    return Candidates(values) if len(values) > 1 and len(distinct) == len(values) else None


RANGES: Table[Kind] = Table(
    "search range",
    {
        "log": Kind(
            "Values spread evenly on a log scale.", "two numbers, more than 0, the smaller first", "log(0.1, 1000)",
            lambda values: _interval(values, log=True),
        ),
        "linear": Kind(
            "Values spread evenly.", "two numbers, the smaller first", "linear(0, 1)",
            lambda values: _interval(values, log=False),
        ),
        "among": Kind("A choice of values.", "two values or more, each once", "among(1, 2, 5)", _candidates),
    },
    other_words("search range"),
)  # fmt: skip


def read_range(call: CallSpec) -> SearchRange | None:
    """The range of `log(a, b)`, `linear(a, b)` or `among(V, …)`; None if the call is none of these."""
    if call.name not in RANGES or call.settings or any(argument.name is not None for argument in call.arguments):
        return None
    return RANGES[call.name].read(tuple(argument.value for argument in call.arguments))


def as_call(value: Value) -> CallSpec | None:
    """A value that names a method, `exact` or `lbfgs(memory = 7)`, as a call; None for any other value."""
    match value:
        case Reference(place=Here()):
            call, name = CallSpec(name=value.name), "name"
        case Apply(place=Here()):
            call, name = CallSpec(name=value.function, arguments=value.arguments), "function"
        case _:
            return None
    return call.at(value.span, name=value.place_of(name)) if value.is_written else call
