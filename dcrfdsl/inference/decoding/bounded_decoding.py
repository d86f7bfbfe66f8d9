"""Decoding of a data set with an upper bound on the score of each sequence, by `decode certified` and `optimal`.

Not here: the search of one graph (`branch_and_bound`), the labellings that it begins with (`run`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...foundation import Floats, Ints32
from ...kernels.tables import Potentials
from ..bound import BoundData
from ..marginals import sequence_graph
from ..run_status import RunStatus
from ..workers import Workers
from .branch_and_bound import BoundedLabelling, SearchLimits, bounded_labelling


@dataclass(frozen=True, eq=False)
class BoundedDecoding:
    """labelling: flat, see `BoundData.labelling_off`; -1 where none is known.   scores [S]: nan there.   bounds [S]:
    the score itself where it is proven to be the best, -inf where it is proven that there is no labelling.
    """

    labelling: Ints32
    scores: Floats
    bounds: Floats
    status: RunStatus


def bounded_decoding(
    data: BoundData, potentials: Potentials, labelling: Ints32, scores: Floats, status: RunStatus, limits: SearchLimits,
    workers: Workers,
) -> BoundedDecoding:  # fmt: skip
    """Bounds for the labellings that inference found, and better labellings where the search meets them.

    labelling, scores, status: of inference. What it found exactly is the best already.
    """
    count = data.num_sequences
    if not status.approximate:
        impossible = np.isnan(scores)
        bounds = np.where(impossible, -np.inf, scores)
        return BoundedDecoding(labelling, scores, bounds, replace(status, bounded=count, certified=count))
    labelling, scores, bounds, off = labelling.copy(), scores.copy(), np.empty(count), data.labelling_off
    found: list[BoundedLabelling | None] = [None] * count

    def run(first: int, last: int) -> None:
        for s in range(first, last):
            graph = sequence_graph(data, potentials, s)
            # behind the first position a variable of the sentence has one state in the graph
            start = np.minimum(labelling[off[s] : off[s + 1]], np.array(graph.cards, np.int64) - 1)
            found[s] = one = bounded_labelling(graph, limits, start)
            labelling[off[s] : off[s + 1]] = -1 if one.labelling is None else one.labelling
            scores[s] = np.nan if one.labelling is None else one.score
            bounds[s] = -np.inf if one.labelling is None and one.is_best else one.score + one.gap
            if one.labelling is None and not one.is_best:
                bounds[s] = one.bound

    workers.map(run, [(s, s + 1) for s in range(count)])
    every = [one for one in found if one is not None]
    certified = sum(one.is_best for one in every)
    return BoundedDecoding(
        data.spread(labelling),
        scores,
        bounds,
        replace(
            status,
            approximate=False,
            not_converged=0,
            impossible=tuple(s for s, one in enumerate(every) if one.labelling is None),
            bounded=count,
            certified=certified,
            gap=float(sum(one.gap for one in every if one.labelling is not None)),
            nodes=sum(one.nodes for one in every),
        ),
    )
