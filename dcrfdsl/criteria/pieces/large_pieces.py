"""The losses of pieces with too many joint states to enumerate: exact inference on a graph for each instance.

    Σ_π [log Z_π(y*_N) − log Z_π(y*_N, y_π as known)],    Z_π: of the graph of instance π, its condition clamped

Where all variables of an instance are known, the second term is the score of the gold labels, which is linear in the
weights; elsewhere the unknown ones are summed out. Not here: the graphs (`graph.pieces.piece_graphs`), small pieces
(`piece_likelihood`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...foundation import DcrfError, Diagnostic, Floats, Ints, Mask
from ...graph import PieceTemplate, offsets, piece_arrays, piece_graphs, role_model, roles_of
from ...inference import (
    Binder,
    Expectations,
    MarginalInference,
    PieceInstanceMethod,
    RunStatus,
    bind_instances,
    instance_importance,
    largest_table,
    weighted,
)
from ...kernels.tables import add_bias_gradient
from ...semantics import ExactSettings, TrainSettings, inference_settings
from ..criterion import Criterion
from ..free_and_clamped import Clamped
from ..likelihood import Likelihood
from ..penalties import Penalty
from ..supervision import TrainingProblem


class LargePieces(Criterion):
    """Objective over the instances of `templates` in one data set, without a penalty.

    divide: whether a clique instance in n pieces, those of `beside` included, counts 1/n in each.   pieces: the
    instances on every shape.   shape_of: the shape of each sentence.
    """

    def __init__(
        self,
        supervision: TrainingProblem,
        settings: TrainSettings,
        templates: Sequence[PieceTemplate],
        *,
        divide: bool,
        beside: Sequence[PieceTemplate],
    ):
        exact = ExactSettings(max_table=largest_table(settings.infer or inference_settings(supervision.spec)))
        binder = Binder(supervision.graph, supervision.parameters, programs=False)
        sentences = binder.bind(supervision.rows, supervision.sentence_off, supervision.relations)
        shapes, self.shape_of = sentences.bank.shapes, sentences.rows.shape
        self.pieces = piece_arrays(supervision.graph, shapes, templates, divide=divide, beside=beside)
        if not len(self.pieces.template):
            message = f"no sentence has an instance of piece `{templates[0].name}`"
            raise DcrfError(Diagnostic("piece-without-instance", message, help="make it over positions less far apart"))
        model = role_model(supervision.graph, supervision.parameters, roles_of(supervision.graph, shapes, self.pieces))
        graphs = piece_graphs(
            supervision.graph, shapes, self.pieces, model, supervision.gold, num_sets=len(supervision.rows),
            max_table=exact.max_table,
        )  # fmt: skip
        counts = np.diff(self.pieces.instance_off)[self.shape_of]
        first = offsets(counts)
        self.sentence = np.repeat(np.arange(len(counts)), counts)
        turn = np.arange(first[-1]) - first[self.sentence]
        instance = self.pieces.instance_off[self.shape_of[self.sentence]] + turn
        free, known = bind_instances(
            graphs, model, supervision.rows, supervision.gold, supervision.sentence_off, supervision.relations,
            self.sentence, instance,
        )  # fmt: skip
        free = free.packed(bundled=True)
        self.num_weights, self.workers = supervision.parameters.num_weights, supervision.workers
        self._weight, self._share, self._trained = model.weight, model.share, model.trained
        tokens = supervision.token_importance(settings)
        factor = None if tokens is None else instance_importance(sentences, self.pieces, tokens).value
        partly, method = self._partly(supervision, instance), weighted(PieceInstanceMethod(known, exact), known, factor)
        gold_counts, self._impossible = _counts(Clamped(known, method, ~partly))
        clamped = Clamped(known, method, partly) if partly.any() else None
        nothing = Penalty.none(len(model.weight))
        self._instances = Likelihood(
            free,
            weighted(PieceInstanceMethod(free, exact), free, factor),
            gold_counts,
            nothing,
            supervision.workers,
            clamped,
        )

    def _partly(self, supervision: TrainingProblem, instance: Ints) -> Mask:
        """Whether some variable of each instance is not known, [n]; variables that it conditions on do not matter."""
        width, labelling, pieces = len(supervision.graph.cards), supervision.labelling, self.pieces
        partly = np.zeros(len(instance), np.bool_)
        complete = supervision.gold.complete_sentences(supervision.sentence_off)
        for n in np.flatnonzero(~complete[self.sentence]).tolist():
            over = pieces.over[pieces.over_off[instance[n]] : pieces.over_off[instance[n] + 1]]
            partly[n] = (labelling[width * supervision.sentence_off[self.sentence[n]] + over] < 0).any()
        return partly

    @property
    def method(self) -> MarginalInference:
        return self._instances.method

    @property
    def total_status(self) -> RunStatus:
        """As `Criterion.total_status`; each instance counts as a graph."""
        status = self._instances.total_status
        return replace(status, impossible=self._sentences(status.impossible))

    def _sentences(self, instances: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({int(self.sentence[n]) for n in instances}))

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all instances, in nats, and the gradient [W]."""
        value, instance_gradient = self._instances.value_and_gradient(self._share * weights[self._weight])
        gradient = np.zeros(self.num_weights)
        np.add.at(gradient, self._weight, self._trained * self._share * instance_gradient)
        return value, gradient

    def batches_under(self, penalty: Penalty, size: int | None = None) -> None:
        """None: large pieces are not trained in batches of sentences."""

    def contradictions(self) -> tuple[int, ...]:
        return self._sentences((*self._impossible, *self._instances.contradictions()))


def _counts(clamped: Clamped) -> tuple[Floats, tuple[int, ...]]:
    """Feature counts [W'] of the instances that `clamped` runs, which are wholly known; and the impossible instances.

    Only one labelling is left, so expectations are its counts, at any weights.
    """
    data = clamped.data
    out = Expectations.empty(data)
    counts, cells = np.zeros(data.num_weights), np.zeros(len(data.hard))
    potentials = data.potentials(np.zeros(data.num_weights))
    for begin, end in clamped.runs(0, data.num_sequences):
        clamped.method.expectations(potentials, begin, end, out, counts, cells)
    add_bias_gradient(data.bindings, cells, counts)
    return counts, out.summary().impossible
