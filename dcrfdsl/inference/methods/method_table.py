"""`METHODS`, the table of inference methods, and the choice that `auto` makes.

A method is built for one `BoundData` and then handles runs of sequences, so that threads can share it. Non-convergence
raises no error: the status reports it.

To add a method: a settings class in `semantics.settings`, listed in `INFERENCE` beside it, a class in a file here with
the functions of `SequenceMethod`, a line in `METHODS`; the tests loop over the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any, Generic, TypeVar

from ... import graph as graphs, semantics
from ...foundation import Table, data_error, dataclass
from ..base import SequenceMethod
from ..bound import BoundData, lattice_refusal
from .exact_method import AutomatonMethod, ExactMethod

Chosen = TypeVar("Chosen", bound=semantics.MethodSettings)


@dataclass(frozen=True)
class MethodEntry(Generic[Chosen]):
    """A line of `METHODS`: the settings of a method, its constructor, whether it needs contraction programs.

    thin: whether its data is bound to a thin graph, see `ModelGraph`.
    """

    settings: tuple[type[Chosen], ...]
    make: Callable[[BoundData, Chosen], SequenceMethod]
    programs: bool = False
    thin: bool = False

    def graph(self, graph: graphs.ModelGraph) -> graphs.ModelGraph:
        return graph.thin() if self.thin else graph

    def build(self, data: BoundData, settings: semantics.MethodSettings) -> SequenceMethod:
        """The method for `data`, which must have contraction programs if `programs` is true."""
        if not isinstance(settings, self.settings):
            raise TypeError(f"{type(settings).__name__} is none of {self.settings}")
        return self.make(data, settings)


def _late(file: str, name: str) -> Callable[[BoundData, Any], SequenceMethod]:
    """A constructor by its name in a file here, which is loaded with its kernels when a model needs it."""
    return lambda data, settings: attrgetter(name)(import_module(f".{file}", __package__))(data, settings)


METHODS: Table[MethodEntry] = Table(
    "inference method",
    {
        "exact": MethodEntry((semantics.ExactSettings, semantics.AutoSettings), ExactMethod, programs=True),
        "automaton": MethodEntry((semantics.ExactSettings, semantics.AutoSettings), AutomatonMethod),
        "trp": MethodEntry(
            (semantics.TrpSettings, semantics.AutoSettings), _late("message_method", "MessageMethod.by_trees")
        ),
        "bp": MethodEntry((semantics.BpSettings,), _late("message_method", "MessageMethod.by_schedule")),
        "mean_field": MethodEntry((semantics.MeanFieldSettings,), _late("bounding_methods", "MeanFieldMethod")),
        "trw": MethodEntry((semantics.TrwSettings,), _late("bounding_methods", "ReweightedMethod")),
        "gbp": MethodEntry((semantics.GbpSettings,), _late("bounding_methods", "RegionMethod")),
        "ep": MethodEntry((semantics.EpSettings,), _late("bounding_methods", "ExpectationPropagation")),
        "gibbs": MethodEntry((semantics.GibbsSettings,), _late("gibbs_method", "GibbsMethod")),
        "auto": MethodEntry((semantics.AutoSettings,), _late("per_sentence_method", "PerSentenceMethod.of")),
        "pruned": MethodEntry((semantics.PrunedSettings,), _late("pruned_method", "PrunedMethod"), thin=True),
    },
)


def choose_method(
    graph: graphs.ModelGraph, parameters: graphs.Parameters, settings: semantics.MethodSettings
) -> tuple[str, semantics.MethodSettings]:
    """Name and settings of the method to run: `auto` becomes an exact one if that pays, else `trp`.

    `exact` becomes `automaton` where no table of elimination fits but the model's automaton does; if both fit, `exact`
    takes the faster one. With relational cliques `auto` stays, which decides for each sequence when the method is
    built. Raises DcrfError if the settings ask for `exact` and its tables do not fit, or for `pruned` on what is no
    chain.
    """
    if isinstance(settings, semantics.AutoSettings) and any(map(semantics.is_implied, graph.variables)):
        settings = semantics.ExactSettings(max_table=settings.max_table)  # messages would not keep to it
    if isinstance(settings, semantics.ExactSettings):
        if graph.exact_cost.largest > settings.max_table and _automaton_fits(graph, parameters, settings.max_table):
            return "automaton", settings
        check_width(graph, settings.max_table)
    if isinstance(settings, semantics.PrunedSettings):
        refusal = lattice_refusal(graph)
        if refusal is not None:
            raise data_error("cannot-prune", f"`pruned` needs a chain of one label, and {refusal[0]}", help=refusal[1])
    if not isinstance(settings, semantics.AutoSettings):
        return settings.method, settings
    if graph.relational:
        return "auto", settings
    cost, messages = graph.exact_cost, graphs.message_cost(graph)
    if graphs.exact_pays(cost, settings.max_table, messages):
        return "exact", settings
    found = _automaton_fits(graph, parameters, settings.max_table)
    if found and graphs.pays_beside_messages(graphs.automaton_seconds(found), messages):
        return ("exact" if cost.largest <= settings.max_table else "automaton"), settings
    return "trp", settings


def estimate_words(graph: graphs.ModelGraph) -> str:
    """By which estimates `auto` chooses: `: about 9.9 µs a token by messages in 6 sweeps, and exact 37 µs`."""
    cost, messages = graph.exact_cost, graphs.message_cost(graph)
    if graph.relational or cost.work == math.inf:
        return f": messages need about {graph.sweeps:g} sweeps" if graph.sweeps else ""
    both = messages.seconds, graphs.exact_seconds(cost)
    spent, exact = (f"{float(f'{1e6 * seconds:.2g}'):,g} µs" for seconds in both)
    return f": about {spent} a token by messages in {messages.sweeps:g} sweeps, and exact {exact}"


def _automaton_fits(
    graph: graphs.ModelGraph, parameters: graphs.Parameters, max_table: int
) -> graphs.AutomatonGraph | None:
    """The automaton of a model, if it has one with no more states and moves than a table may have entries."""
    found = graphs.automaton_graph(graph, parameters.bias_places(graph)[1])
    return found if found is not None and found.states + found.moves <= max_table else None


MORE_MEMORY = "raise `max_table` if there is memory for it"


def check_width(graph: graphs.ModelGraph, max_table: int, remedy: str = f"use `infer trp`, or {MORE_MEMORY}") -> None:
    """Raises DcrfError if exact inference would build a table of more than `max_table` entries."""
    cost = graph.exact_cost
    if cost.largest > max_table:
        label = graph.variables[cost.culprit % len(graph.variables)]
        raise data_error(
            "too-wide",
            f"`exact` would build a table of {cost.largest:.3g} entries over {cost.width} variable"
            f"{'s' * (cost.width != 1)} when it sums out `{label}`; `max_table` allows {max_table}",
            help=remedy,
        )
