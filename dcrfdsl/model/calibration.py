"""Calibration: the temperature τ of p(y | x) ∝ exp(τ Σ log φ) that makes the gold labels of held-out data likeliest.

Not here: the search for it (`optimizers`), the log-probabilities (`trained_model`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..foundation import Floats, data_error
from ..metrics import best_temperature
from .record import Calibration

# The meaning of a temperature of 0 or infinity, which is not usable.
NO_TEMPERATURE = {
    0.0: "its labels score no better than any others",
    math.inf: "no labelling of any sentence scores above the gold one",
}


def calibration_of(log_probabilities: Callable[[Floats], Floats], weights: Floats, file: str) -> Calibration:
    """The best temperature, and the log-likelihoods before and after. DcrfError if there is no best one.

    log_probabilities: of the gold labels of each sentence, as a function of weights [W].   file: source of the data.
    """
    temperature = best_temperature(lambda tau: float(log_probabilities(tau * weights).sum()))
    before = log_probabilities(weights)
    after = before if temperature in NO_TEMPERATURE else log_probabilities(temperature * weights)
    why = NO_TEMPERATURE.get(temperature) if len(before) else "the model can give its labels to no sentence"
    if why is not None:
        message = f"probabilities cannot be calibrated on `{file}`: {why}"
        raise data_error("cannot-calibrate", message, help="calibrate on other data, or more of it")
    return Calibration(temperature, float(before.sum()), float(after.sum()), len(after))
