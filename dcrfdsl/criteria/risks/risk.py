"""The base class of risks: sums over sequences.

Not here: any of them (`exponential`, `marginal_risk`), boosting (`boosting_risk`).
"""

from __future__ import annotations

from ...inference import RunStatus, Workers
from ..criterion import Criterion
from ..free_and_clamped import Clamped
from ..penalties import Penalty
from ..supervision import TrainingProblem


class Risk(Criterion):
    """An objective that may not be convex and is not trained in batches."""

    penalty: Penalty
    workers: Workers
    total_status = RunStatus()  # summed over all evaluations

    def __init__(
        self, supervision: TrainingProblem, penalty: Penalty, clamped: Clamped | None, inference_description: str
    ):
        self.penalty, self.clamped, self.inference_description = penalty, clamped, inference_description
        self.num_weights, self.workers = supervision.parameters.num_weights, supervision.workers
