"""The weights of a boosted model after an earlier round, from the path in its record.

Not here: boosting (`optimizers`), the path by names of features (`named_weights`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..foundation import Floats, data_error
from .record import TrainingRecord


def cut_at_round(weights: Floats, record: TrainingRecord, rounds: int) -> tuple[Floats, TrainingRecord]:
    """Weights [W] and record after `rounds` rounds of the last stage. DcrfError if it has no such round."""
    path = record.path
    if not 0 <= rounds <= len(path):
        there = f"{len(path)} rounds of boosting" if path else "no rounds of boosting"
        raise data_error("no-such-round", f"the model has {there}, and round {rounds} was asked for")
    if any(done.weight < 0 for done in path):
        message = "all weights moved in every round (`update = parallel`), and only the last ones are kept"
        raise data_error("no-such-round", message, help="train with fewer `rounds`, or `update = steepest`")
    weights, last = weights.copy(), path[rounds - 1] if rounds else None
    moved = np.array([done.weight for done in path], np.int64)
    step = np.array([done.step for done in path])
    begun = np.zeros(len(weights))  # before the first round: the result of an earlier stage, else exactly 0
    if record.before:
        begun = weights - np.bincount(moved, step, len(weights))
    later = np.unique(moved[rounds:])
    weights[later] = (begun + np.bincount(moved[:rounds], step[:rounds], len(weights)))[later]
    record = replace(
        record, path=path[:rounds], curve=record.curve[:rounds], iterations=rounds,
        objective=last.risk if last is not None else float("nan"), gradient_norm=None,
        reason=f"cut at round {rounds}", converged=record.converged and rounds == len(path),
    )  # fmt: skip
    return weights, record
