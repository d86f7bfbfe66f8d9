"""The best labellings of models with latent variables, by p(y | x) = Σ_h p(y, h | x).

The search is exact if, for sequences of any length, summing out the latent variables before all labels leaves tables
that fit: then `nbest_summing_latents` searches these. Otherwise no cheap exact method is known (summing and maximising
do not commute), and `best_candidates` ranks labellings that other methods propose by their p(y | x).
Not here: models without latent variables (`labellings`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...foundation import Codes, Floats, Ints
from ...graph import ModelGraph, order_cost
from ...kernels.sequences import Latents, NBestLists, summed_nbest
from ...kernels.tables import Potentials
from ...semantics import MethodSettings
from ..base import Expectations
from ..bound import BoundData
from ..run_status import RunStatus
from ..workers import Workers
from .labellings import Labellings, NBest, arenas, enough_memory, largest_table, ordered_labellings, room_for

__all__ = ["best_candidates", "latents_first_fits", "nbest_summing_latents"]

COMPLETE = 1e-9  # probability that may be missing from a list that counts as complete
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


def best_candidates(
    candidates: Sequence[tuple[Codes, Floats]],
    log_z: Floats,
    sentence_off: Ints,
    labels: Sequence[str],
    count: int,
    covered: Floats,
    status: RunStatus,
) -> NBest:
    """The `count` best of some labellings of each sentence by log Σ_h exp score(y, h), best first, each once.

    candidates: labellings of the whole data set, [labels, N], with the log Z of each sentence clamped to them, [S]; the
    first of equally good ones wins.   log_z [S]: of each sentence.   covered [S]: the total probability of the known
    pairs of a labelling and latent states. A labelling that was not proposed has at most the remaining probability; if
    no returned labelling has less than that, the result is exact.
    """
    sentences = []
    for s, (first, last) in enumerate(zip(sentence_off[:-1].tolist(), sentence_off[1:].tolist(), strict=True)):
        distinct: dict[bytes, tuple[Codes, float]] = {}
        for codes, scores in candidates:
            sentence_codes = np.ascontiguousarray(codes[:, first:last])
            if np.isfinite(scores[s]):
                distinct.setdefault(sentence_codes.tobytes(), (sentence_codes, float(scores[s])))
        best = sorted(distinct.values(), key=lambda one: -one[1])[:count]
        score = np.array([one[1] for one in best])
        probability = np.exp(score - log_z[s])
        proven = bool(probability.sum() > 1.0 - COMPLETE) or (
            len(best) == count and bool(probability[-1] >= 1.0 - covered[s])
        )
        sentences.append(
            Labellings(
                {
                    label: np.array([labelling[m] for labelling, _ in best], np.int32).reshape(len(best), last - first)
                    for m, label in enumerate(labels)
                },
                score,
                probability,
                proven,
            )
        )
    return NBest(tuple(sentences), replace(status, approximate=not all(labellings.exact for labellings in sentences)))
