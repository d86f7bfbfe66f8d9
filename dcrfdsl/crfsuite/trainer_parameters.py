"""The parameters of CRFsuite's training algorithms: names, kinds, defaults, and what they mean (`parameters.md`).

Names, order and defaults are those of CRFsuite 0.12. Values are kept as numbers; texts are read, as python-crfsuite
hands all values over as texts. Not here: what the algorithms do with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .quasi_newton import LINE_SEARCHES

Value: TypeAlias = float | int | bool | str


class Parameter(NamedTuple):
    """A parameter: its default, and how a value becomes one of its kind (ValueError if it cannot)."""

    default: Value
    read: Callable[[Any], Value]


def _number(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("expected a number")
    return number


def _bounded(fits: Callable[[float], bool], wanted: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        number = _number(value)
        if not (fits(number) and number < math.inf):
            raise ValueError(f"expected a number {wanted}")
        return number

    return read


_at_least_0 = _bounded(lambda number: number >= 0.0, "of at least 0")
_above_0 = _bounded(lambda number: number > 0.0, "above 0")


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _number(value)
        if not (number.is_integer() and number >= least):
            raise ValueError(f"expected a whole number of at least {least}")
        return int(number)

    return read


def _flag(value: Any) -> bool:
    return bool(_whole(0)(value))


def _one_of(*names: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"expected {', '.join(names[:-1])} or {names[-1]}")
        return str(value)

    return read


def _kind_of_pa(value: Any) -> int:
    number = _whole(0)(value)
    if number > 2:
        raise ValueError("expected 0, 1 or 2")
    return number


MOST = 2**31 - 1  # iterations: no limit

_FEATURES: Mapping[str, Parameter] = {
    "feature.minfreq": Parameter(0.0, _number),
    "feature.possible_states": Parameter(False, _flag),
    "feature.possible_transitions": Parameter(False, _flag),
}
_C2 = Parameter(1.0, _at_least_0)
_PERIOD = Parameter(10, _whole(0))
_EPOCHS = Parameter(100, _whole(1))
_MEAN_LOSS = Parameter(0.0, _at_least_0)

ALGORITHMS: Mapping[str, Mapping[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, _at_least_0),
        "c2": _C2,
        "max_iterations": Parameter(MOST, _whole(0)),
        "num_memories": Parameter(6, _whole(1)),
        "epsilon": Parameter(1e-5, _at_least_0),
        "period": _PERIOD,
        "delta": Parameter(1e-5, _number),
        "linesearch": Parameter("MoreThuente", _one_of(*LINE_SEARCHES)),
        "max_linesearch": Parameter(20, _whole(1)),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(1000, _whole(1)),
        "period": _PERIOD,
        "delta": Parameter(1e-6, _number),
        "calibration.eta": Parameter(0.1, _above_0),
        "calibration.rate": Parameter(2.0, _above_0),
        "calibration.samples": Parameter(1000.0, _above_0),
        "calibration.candidates": Parameter(10, _whole(1)),
        "calibration.max_trials": Parameter(20, _whole(1)),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _EPOCHS,
        "epsilon": Parameter(0.0, _at_least_0),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(1, _kind_of_pa),
        "c": Parameter(1.0, _above_0),
        "error_sensitive": Parameter(True, _flag),
        "averaging": Parameter(True, _flag),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(1.0, _above_0),
        "gamma": Parameter(1.0, _above_0),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def meaning(algorithm: str, name: str) -> str:
    """What a parameter of an algorithm means."""
    shared, *pages = Path(__file__).with_name("parameters.md").read_text(encoding="utf-8").split("\n## ")
    own = next((page for page in pages if page.startswith(f"{algorithm}\n")), "")
    meanings: dict[str, str] = dict(re.findall(r"^\* ([^:]+): (.+)$", f"{shared}\n{own}", re.MULTILINE))
    return meanings[name]
