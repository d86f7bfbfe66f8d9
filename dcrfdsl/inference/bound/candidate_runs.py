"""Exact inference on lists of candidates: the labels that constraints leave at each position.

Hard constraints of one label that read observations, such as tag dictionaries, and labels that are known beforehand
often leave few labels. Lattices then hold every labelling that is possible, and cost follows the candidates instead of
the states. Nothing is pruned, so the answers are exact. Not here: the lattices (`kernels.lattice`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...foundation import Floats, Ints32, chosen_ranges
from ...kernels.lattice import (
    COLUMNS,
    NO_GUIDE,
    ContextTables,
    LatticeTables,
    Pruning,
    lattice_decode,
    lattice_expectations,
)
from ...kernels.runtime import GAVE_UP
from ...kernels.tables import Potentials, Ragged, Results, Totals
from .lattice_tables import dense_contexts, lattice_refusal, local_tables
from .potentials import BoundData

# Seconds of a position in a pass on lists, on one core, beside those of the other forms (`graph.model_cost`). Measured
# with m labels left at every position (`tests/benchmarks`, row `dictionary`): about 23 ns for each of the m² or m³ runs
# of labels, from 12 to 400 labels. Chains take 0.3 ns for each entry of their dense table, so lists are faster for 121
# labels up to m = 9, for 400 up to m = 44, and never for 45 or fewer; on second order over 45 labels, by an automaton,
# they are up to m = 7, and over 12 labels, by programs, up to m = 5. The estimates of these two forms are low, so that
# lists are taken up to m = 5 and not at all.
POSITION_SECONDS = 3e-7
STATE_SECONDS = 2e-8  # a state: its score and probability, before it is known to be left out
RUN_SECONDS = 2.3e-8  # a run of labels in the lattice
NO_GOLD = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class CandidateRuns:
    """Inference over candidates on a data set. Methods return the runs of sequences that are left to other kernels."""

    data: BoundData
    contexts: ContextTables

    @classmethod
    def of(cls, data: BoundData, seconds: float) -> CandidateRuns | None:
        """None where lattices cannot hold the graph, or its constraints leave too many labels to pay.

        seconds: that the fastest other form takes for a position.
        """
        graph = data.graph
        coded = [t for t in graph.coded if t.offsets == (0,) and t.position is None]
        if not coded or graph.unary_only or lattice_refusal(graph) is not None or data.num_sequences == 0:
            return None
        states, off = graph.cards[0], data.rows.token_off
        lengths = np.diff(off)
        inside = np.arange(off[-1]) - np.repeat(off[:-1], lengths)
        left = np.full(int(off[-1]), states)
        for template in coded:
            assert template.coded is not None
            table = template.coded.reshape(len(template.coded), states)
            many = (table if table.dtype == np.bool_ else table > -np.inf).sum(axis=1)
            row = np.repeat(data.rows.first_row[template.feature_set], lengths) + inside
            np.minimum(left, many[data.rows.feature[data.rows.row_off[row]]], out=left)
        span = 1 + max((max(t.offsets) - min(t.offsets) for t in graph.templates), default=0)
        runs = np.ones(max(0, len(left) - span + 1))
        for back in range(span):
            runs *= left[back : back + len(runs)]
        mean = float(runs.mean()) if len(runs) else 1.0
        if POSITION_SECONDS + STATE_SECONDS * states + RUN_SECONDS * mean >= seconds:
            return None
        return cls(data, dense_contexts(graph, data.kinds.base))

    def _tables(self, potentials: Potentials) -> LatticeTables:
        return LatticeTables(local_tables(self.data.graph, self.data.kinds.base, potentials.log_base), self.contexts)

    def _pruning(self) -> Pruning:
        return Pruning(0.0, self.data.graph.cards[0], 0.0)

    def expectations(
        self, potentials: Potentials, first: int, last: int, results: Results, marginals: Floats, gradient: Floats,
        expected: Floats,
    ) -> list[tuple[int, int]]:  # fmt: skip
        """As `MarginalInference.expectations`."""
        d = self.data
        lattice_expectations(
            first, last, self._tables(potentials), d.problem, potentials, self._pruning(), NO_GUIDE,
            d.ragged(NO_GOLD), Totals(gradient, expected), results, Ragged(marginals, d.marginal_off), self._counts(),
        )  # fmt: skip
        return chosen_ranges(results.status[first:last] == GAVE_UP, first)

    def decode(
        self, potentials: Potentials, first: int, last: int, results: Results, labelling: Ints32
    ) -> list[tuple[int, int]]:
        """As `Decoder.decode`."""
        d = self.data
        lattice_decode(
            first, last, self._tables(potentials), d.problem, potentials, self._pruning(), NO_GUIDE, results,
            d.ragged(labelling), self._counts(),
        )  # fmt: skip
        return chosen_ranges(results.status[first:last] == GAVE_UP, first)

    def _counts(self) -> np.ndarray:
        return np.zeros((self.data.num_sequences, COLUMNS), np.int64)
