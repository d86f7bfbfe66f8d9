"""What criteria have in common that are sums over sequences, minimised by value and gradient alone.

Not here: any of them (`exponential`, `marginal`), the boosting (`boosting`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from ...arrays import Floats
from ...inference import RunStatus
from ..batches import SentenceBatches
from ..free_and_clamped import Clamped
from ..penalties import Penalty
from ..run_sums import slices
from ..supervision import Supervision

__all__ = ["Risk"]

Result = TypeVar("Result")


class Risk(ABC):
    """An objective. `status` sums how inference ended over all evaluations; `clamped` has the partly known sentences.

    inference_description: how inference is done, for the record.
    """

    pause: int | None = None  # it is the same at every iteration
    tightened: tuple[str, float, float] | None = None

    def __init__(self, given: Supervision, penalty: Penalty, clamped: Clamped | None, inference_description: str):
        self.penalty, self.clamped, self.inference_description = penalty, clamped, inference_description
        self.num_weights = given.parameters.num_weights
        self.workers = given.workers
        self.total_status = RunStatus()

    @abstractmethod
    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The risk with its penalty at weights [W], and the gradient [W] (a fresh array)."""

    @property
    def l1(self) -> Floats | None:
        """See `optimizers.objective.CornerObjective`."""
        return self.penalty.l1

    def start(self, weights: Floats) -> Floats:
        """See `Likelihood.start`."""
        return weights

    def weights_of(self, point: Floats) -> Floats:
        """See `Likelihood.weights_of`."""
        return point

    def advance(self, weights: Floats) -> None:  # noqa: B027 (most risks have nothing to do here)
        """See `PieceObjective.advance`."""

    def gap(self, gradient: Floats) -> float | None:
        """None: the objective may not be convex."""
        return None

    def sharpen(self) -> bool:
        """Exact inference gets no more exact."""
        return False

    def batches(self, size: int | None = None) -> SentenceBatches | None:
        """None: a step needs the whole data set."""
        return None

    def spread(self, task: Callable[[int, int], Result]) -> list[Result]:
        """See `Likelihood.spread`."""
        return self.workers.map(task, slices(self.num_weights))

    def contradictions(self) -> tuple[int, ...]:
        """See `Likelihood.contradictions`."""
        return () if self.clamped is None else self.clamped.contradictions()
