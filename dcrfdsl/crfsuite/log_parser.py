r"""What a trainer's messages say: the parser behind `Trainer.logparser`.

A message is a line, or a mark of progress without an end of line. The parser gathers the values of each iteration, and
says of some messages which event they end: `start`, `featgen_progress`, `featgen_end`, `prepared`, `prepare_error`,
`iteration`, `optimization_end`, `end`. Attributes, events and their extents in `log` are those of python-crfsuite,
whose users read them. Not here: writing the messages (`training_messages`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple


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
_PROGRESS = re.compile(r"[0-9]|10|\.")
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

    def _starting(self, line: str) -> str | None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"
        return None

    def _featgen(self, line: str) -> str | None:
        if _PROGRESS.fullmatch(line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _NUM_FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
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
        "STARTING": _starting,
        "FEATGEN": _featgen,
        "AFTER_FEATGEN": _after_featgen,
        "ITERATION": _iteration,
        "AFTER_ITERATION": _after_iteration,
        "STORING": _storing,
    }
