"""How a run of inference ended. Methods return it; nothing is raised for a run that did not converge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GraphResult", "RunStatus"]


@dataclass(frozen=True)
class RunStatus:
    """Sums over one or more graphs: how many did not converge, the most iterations and the largest residual seen.

    `residual` is the largest change of a message (normalised to sum 1) in the last round; of a marginal under mean
    field; of a message's logarithm under TRW; under sampling the largest standard error of a marginal. `redone` counts
    graphs that left the range of linear space and were computed in log space. `impossible` lists graphs without any
    labelling.
    """

    graphs: int = 0
    not_converged: int = 0
    iterations: int = 0
    residual: float = 0.0
    redone: int = 0
    impossible: tuple[int, ...] = ()
    approximate: bool = False

    @property
    def converged(self) -> bool:
        return self.not_converged == 0

    def __add__(self, other: RunStatus) -> RunStatus:
        return RunStatus(
            self.graphs + other.graphs,
            self.not_converged + other.not_converged,
            max(self.iterations, other.iterations),
            max(self.residual, other.residual),
            self.redone + other.redone,
            self.impossible + other.impossible,
            self.approximate or other.approximate,
        )


@dataclass(frozen=True)
class GraphResult:
    """Answers about one factor graph; what a task does not compute is None.

    log_z: natural log of the partition function (Bethe's approximation under message passing, a lower bound under mean
        field, an upper bound under TRW).
    marginals: one array [states] a variable.   factor_marginals: one array a factor, in its table's shape.
    assignment: best labelling [V] int64, `score` its log potential.
    """

    status: RunStatus
    log_z: float | None = None
    marginals: tuple[NDArray[np.float64], ...] | None = None
    factor_marginals: tuple[NDArray[np.float64], ...] | None = None
    assignment: NDArray[np.int64] | None = None
    score: float | None = None
