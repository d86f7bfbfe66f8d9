"""The keyword arguments of sklearn-crfsuite's `CRF(...)` as statements: cliques, prior, optimizer.

They stand in a file as JSON, as a Python dict, or as the call itself. The names and defaults are those of
sklearn-crfsuite and of CRFsuite's trainers. Not here: the features, which its users compute in Python; the template
reads them as attributes.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ..foundation import DcrfError, Diagnostic, Source, Span, dataclass, shortened
from .foreign_patterns import remark, wrong
from .template_text import checked_names, template_text

Number: TypeAlias = int | float
WORDS: Mapping[str, object] = {"true": True, "false": False, "null": None}  # JSON's
MOST_CHARACTERS = 100_000  # a file of parameters has a few hundred


@dataclass(frozen=True)
class _Given:
    value: object
    span: Span


@dataclass(frozen=True)
class _Kind:
    words: str
    fits: Callable[[object], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


_NUMBER = _Kind("a number that is not negative", _is_number)
_WHOLE = _Kind("a whole number", lambda value: _is_number(value) and isinstance(value, int))
_FLAG = _Kind("True or False", lambda value: isinstance(value, bool))
_TEXT = _Kind("a text", lambda value: isinstance(value, str))
_ANY = _Kind("any value", lambda value: True)

# Every argument of `CRF`; those without a use here are said to have none.
ARGUMENTS: Mapping[str, _Kind] = {
    "algorithm": _TEXT, "min_freq": _NUMBER, "all_possible_states": _FLAG, "all_possible_transitions": _FLAG,
    "c1": _NUMBER, "c2": _NUMBER, "max_iterations": _WHOLE, "num_memories": _WHOLE, "epsilon": _NUMBER,
    "period": _WHOLE, "delta": _NUMBER, "linesearch": _TEXT, "max_linesearch": _WHOLE, "calibration_eta": _NUMBER,
    "calibration_rate": _NUMBER, "calibration_samples": _NUMBER, "calibration_candidates": _WHOLE,
    "calibration_max_trials": _WHOLE, "pa_type": _WHOLE, "c": _NUMBER, "error_sensitive": _FLAG, "averaging": _FLAG,
    "variance": _NUMBER, "gamma": _NUMBER, "verbose": _ANY, "model_filename": _ANY, "keep_tempfiles": _ANY,
    "trainer_cls": _ANY,
}  # fmt: skip
SILENT = frozenset({"algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls"})
COMMON = frozenset({"min_freq", "all_possible_states", "all_possible_transitions", "max_iterations"})
# These change the way to the optimum and where training stops on it, not the optimum.
ON_THE_WAY = frozenset(
    {"epsilon", "period", "delta", "linesearch", "max_linesearch", "num_memories", "calibration_eta"}
    | {"calibration_rate", "calibration_samples", "calibration_candidates", "calibration_max_trials"}
)


def crfsuite_template(source: Source, names: Sequence[str] | None) -> tuple[str, list[Diagnostic]]:
    """The template, and a message for each argument that is left out or means something else.

    names: of the label and of the attributes.
    """
    names = names or ("tag", "attributes")
    checked_names(names)
    if len(names) != 2:
        message = f"two columns need names, the label and the attributes, and {len(names)} are named"
        raise DcrfError(Diagnostic("bad-columns", message))
    label, attributes = names
    given, remarks = _arguments(source)
    algorithm = str(given["algorithm"].value if "algorithm" in given else "lbfgs")
    trained = _ALGORITHMS.get(algorithm)
    if trained is None:
        trained = _Trained((), lambda _: "train likelihood\n")
        message = f"there is no training of ours like CRFsuite's `{shortened(algorithm)}`"
        help = "`train perceptron` and `train hmsvm` are the nearest; the template trains by likelihood"
        remarks.append(remark("not-converted", given["algorithm"].span, message, help=help))
    else:
        remarks.extend(_unused(given, algorithm, trained))
    values = {name: item.value for name, item in given.items()}
    listed = attributes
    groups: list[str] = []
    least = values.get("min_freq", 0)
    assert isinstance(least, int | float)
    if least > 1:
        listed = "frequent" if "frequent" not in names else "frequent_2"
        count = -int(-least // 1)
        groups.append(f"features {listed} with min_count = {count}: {attributes}\n")
        drops = f"CRFsuite drops pairs of attribute and label that occur less than {least} times"
        message = f"{drops}, `min_count` attributes"
        remarks.append(remark("converts-differently", given["min_freq"].span, message, severity="warning"))
    states = " with states = all" if values.get("all_possible_states") else ""
    moves = "all" if values.get("all_possible_transitions") else "seen"
    statements = [
        (f"data crfsuite({label}, {attributes}: weighted_bag)\n", f"label {label}\n"),
        groups,
        (
            f"clique {label} as states{states}: {listed}\n",
            f"clique {label}[-1], {label} as transitions with states = {moves}\n",
        ),
        (trained.statement(values),),
    ]
    remarks.sort(key=lambda item: item.primary.span.start if item.primary else -1)
    left_out = [item.primary.span.text for item in remarks if item.primary and item.severity == "error"]
    headline = "Converted from parameters of sklearn-crfsuite by `dcrfdsl convert`."
    return template_text(headline, statements, left_out), remarks


def _unused(given: Mapping[str, _Given], algorithm: str, trained: _Trained) -> Iterator[Diagnostic]:
    """Messages about arguments that the algorithm of ours does not have."""
    for name, item in given.items():
        if name in SILENT | COMMON | set(trained.uses):
            continue
        if name in ON_THE_WAY:
            message = f"`{name}` says how CRFsuite gets to the optimum; training here goes its own way"
            yield remark("converts-differently", item.span, message, severity="note")
        else:
            message = f"`{name}` has no counterpart in the training that stands for `{algorithm}`"
            yield remark("not-converted", item.span, message)


# reading --------------------------------------------------------------------------------------------------------------


def _arguments(source: Source) -> tuple[dict[str, _Given], list[Diagnostic]]:
    """The arguments with values of the right kind, and a message for each other one."""
    given: dict[str, _Given] = {}
    remarks: list[Diagnostic] = []
    for name, node, span in _pairs(source):
        kind = ARGUMENTS.get(name)
        if kind is None:
            message = f"sklearn-crfsuite's CRF has no argument `{shortened(name)}`"
            remarks.append(remark("bad-foreign-line", span, message))
            continue
        try:
            value = WORDS[node.id] if isinstance(node, ast.Name) and node.id in WORDS else ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError, RecursionError, SyntaxError):
            remarks.append(remark("not-converted", span, f"the value of `{name}` is no literal", help="write it out"))
            continue
        if value is None:
            continue  # CRFsuite's own default
        if not kind.fits(value):
            message = f"`{name}` takes {kind.words}, found `{shortened(value)}`"
            remarks.append(remark("bad-foreign-line", span, message))
            continue
        given[name] = _Given(value, span)
    return given, remarks


def _pairs(source: Source) -> list[tuple[str, ast.expr, Span]]:
    """Names, values and places of the arguments of `{"c1": 0.1}`, `dict(c1=0.1)` or `CRF(c1=0.1)`."""
    start = len(source.text) - len(source.text.lstrip())
    text = source.text.strip()
    try:
        if len(text) > MOST_CHARACTERS:
            raise ValueError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _no_parameters(Span(source, start, start + 1), getattr(error, "msg", None)) from None
    starts = source.line_starts
    first_line, first_column = source.position(start)

    def span(node: ast.expr | ast.keyword, end: ast.expr) -> Span:
        def offset(line: int, column: int) -> int:
            text = source.line(line + first_line - 1)
            before = first_column - 1 if line == 1 else 0
            characters = len(text[before:].encode()[:column].decode(errors="replace"))
            return starts[line + first_line - 2] + before + characters

        return Span(source, offset(node.lineno, node.col_offset), offset(end.end_lineno or 1, end.end_col_offset or 0))

    if isinstance(tree, ast.Dict) and all(isinstance(key, ast.Constant) for key in tree.keys):
        keys = [key for key in tree.keys if key is not None]
        return [
            (str(getattr(key, "value", "")), value, span(key, value))
            for key, value in zip(keys, tree.values, strict=True)
        ]
    if isinstance(tree, ast.Call) and not tree.args and all(keyword.arg for keyword in tree.keywords):
        return [(str(word.arg), word.value, span(word, word.value)) for word in tree.keywords]
    raise _no_parameters(Span(source, start, start + 1))


def _no_parameters(place: Span, reason: str | None = None) -> DcrfError:
    message = "this is no dict of parameters, and no call of `CRF`"
    help = 'such as `{"algorithm": "lbfgs", "c1": 0.1}`'
    return wrong("bad-foreign-line", place, f"{message}{f': {reason}' if reason else ''}", help)


# training -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Trained:
    """uses: the arguments that count; statement: the `train` statement."""

    uses: tuple[str, ...]
    statement: Callable[[Mapping[str, object]], str]


def _plain(value: object) -> str:
    return str(value) if isinstance(value, int) else repr(float(str(value)))


def _lbfgs(values: Mapping[str, object]) -> str:
    l1, l2 = values.get("c1", 0), values.get("c2", 1)
    prior = f"elastic_net(l1 = {_plain(l1)}, l2 = {_plain(l2)})" if l1 or l2 else "none"
    settings = {"max_iterations": "max_iterations", "num_memories": "memory"}
    given = [f"{ours} = {values[theirs]}" for theirs, ours in settings.items() if theirs in values]
    method = "owlqn" if l1 else "lbfgs"
    optimizer = f"    optimizer = {method}({', '.join(given)})\n" if given else ""
    return f"train likelihood:\n    prior = {prior}\n{optimizer}"


def _l2sgd(values: Mapping[str, object]) -> str:
    l2 = values.get("c2", 1)
    prior = f"elastic_net(l1 = 0, l2 = {_plain(l2)})" if l2 else "none"
    return (
        f"train likelihood:\n    prior = {prior}\n    optimizer = sgd(epochs = {values.get('max_iterations', 1000)})\n"
    )


_ALGORITHMS: Mapping[str, _Trained] = {
    "lbfgs": _Trained(("c1", "c2", "num_memories"), _lbfgs),
    "l2sgd": _Trained(("c2",), _l2sgd),
    "ap": _Trained((), lambda values: f"train perceptron: epochs = {values.get('max_iterations', 100)}\n"),
}
