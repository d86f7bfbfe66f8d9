"""A data set whose sequences are the instances of large pieces, and exact inference on it.

Each instance reads the feature rows of its sentence, counted from its first anchor in each feature set. Not here: the
graphs (`graph.large_piece_graphs`), the objective (`criteria.pieces.large_pieces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...features import FeatureRows, Pairs
from ...foundation import Ints
from ...graph import Gold, PieceGraphs, RoleModel, ShapeBank, clamp_rows
from ..bound import Binder, BoundData
from ..methods import ExactMethod


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
        first_row=bound.rows.first_row[:, sentence] + graphs.first[:, instance],
        token_off=np.arange(len(sentence) + 1, dtype=np.int64),  # every instance counts as one
        shape=graphs.number[instance],
    )

    def over(bank: ShapeBank) -> BoundData:
        return replace(bound, bank=bank, shapes=bank.shape_arrays(), rows=instance_rows)

    return over(graphs.free), over(graphs.known)
