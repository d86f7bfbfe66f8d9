"""Inference over a whole data set: threads share its runs of sequences and write one result.

Each sequence writes at its own index, and only the data determines the runs, so results do not depend on the number of
threads. Not here: the work on a run (`methods`), sums of gradients, which criteria keep run by run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..foundation import Floats, Ints32
from ..kernels.lattice import EARLY, score_contexts
from ..kernels.sequences import score_labellings
from ..kernels.tables import Potentials
from .base import Decoder, Expectations, MarginalInference
from .bound import BoundData
from .methods import PrunedMethod
from .run_status import PruningReport
from .workers import Workers

NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best labelling of each sequence, flat (see `BoundData.labelling_off`); -1 where there is none."""

    labelling: Ints32
    outcome: Expectations


def run_inference(
    data: BoundData, method: MarginalInference, potentials: Potentials, workers: Workers, *, marginals: bool = False
) -> Expectations:
    """log Z and status of every sequence, and with `marginals` those of its variables; no gradient.

    `method` is built for `data`; `potentials` are those of `data` at some weights.
    """
    out = Expectations.empty(data, marginals=marginals, approximate=method.approximate)

    def expect(first: int, last: int) -> None:
        method.expectations(potentials, first, last, out, NOTHING, np.zeros(len(data.hard)))

    workers.map(expect, data.runs)
    return out


def pruning_loss(
    data: BoundData, method: PrunedMethod, potentials: Potentials, gold: Ints32, workers: Workers
) -> PruningReport:
    """What pruning leaves out, with a bound on its probability, and how often it leaves out the gold labels.

    gold: flat labels, negative where they are not known; sequences with one of these are not judged.
    """
    sums = run_inference(data, replace(method, gold=np.zeros(0, np.int32)), potentials, workers)
    bounds = np.zeros(data.num_sequences)
    workers.map(lambda first, last: method.lost_mass(potentials, first, last, sums.log_z, bounds), data.runs)
    judged = run_inference(data, replace(method, gold=gold), potentials, workers)
    unknown = np.concatenate([[0], np.cumsum(gold < 0)])[data.labelling_off]
    known = unknown[1:] == unknown[:-1]
    assert judged.pruning is not None
    early = int((judged.pruning[known, EARLY] > 0).sum())
    return replace(sums.summary().pruning, early=early, judged=int(known.sum()), lost=float(bounds.sum()))


def run_decoding(data: BoundData, decoder: Decoder, potentials: Potentials, workers: Workers) -> Decoded:
    """The labelling of every sequence that `decoder` finds."""
    out = Expectations.empty(data, approximate=decoder.approximate)
    labelling = np.zeros(int(data.labelling_off[-1]), np.int32)
    workers.map(lambda first, last: decoder.decode(potentials, first, last, out, labelling), data.runs)
    return Decoded(data.spread(labelling), out)


def score_sequences(data: BoundData, labelling: Ints32, potentials: Potentials, workers: Workers) -> Floats:
    """Σ log φ at a labelling of each sequence, [S]; nan where a label is unknown (negative)."""
    out, codes = np.zeros(data.num_sequences), data.ragged(labelling)

    def score(first: int, last: int) -> None:
        score_labellings(first, last, data.problem, potentials, codes, out)

    workers.map(score, data.runs)
    if data.contexts is not None:
        inputs = data.contexts, data.rows.token_off, labelling, potentials.log_base, out
        workers.map(lambda first, last: score_contexts(first, last, *inputs), data.runs)
    return out
