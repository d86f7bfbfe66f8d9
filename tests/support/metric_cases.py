"""Scores as tests ask for them: at once, where the package keeps tallies that add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcrfdsl.metrics import Evaluation, evaluation_of, metric_tallies, prediction_tallies, values_of
from dcrfdsl.metrics.tallies import Values
from dcrfdsl.semantics import ModelSpec
from dcrfdsl.syntax import CallSpec


def measure(evaluation: Evaluation, metrics: Sequence[CallSpec] = ()) -> Values:
    return values_of(metric_tallies(evaluation, metrics))


def evaluate_predictions(spec: ModelSpec, *data: Any, **how: Any) -> Values:
    """Takes what `evaluation_of` takes."""
    return values_of(prediction_tallies(spec, evaluation_of(spec, *data, **how)))
