"""An inference method whose sequences count by factors: c_i log Z_i and c_i ⟨F⟩_i in place of log Z_i and ⟨F⟩_i.

Sequences with a factor of 0 are left out. Not here: where the factors come from, criteria whose terms are no log Z.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...foundation import Floats, chosen_ranges
from ...kernels.tables import Potentials
from ..base import Expectations, MarginalInference
from ..bound import BoundData
from .exact_method import ExactMethod
from .maximum import MaximumMethod


class WeightedMethod:
    """An `MarginalInference` around another one, `method`, which is built for `data`.

    factor [S]: of each sequence, 0 or more. Exact methods and maxima take it on the way; for others each run of equal
    factors is summed by itself.
    """

    def __init__(self, method: MarginalInference, data: BoundData, factor: Floats):
        self.method, self._data, self._factor = method, data, np.ascontiguousarray(factor, np.float64)

    @property
    def approximate(self) -> bool:
        """As `MarginalInference.approximate`."""
        return self.method.approximate

    @property
    def together(self) -> int:
        """As `MarginalInference.together`."""
        return self.method.together

    @property
    def tolerance(self) -> float | None:
        """The tolerance of the method within; None if it has none."""
        return getattr(self.method, "tolerance", None)

    def remember(self) -> None:
        """As `MarginalInference.remember`."""
        self.method.remember()

    def tighten_tolerance(self) -> bool:
        """As `MarginalInference.tighten_tolerance`."""
        return self.method.tighten_tolerance()

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """As `MarginalInference.expectations`, each sequence times its factor."""
        factor = self._factor[first:last]
        out.log_z[first:last] = 0.0
        out.status[first:last] = 0
        for begin, end in chosen_ranges(factor != 0.0, first):
            if isinstance(self.method, ExactMethod | MaximumMethod):
                self.method.expectations(potentials, begin, end, out, gradient, expected, self._factor)
            else:
                self._by_runs(potentials, begin, end, out, gradient, expected)
            out.log_z[begin:end] *= self._factor[begin:end]

    def _by_runs(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """The same by runs of sequences with equal factors, summed apart."""
        cuts = np.flatnonzero(np.diff(self._factor[first:last])) + first + 1
        part, cells = np.zeros_like(gradient), np.zeros_like(expected)
        for begin, end in itertools.pairwise([first, *cuts.tolist(), last]):
            part.fill(0.0)
            cells.fill(0.0)
            self.method.expectations(potentials, begin, end, out, part, cells)
            gradient += self._factor[begin] * part
            expected += self._factor[begin] * cells


def weighted(method: MarginalInference, data: BoundData, factor: Floats | None) -> MarginalInference:
    """The method with these factors [S] of its sequences; without factors the method itself."""
    return method if factor is None else WeightedMethod(method, data, factor)
