"""Gibbs sampling over a data set, several chains per sequence. A labelling is the best sample.

There is no estimate of log Z (nan), so it cannot train a model. Not here: the chains
(`kernels.messages.gibbs_sampling`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import DcrfError, Diagnostic, Floats, Ints32, dataclass
from ...kernels.messages import CHAINS, Sampling, gibbs, gibbs_sequences, node_potentials
from ...kernels.runtime import IMPOSSIBLE, OK
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
        if len(gradient):
            for s in range(first, last):
                self._count(potentials, s, out, expected)
        else:
            self._sample(potentials, first, last, out.results, out.marginals, np.zeros(0, np.int32))
        out.log_z[first:last] = np.where(out.status[first:last] == IMPOSSIBLE, -np.inf, np.nan)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        self._sample(potentials, first, last, out.results, NOTHING, out.labelling)

    def _sample(
        self, potentials: Potentials, first: int, last: int, results: Results, marginals: Floats, labelling: Ints32
    ) -> None:
        d = self.data
        gibbs_sequences(
            first, last, d.problem, self.edges, potentials, self.sampling, results,
            Ragged(marginals, d.marginal_off), d.ragged(labelling),
        )  # fmt: skip

    def _count(self, potentials: Potentials, s: int, out: Expectations, expected: Floats) -> None:
        """As `_sample` for one sequence of a data set without weights, whose tables are all shared cells.

        Adds the share of samples in each cell to `expected`; the kernel for many sequences does not count this.
        """
        d, logs, settings = self.data, potentials.log_base, self.settings
        g, begin, end = int(d.rows.shape[s]), int(d.marginal_off[s]), int(d.marginal_off[s + 1])
        node, marginal = np.empty(end - begin), np.zeros(end - begin)
        labelling, best = np.zeros((2, int(np.diff(d.labelling_off)[s])), np.int32)
        _, state = node_potentials(g, d.shapes, logs, True, node)
        error, agree = np.inf, False
        if state == OK:
            error, agree, _, state = gibbs(
                g, d.shapes, self.edges, logs, node, self.sampling, labelling, best, marginal, expected
            )
        sweeps = settings.burn_in * CHAINS + settings.samples * settings.thin
        out.status[s] = IMPOSSIBLE if state == IMPOSSIBLE else OK
        out.iterations[s] = sweeps if state == OK and agree else -sweeps
        out.residual[s] = error
        if state == OK:
            out.marginals[begin:end] = marginal


def no_log_z_error(why: str) -> DcrfError:
    """The error for a task that needs log Z; `why` ends its message."""
    remedy = "use `exact`, `trp`, `bp`, `gbp`, `mean_field` or `trw` for this"
    return DcrfError(Diagnostic("no-log-z", f"`gibbs` gives no estimate of log Z, so {why}", help=remedy))
