"""Exact inference over the segments of a chain, for models with a `segment` statement (semi-Markov models).

The factors of tokens and of neighbouring tokens may be any, with features or without; those of segments have rows of
features for each candidate. Not here: the sums (`kernels.segments`), rows of candidates (`features.segment_rows`).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ...foundation import Floats, Ints, Ints32, data_error
from ...graph import ModelGraph
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.segments import SegmentLists, segment_expectations, segment_nbest
from ...kernels.tables import Potentials, Ragged, Totals
from ...semantics import AutoSettings, ExactSettings
from ..base import Expectations, StatelessMethod
from ..bound import BoundData

NOTHING = np.zeros(0)


def check_segments(graph: ModelGraph) -> None:
    """Raises DcrfError where the other cliques of a model with segments join more than neighbouring tokens."""
    wide = [
        template.name
        for template in graph.templates
        if template.segments is None
        and (template.relational or max(template.offsets) - min(template.offsets) > 1 or len(template.offsets) > 2)
    ]
    if wide or len(graph.cards) > 1:
        what = (
            f"`{wide[0]}` reaches further" if wide else f"`{graph.variables[1]}` is another variable of each position"
        )
        message = f"a `segment` statement needs a chain of one label whose cliques join neighbours, and {what}"
        raise data_error("cannot-segment", message, help="leave one of them out")


@dataclass(eq=False)
class SegmentMethod(StatelessMethod):
    """Forward-backward over (position, length, class); lists of the best labellings by the same recursions."""

    data: BoundData
    settings: ExactSettings | AutoSettings | None = None
    approximate: bool = False

    def __post_init__(self) -> None:
        check_segments(self.data.graph)
        if self.data.segments is None:
            raise TypeError("expected data of a model with a `segment` statement")
        self.segments = self.data.segments
        self._per_thread = threading.local()

    def _arena(self) -> Floats:
        """Memory for the local tables of any sequence, of the calling thread."""
        if not hasattr(self._per_thread, "arena"):
            size = max(int(self.data.shapes.local_end.max(initial=0)), self.data.shapes.local_start)
            self._per_thread.arena = np.empty(size)
        arena: Floats = self._per_thread.arena
        return arena

    @property
    def span_off(self) -> Ints:
        """Offsets of each sequence in flat probabilities of segments, [S+1]."""
        return self.data.rows.token_off * self.segments.limit * self.segments.named

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats,
        spans: Floats = NOTHING,
    ) -> None:  # fmt: skip
        """As `MarginalInference.expectations`. spans: for the probabilities of segments, see `span_off`; or empty."""
        d = self.data
        segment_expectations(
            first, last, self.segments, d.problem, potentials, Totals(gradient, expected), out.results,
            Ragged(out.marginals, d.marginal_off), Ragged(spans, self.span_off), self._arena(),
        )  # fmt: skip

    def decode(self, potentials: Potentials, first: int, last: int, out: Expectations, labelling: Ints32) -> None:
        d = self.data
        count, score = np.zeros(d.num_sequences, np.int64), np.zeros((d.num_sequences, 1))
        self.nbest(potentials, first, last, out, SegmentLists(labelling[None], d.labelling_off, count, score))
        out.log_z[first:last] = score[first:last, 0]

    def nbest(self, potentials: Potentials, first: int, last: int, out: Expectations, lists: SegmentLists) -> None:
        """Writes the best labellings of each sequence."""
        d = self.data
        segment_nbest(first, last, self.segments, d.problem, potentials, lists, out.results, self._arena())
        out.log_z[first:last][out.status[first:last] == IMPOSSIBLE] = -np.inf
