"""Scores as tests ask for them: at once, where the package keeps tallies that add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcrfdsl.metrics import Evaluation, metric_tallies, prediction_tallies, values_of
from dcrfdsl.metrics.tallies import Values
from dcrfdsl.syntax import CallSpec


def measure(evaluation: Evaluation, metrics: Sequence[CallSpec] = ()) -> Values:
    return values_of(metric_tallies(evaluation, metrics))


def evaluate_predictions(*data: Any, **how: Any) -> Values:
    """Takes what `prediction_tallies` takes."""
    return values_of(prediction_tallies(*data, **how))
