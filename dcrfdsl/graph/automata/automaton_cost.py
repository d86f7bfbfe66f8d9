"""When an automaton is faster than the other exact forms of a model: a table between neighbours, or elimination.

Seconds are those of one position in one pass, which computes expectations, on one core; the constants are measured
(`tests/benchmarks`, rows `sparse121`, `sparse1000`, `memory29`, `second_order45` and `half100`). Not here: the
automaton (`automaton_graphs`).
"""

from __future__ import annotations

from ...foundation import Ints
from ..model_cost import exact_seconds
from ..segment_factors import of_lengths
from ..unroll import ModelGraph
from .automaton_graphs import AutomatonGraph, automaton_graph

STATE_SECONDS = 1e-9  # a state: its scores, and reading and writing it five times
MOVE_SECONDS = 3.5e-10  # a listed move; both are a little more than measured where caches and lanes are full
CHAIN_SECONDS = 3e-10  # an entry of the table of a chain …
CHAIN_DECODING_SECONDS = 1e-10  # … and the same in decoding, where an automaton takes as long as for a pass
LEAST = 1e-6  # seconds of the other form below which no automaton is looked for


def automaton_seconds(found: AutomatonGraph) -> float:
    """Rough time of a position."""
    return STATE_SECONDS * found.states + MOVE_SECONDS * found.moves


def other_seconds(graph: ModelGraph, *, chain: bool) -> float:
    """Rough time of a position without an automaton. chain: whether one table between neighbours says it all."""
    return CHAIN_SECONDS * graph.cards[0] ** 2 if chain else exact_seconds(graph.exact_cost.work)


def chain_decodes(found: AutomatonGraph, graph: ModelGraph) -> bool:
    """Whether a chain, for which an automaton was found, finds best labellings faster by its table."""
    return CHAIN_DECODING_SECONDS * graph.cards[0] ** 2 < automaton_seconds(found)


def automaton_pays(found: AutomatonGraph, seconds: float) -> bool:
    """Whether an automaton is faster than a form that takes so many seconds a position."""
    return automaton_seconds(found) < seconds


def paying_automaton(graph: ModelGraph, weighted: Ints, *, chain: bool, share: float = 1.0) -> AutomatonGraph | None:
    """The automaton of a model, if that is the fastest form; `weighted` as in `automaton_graph`.

    share: of the lanes in which sequences advance together, those that the data can fill.
    """
    seconds = other_seconds(graph, chain=chain)
    if seconds < LEAST and not of_lengths(graph.templates):  # segments: many states, few moves between them
        return None
    found = automaton_graph(graph, weighted)
    return found if found is not None and automaton_pays(found, share * seconds) else None
