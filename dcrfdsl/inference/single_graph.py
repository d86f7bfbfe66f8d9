"""Inference on one factor graph with explicit tables, as for the `infer` command and for clique marginals.

The graph is bound as a data set of one sequence with a single position, which holds all variables; nothing is unrolled,
and there are no weights. Each factor has its own kind, whose base table is the factor's table. So any method of
`METHODS` runs on it, and the expectations of shared cells are the factor marginals. Every method returns its status; a
graph without any labelling has log Z = -inf and no marginals. Not here: the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..foundation import Ints, data_error
from ..graph import FactorGraph, ModelGraph, ShapeBank, best_order, offsets, order_cost
from ..kernels.tables import Bindings, Kinds, Rows
from ..semantics import ExactSettings, MethodSettings
from .base import Decoded, Expectations, Outcome, SequenceMethod
from .bound import BoundData, unpacked
from .methods import METHODS, no_log_z_error
from .run_status import GraphResult, RunStatus


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


def infer_graph(graph: FactorGraph, task: str, settings: MethodSettings) -> GraphResult:
    """Solves `task` (`pr`: log Z, `mar`: marginals and log Z, `map`: best labelling) for `graph`.

    Raises DcrfError if `exact` would need a larger table than its `max_table`, or if `task` is `pr` and the method does
    not estimate log Z.
    """
    if task == "pr" and not settings.gives_log_z:
        raise no_log_z_error("it cannot answer `pr`")
    if METHODS[settings.method].thin:
        raise data_error("cannot-prune", "`pruned` needs the sequences of a model, and this is one graph with tables",
                         help="use `exact` or `trp`")  # fmt: skip
    if graph.constant == -np.inf:  # a factor of observed variables alone, or of none, has potential 0
        return _impossible(RunStatus(1, impossible=(0,)))
    if not graph.cards:  # the empty labelling is the only one
        if task == "map":
            return GraphResult(RunStatus(1), assignment=np.zeros(0, np.int64), score=graph.constant)
        return GraphResult(RunStatus(1), log_z=graph.constant, marginals=(), factor_marginals=())
    entry = METHODS[settings.method]
    data = bind_factor_graph(graph, _order(graph, settings) if entry.programs else None)
    method = entry.build(data, settings)
    return _decoded(graph, data, method) if task == "map" else _summed(graph, data, method, task)


def _order(graph: FactorGraph, settings: MethodSettings) -> list[int]:
    """An elimination order; DcrfError if its tables do not fit."""
    order = best_order(graph.scopes, graph.cards)
    cost = order_cost(graph.scopes, graph.cards, order)
    if isinstance(settings, ExactSettings) and cost.largest > settings.max_table:
        raise data_error(
            "too-wide",
            f"exact inference would build a table of {cost.largest:.3g} entries over {cost.width} variables when it "
            f"eliminates variable {cost.culprit}; `max_table` allows {settings.max_table}",
            help="use `trp` or `bp`, or raise `max_table` if there is memory for it",
        )
    return order


def _decoded(graph: FactorGraph, data: BoundData, method: SequenceMethod) -> GraphResult:
    """The best labelling; none if the search for one gave up."""
    out = Decoded.empty(data, approximate=method.approximate)
    method.decode(data.potentials(np.zeros(0)), 0, 1, out)
    status = _status(out)
    if status.impossible:
        return _impossible(status)
    if (out.labelling < 0).any():
        return GraphResult(status)
    assignment = out.labelling.astype(np.int64)
    return GraphResult(status, assignment=assignment, score=graph.score(assignment))


def _summed(graph: FactorGraph, data: BoundData, method: SequenceMethod, task: str) -> GraphResult:
    """log Z, and marginals if `task` asks for them; approximate methods compute them anyway."""
    marginals = task == "mar" or method.approximate
    out = Expectations.empty(data, marginals=marginals, approximate=method.approximate)
    wanted = np.zeros(int(marginals))  # there are no weights; a gradient that is not empty asks for the cells
    cells = np.zeros(len(data.hard))
    method.expectations(data.potentials(np.zeros(0)), 0, 1, out, wanted, cells)
    status, log_z = _status(out), float(out.log_z[0])
    if status.impossible:
        return _impossible(status)
    estimate = None if np.isnan(log_z) else log_z + graph.constant
    if not marginals or (estimate is None and not out.marginals.any()):  # sampling found no labelling to start from
        return GraphResult(status, log_z=estimate)
    at = 1 + offsets([table.size for table in graph.log_tables])  # after the constant
    return GraphResult(
        status,
        log_z=estimate,
        marginals=tuple(states[0] for states in data.by_variable(out.marginals)),
        factor_marginals=tuple(
            cells[begin:end].reshape(table.shape)
            for begin, end, table in zip(at[:-1], at[1:], graph.log_tables, strict=True)
        ),
    )


def _impossible(status: RunStatus) -> GraphResult:
    """Of a graph without any labelling."""
    return GraphResult(status, log_z=-np.inf, score=-np.inf)


def _status(out: Outcome) -> RunStatus:
    """How inference ended; exact methods do not iterate."""
    status = out.summary()
    return status if status.approximate else replace(status, iterations=0)
