"""Values of settings at, within and beyond their limits, read from the project's tables of methods.

Not here: what a template does with them (`grammar`, `settings`).
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from dcrfdsl.semantics.reference.method_entries import TABLES
from dcrfdsl.semantics.settings.method_settings import MethodSettings

from .material import NUMBERS, PATHS, WORDS

if TYPE_CHECKING:
    from .grammar import Draw

METHODS: Mapping[str, Mapping[str, type[MethodSettings]]] = {table.kind: table for table in TABLES}
# Settings that ask for more work. Cases that run take small values of these.
WORK = frozenset(
    ("max_iterations", "epochs", "rounds", "samples", "burn_in", "thin", "sweeps", "iterations", "online", "restarts",
     "candidates", "per_round", "most", "voters", "after", "degree")
)  # fmt: skip
FEW = ("1", "2", "3")


def odd_value(draw: Draw) -> str:
    """Anything that could follow a `=`."""
    match draw.below(7):
        case 0 | 1:
            return draw.pick(NUMBERS)
        case 2:
            return draw.pick(WORDS)
        case 3:
            return f'"{draw.pick(PATHS)}"'
        case 4:
            return f"{draw.pick(NUMBERS[:20])}..{draw.pick(NUMBERS[:20])}"
        case 5:
            return draw.pick(["/a/", "/[/i", "/\\p{Lu}/", "/(a+)+$/", "/a{1000}{1000}/", "/(?P<x>a)/", "/\\1/"])
        case _:
            table = METHODS[draw.pick(sorted(METHODS))]
            return f"{draw.pick(sorted(table))}({', '.join(draw.pick(NUMBERS[:20]) for _ in range(draw.below(3)))})"


def arguments_of(draw: Draw, method: type[MethodSettings], *, sound: bool, all_of_them: bool = False) -> list[str]:
    """Some settings of a method as `key = value`; unless `sound`, also with values at and beyond the limits."""
    written = []
    for name, field in method.model_fields.items():
        if not all_of_them and not draw.chance(0.3):
            continue
        if name == method.names:
            continue
        if name in method.methods:
            table = method.methods[name]
            inner = draw.pick(sorted(table))
            arguments = arguments_of(draw, table[inner], sound=sound)
            written.append(f"{name} = {inner}({', '.join(arguments)})" if arguments else f"{name} = {inner}")
            continue
        written.append(f"{name} = {value_of(draw, name, field, sound=sound)}")
    return written


def value_of(draw: Draw, name: str, field: Any, *, sound: bool) -> str:
    """A valid value of a field; unless `sound`, perhaps one at its limits, beyond them or of another type."""
    if not sound and draw.chance(0.5):
        return odd_value(draw)
    kinds = _kinds(field.annotation)
    kind = draw.pick(kinds)
    if isinstance(kind, tuple):  # words
        return draw.pick(kind)
    if kind is bool:
        return draw.pick(("yes", "no"))
    if kind is str:
        return draw.pick(("word", "token", "y"))
    if name in WORK and sound:
        return draw.pick(FEW)
    limits = _limits(field)
    return draw.pick(_whole(limits, sound) if kind is int else _numbers(limits, sound))


def _kinds(annotation: Any) -> list[Any]:
    """The types of a field: `int`, `float`, `bool`, `str`, or a tuple of words."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return [get_args(annotation)]
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for part in get_args(annotation) if part is not type(None) for kind in _kinds(part)]
    return [annotation if annotation in (int, float, bool) else str]


def _limits(field: Any) -> dict[str, float]:
    nested = [field, *(m for part in get_args(field.annotation) for m in getattr(part, "__metadata__", ()))]
    limits: dict[str, float] = {}
    for item in nested:
        for rule in getattr(item, "metadata", ()):
            limits |= {
                key: value for key in ("gt", "ge", "lt", "le") if (value := getattr(rule, key, None)) is not None
            }
    return limits


def _whole(limits: Mapping[str, float], sound: bool) -> list[str]:
    low = int(limits.get("ge", limits.get("gt", -1) + 1))
    high = limits.get("le")
    inside = [str(low), str(low + 1), str(low + 2), *([] if high is None else [str(int(high))])]
    if sound:
        return inside
    return [
        *inside,
        str(low - 1),
        *([] if high is None else [str(int(high) + 1)]),
        "9" * 19,
        "1" + "0" * 30,
        f"{low}.0",
        f"{low}.5",
    ]


def _numbers(limits: Mapping[str, float], sound: bool) -> list[str]:
    low = limits.get("gt", limits.get("ge"))
    high = limits.get("lt", limits.get("le"))
    inside = ["0.5", "1", "0.1", "1e-3", "10"]
    inside = [n for n in inside if (low is None or float(n) > low) and (high is None or float(n) < high)]
    for key, value in limits.items():
        near = math.inf if key in ("gt", "ge") else -math.inf
        inside.append(repr(math.nextafter(value, near)) if key in ("gt", "lt") else repr(float(value)))
    if sound:
        return inside
    wild = [
        "1e308",
        "1e-308",
        "5e-324",
        "1e309",
        "-1",
        "0",
        "0.0",
        "-0.0",
        "1e16",
        "inf",
        "nan",
        "-inf",
        "1e-16",
        "1e100",
        "1e-100",
    ]
    return [*inside, *wild, *(repr(float(value)) for value in limits.values())]
