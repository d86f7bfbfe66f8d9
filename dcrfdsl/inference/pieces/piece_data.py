"""A data set whose sequences are the instances of large pieces, and exact inference on it.

Each instance reads the feature rows of its sentence, from the anchors on that its own are counted from. Not here: the
graphs (`graph.pieces.piece_graphs`), the objective (`criteria.pieces.large_pieces`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Ints
from ...features import FeatureRows, Pairs
from ...graph import Gold, PieceGraphs, ShapeBank, SharedOut, clamp_rows
from ..bound import Binder, BoundData
from ..methods import ExactMethod

__all__ = ["InstanceMethod", "bind_instances"]


class InstanceMethod(ExactMethod):
    """Exact inference on graphs that are no sequences, so never by the kernel for chains."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.chain = None


def bind_instances(
    graphs: PieceGraphs,
    model: SharedOut,
    rows: Sequence[FeatureRows],
    gold: Gold,
    sentence_off: Ints,
    relations: Mapping[int, Pairs],
    sentence: Ints,
    instance: Ints,
) -> tuple[BoundData, BoundData]:
    """The instances with their own variables free, and clamped to what is known of them.

    sentence, instance [n]: where each of them lies, and its number among those of all shapes.
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
