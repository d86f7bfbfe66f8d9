r"""The log of a trainer: its messages as CRFsuite words them, so that programs that read its log read this one; and
what they say, the parser behind `Trainer.logparser`.

A message is a line, or a mark of progress without an end of line. The parser gathers the values of each iteration, and
says of some messages which event they end: `start`, `featgen_progress`, `featgen_end`, `prepared`, `prepare_error`,
`iteration`, `optimization_end`, `end`. Attributes, events and their extents in `log` are those of python-crfsuite,
whose users read them. Not here: when messages are sent (`training_run`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

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
_BY_MISTAKES = ("max_iterations", "epsilon")
_NAMES: Mapping[str, Sequence[str]] = {
    "lbfgs": (
        "c1", "c2", "num_memories", "max_iterations", "epsilon", "stop", "delta", "linesearch",
        "linesearch.max_iterations",
    ),
    "l2sgd": ("c2", "max_iterations", "period", "delta"),
    "averaged-perceptron": _BY_MISTAKES,
    "passive-aggressive": ("type", "c", "error_sensitive", "averaging", *_BY_MISTAKES),
    "arow": ("variance", "gamma", *_BY_MISTAKES),
}  # fmt: skip
_PARAMETERS = {"stop": "period", "linesearch.max_iterations": "max_linesearch"}  # that have another name in the log
_FEATURES = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")


def value_text(value: Value) -> str:
    """A value as C prints it: a truth value as 0 or 1, a fraction with six digits."""
    return f"{value:.6f}" if isinstance(value, float) else str(int(value)) if isinstance(value, bool) else str(value)


def feature_generation(parameters: Mapping[str, Value]) -> list[str]:
    """Before features are counted."""
    return ["Feature generation\n", "type: CRF1d\n", *_named({name: parameters[name] for name in _FEATURES})]


def feature_count(number: int, seconds: float) -> list[str]:
    """After features are counted; they are counted in one go."""
    return [*_PROGRESS, "\n", f"Number of features: {number}\n", *seconds_required(seconds)]


def seconds_required(seconds: float) -> list[str]:
    return [f"Seconds required: {seconds:.3f}\n", "\n"]


def _named(values: Mapping[str, Value]) -> list[str]:
    return [f"{name}: {value_text(value)}\n" for name, value in values.items()]


def settings(algorithm: str, parameters: Mapping[str, Value]) -> list[str]:
    named = {name: parameters[_PARAMETERS.get(name, name)] for name in _NAMES[algorithm]}
    return [f"{_TITLES[algorithm]}\n", *_named(named), "\n"]


def iteration(head: str, values: Mapping[str, float | int], seconds: float) -> list[str]:
    """head: such as `Iteration #1`.   values: by the words that stand before them."""
    return [f"***** {head} *****\n", *_named(values), f"Seconds required for this iteration: {seconds:.3f}\n"]


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


def calibration(parameters: Mapping[str, Value], samples: int, loss: float) -> list[str]:
    """Before learning rates are tried."""
    shown = {**parameters, "calibration.samples": samples}
    names = (f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials"))
    named = _named({name: shown[name] for name in names})
    return ["Calibrating the learning rate (eta)\n", *named, f"Initial loss: {loss:.6f}\n"]


def trial(number: int, rate: float, loss: float, is_better: bool) -> list[str]:
    return [f"Trial #{number} (eta = {rate:.6f}): ", f"{loss:.6f}\n" if is_better else f"{loss:.6f} (worse)\n"]


def calibrated(rate: float, seconds: float) -> list[str]:
    return [f"Best learning rate (eta): {rate:.6f}\n", *seconds_required(seconds)]


BELOW_EPSILON = ("Terminated with the stopping criterion\n", "\n")


_BY_RULE, _BY_NUMBER = "terminated with the stopping criteria", "terminated with the maximum number of iterations"
_ENDINGS = {0: "resulted in convergence", 1: _BY_RULE, -997: _BY_NUMBER}


def descent_ending(is_last: bool, loss: float) -> tuple[str, ...]:
    """Why `l2sgd` ended: by its rule, or after all passes."""
    return f"SGD {_BY_RULE if is_last else _BY_NUMBER}\n", f"Loss: {loss:.6f}\n"


def ending_of(code: int) -> tuple[str, ...]:
    """Why L-BFGS ended."""
    return (f"L-BFGS {_ENDINGS.get(code, f'terminated with error code ({code})')}\n",)


# the parser -----------------------------------------------------------------------------------------------------------


class LabelScore(NamedTuple):
    """The counts and scores of a label on the holdout data; scores are None where the label never occurs."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_NUM_FEATURES = re.compile(r"Number of features: (\d+)")
