"""`METHODS`, the table of inference methods, and the choice that `auto` makes.

A method is built for one `BoundData`; it then answers for runs of sequences, so that threads can share it. Nothing is
raised for non-convergence: the status says so.

To add a method: a settings class in `semantics.settings`, a class in a file here with the functions of
`SequenceMethod`, a line in `METHODS`; the tests loop over the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...errors import data_error
from ...graph import GraphShape, ModelGraph, OrderCost, bank_pools, exact_cost, exact_pays, sweep_cost, sweep_messages
from ...kernels.messages import FLOOD, ORDERED, RANDOM, RESIDUAL
from ...registry import Table
from ...semantics import AutoSettings, BpSettings, ExactSettings, MethodSettings, TrpSettings
from ..base import SequenceMethod
from ..bound import BoundData
from .exact_method import ExactMethod
from .message_method import MessageMethod
from .mixed import MixedMethod, parts_by_cost
from .variational import GibbsMethod, MeanFieldMethod, TrwMethod

__all__ = ["METHODS", "MORE_MEMORY", "MethodEntry", "check_width", "choose_method", "mixed_method"]


@dataclass(frozen=True)
class MethodEntry:
    """A line of `METHODS`: how to build the method, and whether the data must bring contraction programs."""

    build: Callable[[BoundData, MethodSettings], SequenceMethod]
    programs: bool


def _build_exact(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, ExactSettings | AutoSettings)
    return ExactMethod(data, settings)


def _build_trp(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, TrpSettings | AutoSettings)
    return MessageMethod(data, settings, ORDERED, bank_pools(data.bank, settings.seed))


def _build_bp(data: BoundData, settings: MethodSettings) -> SequenceMethod:
    assert isinstance(settings, BpSettings)
    schedules = {"random": RANDOM, "flood": FLOOD, "residual": RESIDUAL}
    return MessageMethod(data, settings, schedules[settings.schedule], [[] for _ in data.bank.shapes])


def mixed_method(data: BoundData, settings: MethodSettings) -> MixedMethod:
    """Exact inference or messages for each sequence, by the cost of its graph."""
    assert isinstance(settings, AutoSettings)
    parts = parts_by_cost(data, lambda shape, cost: _pays(shape, cost, len(data.graph.cards), settings.max_table))
    methods = [
        _build_trp(own, settings) if own.bank.order_of is None else ExactMethod(own, settings) for _, own in parts
    ]
    return MixedMethod(data, parts, methods)


def _pays(shape: GraphShape, cost: OrderCost, width: int, max_table: int) -> bool:
    """Whether exact inference pays on a graph of `width` variables a position."""
    larger = [scope for scope in shape.scopes if len(scope) > 1]
    sweep = sum(len(scope) * math.prod(shape.cards[v] for v in scope) for scope in larger)
    return exact_pays(cost, max_table, sweep, sum(map(len, larger)), len(shape.cards) / width)


METHODS: Table[MethodEntry] = Table(
    "inference method",
    {
        "exact": MethodEntry(_build_exact, programs=True),
        "trp": MethodEntry(_build_trp, programs=False),
        "bp": MethodEntry(_build_bp, programs=False),
        "mean_field": MethodEntry(MeanFieldMethod.of, programs=False),
        "trw": MethodEntry(TrwMethod.of, programs=False),
        "gibbs": MethodEntry(GibbsMethod.of, programs=False),
        "auto": MethodEntry(mixed_method, programs=False),
    },
)


def choose_method(graph: ModelGraph, settings: MethodSettings) -> tuple[str, MethodSettings]:
    """Name and settings of the method to run: `auto` becomes `exact` where that pays, else `trp`.

    It stays `auto` where the data joins positions: then it is decided for each sequence when the method is built.
    Raises DcrfError where `exact` is asked for and does not fit, before anything is laid out for it.
    """
    if isinstance(settings, ExactSettings):
        check_width(graph, settings.max_table)
    if not isinstance(settings, AutoSettings):
        return settings.method, settings
    if graph.relational:
        return "auto", settings
    pays = exact_pays(exact_cost(graph), settings.max_table, sweep_cost(graph), sweep_messages(graph))
    return ("exact" if pays else "trp"), settings


MORE_MEMORY = "raise `max_table` if there is memory for it"


def check_width(graph: ModelGraph, max_table: int, remedy: str = f"use `infer trp`, or {MORE_MEMORY}") -> None:
    """Raises DcrfError if exact inference would build a table of more than `max_table` entries."""
    cost = exact_cost(graph)
    if cost.largest > max_table:
        label = graph.variables[cost.culprit % len(graph.variables)]
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {cost.largest:.3g} entries over {cost.width} variable"
            f"{'s' * (cost.width != 1)} when it sums out `{label}`; `max_table` allows {max_table}",
            help=remedy,
        )
