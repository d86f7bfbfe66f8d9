"""Inference over a whole data set: threads share its runs of sequences and write one result.

Each sequence writes at its own index, and only the data determines the runs, so results do not depend on the number of
threads. Not here: the work on a run (`methods`), sums of gradients, which criteria keep run by run.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..foundation import Floats, Ints32
from ..kernels.lattice import EARLY, score_contexts
from ..kernels.sequences import score_labellings
from ..kernels.tables import Potentials
from .base import Decoded, Decoder, Expectations, MarginalInference
from .bound import BoundData
from .run_status import PruningReport
from .workers import Workers

if TYPE_CHECKING:
    from .methods import PrunedMethod

NOTHING = np.zeros(0)


def run_inference(
    data: BoundData, method: MarginalInference, potentials: Potentials, workers: Workers, *, marginals: bool = False
) -> Expectations:
    """log Z and status of every sequence, and with `marginals` those of its variables; no gradient.

    `method` is built for `data`; `potentials` are those of `data` at some weights.
    """
    out = Expectations.empty(data, marginals=marginals, approximate=method.approximate)

    workers.map(partial(method.expectations, potentials), data.runs, out, NOTHING, np.zeros(len(data.hard)))
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
    out = Decoded.empty(data, approximate=decoder.approximate)
    workers.map(partial(decoder.decode, potentials), data.runs, out)
    data.spread(out.labelling)
    return out


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
