"""Signatures of the built-in feature functions: their parameters and results.

The checker and the room `features` share the table `FUNCTIONS`, so it loads nothing heavy. `bin(age, 4)` and
`bin(age, 18, 30, 65)` have arguments of their own kind, and their bins have names. Not here: the functions
themselves (`features.values.value_functions`), functions registered by a user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Literal, TypeGuard

from ...foundation import Table, dataclass
from ...syntax import Apply, Argument, Here, Number, Range, Reference, Regex, Value, Window, other_words

LONGEST = 1000  # a larger length is a slip of the pen, and a range up to it would fill the memory


@dataclass(frozen=True)
class Parameter:
    """One argument. `term`: a column or a function of one; `lengths`: a number from 1 or a range of
    them; `pattern`: a regular expression; `flag`: yes or no; `lexicon`: the name of a lexicon; `numbers`: one number or
    more, as the last argument; `scores`: a column of scores; `factor`: a number above 0; `number`: a term that has a
    number; `window`: one with a window behind it.
    """

    name: str
    kind: Literal["term", "lengths", "pattern", "flag", "lexicon", "numbers", "scores", "factor", "number", "window"]
    default: Value | None = None  # None: required


@dataclass(frozen=True)
class FunctionSignature:
    """returns: one `value` per position, several `values`, a `test`, `scores` of states, a `number`, or a `statistic`,
    the number of a window.

    Without parameters it is a bare word.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: Literal["value", "values", "test", "scores", "number", "statistic"]

    @property
    def usage(self) -> str:
        """`prefix(term, lengths)`, `shape(term, short = …)`, for messages"""
        listed = ", ".join(p.name if p.default is None else f"{p.name} = …" for p in self.parameters)
        return f"{self.name}({listed})" if self.parameters else self.name


@dataclass(frozen=True)
class ArgumentProblem:
    """A problem of the argument number `index` (None: of the call as a whole)."""

    index: int | None
    message: str
    help: str | None = None


_TERM = Parameter("term", "term")
_LENGTHS = Parameter("lengths", "lengths")
_PATTERN = Parameter("pattern", "pattern")
_SHORT = Parameter("short", "flag", Reference(name="no"))
_PART = Parameter("number", "lengths")
_BINS = Parameter("bins", "numbers")
_LEXICON = Parameter("lexicon", "lexicon")
_NUMBER = Parameter("term", "number")
_WINDOW = Parameter("term", "window")
_SCORES = Parameter("scores", "scores")
_SCALE = Parameter("scale", "factor", Number(value=1))

_STATISTICS = ("mean", "max", "min", "spread", "change", "slope")

FUNCTIONS: Table[FunctionSignature] = Table(
    "feature function",
    {
        signature.name: signature
        for signature in (
            FunctionSignature("bias", (), "test"),
            FunctionSignature("lower", (_TERM,), "value"),
            FunctionSignature("prefix", (_TERM, _LENGTHS), "values"),
            FunctionSignature("suffix", (_TERM, _LENGTHS), "values"),
            FunctionSignature("extract", (_TERM, _PATTERN), "value"),
            FunctionSignature("shape", (_TERM, _SHORT), "value"),
            FunctionSignature("part", (_TERM, _PART), "values"),
            FunctionSignature("length", (_TERM,), "value"),
            FunctionSignature("bin", (_TERM, _BINS), "value"),
            FunctionSignature("standardize", (_NUMBER,), "number"),
            FunctionSignature("scale", (_NUMBER,), "number"),
            *(FunctionSignature(name, (_WINDOW,), "statistic") for name in _STATISTICS),
            FunctionSignature("chars", (_TERM, _LENGTHS), "values"),
            FunctionSignature("span", (_TERM, _LEXICON), "value"),
            FunctionSignature("first", (), "test"),
            FunctionSignature("last", (), "test"),
            FunctionSignature("offset", (_SCORES, _SCALE), "scores"),
            FunctionSignature("index", (), "value"),
        )
    },
    other_words("feature function"),
)  # fmt: skip


def bind(
    signature: FunctionSignature, arguments: Sequence[Argument], settled: Callable[[Value], Value]
) -> tuple[dict[str, Value], tuple[ArgumentProblem, ...]]:
    """The value of each parameter, with constants settled and defaults filled in, and every problem.

    `settled` replaces the name of a constant by its value (`ModelSpec.settled`). The caller checks whether a term or
    lexicon exists.
    """
    bound: dict[str, Value] = {}
    problems: list[ArgumentProblem] = []
    for index, argument in enumerate(arguments):
        parameter = _parameter(signature, index, argument)
        if parameter is None:
            problems.append(_unexpected(signature, index, argument))
        elif parameter.name in bound and parameter.kind != "numbers":
            problems.append(ArgumentProblem(index, f"`{parameter.name}` of `{signature.name}` is given twice"))
        else:
            value = settled(argument.value)
            fits, expected = _EXPECTED[parameter.kind]
            if not fits(value):
                problems.append(ArgumentProblem(index, f"`{parameter.name}` of `{signature.name}` must be {expected}"))
            bound.setdefault(parameter.name, value)
    for parameter in signature.parameters:
        if parameter.name not in bound:
            if parameter.default is None:
                problems.append(
                    ArgumentProblem(
                        None, f"`{signature.name}` needs its `{parameter.name}`", f"write `{signature.usage}`"
                    )
                )
            else:
                bound[parameter.name] = parameter.default
    return bound, tuple(problems)


