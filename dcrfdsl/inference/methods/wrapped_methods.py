"""Methods around others: maximisation in place of summation, and sequences that count by factors.

**Maximum**, for criteria that look only at the best labelling: in place of log Z and expected counts it returns the
score and the counts of the best labelling, value and subgradient of max_y g(y). On graphs with loops max-product may
miss the best labelling; then the value is too low. **Weighted**: c_i log Z_i and c_i ⟨F⟩_i in place of log Z_i and
⟨F⟩_i. Sequences with a factor of 0 are left out. Not here: where the factors come from, decoding.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import field

import numpy as np

from ...foundation import Floats, Ints32, chosen_ranges, dataclass
from ...kernels.optimization import count_labellings
from ...kernels.sequences import score_labellings
from ...kernels.tables import Potentials
from ..base import Decoded, Expectations, MarginalInference, SequenceMethod, StatelessMethod
from ..bound import BoundData
from .exact_method import ExactMethod

NOTHING = np.zeros(0)


@dataclass(eq=False)
class MaximumMethod(StatelessMethod):
    """An `MarginalInference` by decoding. `decoder` is built for `data`."""

    data: BoundData
    decoder: SequenceMethod
    _per_thread: threading.local = field(default_factory=threading.local)

    @property
    def approximate(self) -> bool:
        return self.decoder.approximate

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats,
        share: Floats = NOTHING,
    ) -> None:  # fmt: skip
        """As `MarginalInference.expectations`: log Z becomes the best score; sequences without a labelling get -inf.

        share [S]: a factor on each sequence's counts; 1 if empty.
        """
        d = self.data
        labelling, belief = self._workspace()
        self.decoder.decode(potentials, first, last, Decoded.within(out, labelling))
        score_labellings(first, last, d.problem, potentials, d.ragged(labelling), out.log_z)
        none = np.isnan(out.log_z[first:last])
        out.log_z[first:last][none] = -np.inf
        if len(gradient):
            mass = np.zeros((1, d.num_sequences))
            mass[0, first:last] = ~none * share[first:last] if len(share) else ~none
            count_labellings(
                first, last, d.shapes, d.kinds, d.bindings, d.rows, labelling[None, :], d.labelling_off, mass, belief,
                expected, gradient,
            )  # fmt: skip

    def _workspace(self) -> tuple[Ints32, Floats]:
        """A labelling of all sequences and zeros for counting, both of the calling thread."""
        if not hasattr(self._per_thread, "workspace"):
            belief = np.zeros(int(self.data.shapes.local_end.max(initial=0)))
            self._per_thread.workspace = np.zeros(int(self.data.labelling_off[-1]), np.int32), belief
        workspace: tuple[Ints32, Floats] = self._per_thread.workspace
        return workspace


class WeightedMethod:
    """An `MarginalInference` around another one, `method`, which is built for `data`.

    factor [S]: of each sequence, 0 or more. Exact methods and maxima take it on the way; for others each run of equal
    factors is summed by itself.
    """

    def __init__(self, method: MarginalInference, data: BoundData, factor: Floats):
        self.method, self._data, self._factor = method, data, np.ascontiguousarray(factor, np.float64)

    @property
    def approximate(self) -> bool:
        return self.method.approximate

    @property
    def together(self) -> int:
        return self.method.together

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
