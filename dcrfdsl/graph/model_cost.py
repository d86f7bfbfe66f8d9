"""What a model costs before it is trained: weights, table sizes, multiply-adds a token, memory, time.

All numbers are of the unrolled graph and the features at hand, none is measured; time is a rough estimate. `auto`
takes what `exact_pays` says. Not here: how the numbers are shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Offsets
from ..features import FeatureRows, Pairs
from .parameters import Parameters
from .programs import OrderCost, order_cost
from .templates import CliqueTemplate
from .unroll import ModelGraph

__all__ = [
    "CHEAP", "TrainingCost", "exact_cost", "exact_pays", "sweep_cost", "sweep_messages",
    "training_cost",
]  # fmt: skip

# Read off runs on CoNLL-2000 and CoNLL-2002 (2 shared cores): right within a factor of two or so there
SWEEPS = 6  # an evaluation by messages takes about so many
PASSES = 3  # through the tables of exact inference: up, down, and the expected counts
RATE = 3e9  # multiply-adds a second and core, in the matrix products of exact inference …
MESSAGE_RATE = 8e9  # … in messages, whose tables stay in the cache …
FEATURE_RATE = 2e9  # … and over features, which are scattered in memory
MESSAGE_SECONDS = 1.5e-7  # to send one message, besides its multiply-adds
TOKEN_SECONDS = 3e-7  # for what every token takes in every evaluation
SHARING = 0.8  # of each further core is gained
VECTORS = 12  # of weights, that training keeps beside the optimizer's history
PACKED_BYTES = 12  # for each feature that fires, to lay it out for training
REMEMBERED_BYTES = 2**28  # messages are kept from one evaluation to the next if they take no more
CHEAP = 2e-5  # seconds a position in which exact inference is worth having even where messages take less
SITE_BYTES = 64  # that the wiring takes for a site of a factor, once a length
LIBRARY_BYTES = 5e7  # for the optimizer's library and the kernels of training


def exact_cost(graph: ModelGraph) -> OrderCost:
    """Cost of exact inference: multiply-adds a *token* (far from the ends), largest table, width."""
    costs, lengths = [], graph.sample_lengths
    for length in lengths:
        shape = graph.shape(length)
        costs.append(order_cost(shape.scopes, shape.cards, graph.elimination_order(shape)))
    work = math.inf  # where the longer one does not fit
    if costs[1].work < math.inf:
        work = (costs[1].work - costs[0].work) / (lengths[1] - lengths[0])
    return OrderCost(work, costs[1].largest, costs[1].width, costs[1].culprit)


def sweep_cost(graph: ModelGraph) -> float:
    """Multiply-adds a token of one sweep that sends every message once: a table is read once a message.

    Without relational cliques: how many instances these have only data can tell.
    """
    return float(sum(_sweep_work(t) for t in graph.templates if not t.relational))


def sweep_messages(graph: ModelGraph) -> float:
    """Messages a token of one sweep, without relational cliques."""
    return float(sum(len(t.cards) for t in graph.templates if len(t.cards) > 1 and not t.relational))


def exact_seconds(work: float) -> float:
    """Roughly how long exact inference takes, from the multiply-adds of its elimination."""
    return PASSES * work / RATE


def message_seconds(sweep: float, messages: float) -> float:
    """Roughly how long messages take until they rest, from the multiply-adds and the messages of a sweep."""
    return SWEEPS * (sweep / MESSAGE_RATE + messages * MESSAGE_SECONDS)


def exact_pays(exact: OrderCost, max_table: int, sweep: float, messages: float, positions: float = 1.0) -> bool:
    """Whether exact inference fits and takes no longer than messages do, or than so many positions are worth."""
    worth = max(message_seconds(sweep, messages), CHEAP * positions)
    return exact.largest <= max_table and exact_seconds(exact.work) <= worth


def _sweep_work(template: CliqueTemplate) -> int:
    return math.prod(template.cards) * len(template.cards) if len(template.cards) > 1 else 0


class Joined(NamedTuple):
    """How many pairs a relational clique joins in a sentence."""

    clique: str
    median: float
    high: float  # 99 of 100 sentences have at most so many
    most: int


@dataclass(frozen=True)
class TrainingCost:
    """`exact`, `sweep`, `features`: multiply-adds a token of exact inference, of a sweep, of scores and gradients.

    weights: of each clique of the specification.   messages: of a sweep, a token.
    memory: bytes that exact training takes once the data is read and the weights are known; `message_memory` comes on
    top where messages are sent.
    """

    weights: tuple[int, ...]
    exact: OrderCost
    sweep: float
    messages: float
    features: float
    tokens: int
    memory: float
    message_memory: float
    joined: tuple[Joined, ...] = ()

    def seconds(self, *, exact: bool, cores: int) -> float:
        """Roughly how long an evaluation takes."""
        inference = exact_seconds(self.exact.work) if exact else message_seconds(self.sweep, self.messages)
        token = inference + self.features / FEATURE_RATE + TOKEN_SECONDS
        return token * self.tokens / (1 + SHARING * (cores - 1))


def training_cost(
    graph: ModelGraph,
    parameters: Parameters,
    rows: Sequence[FeatureRows],
    sentence_off: Offsets,
    *,
    runs: int,
    history: int,
    relations: Mapping[int, Pairs],
) -> TrainingCost:
    """The cost of training on these rows. `runs`: partial gradients that are kept side by side. `history`: vectors of
    weights that the optimizer keeps.   relations: the pairs of each relational clique, by its number.
    """
    tokens = int(sentence_off[-1])
    weights = tuple(len(own.bias) + len(own.entry) for own in parameters.cliques)
    pairs = 0  # (feature that fires, its weight), over the data
    for number, own in enumerate(parameters.cliques):
        feature_set = graph.templates[number].feature_set
        if feature_set >= 0:
            pairs += int(np.diff(own.run_off)[rows[feature_set].feature].sum())
    fires = sum(len(own.feature) for own in rows)
    memory = LIBRARY_BYTES + PACKED_BYTES * fires + 8 * sum(weights) * (VECTORS + runs + history)
    memory += _wiring_bytes(graph, sentence_off)
    sweep, joined = sweep_cost(graph), []
    messages = sweep_messages(graph)
    for number in graph.relational:
        template = graph.templates[number]
        found = relations[template.clique]
        share = len(found.first) / max(1, tokens)
        sweep += _sweep_work(template) * share
        messages += len(template.cards) * share
        counts = np.diff(found.off)
        middle, high = np.quantile(counts, [0.5, 0.99]) if len(counts) else (0.0, 0.0)
        joined.append(Joined(template.name, float(middle), float(high), int(counts.max(initial=0))))
    return TrainingCost(
        weights, exact_cost(graph), sweep, messages, 2 * pairs / max(1, tokens), tokens, memory,
        _message_bytes(graph, relations, tokens), tuple(joined),
    )  # fmt: skip


def _message_bytes(graph: ModelGraph, relations: Mapping[int, Pairs], tokens: int) -> float:
    """What the messages of all sequences take, in single precision; 0 where that is too much to keep them."""
    found = 0.0
    for template in graph.templates:
        instances = len(relations[template.clique].first) if template.relational else tokens
        found += 4.0 * instances * sum(template.cards) * (len(template.cards) > 1)
    return found if found <= REMEMBERED_BYTES else 0.0


def _wiring_bytes(graph: ModelGraph, sentence_off: Offsets) -> float:
    """Sequences of one length share their wiring; every factor of the longest has a table in the arena."""
    lengths = np.unique(np.diff(sentence_off))
    sites = sum(len(template.cards) for template in graph.templates)
    entries = sum(template.num_assignments for template in graph.templates)
    return float(lengths.sum()) * sites * SITE_BYTES + 8.0 * entries * int(lengths.max(initial=0))
