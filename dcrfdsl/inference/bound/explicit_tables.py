"""Factor graphs with explicit tables, bound as data sets: nothing is unrolled, and there are no weights.

A factor graph becomes a data set of one sequence with a single position, which holds all variables. Each factor has its
own kind, whose base table is the factor's table. So any method runs on it, and the expectations of shared cells are the
factor marginals. Not here: graphs of templates (`potentials`), tasks on one graph (`single_graph`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...foundation import Ints
from ...graph import FactorGraph, ModelGraph, ShapeBank
from ...kernels.tables import Bindings, Kinds, Rows
from .packing import unpacked
from .potentials import BoundData


def bind_factor_graph(graph: FactorGraph, order: Sequence[int] | None = None) -> BoundData:
    """The data set of one graph, without its `constant`; with a contraction program if there is an elimination order.

    Shared cell 0 is the constant 1, the tables follow in the order of the factors.
    """
    hard = np.concatenate([np.zeros(1), *(table.ravel() for table in graph.log_tables)])
    sizes = np.array([table.size for table in graph.log_tables], np.int64)
    bank = ShapeBank(len(hard), None if order is None else lambda shape: order)
    bank.add(graph.shape())
    nothing = np.zeros(0, np.int64)
    rows = Rows(
        first_row=np.zeros((0, 1), np.int64),
        row_off=np.zeros(1, np.int64),
        feature=np.zeros(0, np.int32),
        value=np.zeros(0),
        token_off=np.arange(2, dtype=np.int64),
        shape=np.zeros(1, np.int32),
        packed=unpacked(len(sizes), 0),
    )
    return BoundData(
        graph=ModelGraph(tuple(map(str, range(len(graph.cards)))), graph.cards, (), len(graph.cards)),
        bank=bank,
        shapes=bank.shape_arrays(),
        kinds=featureless_kinds(1 + np.cumsum(sizes) - sizes, sizes, feature_set=-1),
        bindings=Bindings(np.zeros(1, np.int64), np.zeros(0, np.int32), 0, nothing, nothing),
        rows=rows,
        hard=hard,
        num_weights=0,
        fixed=np.zeros(0),
        set_off=(0,),
    )


def featureless_kinds(base: Ints, sizes: Ints, *, feature_set: int) -> Kinds:
    """Kinds without weights. base [K]: the shared cell of each base table.   sizes [K]: its entries."""
    n = len(sizes)
    return Kinds(
        base=base,
        size=sizes,
        feature_set=np.full(n, feature_set, np.int32),
        run_base=np.zeros(n, np.int64),
        has_bias=np.zeros(n, np.bool_),
        fixed=np.zeros(n, np.bool_),
        inverse_off=np.full(n, -1, np.int64),
        inverse=np.zeros(0, np.int32),
        part_off=np.zeros(n + 1, np.int64),
        part=np.zeros(0, np.int32),
    )