_TOTAL = re.compile(r"Total seconds required for training: (\d+\.\d+)")
_PROGRESS_MARK = re.compile(r"[0-9]|10|\.")
_NUMBERS: Mapping[str, tuple[re.Pattern[str], Callable[[str], float]]] = {
    "loss": (re.compile(r"Loss: (-?\d+\.\d+)"), float),
    "feature_norm": (re.compile(r"Feature (?:L2-)?norm: (\d+\.\d+)"), float),
    "error_norm": (re.compile(r"Error norm: (\d+\.\d+)"), float),
    "active_features": (re.compile(r"Active features: (\d+)"), int),
    "linesearch_trials": (re.compile(r"Line search trials: (\d+)"), int),
    "linesearch_step": (re.compile(r"Line search step: (\d+\.\d+)"), float),
    "time": (re.compile(r"Seconds required for this iteration: (\d+\.\d+)"), float),
}
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_SCORE = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")


class TrainLogParser:
    """Reads messages by `feed`.

    iterations: for each iteration a dict of its number `num`, `loss`, `time`, `scores` and whatever else was said of
        it; last_iteration is the last of them, None before the first.
    log: all messages.   last_log: those of the last event.   events: (event, first, last) with places in `log`.
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds: as far as they are known.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        """The messages that belong to the last event, in one text."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def feed(self, line: str) -> str | None:
        """Takes a message; returns the event that it ends, if it ends one."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            event: str | None = "start"
        else:
            event = self._HANDLERS[self.state](self, line)
        if event is not None:
            start = self.events[-1][2] if self.events else 0
            # these events end before the message that shows that they have ended
            self.events.append((event, start, len(self.log) - (event in ("prepared", "optimization_end"))))
        return event

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _featgen(self, line: str) -> str | None:
        if _PROGRESS_MARK.fullmatch(line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _NUM_FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if self._begin(line):
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _begin(self, line: str) -> bool:
        """Begins an iteration, if the line is the head of one."""
        found = _HEAD.match(line)
        if found:
            self.state = "ITERATION"
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        return found is not None

    def _iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        if self._begin(line) or self.last_iteration is None:
            return None
        into = self.last_iteration
        for name, (pattern, number) in _NUMBERS.items():
            if found := pattern.match(line):
                into[name] = number(found[1])
        if found := _MACRO.match(line):
            into |= zip(("avg_precision", "avg_recall", "avg_f1"), map(float, found.groups()), strict=True)
        elif found := _ACCURACY.match(line):
            right, of = int(found[2]), int(found[3])
            name, share = f"{found[1].lower()}_accuracy", Fraction(right, of) if of else Fraction(0)
            into[name], into[f"{name}_float"] = share, float(share)
        elif found := _SCORE.match(line):
            scores = (None if "*" in text else float(text) for text in found.groups()[4:])
            into["scores"][found[1]] = LabelScore(int(found[2]), int(found[3]), int(found[4]), *scores)
        return None

    def _after_iteration(self, line: str) -> str | None:
        if self._begin(line):
            return None
        if found := _TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None

    _HANDLERS: Mapping[str, Callable[[TrainLogParser, str], str | None]] = {
        "STARTING": _starting, "FEATGEN": _featgen, "AFTER_FEATGEN": _after_featgen, "ITERATION": _iteration,
        "AFTER_ITERATION": _after_iteration, "STORING": _storing,
    }  # fmt: skip
