"""CRFsuite's algorithms that learn from one sequence after the other: `l2sgd`, `ap`, `pa` and `arow`.

Each yields its state after a pass over the data. Sequences come in an order that is drawn anew for each pass, from a
fixed seed; CRFsuite draws another one, so weights agree up to that. Sources: the papers named in
`kernels.chain.online_passes`; for calibration and stopping CRFsuite's manual and its log. Not here: messages
(`training_run`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..foundation import Floats
from ..kernels.chain import CONFIDENCE, PASSIVE_AGGRESSIVE, PERCEPTRON, AttributeChain, gradient_pass, mistake_pass
from ..kernels.optimization import dot
from ..optimizers import norm_of
from .quasi_newton import relative_fall
from .trainer_parameters import Value
from .training_data import Features, Sequences


class Pass(NamedTuple):
    """A pass over the data, from 1: the weights after it, their norm, its loss, and whether the rule ends training.

    The norm is what CRFsuite says of it: for `pa` that of the weights before their mean is taken.
    """

    number: int
    weights: Floats
    norm: float
    loss: float
    is_last: bool


def chain_of(data: Sequences, features: Features) -> AttributeChain:
    """Sequences and features as the kernels take them."""
    moves = np.full((features.num_labels, features.num_labels), -1, np.int64)
    moves.ravel()[features.moves] = np.arange(len(features.moves))
    off, labels = features.state_off, features.state_labels
    return AttributeChain(
        data.sequence_off, data.labels, data.item_off, data.attributes, data.values, off, labels, moves
    )


def _orders(chain: AttributeChain) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(0)
    while True:
        yield generator.permutation(len(chain.sequence_off) - 1)


# by mistakes -----------------------------------------------------------------------------------------------------


def mistake_passes(algorithm: str, chain: AttributeChain, size: int, parameters: Mapping[str, Value]) -> Iterator[Pass]:
    """The passes of `averaged-perceptron`, `passive-aggressive` or `arow`; size: the number of weights."""
    rule, kind, strength, by_errors = _RULES[algorithm](parameters)
    averages = rule != CONFIDENCE and bool(parameters.get("averaging", True))
    weights = np.zeros(size)
    second = np.full(size, float(parameters["variance"])) if rule == CONFIDENCE else np.zeros(size)
    count, most = 1, int(parameters["max_iterations"])
    for number, order in zip(range(1, most + 1), _orders(chain), strict=False):
        loss, count = mistake_pass(chain, order, rule, kind, strength, by_errors, weights, second, count)
        mean_loss, epsilon = loss / len(order), float(parameters["epsilon"])
        is_last = mean_loss <= epsilon if rule == CONFIDENCE else mean_loss < epsilon  # as there
        result = weights - second / count if averages else weights.copy()
        norm = norm_of(weights if rule == PASSIVE_AGGRESSIVE else result)
        yield Pass(number, result, norm, loss, is_last)
        if is_last:
            return


_Rule = tuple[int, int, float, bool]  # the rule of the kernel, its variant, strength, by the number of errors
_RULES: Mapping[str, Callable[[Mapping[str, Value]], _Rule]] = {
    "averaged-perceptron": lambda _: (PERCEPTRON, 0, 1.0, False),
    "passive-aggressive": lambda given: (
        PASSIVE_AGGRESSIVE,
        int(given["type"]),
        float(given["c"]),
        bool(given["error_sensitive"]),
    ),
    "arow": lambda given: (CONFIDENCE, 0, float(given["gamma"]), False),
}


# by gradients ----------------------------------------------------------------------------------------------------


class Descent:
    """Stochastic gradient descent on −Σ log p + c2 ‖λ‖²; size: the number of weights."""

    def __init__(self, chain: AttributeChain, size: int, parameters: Mapping[str, Value]):
        self._chain, self._size, self._parameters = chain, size, parameters
        self.num_sequences = len(chain.sequence_off) - 1
        self._decay = 2.0 * float(parameters["c2"]) / self.num_sequences
        self.samples = min(self.num_sequences, int(float(parameters["calibration.samples"])))
        self._sample = next(_orders(chain))[: self.samples]
        lengths = np.diff(chain.sequence_off)[self._sample]
        self.first_loss = float(lengths.sum() * np.log(len(chain.moves)))
        self.rate = 0.0  # the best one that was tried
        self.best: tuple[float, Floats] = (np.inf, np.zeros(size))  # objective and weights of the best pass

    def _pass(self, order: np.ndarray, weights: Floats, time: float) -> float:
        """One pass; the objective, whose terms are those of the weights before each step."""
        loss = gradient_pass(self._chain, order, weights, self._decay, time)
        return float(loss + 0.5 * self._decay * len(order) * dot(weights, weights))

    def calibrated(self) -> Iterator[tuple[int, float, float, bool]]:
        """Tries learning rates, rising while they help, then falling from the first one: the number of each trial, from
        1, its rate, the objective after a pass, and whether it fell.
        """
        given = self._parameters
        first, factor = float(given["calibration.eta"]), float(given["calibration.rate"])
        candidates, most = int(given["calibration.candidates"]), int(given["calibration.max_trials"])
        rate, left, falls, best = first, candidates, False, np.inf
        self.rate = first
        for number in range(1, max(2, most)):
            loss = self._pass(self._sample, np.zeros(self._size), 1.0 / (self._decay * rate))
            is_better = bool(np.isfinite(loss) and loss < self.first_loss)
            left -= is_better
            if np.isfinite(loss) and loss < best:
                best, self.rate = loss, rate
            yield number, rate, loss, is_better
            if falls:
                rate /= factor
            elif is_better and left > 0:
                rate *= factor
            else:
                rate, left, falls = first / factor, candidates, True
            if falls and left <= 0:
                return

    def passes(self) -> Iterator[tuple[Pass, float, float | None]]:
        """The passes, each with the learning rate at its end and the relative fall of the objective, once known."""
        period, most = int(self._parameters["period"]), int(self._parameters["max_iterations"])
        weights, time = np.zeros(self._size), 1.0 / (self._decay * self.rate)
        past: deque[float] = deque(maxlen=max(1, period))
        for number, order in zip(range(1, most + 1), _orders(self._chain), strict=False):
            loss = self._pass(order, weights, time)
            if not np.isfinite(loss):
                return
            time += len(order)
            if loss < self.best[0]:
                self.best = loss, weights.copy()
            fall = relative_fall(past[0], loss) if period and number > period else None
            past.append(loss)
            is_last = fall is not None and fall < float(self._parameters["delta"])
            norm = norm_of(weights)
            yield Pass(number, weights, norm, loss, is_last), 1.0 / (self._decay * (time - 1.0)), fall
            if is_last:
                return
