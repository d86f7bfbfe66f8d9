"""Maximisation in place of summation, for criteria that look only at the best labelling.

In place of log Z and expected counts it returns the score and the counts of the best labelling: value and subgradient
of max_y g(y). On graphs with loops max-product may miss the best labelling; then the value is too low.
Not here: decoding (`methods`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from ...foundation import Floats, Ints32
from ...kernels.optimization import count_labellings
from ...kernels.sequences import score_labellings
from ...kernels.tables import Potentials
from ..base import Expectations, SequenceMethod, StatelessMethod
from ..bound import BoundData

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
        self.decoder.decode(potentials, first, last, out, labelling)
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
