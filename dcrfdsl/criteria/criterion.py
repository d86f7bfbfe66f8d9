"""What a training criterion is: an objective over a data set, and what training asks of it besides.

Not here: any criterion, their table (`criteria_table`), what optimizers ask of one (`optimizers.objective`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..arrays import Floats
from ..inference import RunStatus, Workers
from ..optimizers import Objective
from .free_and_clamped import Clamped
from .penalties import Penalty
from .run_sums import slices

__all__ = ["Criterion", "TightenedTolerance"]

Result = TypeVar("Result")


class TightenedTolerance(NamedTuple):
    """An inference method whose tolerance was made smaller during training, what that was and what it is."""

    method: str
    begun: float
    ended: float


class Criterion(Objective):
    """Base of criteria. `value_and_gradient` gives nats where it is a likelihood, else units of its own.

    num_weights: W of the model.   inference_description: for the record; empty where nothing is inferred.
    penalty: on the weights, None where no prior is part of it.   clamped: the sentences of which some label is not
    known, None where there are none.   workers: the threads that share the weights; None where one is enough.
    pause: after how many iterations `advance` changes the objective; None if it never does.
    """

    num_weights: int
    inference_description: str = ""
    penalty: Penalty | None = None
    clamped: Clamped | None = None
    workers: Workers | None = None
    pause: int | None = None

    # what training asks for -----------------------------------------------------------------------------------------

    def start(self, weights: Floats) -> Floats:
        """Where the search begins, given the weights [W] that a stage begins with."""
        return weights

    def weights_of(self, point: Floats) -> Floats:
        """The weights [W] that a point of the search stands for."""
        return point

    def advance(self, weights: Floats) -> None:
        """Changes the objective on the way, at the weights [W] that were reached; see `pause`."""

    def contradictions(self) -> tuple[int, ...]:
        """Sentences for which no labelling agrees with what is known and the hard constraints."""
        return () if self.clamped is None else self.clamped.contradictions()

    @property
    def total_status(self) -> RunStatus:
        """How inference ended, over all evaluations."""
        return RunStatus()

    @property
    def tightened(self) -> TightenedTolerance | None:
        """None where no tolerance was made smaller during training."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know about the optimum that was found."""
        return ()

    # what optimizers ask for ----------------------------------------------------------------------------------------

    @property
    def l1(self) -> Floats | None:
        return None if self.penalty is None else self.penalty.l1

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        return [task(0, num_weights)] if self.workers is None else self.workers.map(task, slices(num_weights))
