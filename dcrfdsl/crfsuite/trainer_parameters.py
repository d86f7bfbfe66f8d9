"""The parameters of CRFsuite's training algorithms: names, kinds, defaults, and what they mean.

Names, order and defaults are those of CRFsuite 0.12. Values are kept as numbers; texts are read, as python-crfsuite
hands all values over as texts. Not here: what the algorithms do with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from .quasi_newton import LINE_SEARCHES

Value: TypeAlias = float | int | bool | str


class Parameter(NamedTuple):
    """A parameter: its default, how a value becomes one of its kind (ValueError if it cannot), and its meaning."""

    default: Value
    read: Callable[[Any], Value]
    help: str


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
    "feature.minfreq": Parameter(0.0, _number, "The least frequency of features: rarer ones are left out."),
    "feature.possible_states": Parameter(
        False, _flag, "Whether each attribute makes a feature with every label, seen together or not."
    ),
    "feature.possible_transitions": Parameter(
        False, _flag, "Whether there is a transition between every two labels, seen or not."
    ),
}
_C2 = Parameter(1.0, _at_least_0, "The coefficient of the L2 penalty, the sum of squared weights.")
_PERIOD = Parameter(10, _whole(0), "The number of iterations over which `delta` measures how much the objective falls.")
_EPOCHS = Parameter(100, _whole(1), "The largest number of passes over the data.")
_MEAN_LOSS = Parameter(0.0, _at_least_0, "Training ends when the mean loss of a sequence is below this.")

ALGORITHMS: Mapping[str, Mapping[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, _at_least_0, "The coefficient of the L1 penalty, the sum of absolute weights."),
        "c2": _C2,
        "max_iterations": Parameter(MOST, _whole(0), "The largest number of iterations; 0 is no limit."),
        "num_memories": Parameter(6, _whole(1), "How many steps are remembered, to approximate the inverse Hessian."),
        "epsilon": Parameter(
            1e-5, _at_least_0, "Training ends when the norm of the gradient is below this times that of the weights."
        ),
        "period": _PERIOD,
        "delta": Parameter(
            1e-5,
            _number,
            "Training ends when the objective falls by less than this, relatively, over `period` iterations.",
        ),
        "linesearch": Parameter(
            "MoreThuente",
            _one_of(*LINE_SEARCHES),
            "The line search: MoreThuente, Backtracking (by the Wolfe condition), StrongBacktracking (by the strong "
            "one). With an L1 penalty it is always backtracking.",
        ),
        "max_linesearch": Parameter(20, _whole(1), "The largest number of trials of a line search."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(1000, _whole(1), "The largest number of passes over the data."),
        "period": _PERIOD,
        "delta": Parameter(
            1e-6, _number, "Training ends when the objective falls by less than this, relatively, over `period` passes."
        ),
        "calibration.eta": Parameter(0.1, _above_0, "The first learning rate that is tried."),
        "calibration.rate": Parameter(2.0, _above_0, "The factor from one learning rate that is tried to the next."),
        "calibration.samples": Parameter(
            1000.0, _above_0, "The number of sequences on which learning rates are tried."
        ),
        "calibration.candidates": Parameter(10, _whole(1), "The number of learning rates that lower the objective."),
        "calibration.max_trials": Parameter(20, _whole(1), "The largest number of learning rates that are tried."),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _EPOCHS,
        "epsilon": Parameter(0.0, _at_least_0, "Training ends when the share of wrong labels is below this."),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(
            1, _kind_of_pa, "How far an update goes: 0 as far as the margin asks, 1 (PA-I) and 2 (PA-II) with slack."
        ),
        "c": Parameter(1.0, _above_0, "The aggressiveness: how costly slack is."),
        "error_sensitive": Parameter(True, _flag, "Whether the margin grows with the number of wrong labels."),
        "averaging": Parameter(True, _flag, "Whether the model has the mean of the weights after each sequence."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(1.0, _above_0, "The variance of every weight at the start."),
        "gamma": Parameter(1.0, _above_0, "The trade-off between the loss and the change of the weights."),
        "max_iterations": _EPOCHS,
        "epsilon": _MEAN_LOSS,
    },
}
ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
