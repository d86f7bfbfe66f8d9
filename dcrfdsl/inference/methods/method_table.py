"""`METHODS`, the table of inference methods, and the choice that `auto` makes.

A method is built for one `BoundData` and then handles runs of sequences, so that threads can share it. Non-convergence
raises no error: the status reports it.

To add a method: a settings class in `semantics.settings`, listed in `INFERENCE` beside it, a class in a file here with
the functions of `SequenceMethod`, a line in `METHODS`; the tests loop over the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...errors import Table, data_error
from ...graph import ModelGraph, exact_cost, exact_pays, sweep_cost, sweep_messages
from ...semantics import (
    AutoSettings,
    BpSettings,
    ExactSettings,
    GibbsSettings,
    MeanFieldSettings,
    MethodSettings,
    TrpSettings,
    TrwSettings,
)  # fmt: skip
from ..base import SequenceMethod
from ..bound import BoundData
from .exact_method import ExactMethod
from .gibbs_method import GibbsMethod
from .mean_field_method import MeanFieldMethod
from .message_method import MessageMethod
from .mixed import MixedMethod
from .reweighted_method import ReweightedMethod

__all__ = ["METHODS", "MORE_MEMORY", "MethodEntry", "check_width", "choose_method"]

Chosen = TypeVar("Chosen", bound=MethodSettings)


@dataclass(frozen=True)
class MethodEntry(Generic[Chosen]):
    """A line of `METHODS`: the settings of a method, its constructor, whether it needs contraction programs."""

    settings: tuple[type[Chosen], ...]
    make: Callable[[BoundData, Chosen], SequenceMethod]
    programs: bool = False

    def build(self, data: BoundData, settings: MethodSettings) -> SequenceMethod:
        """The method for `data`, which must have contraction programs if `programs` is true."""
        if not isinstance(settings, self.settings):
            raise TypeError(f"{type(settings).__name__} is none of {self.settings}")
        return self.make(data, settings)


METHODS: Table[MethodEntry] = Table(
    "inference method",
    {
        "exact": MethodEntry((ExactSettings, AutoSettings), ExactMethod, programs=True),
        "trp": MethodEntry((TrpSettings, AutoSettings), MessageMethod.by_trees),
        "bp": MethodEntry((BpSettings,), MessageMethod.by_schedule),
        "mean_field": MethodEntry((MeanFieldSettings,), MeanFieldMethod),
        "trw": MethodEntry((TrwSettings,), ReweightedMethod),
        "gibbs": MethodEntry((GibbsSettings,), GibbsMethod),
        "auto": MethodEntry((AutoSettings,), MixedMethod.of),
    },
)


def choose_method(graph: ModelGraph, settings: MethodSettings) -> tuple[str, MethodSettings]:
    """Name and settings of the method to run: `auto` becomes `exact` if that pays, else `trp`.

    With relational cliques it stays `auto`, which decides for each sequence when the method is built.
    Raises DcrfError if the settings ask for `exact` and its tables do not fit.
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
