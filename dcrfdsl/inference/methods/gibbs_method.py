"""Gibbs sampling over a data set, several chains per sequence. A labelling is the best sample.

There is no estimate of log Z (nan), so it cannot train a model. Not here: the chains
(`kernels.messages.gibbs_sampling`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import DcrfError, Diagnostic, Floats, Ints32, dataclass
from ...kernels.messages import Sampling, gibbs_sequences
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.tables import Potentials, Ragged, Results
from ...semantics import GibbsSettings
from ..base import NOTHING, Decoded, Expectations, StatelessMethod
from ..bound import BoundData


@dataclass(eq=False)
class GibbsMethod(StatelessMethod):
    """Gibbs sampling with `CHAINS` chains per sequence; log Z is nan."""

    data: BoundData
    settings: GibbsSettings
    approximate: bool = True

    def __post_init__(self) -> None:
        self.edges, settings = self.data.bank.edge_arrays(), self.settings
        self.sampling = Sampling(settings.samples, settings.burn_in, settings.thin, settings.seed)

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        if len(gradient) and self.data.num_weights:
            raise no_log_z_error("a model cannot be trained by it")
        cells = expected if len(gradient) else NOTHING
        self._sample(potentials, first, last, out.results, out.marginals, np.zeros(0, np.int32), cells)
        out.log_z[first:last] = np.where(out.status[first:last] == IMPOSSIBLE, -np.inf, np.nan)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        self._sample(potentials, first, last, out.results, NOTHING, out.labelling, NOTHING)

    def _sample(
        self, potentials: Potentials, first: int, last: int, results: Results, marginals: Floats, labelling: Ints32,
        cells: Floats,
    ) -> None:  # fmt: skip
        d = self.data
        gibbs_sequences(
            first, last, d.problem, self.edges, potentials, self.sampling, results,
            Ragged(marginals, d.marginal_off), d.ragged(labelling), cells,
        )  # fmt: skip


def no_log_z_error(why: str) -> DcrfError:
    """The error for a task that needs log Z; `why` ends its message."""
    remedy = "use `exact`, `trp`, `bp`, `gbp`, `mean_field` or `trw` for this"
    return DcrfError(Diagnostic("no-log-z", f"`gibbs` gives no estimate of log Z, so {why}", help=remedy))
