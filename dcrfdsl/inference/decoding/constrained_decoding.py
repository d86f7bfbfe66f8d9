"""Constrained decoding: the best labelling of a sentence among those with certain states at certain positions.

A constraint names a sentence and the states that each of its labels may have, position by position
(`StateConstraints`). All constraints are decoded as one data set that holds a sentence once for each of its
constraints; features are not copied. The result is as exact as the inference method. Not here: the choice of
constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...features import FeatureRows, Pairs
from ...foundation import Floats, Ints, Ints32, Mask, dataclass
from ...graph import ANY_STATE, ModelGraph, Parameters, code_rows, constrained_graph
from ...semantics import MethodSettings
from ..bound import Binder, BoundData, repeated_data
from ..methods import METHODS
from ..run import run_decoding, score_sequences
from ..run_status import RunStatus
from ..workers import Workers


@dataclass(frozen=True, eq=False)
class StateConstraints:
    """R constraints. sentence [R]: its number.   codes [labels, tokens of all constraints]: see `constrained_graph`."""

    sentence: Ints
    codes: Ints32


@dataclass(frozen=True, eq=False)
class ConstrainedLabellings:
    """The best labellings found. data: a sequence for each constraint.   labelling: flat, see
    `BoundData.labelling_off`.   score [R]: Σ log φ, or -inf and a labelling of -1 where none is allowed.
    """

    data: BoundData
    labelling: Ints32
    score: Floats


class ConstrainedDecoder:
    """Decodes one data set under constraints. `status` sums the outcomes of inference."""

    def __init__(
        self,
        graph: ModelGraph,
        parameters: Parameters,
        rows: Sequence[FeatureRows],
        sentence_off: Ints,
        relations: Mapping[int, Pairs],
        sets: Sequence[Mask],
        method: str,
        settings: MethodSettings,
        workers: Workers,
    ):
        """sets: as in `constrained_graph`.   method: its name in `METHODS`."""
        self._entry, self._settings, self._workers = METHODS[method], settings, workers
        constrained = constrained_graph(graph, sets, len(rows))
        binder = Binder(constrained, parameters, programs=self._entry.programs)
        free = code_rows(np.full(int(sentence_off[-1]), ANY_STATE))
        self.data = binder.bind((*rows, *(free for _ in range(graph.num_labels))), sentence_off, relations)
        self.labels = graph.num_labels
        self.status = RunStatus()

    def constrained(self, constraints: StateConstraints) -> BoundData:
        """The data set with a sequence for each constraint."""
        return repeated_data(self.data, constraints.sentence, constraints.codes)

    def decode(self, weights: Floats, constraints: StateConstraints) -> ConstrainedLabellings:
        """The best labelling that each constraint allows, at weights [W]."""
        data = self.constrained(constraints)
        if data.num_sequences == 0:
            return ConstrainedLabellings(data, np.zeros(0, np.int32), np.zeros(0))
        method, potentials = self._entry.build(data, self._settings), data.potentials(weights)
        best = run_decoding(data, method, potentials, self._workers)
        scores = score_sequences(data, best.labelling, potentials, self._workers)
        self.status = self.status + best.summary()
        return ConstrainedLabellings(data, best.labelling, np.where(np.isnan(scores), -np.inf, scores))
