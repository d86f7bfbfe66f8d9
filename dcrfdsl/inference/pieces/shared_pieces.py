"""Pieces with the same scores everywhere (no features, no conditioning variables), normalised once for all instances.

Their loss is a function of counts: Σ_g n_g log Z_g − Σ_c gold_c log φ_c, over groups g of equal instances and cells c
of the shared tables. So the cost of an evaluation does not depend on the size of the data. Not here: other pieces
(`local_normalisation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ...kernels.runtime import IMPOSSIBLE
from ...kernels.tables import Potentials
from ..base import Expectations, StatelessMethod
from .local_normalisation import PieceMethod


class _Group(NamedTuple):
    """Equal instances. times: their number.   cells [members, joint states]: shared cells.   scale [members]."""

    times: float
    cells: Ints
    scale: Floats


def are_shared(method: PieceMethod) -> bool:
    """Whether all pieces have the same scores everywhere, no locked factors, and completely known labels."""
    pieces = method.pieces
    return bool(pieces.shared.all()) and not pieces.locked.any() and not len(method.possible)


class SharedPieceMethod(StatelessMethod):
    """The results of a `PieceMethod`, computed from counts. The run with sequence 0 returns the loss of all."""

    approximate = False

    def __init__(self, method: PieceMethod):
        self._method, data = method, method.data
        self._groups = _groups(method)
        none = data.potentials(np.zeros(data.num_weights))
        gold, out = np.zeros(len(data.hard)), Expectations.empty(data)
        method.expectations(none, 0, data.num_sequences, out, np.zeros(data.num_cells), gold)
        self._impossible = out.summary().impossible
        everything = np.zeros_like(gold)
        self._normalise(none.log_base, everything)
        self._gold = everything - gold  # the kernel subtracts the counts of known labels
        self._seen = np.flatnonzero(np.abs(self._gold) > 0.5 * _least_share(method))

    def expectations(
        self, potentials: Potentials, first: int, last: int, out: Expectations, gradient: Floats, expected: Floats
    ) -> None:
        """As `PieceMethod.expectations`, but the loss of all sequences is that of sequence 0."""
        out.log_z[first:last] = 0.0
        if first == 0 and last > 0:
            out.log_z[0] = self._normalise(potentials.log_base, expected)
            out.log_z[0] -= float(self._gold[self._seen] @ potentials.log_base[self._seen])
            expected[self._seen] -= self._gold[self._seen]
        for s in self._impossible:
            if first <= s < last:
                out.log_z[s], out.status[s] = np.inf, IMPOSSIBLE

    def _normalise(self, log_base: Floats, expected: Floats) -> float:
        """Σ n_g log Z_g; adds the expectations to `expected` [shared cells]."""
        total = 0.0
        for group in self._groups:
            score = (group.scale[:, None] * log_base[group.cells]).sum(axis=0)
            peak = float(score.max())
            probability = np.exp(score - peak)
            mass = float(probability.sum())
            total += group.times * (peak + np.log(mass))
            for cells, scale in zip(group.cells, group.scale, strict=True):
                np.add.at(expected, cells, group.times * scale / mass * probability)
        return total


def _least_share(method: PieceMethod) -> float:
    """The smallest weight of the gold labels of an instance."""
    return float(method.pieces.scale.min(initial=1.0))


def _groups(method: PieceMethod) -> list[_Group]:
    pieces, shapes = method.pieces, method.data.shapes
    per_shape = np.bincount(method.data.rows.shape, minlength=len(pieces.instance_off) - 1)
    shape_of = np.repeat(np.arange(len(per_shape)), np.diff(pieces.instance_off))
    times = np.bincount(pieces.template, weights=per_shape[shape_of])
    _, examples = np.unique(pieces.template, return_index=True)
    groups = []
    for i in examples.tolist():
        g = int(shape_of[i])
        over = pieces.over[pieces.over_off[i] : pieces.over_off[i + 1]].tolist()
        cards = shapes.card[shapes.var_off[g] + np.array(over)]
        states = dict(zip(over, np.indices(cards).reshape(len(over), -1), strict=True))
        cells = []
        for f in (shapes.fac_off[g] + pieces.member[pieces.member_off[i] : pieces.member_off[i + 1]]).tolist():
            scope = shapes.scope[shapes.scope_off[f] : shapes.scope_off[f + 1]].tolist()
            at = np.zeros(int(np.prod(cards)), np.int64)
            for v in scope:
                at = at * shapes.card[shapes.var_off[g] + v] + states[v]
            cells.append(shapes.fac_table[f] + at)
        scale = pieces.scale[pieces.member_off[i] : pieces.member_off[i + 1]]
        groups.append(_Group(float(times[pieces.template[i]]), np.array(cells, np.int64), scale.copy()))
    return groups
