"""The messages of a trainer, as CRFsuite words them, so that programs that read its log read this one.

Not here: when they are sent (`trainer`), what a parser makes of them (`log_parser`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..foundation import Codes, Floats, Ints
from .trainer_parameters import Value

_PROGRESS = [str(n // 5) if n % 5 == 0 else "." for n in range(51)]

# The heads of the parts of the log, and the parameters that each names first, under other names in some cases.
_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
_NAMED: Mapping[str, Mapping[str, str]] = {
    "lbfgs": {
        "c1": "c1", "c2": "c2", "num_memories": "num_memories", "max_iterations": "max_iterations",
        "epsilon": "epsilon", "stop": "period", "delta": "delta", "linesearch": "linesearch",
        "linesearch.max_iterations": "max_linesearch",
    },
    "l2sgd": {"c2": "c2", "max_iterations": "max_iterations", "period": "period", "delta": "delta"},
    "averaged-perceptron": {"max_iterations": "max_iterations", "epsilon": "epsilon"},
    "passive-aggressive": {
        "type": "type", "c": "c", "error_sensitive": "error_sensitive", "averaging": "averaging",
        "max_iterations": "max_iterations", "epsilon": "epsilon",
    },
    "arow": {"variance": "variance", "gamma": "gamma", "max_iterations": "max_iterations", "epsilon": "epsilon"},
}  # fmt: skip
_FEATURES = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")


def value_text(value: Value) -> str:
    """A value as C prints it: a truth value as 0 or 1, a fraction with six digits."""
    return f"{value:.6f}" if isinstance(value, float) else str(int(value)) if isinstance(value, bool) else str(value)


def feature_generation(parameters: Mapping[str, Value]) -> Iterator[str]:
    """Before features are counted."""
    yield "Feature generation\n"
    yield "type: CRF1d\n"
    for name in _FEATURES:
        yield f"{name}: {value_text(parameters[name])}\n"


def feature_count(number: int, seconds: float) -> Iterator[str]:
    """After features are counted; they are counted in one go."""
    yield from _PROGRESS
    yield "\n"
    yield f"Number of features: {number}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"


def settings(algorithm: str, parameters: Mapping[str, Value]) -> Iterator[str]:
    yield f"{_TITLES[algorithm]}\n"
    for name, parameter in _NAMED[algorithm].items():
        yield f"{name}: {value_text(parameters[parameter])}\n"
    yield "\n"


def iteration(head: str, values: Mapping[str, float | int], seconds: float) -> Iterator[str]:
    """head: such as `Iteration #1`.   values: by the words that stand before them."""
    yield f"***** {head} *****\n"
    for name, value in values.items():
        yield f"{name}: {value_text(value)}\n"
    yield f"Seconds required for this iteration: {seconds:.3f}\n"


def evaluation(labels: Sequence[str], gold: Codes, found: Codes, sequence_off: Ints) -> Iterator[str]:
    """The scores of labels [N] that were found for the holdout data."""
    right = gold == found
    match, model, ref = (np.bincount(codes, minlength=len(labels)) for codes in (gold[right], found, gold))
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    precision, recall = _ratio(match, model), _ratio(match, ref)
    f1 = _ratio(2.0 * precision * recall, precision + recall)
    for n, label in enumerate(labels):
        scores = "******, ******, ******"
        if match[n] or model[n] or ref[n]:
            scores = f"{precision[n]:.4f}, {recall[n]:.4f}, {f1[n]:.4f}"
        yield f"    {label}: ({match[n]}, {model[n]}, {ref[n]}) ({scores})\n"
    means = ", ".join(f"{scores.mean():.6f}" for scores in (precision, recall, f1))
    yield f"Macro-average precision, recall, F1: ({means})\n"
    wrong = np.concatenate([np.zeros(1, np.int64), np.cumsum(~right)])[sequence_off]
    for name, number, of in (
        ("Item", int(right.sum()), len(right)),
        ("Instance", int((np.diff(wrong) == 0).sum()), len(sequence_off) - 1),
    ):
        yield f"{name} accuracy: {number} / {of} ({number / of if of else 0.0:.4f})\n"


def _ratio(part: Ints | Floats, whole: Ints | Floats) -> Floats:
    """part / whole, 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=np.asarray(whole) != 0)


def stored(features: tuple[int, int], attributes: tuple[int, int], labels: tuple[int, int]) -> Iterator[str]:
    """How many of each have weights other than 0, and how many there are."""
    yield "Storing the model\n"
    for name, (active, of) in (("features", features), ("attributes", attributes), ("labels", labels)):
        yield f"Number of active {name}: {active} ({of})\n"
    for part in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
        yield f"Writing {part}\n"


def calibration(parameters: Mapping[str, Value], samples: int, loss: float) -> Iterator[str]:
    """Before learning rates are tried."""
    yield "Calibrating the learning rate (eta)\n"
    shown = {**parameters, "calibration.samples": samples}
    for name in ("eta", "rate", "samples", "candidates", "max_trials"):
        yield f"calibration.{name}: {value_text(shown[f'calibration.{name}'])}\n"
    yield f"Initial loss: {loss:.6f}\n"


def trial(number: int, rate: float, loss: float, is_better: bool) -> Iterator[str]:
    yield f"Trial #{number} (eta = {rate:.6f}): "
    yield f"{loss:.6f}\n" if is_better else f"{loss:.6f} (worse)\n"


def calibrated(rate: float, seconds: float) -> Iterator[str]:
    yield f"Best learning rate (eta): {rate:.6f}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"


BELOW_EPSILON = ("Terminated with the stopping criterion\n", "\n")


def descent_ending(is_last: bool, loss: float) -> tuple[str, ...]:
    """Why `l2sgd` ended: by its rule, or after all passes."""
    why = "the stopping criteria" if is_last else "the maximum number of iterations"
    return f"SGD terminated with {why}\n", f"Loss: {loss:.6f}\n"


def ending_of(code: int) -> tuple[str, ...]:
    """Why L-BFGS ended."""
    return (_ENDINGS.get(code, f"L-BFGS terminated with error code ({code})\n"),)


_ENDINGS = {
    0: "L-BFGS resulted in convergence\n",
    1: "L-BFGS terminated with the stopping criteria\n",
    -997: "L-BFGS terminated with the maximum number of iterations\n",
}
