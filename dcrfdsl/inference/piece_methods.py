"""Pieces of a data set, each normalised by itself, as inference methods: in place of log Z comes the loss of labels.

Small pieces are summed by enumeration of their joint states (`PieceMethod`). The result is the complete loss and its
gradient, so the criterion adds no counts. Pieces with the same scores everywhere (no features, no conditioning
variables) are normalised once for all instances (`SharedPieceMethod`): their loss is a function of counts,
Σ_g n_g log Z_g − Σ_c gold_c log φ_c, over groups g of equal instances and cells c of the shared tables. So the cost of
an evaluation does not depend on the size of the data. Instances of large pieces are the sequences of a data set of
their own (`bind_instances`); each reads the feature rows of its sentence, counted from its first anchor in each feature
set.
Not here: the pieces (`graph.piece_instances`, `graph.large_piece_graphs`), the sums (`kernels.piecewise`), the
objectives (`criteria`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..features import FeatureRows, Pairs
from ..foundation import Floats, Ints, Ints32, Mask
from ..graph import Gold, PieceGraphs, PieceTemplate, RoleModel, ShapeBank, clamp_rows, offsets, piece_arrays
from ..kernels.piecewise import NONE, SOFT, Cases, PieceInstances, piece_expectations
from ..kernels.runtime import IMPOSSIBLE
from ..kernels.tables import Potentials, Ragged, Shapes, Totals
from .base import Expectations, StatelessMethod
from .bound import Binder, BoundData
from .methods import ExactMethod


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
        for variable, soft in gold.soft.items():
            self.labelling.reshape(-1, len(gold.codes))[soft.tokens, variable] = SOFT
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


def _possible(gold: Gold, cards: Sequence[int]) -> Mask | Floats:
    """Which states a variable may be in, [tokens · states of a position]; how probable they are, if some have
    distributions.
    """
    if gold.soft:
        return np.concatenate(
            [gold.probabilities(variable, card) for variable, card in enumerate(cards)], axis=1
        ).ravel()
    parts = [gold.allowed(variable, card)[gold.runs(variable, card)] for variable, card in enumerate(cards)]
    return np.concatenate(parts, axis=1).ravel()


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
        least = float(method.pieces.scale.min(initial=1.0))  # weight of the gold labels of an instance
        self._seen = np.flatnonzero(np.abs(self._gold) > 0.5 * least)

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


class PieceInstanceMethod(ExactMethod):
    """Exact inference on graphs that are not sequences, so never by special kernels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chain = self.automaton = self.candidates = None


def bind_instances(
    graphs: PieceGraphs,
    model: RoleModel,
    rows: Sequence[FeatureRows],
    gold: Gold,
    sentence_off: Ints,
    relations: Mapping[int, Pairs],
    sentence: Ints,
    instance: Ints,
) -> tuple[BoundData, BoundData]:
    """The data sets of instances with their own variables free, and with these clamped to the known labels.

    sentence, instance [n]: the sentence of each instance, and its number among those of all shapes.
    """
    pairs = {number: relations[role.clique] for number, role in enumerate(model.roles) if role.clique in relations}
    binder = Binder(graphs.graph, model.parameters, programs=False)
    bound = binder.bind((*rows, *clamp_rows(graphs.graph, gold)), sentence_off, pairs)
    instance_rows = bound.rows._replace(
        first_row=np.ascontiguousarray(bound.rows.first_row[:, sentence] + graphs.first[:, instance]),
        token_off=np.arange(len(sentence) + 1, dtype=np.int64),  # every instance counts as one
        shape=graphs.number[instance],
    )

    def over(bank: ShapeBank) -> BoundData:
        return replace(bound, bank=bank, shapes=bank.shape_arrays(), rows=instance_rows)

    return over(graphs.free), over(graphs.known)
