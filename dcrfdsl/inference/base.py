"""What inference over a data set is asked and what it gives. Not here: the methods (`methods`), threads (`workers`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, Ints32, Mask
from ..kernels.runtime import IMPOSSIBLE
from ..kernels.tables import Potentials, Results
from .bound import BoundData
from .run_status import RunStatus

__all__ = ["Decoder", "Expectations", "ExpectingMethod", "SequenceMethod"]

NOTHING = np.zeros(0)


@dataclass(eq=False)
class Expectations:
    """What a run over all sequences of a data set yields; each sequence writes at its own index.

    log_z [S]: natural logs, -inf where no labelling is possible.   marginals: flat, see `BoundData.marginal_off`.
    """

    log_z: Floats
    status: NDArray[np.int8]
    redone: Mask
    iterations: Ints
    residual: Floats
    damped: Mask
    marginals: Floats = field(default_factory=lambda: NOTHING)
    approximate: bool = False

    @classmethod
    def empty(cls, data: BoundData, *, marginals: bool = False, approximate: bool = False) -> Expectations:
        n = data.num_sequences
        return cls(
            np.zeros(n), np.zeros(n, np.int8), np.zeros(n, np.bool_), np.ones(n, np.int64), np.zeros(n),
            np.zeros(n, np.bool_), np.zeros(int(data.marginal_off[-1])) if marginals else NOTHING, approximate,
        )  # fmt: skip

    @property
    def results(self) -> Results:
        """What kernels write to."""
        return Results(self.log_z, self.status, self.redone, self.iterations, self.residual, self.damped)

    def summary(self) -> RunStatus:
        rested = self.iterations > 0
        worked = self.status == 0
        return RunStatus(
            graphs=len(self.status),
            not_converged=int((~rested & worked & (self.iterations < 0)).sum()),
            iterations=int(np.abs(self.iterations).max(initial=0)),
            residual=float(self.residual.max(initial=0.0)),
            redone=int(self.redone.sum()),
            damped=int(self.damped.sum()),
            impossible=tuple(np.flatnonzero(self.status == IMPOSSIBLE).tolist()),
            approximate=self.approximate,
        )


class ExpectingMethod(Protocol):
    """What training needs of inference, on the sequences `first`..`last` of the data that it was built for."""

    @property
    def approximate(self) -> bool:
        """Whether some answer may not be exact."""

    def remember(self) -> None:
        """Lets each call of `expectations` begin where the last one ended, at weights nearby, if there is memory."""

    def sharpen(self) -> bool:
        """Tightens convergence tenfold for the calls that follow; False if the answers cannot get more exact."""

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """Writes log Z and status to `out`; adds expected counts to `gradient` [W] and `expected` [shared cells].

        With an empty `gradient` neither is asked for. Marginals are written where `out` has room for them.
        """


class Decoder(Protocol):
    """Finds labellings of the sequences `first`..`last` of the data that it was built for."""

    @property
    def approximate(self) -> bool:
        """Whether some labelling may not be the best."""

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        """Writes the best labelling found to `labelling` (see `BoundData.labelling_off`), -1 if there is none."""


class SequenceMethod(ExpectingMethod, Decoder, Protocol):
    """A method that decodes as well."""

    @property
    def approximate(self) -> bool:
        """Whether some answer may not be exact."""
