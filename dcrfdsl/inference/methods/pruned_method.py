"""Pruned inference over a data set: coarse to fine by order, on lattices of what survives.

Each order is the same model with the cliques of up to so many neighbours. Its probabilities say which runs of labels
the next order looks at (Müller, Schmid & Schütze 2013, §3). In place of the first order, that of single labels, another
training stage may list the labels that survive, or the first order may take in what neighbours tell through a view
(coarse to fine: Charniak et al. 2006; Rush & Petrov 2012). Sums are those of the surviving labellings: log Z is a
lower bound, and the best labelling may be missed. With a threshold of 0 and as many labels kept as there are, nothing
is pruned and the answers are exact. In training, a sequence whose gold labels are pruned is summed at the order where
they still were (an early update); lists of another stage get them back.

Not here: the lattices (`kernels.lattice`), which graphs they hold (`bound.lattice_tables`), the lists of another stage
(`stage_guides`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from ...foundation import Floats, Ints, Ints32, cached_property, data_error, dataclass
from ...kernels import lattice
from ...kernels.runtime import GAVE_UP
from ...kernels.tables import Potentials, Ragged, Totals
from ...semantics import PrunedSettings
from ..base import Decoded, Expectations, Outcome, StatelessMethod
from ..bound import BoundData, StarTables, local_tables, view_guide

MOST_LIKELY = 5  # labels of a position that the bound on lost mass tells apart
NO_GOLD = np.zeros(0, np.int32)


@dataclass(eq=False)
class PrunedMethod(StatelessMethod):
    """Sums and maxima over what survives pruning. `data` is bound to a thin graph.

    gold: labels of all sequences (see `BoundData.labelling_off`) for early updates; empty for none.
    lists: what survives in a range of sequences by the stage that `settings.by` names, see `GuideLists.lists`.
    """

    data: BoundData
    settings: PrunedSettings
    gold: Ints32 = field(default_factory=lambda: NO_GOLD)
    lists: Callable[[int, int], tuple[Ints, Ints32]] | None = None
    approximate: bool = True

    def __post_init__(self) -> None:
        if self.data.contexts is None:
            raise TypeError("expected data that is bound to a thin graph")
        self._last: tuple[Floats, lattice.LatticeTables] | None = None
        self.pruning = lattice.Pruning(self.settings.threshold, self.settings.keep, self.settings.states or 0.0)
        self._view = None if self.settings.by is None else view_guide(self.data.graph, self.settings.by)

    @cached_property
    def _stars(self) -> StarTables:
        return StarTables.of(self.data)

    def _guide(self, first: int, last: int) -> lattice.Guide:
        """What decides which labels of these sequences survive."""
        if self._view is not None:
            return self._view
        if self.settings.by is None:
            return lattice.NO_GUIDE
        if self.lists is None:
            message = f"`pruned(by = {self.settings.by})` has neither lists of a stage nor pairs seen through a view"
            raise data_error("cannot-prune", message, help="leave out `by`")
        off, label = self.lists(first, last)
        return lattice.NO_GUIDE._replace(label_off=off, label=label)

    def _tables(self, potentials: Potentials) -> lattice.LatticeTables:
        last = self._last
        if last is None or last[0] is not potentials.log_base:  # shared tables are never written again
            assert self.data.contexts is not None
            local = local_tables(self.data.graph, self.data.kinds.base, potentials.log_base)
            last = self._last = potentials.log_base, lattice.LatticeTables(local, self.data.contexts)
        return last[1]

    def lost_mass(self, potentials: Potentials, first: int, last: int, log_z: Floats, lost: Floats) -> None:
        """Writes to `lost` [S] a bound on the probability of all labellings that pruning leaves out.

        log_z [S]: what `expectations` found, without gold labels. The bound is true but not tight: 1 says nothing.
        """
        stars = self._stars
        upper = np.zeros(self.data.num_sequences)
        lattice.lattice_bounds(
            first, last, self._tables(potentials), stars.tables(), self.data.problem, potentials,
            stars.values(potentials.log_base), MOST_LIKELY, upper,
        )  # fmt: skip
        part = slice(first, last)
        possible = log_z[part] > -np.inf
        share = np.exp(np.minimum(0.0, log_z[part][possible] - upper[part][possible]))
        lost[part] = 0.0
        lost[part][possible] = 1.0 - share

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        d = self.data
        lattice.lattice_expectations(
            first, last, self._tables(potentials), d.problem, potentials, self.pruning, self._guide(first, last),
            d.ragged(self.gold), Totals(gradient, expected), out.results, Ragged(out.marginals, d.marginal_off),
            out.pruning,
        )  # fmt: skip
        self._check(out, first, last)

    def decode(self, potentials: Potentials, first: int, last: int, out: Decoded) -> None:
        d = self.data
        lattice.lattice_decode(
            first, last, self._tables(potentials), d.problem, potentials, self.pruning, self._guide(first, last),
            out.results, d.ragged(out.labelling), out.pruning,
        )  # fmt: skip
        self._check(out, first, last)

    def _check(self, out: Outcome, first: int, last: int) -> None:
        if (out.status[first:last] == GAVE_UP).any():
            raise data_error(
                "too-wide",
                "`pruned` would keep more than 16 million runs of labels of one sentence",
                help="raise `threshold`, or lower `keep`",
            )
