"""Inference over a whole data set: threads share its runs of sequences and write one result.

Each sequence writes at its own index, and only the data determines the runs, so results do not depend on the number of
threads. Not here: the work on a run (`methods`), sums of gradients, which criteria keep run by run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints32
from ..kernels.sequences import score_labellings
from ..kernels.tables import Potentials
from .base import Decoder, Expectations, ExpectingMethod
from .bound import BoundData
from .workers import Workers

__all__ = ["Decoded", "run_decoding", "run_inference", "score_sequences"]

NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The best labelling of each sequence, flat (see `BoundData.labelling_off`); -1 where there is none."""

    labelling: Ints32
    outcome: Expectations


def run_inference(
    data: BoundData, method: ExpectingMethod, potentials: Potentials, workers: Workers, *, marginals: bool = False
) -> Expectations:
    """log Z and status of every sequence, and with `marginals` those of its variables; no gradient.

    `method` is built for `data`; `potentials` are those of `data` at some weights.
    """
    out = Expectations.empty(data, marginals=marginals, approximate=method.approximate)

    def expect(first: int, last: int) -> None:
        method.expectations(potentials, first, last, out, NOTHING, np.zeros(len(data.hard)))

    workers.map(expect, data.runs)
    return out


def run_decoding(data: BoundData, decoder: Decoder, potentials: Potentials, workers: Workers) -> Decoded:
    """The labelling of every sequence that `decoder` finds."""
    out = Expectations.empty(data, approximate=decoder.approximate)
    labelling = np.zeros(int(data.labelling_off[-1]), np.int32)
    workers.map(lambda first, last: decoder.decode(potentials, first, last, out, labelling), data.runs)
    return Decoded(labelling, out)


def score_sequences(data: BoundData, labelling: Ints32, potentials: Potentials, workers: Workers) -> Floats:
    """Σ log φ at a labelling of each sequence, [S]; nan where a label is unknown (negative)."""
    out, codes = np.zeros(data.num_sequences), data.ragged(labelling)
    workers.map(lambda first, last: score_labellings(first, last, data.problem, potentials, codes, out), data.runs)
    return out
