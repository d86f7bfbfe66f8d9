"""Negative conditional log-likelihood and its gradient (Sutton 2004 eq. 7 and 8), and the gaussian penalty.

    L(λ) = Σ_i [log Z(x_i) − λ·F(y_i, x_i)] + Σ_k λ_k² / 2v_k,     ∂L/∂λ_k = E f_k − Ê f_k + λ_k / v_k

Under message passing log Z is Bethe's approximation and E the pseudo-marginals. Not here: minimising it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..inference.methods import Expectations, SequenceMethod, Workers
from ..inference.potentials import BoundData
from ..inference.status import RunStatus
from ..kernels.tables import add_bias_gradient

__all__ = ["Likelihood"]

Floats = NDArray[np.float64]
GRADIENT_BYTES = 2**28  # memory that the partial gradients of all runs may take together
MOST_RUNS, FEWEST_RUNS = 8, 2


def gradient_runs(num_weights: int) -> int:
    """Into how many runs the data is cut, each with a partial gradient of its own."""
    return int(np.clip(GRADIENT_BYTES // (8 * max(1, num_weights)), FEWEST_RUNS, MOST_RUNS))


class Likelihood:
    """Objective over one data set. Deterministic: the same floats for any number of threads.

    `total_status` sums how inference ended over all evaluations.
    counts: empirical feature counts Ê f [W].   precision: 1/v of each weight's gaussian prior [W], 0 for none.
    """

    def __init__(self, data: BoundData, method: SequenceMethod, counts: Floats, precision: Floats, workers: Workers):
        self.data, self.method = data, method
        method.remember()
        self.counts, self.precision = counts, precision
        self.workers = workers
        # the cut into runs depends on the model alone, and partial sums are added in order of runs
        self.runs = data.chunks(gradient_runs(data.num_weights))
        self._partial = [np.zeros(data.num_weights) for _ in self.runs]
        self._expected = [np.zeros(len(data.hard)) for _ in self.runs]
        self._run_number = {first: number for number, (first, _) in enumerate(self.runs)}
        self.total_status = RunStatus()

    @property
    def num_weights(self) -> int:
        return self.data.num_weights

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """L(λ) in nats, penalty included, and its gradient [W] (a fresh array)."""
        potentials = self.data.potentials(weights)
        out = Expectations.empty(self.data, approximate=self.method.approximate)

        def run(first: int, last: int) -> None:
            number = self._run_number[first]
            gradient, expected = self._partial[number], self._expected[number]
            gradient.fill(0.0)
            expected.fill(0.0)
            self.method.expectations(potentials, first, last, out, gradient, expected)

        self.workers.map(run, self.runs)
        self.total_status = self.total_status + out.summary()
        gradient = self.precision * weights
        penalty = 0.5 * float(gradient @ weights)
        gradient -= self.counts
        expected = np.zeros_like(self.data.hard)
        for partial, cells in zip(self._partial, self._expected, strict=True):
            gradient += partial
            expected += cells
        add_bias_gradient(self.data.bindings, expected, gradient)
        return float(out.log_z.sum() - self.counts @ weights) + penalty, gradient

    def sharpen(self) -> bool:
        """Asks the inference method for tighter convergence; False if it is exact or as tight as it gets."""
        return self.method.sharpen()
