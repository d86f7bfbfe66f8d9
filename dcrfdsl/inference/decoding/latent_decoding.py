"""The best labellings of models with latent variables, by p(y | x) = Σ_h p(y, h | x).

The search is exact if, for sequences of any length, summing out the latent variables before all labels leaves tables
that fit: then `nbest_summing_latents` searches these. Otherwise no cheap exact method is known (summing and maximising
do not commute), and `ranked_candidates` ranks labellings that other methods propose by their p(y | x).
Not here: models without latent variables (`labellings`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Codes, Floats
from ...graph import ModelGraph, order_cost
from ...kernels.sequences import Latents, NBestLists, summed_nbest
from ...kernels.tables import Potentials
from ...semantics import MethodSettings
from ..base import Expectations
from ..bound import BoundData
from ..workers import Workers
from .labellings import Labellings, NBest, arenas, enough_memory, largest_table, ordered_labellings, room_for

ROUNDING = 1e-12  # of a log Z, relative, and so of a probability; far more than was ever seen
LENGTHS = (8, 16)  # a table that grows from one to the other grows with the sequence


def latents_first_fits(graph: ModelGraph, settings: MethodSettings) -> bool:
    """Whether the latent variables can be summed out before all others, however long the sequence."""
    if graph.relational:
        return False
    largest = []
    for length in LENGTHS:
        shape = graph.shape(length)
        largest.append(order_cost(shape.scopes, shape.cards, graph.latents_first_order(shape)).largest)
    return largest[0] == largest[1] <= largest_table(settings)


def nbest_summing_latents(data: BoundData, potentials: Potentials, count: int, workers: Workers) -> NBest:
    """The `count` best labellings of each sequence, exactly. The programs of `data` sum out latent variables first."""
    out = Expectations.empty(data)
    programs, patterns = data.bank.program_arrays(), data.bank.pattern_arrays()
    hidden, width = data.graph.latents, len(data.graph.variables)
    with enough_memory():
        labelling, list_lengths, score = room_for(data, count, data.graph.num_labels)

        def run(first: int, last: int) -> None:
            summed_nbest(
                first, last, data.problem, programs, patterns, potentials, Latents(hidden.start, hidden.stop, width),
                NBestLists(labelling, data.labelling_off, list_lengths, score), out.results, *arenas(data),
            )  # fmt: skip

        workers.map(run, data.runs)
        found = tuple(ordered_labellings(data, labelling, list_lengths, score, out.log_z, exact=True))
    return NBest(found, out.summary())


def ranked_candidates(
    labels: Sequence[str], codes: Sequence[Codes], scores: Floats, log_z: float, count: int, *, complete: bool
) -> Labellings:
    """The `count` best of some labellings of one sentence by log Σ_h exp score(y, h), best first.

    codes: of each labelling, [labels, T], no two alike.   scores [R]: their log Σ_h exp score(y, h); those that are not
    possible have -inf. The first of equally good ones wins.   log_z: of the sentence, nan if it is not known exactly.
    complete: whether no other labelling is possible.

    A labelling that is none of these has at most the probability that they leave. So the result is exact if it has
    `count` labellings and none of them less than that, or if there are no others.
    """
    with np.errstate(invalid="ignore"):
        probability = np.exp(scores - log_z)
    possible = np.flatnonzero(np.isfinite(scores))
    order = possible[np.argsort(-scores[possible], kind="stable")]
    best = order[:count]
    left = 1.0 - float(probability[order].sum()) + ROUNDING * max(1.0, abs(log_z))
    proven = complete or (len(best) == count and bool(probability[best[-1]] >= left))
    table = np.array([codes[n] for n in best], np.int32).reshape(len(best), len(labels), -1) if len(best) else None
    length = codes[0].shape[1] if len(codes) else 0
    of_label = {
        label: np.ascontiguousarray(table[:, m]) if table is not None else np.zeros((0, length), np.int32)
        for m, label in enumerate(labels)
    }
    return Labellings(of_label, scores[best], probability[best], proven)