def _parameter(signature: FunctionSignature, index: int, argument: Argument) -> Parameter | None:
    if argument.name is not None:
        return next((p for p in signature.parameters if p.name == argument.name), None)
    # options with a default need a name, so that `shape(word, yes)` is not misread
    positional = [p for p in signature.parameters if p.default is None]
    if index >= len(positional) and positional and positional[-1].kind == "numbers":
        return positional[-1]
    return positional[index] if index < len(positional) else None


def _unexpected(signature: FunctionSignature, index: int, argument: Argument) -> ArgumentProblem:
    if argument.name is not None:
        known = ", ".join(f"`{p.name}`" for p in signature.parameters) or "none"
        return ArgumentProblem(index, f"`{signature.name}` has no argument `{argument.name}`", f"it has: {known}")
    expected = sum(p.default is None for p in signature.parameters)
    plural = "" if expected == 1 else "s"
    return ArgumentProblem(
        index, f"`{signature.name}` takes {expected} unnamed argument{plural}", f"write `{signature.usage}`"
    )


def _are_lengths(value: Value) -> bool:
    match value:
        case Number(value=int(n)):
            return 1 <= n <= LONGEST
        case Range(first=first, last=last):
            return 1 <= first <= last <= LONGEST
    return False


# What each kind of parameter takes, and the words for it.
_EXPECTED: Mapping[str, tuple[Callable[[Value], bool], str]] = {
    "term": (lambda value: isinstance(value, Reference | Apply), "a column, or a function of one"),
    "lengths": (_are_lengths, f"a number from 1 to {LONGEST} or a range of them, such as 1..4"),
    "pattern": (
        lambda value: isinstance(value, Regex), "a regular expression between slashes, such as /[0-9]+/"
    ),
    "flag": (lambda value: isinstance(value, Reference) and value.name in ("yes", "no"), "`yes` or `no`"),
    "lexicon": (
        lambda value: isinstance(value, Reference) and isinstance(value.place, Here), "the name of a lexicon"
    ),
    "numbers": (lambda value: isinstance(value, Number), "a number, or several that ascend"),
    "scores": (lambda value: isinstance(value, Reference), "a column of scores"),
    "number": (lambda value: isinstance(value, Reference | Apply), "a column of numbers, or a function that gives one"),
    "window": (
        lambda value: isinstance(getattr(value, "place", None), Window), "a number and its window, as `temp[-3..3]`"
    ),
    "factor": (lambda value: isinstance(value, Number) and 0 < value.value < inf, "a number above 0"),
}  # fmt: skip


def gives_number(term: object, *returns: str) -> TypeGuard[Apply]:
    """Whether a term is a built-in function that gives a number.   returns: only functions that return one of these."""
    signature = FUNCTIONS.get(term.function) if isinstance(term, Apply) else None
    return signature is not None and signature.returns in (returns or ("number", "statistic"))


def reads_window(term: object) -> TypeGuard[Apply]:
    """Whether a term is `mean(temp[-3..3])`, whose argument has a place of its own."""
    return gives_number(term, "statistic")


MOST_BINS = 1000


@dataclass(frozen=True)
class Bins:
    """`count` bins by quantiles of the training data, or bins between given `edges` (then `count` is None)."""

    count: int | None
    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class BinProblem:
    """A problem of the argument number `index`."""

    index: int
    message: str
    help: str


def read_bins(term: Apply, settled: Callable[[Value], Value]) -> Bins | BinProblem:
    """The bins of `bin(term, …)`, whose numbers `bind` has checked. One number is a count, several are edges."""
    values = [settled(argument.value) for argument in term.arguments[1:]]
    numbers = [value.value for value in values if isinstance(value, Number)]
    if len(numbers) == 1:
        (count,) = numbers
        if isinstance(count, int) and 2 <= count <= MOST_BINS:
            return Bins(count)
        message = f"one number is how many bins there are, from 2 to {MOST_BINS}, found `{count}`"
        return BinProblem(1, message, f"a single edge is a test, as in `age >= {count}`")
    for index, (low, high) in enumerate(pairwise(numbers), start=2):
        if low >= high:
            return BinProblem(index, f"edges of bins ascend, and `{low}` stands before `{high}`", "sort them")
    if len(numbers) >= MOST_BINS:
        return BinProblem(1, f"{len(numbers):,} edges: at most {MOST_BINS - 1} are possible", "take fewer")
    return Bins(None, tuple(map(float, numbers)))


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """What the bins are called, from the lowest to the highest.

    >>> bin_names([18.0, 30.0])
    ('[-inf,18)', '[18,30)', '[30,inf)')
    """
    texts = [str(int(edge)) if edge.is_integer() and abs(edge) < 1e15 else repr(edge) for edge in edges]
    return tuple(f"[{low},{high})" for low, high in pairwise(("-inf", *texts, "inf")))
