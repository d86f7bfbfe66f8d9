"""Decoding under orders: the best labelling of a sentence among those with certain states at certain positions.

An order names a sentence and says for each of its labels, position by position, which states are allowed (`Orders`).
All orders are carried out as one data set in which sentences stand once for each of their orders; features are not
copied. Exact where the inference method is, else as good as that. Not here: what is ordered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...features import FeatureRows, Pairs
from ...graph import ANY, ModelGraph, Parameters, offsets, steered_graph
from ...semantics import MethodSettings
from ..bound import Binder, BoundData
from ..methods import METHODS
from ..run import run_decoding, score_sequences
from ..run_status import RunStatus
from ..workers import Workers

__all__ = ["Orders", "Steered", "Steering"]


@dataclass(frozen=True, eq=False)
class Orders:
    """sentence [R]: of each order.   codes [labels, tokens of all orders]: see `graph.variants.constrained_graph`."""

    sentence: NDArray[np.int64]
    codes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Steered:
    """The best labellings found. `data`: a sequence an order.   labelling: flat, see `BoundData.labelling_off`.
    score [R]: Σ log φ, -inf where no labelling is allowed; the labelling is then -1.
    """

    data: BoundData
    labelling: NDArray[np.int32]
    score: Floats


class Steering:
    """Carries out orders on one data set. `status` sums how inference ended."""

    def __init__(
        self,
        graph: ModelGraph,
        parameters: Parameters,
        rows: Sequence[FeatureRows],
        sentence_off: NDArray[np.int64],
        relations: Mapping[int, Pairs],
        sets: Sequence[NDArray[np.bool_]],
        method: str,
        settings: MethodSettings,
        workers: Workers,
    ):
        """sets: as in `steered_graph`.   method: its name in `METHODS`."""
        self._entry, self._settings, self._workers = METHODS[method], settings, workers
        steered = steered_graph(graph, sets, len(rows))
        binder = Binder(steered, parameters, programs=self._entry.programs)
        count = int(sentence_off[-1])
        free = FeatureRows(np.arange(count + 1, dtype=np.int64), np.full(count, ANY, np.int32), np.zeros(0))
        self.data = binder.bind((*rows, *(free for _ in range(graph.num_labels))), sentence_off, relations)
        self.labels, self._own_rows = graph.num_labels, sum(len(own.row_off) - 1 for own in rows)
        self._own_features = int(self.data.rows.row_off[self._own_rows])
        self.status = RunStatus()

    def ordered(self, orders: Orders) -> BoundData:
        """The data set with a sequence an order."""
        rows = self.data.rows
        lengths = np.diff(rows.token_off)[orders.sentence]
        token_off = offsets(lengths)
        count = int(token_off[-1])
        of_codes = self._own_rows + count * np.arange(self.labels)[:, None] + token_off[:-1]
        first_row = np.concatenate([rows.first_row[: -self.labels, orders.sentence], of_codes])
        feature = np.concatenate([rows.feature[: self._own_features], orders.codes.ravel().astype(np.int32)])
        row_off = np.concatenate(
            [rows.row_off[: self._own_rows], self._own_features + np.arange(self.labels * count + 1, dtype=np.int64)]
        )
        value = rows.value
        if len(value):
            value = np.concatenate([value[: self._own_features], np.ones(self.labels * count)])
        own = rows._replace(
            first_row=first_row, row_off=row_off, feature=feature, value=value, token_off=token_off,
            shape=rows.shape[orders.sentence],
        )  # fmt: skip
        return replace(self.data, rows=own)

    def decode(self, weights: Floats, orders: Orders) -> Steered:
        """The best labelling that each order allows, at weights [W]."""
        data = self.ordered(orders)
        if data.num_sequences == 0:
            return Steered(data, np.zeros(0, np.int32), np.zeros(0))
        method, potentials = self._entry.build(data, self._settings), data.potentials(weights)
        best = run_decoding(data, method, potentials, self._workers)
        scores = score_sequences(data, best.labelling, potentials, self._workers)
        self.status = self.status + best.outcome.summary()
        return Steered(data, best.labelling, np.where(np.isnan(scores), -np.inf, scores))
