"""What iterative scaling needs from the likelihood: feature totals, and expectations by total (Lafferty 2001 §4).

    T(x) = max_y Σ_k f_k(y, x)        a_{k,t} = Σ over sequences with T(x) = t of E f_k

The total of a labelling is its score where every scaled weight is 1, so the best labelling under these weights has the
largest total. Biases and features of START and STOP count as well. Features that the gold labels never show are not
scaled. Not here: the updates (`optimizers.iis`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints
from ..inference import BoundData, Expectations, SequenceMethod, Workers, even_runs, run_decoding
from ..kernels.tables import add_bias_gradient, collect_gradient


class LikelihoodScaling:
    """Scaling on a data set whose labels are all known, under exact inference. DcrfError where a feature is negative.

    counts [W]: Ê f.   build: builds the inference method of a data set.   size [W]: of the features, by which they are
    divided in totals.
    """

    def __init__(
        self, data: BoundData, build: Callable[[BoundData], SequenceMethod], counts: Floats, workers: Workers,
        size: Floats,
    ):  # fmt: skip
        if (data.rows.value < 0.0).any():
            message = "`iis` needs features that are not negative, and the data has negative numbers"
            raise DcrfError(Diagnostic("cannot-scale", message, help="shift the column, or train by `lbfgs`"))
        self.counts, self.workers = counts, workers
        self._cell_of = data.cell_of_weight()
        self.totals = self._largest_totals(data, build(data), size)
        self._order = np.argsort(self.totals, kind="stable")  # so that sequences of equal total are one run
        self.data = data.only(self._order)
        self.method = build(self.data)

    def _largest_totals(self, d: BoundData, decoder: SequenceMethod, size: Floats) -> Floats:
        potentials = d.potentials((self.counts > 0.0) / size)
        best = run_decoding(d, decoder, potentials, self.workers).score
        # totals of indicators are whole numbers, which sums of exponents and logarithms miss by a little
        rounded = np.round(best, 9)
        return np.where(np.isfinite(rounded), rounded, 0.0)

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[Ints, Floats]]:
        """See `optimizers.objective.Scaling`."""
        d = self.data
        potentials = d.potentials(weights)
        nothing, ascending = np.zeros(d.num_weights), self.totals[self._order]

        def expectation(first: int, last: int) -> list[tuple[Ints, Floats]]:
            expectations = []
            for total in totals[first:last].tolist():
                out, partial, expected = Expectations.empty(d), d.partial_gradients(1), np.zeros(len(d.hard))
                begin, end = np.searchsorted(ascending, [total, np.nextafter(total, np.inf)]).tolist()
                self.method.expectations(potentials, begin, end, out, partial[0], expected)
                d.open_bundles(partial[0])
                gradient = np.empty(d.num_weights)
                collect_gradient(0, len(gradient), partial, self._cell_of, nothing, nothing, nothing, gradient)
                add_bias_gradient(d.bindings, expected, gradient)
                positive = np.flatnonzero(gradient > 0.0)
                expectations.append((positive, gradient[positive]))
            return expectations

        return [part for run in self.workers.map(expectation, even_runs(len(totals))) for part in run]
