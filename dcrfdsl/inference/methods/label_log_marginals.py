"""−Σ_v c_v log p(y*_v | x) over a data set and its gradient, exactly. Not here: kernels, methods that are not exact."""

from __future__ import annotations

import numpy as np

from ...foundation import Floats, Ints32
from ...kernels.exact import exact_tangents
from ...kernels.tables import Potentials, Totals
from ..base import Expectations
from ..bound import BoundData
from .exact_method import ExactMethod

NOTHING = np.zeros(0)


class LabelLogMarginals:
    """data: bound with contraction programs.   labelling [flat, see `BoundData.labelling_off`]: the states y* whose
    marginals count, negative elsewhere.   importance: c, laid out as they are; 1 if empty.
    """

    def __init__(self, data: BoundData, method: ExactMethod, labelling: Ints32, importance: Floats = NOTHING):
        self.data, self._method, self._labelling, self._importance = data, method, labelling, importance

    def add(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """Writes the risk of each sequence to `out.log_z`; adds the gradient to `gradient` [cells], `expected` [shared
        cells].
        """
        d, p, left = self.data, potentials, [(first, last)]
        if self._method.chain is not None:
            left = self._method.chain.tangents(
                p, first, last, self._labelling, self._importance, out.log_z, out.status, gradient, expected
            )
        for begin, end in left:
            exact_tangents(
                begin, end, d.problem, self._method.programs, self._method.patterns, p, d.ragged(self._labelling),
                self._importance, Totals(gradient, expected), out.results,
            )  # fmt: skip
