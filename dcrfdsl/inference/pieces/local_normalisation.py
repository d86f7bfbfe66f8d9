"""Local normalisation of a data set's pieces as an inference method: in place of log Z it returns the loss of labels.

The result is the complete loss and its gradient, so the criterion (`criteria.pieces.piece_likelihood`) adds no counts.
Not here: the pieces (`graph.piece_instances`), the sums (`kernels.piecewise.piece_losses`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Floats, Ints, Ints32, Mask
from ...graph import Gold, PieceTemplate, offsets, piece_arrays
from ...kernels.piecewise import NONE, Cases, PieceInstances, piece_expectations
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.tables import Potentials, Ragged, Shapes, Totals
from ..base import Expectations, StatelessMethod
from ..bound import BoundData


class PieceMethod(StatelessMethod):
    """The losses of small pieces, by enumeration of their joint states. Exact.

    divide: whether a clique instance that is in n pieces, those of `beside` included, has a share of 1/n in each.
    cases: in which none of the above is right; by default none.   importance: the factor of each instance, sequence by
    sequence; 1 if empty.
    """

    approximate = False

    def __init__(
        self, data: BoundData, templates: Sequence[PieceTemplate], gold: Gold, *, divide: bool = False,
        beside: Sequence[PieceTemplate] = (), cases: Cases | None = None, token_importance: Floats | None = None,
    ):  # fmt: skip
        self.data = data
        self.pieces = piece_arrays(data.graph, data.bank.shapes, templates, divide=divide, beside=beside)
        self.labelling = np.where(gold.codes >= 0, gold.codes, -1).T.astype(np.int32).ravel()
        self.possible = _possible(gold, data.graph.cards) if (gold.codes < 0).any() else np.zeros(0, np.bool_)
        self.largest = largest_piece(data.shapes, self.pieces)
        self.cases = cases if cases is not None else no_cases(data.num_sequences)
        self.importance = Ragged(np.zeros(0), np.zeros(0, np.int64))
        if token_importance is not None:
            self.importance = instance_importance(data, self.pieces, token_importance)

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """As `MarginalInference.expectations`, with the loss for log Z, and less the counts of known labels."""
        d = self.data
        piece_expectations(
            first, last, d.problem, self.pieces, self.cases, potentials, d.ragged(self.labelling),
            Ragged(self.possible, d.marginal_off), self.importance, self.largest, Totals(gradient, expected), out.log_z,
        )  # fmt: skip
        out.status[first:last] = np.where(np.isposinf(out.log_z[first:last]), IMPOSSIBLE, 0)


def instance_importance(data: BoundData, pieces: PieceInstances, tokens: Floats) -> Ragged:
    """The factor of each instance, sequence by sequence: the mean of those of the `tokens` [N] that it is over."""
    width, off = len(data.graph.cards), pieces.instance_off
    instances = np.diff(off)[data.rows.shape]
    first = offsets(instances)
    sequence = np.repeat(np.arange(len(instances)), instances)
    instance = off[data.rows.shape[sequence]] + np.arange(first[-1]) - first[sequence]
    sizes = np.diff(pieces.over_off)[instance]
    ends = np.cumsum(sizes)
    place = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(pieces.over_off[instance] - (ends - sizes), sizes)
    token = np.repeat(data.rows.token_off[sequence], sizes) + pieces.over[place] // width
    total = np.bincount(np.repeat(np.arange(len(instance)), sizes), tokens[token], len(instance))
    return Ragged(total / np.maximum(sizes, 1), first)


def largest_piece(shapes: Shapes, pieces: PieceInstances) -> int:
    """The largest number of joint states of an instance."""
    return _most_joint(shapes, pieces, pieces.over_off, pieces.over)


def _most_joint(shapes: Shapes, pieces: PieceInstances, off: Ints, variables: Ints32) -> int:
    shape_of = np.repeat(np.arange(len(shapes.fac_off) - 1), np.diff(pieces.instance_off))
    first = np.repeat(shapes.var_off[shape_of], np.diff(off))
    logs = np.concatenate([[0.0], np.cumsum(np.log2(shapes.card[first + variables]))])
    most = float((logs[off[1:]] - logs[off[:-1]]).max(initial=0.0))
    return max(1, round(float(2.0**most)))


def most_cases(shapes: Shapes, pieces: PieceInstances) -> int:
    """The largest number of joint states of the variables that an instance conditions on."""
    return _most_joint(shapes, pieces, pieces.given_off, pieces.given)


def no_cases(num_sequences: int) -> Cases:
    """Cases without NOTA (none of the above)."""
    return Cases(NONE, 0.0, 0, np.zeros(num_sequences + 1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))


def _possible(gold: Gold, cards: Sequence[int]) -> Mask:
    """Which states a variable may be in, [tokens · states of a position]."""
    parts = []
    for variable, card in enumerate(cards):
        off, states = gold.choices(variable, card)
        table = np.zeros((len(off) - 1, card), np.bool_)
        table[np.repeat(np.arange(len(off) - 1), np.diff(off)), states] = True
        codes = gold.codes[variable].astype(np.int64)
        parts.append(table[np.where(codes >= 0, codes, card - 1 - codes)])
    return np.concatenate(parts, axis=1).ravel()
