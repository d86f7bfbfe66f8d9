"""The cost of a model before training: weights, table sizes, multiply-adds per token, memory, time.

All numbers are computed from the unrolled graph and the features, none is measured; time is a rough estimate. `auto`
follows `exact_pays`, and exact inference takes an automaton where `paying_automaton` finds that it is the fastest form.
Where the data joins positions, every sentence has a graph of its own, and the numbers are those of the elimination
orders that inference takes. Not here: the display of the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..features import FeatureRows, Pairs
from ..foundation import Ints, Offsets, dataclass
from .automaton_graphs import AutomatonGraph, automaton_graph
from .elimination import OrderCost
from .parameters import Parameters
from .segment_factors import of_lengths
from .unroll import ModelGraph

# Fitted to runs on CoNLL-2000 and CoNLL-2002 (2 shared cores): right within a factor of about two there
SWEEPS = 6  # sweeps of an evaluation by messages if none were learned: where a pattern repeats along a sequence …
LOOPY_SWEEPS = 40  # … and where data joins positions to loops
PREFERRED = 2.0  # exact inference may take so many times as long as messages: its gradients are right …
STUCK = 500  # … and from so many sweeps on, of which most are of runs that do not converge, …
RATHER = 4.0  # … so many times
UNIT_SECONDS = 1.5e-10  # a multiply-add of exact inference, all passes, in products of large matrices …
STATE_OVERHEAD = 2.5e-9  # … and what it takes more, over the states of a variable: products of small ones take longer …
IRREGULAR = 2.5  # … and so many times as long where tables over two variables and more have no repeated layout …
REACH = 4  # … and as many times again as they are over so many variables
REMEMBERING = 6.0  # … and where a memory follows from the labels, by a table of three variables
MESSAGE_RATE = 8e9  # … in messages over tables of two variables, which are products with a matrix in the cache …
WIDE_RATE = 3e8  # … in messages over tables of more variables, which are summed entry by entry …
FEATURE_RATE = 2e9  # … and over features, which are scattered in memory
MESSAGE_SECONDS = 8e-8  # for sending one message, besides its multiply-adds
BELIEF_SECONDS = 1.5e-10  # for an entry and its variable, when the beliefs of a table are read in the end
TOKEN_SECONDS = 3e-7  # per token in every evaluation
SHARING = 0.8  # the gain of each further core
VECTORS = 12  # vectors of weights that training keeps beside the optimizer's history
PACKED_BYTES = 12  # per firing feature, for the layout of training
REMEMBERED_BYTES = 2**28  # messages are kept between evaluations if they take at most this
SITE_BYTES = 64  # wiring per site of a factor, once per length
LIBRARY_BYTES = 1e7  # what a process that trained a sample has not loaded or allocated


def exact_seconds(cost: OrderCost, *, joined: bool = False) -> float:
    """Rough time of exact inference with this elimination. joined: whether data joins the variables."""
    states = float(max(1.0, cost.largest) ** (1 / max(1, cost.width)))
    irregular = IRREGULAR * max(1.0, cost.width / REACH) if joined and cost.width > 1 else 1.0
    return cost.work * (UNIT_SECONDS + STATE_OVERHEAD / states) * irregular


class MessageCost(NamedTuple):
    """The cost of messages on a sequence, or a token.

    sweep, wide: multiply-adds of a sweep, and which of them lie in cliques of three and more variables.
    messages: of a sweep.   sweeps: of a run until it converges.   share: of the messages, that a sweep sends along a
    spanning tree.
    """

    sweep: float
    messages: float
    wide: float = 0.0
    sweeps: float = SWEEPS
    share: float = 1.0

    @classmethod
    def of(
        cls, tables: Iterable[tuple[Sequence[int], float]], variables: float, sweeps: float | None, *, joined: bool
    ) -> MessageCost:
        """The cost on tables: the states of the variables of each, and how often it occurs.

        sweeps: if they were learned.   joined: whether data joins the variables, to loops of any length.
        """
        larger = [(cards, count) for cards, count in tables if len(cards) > 1]
        work = [count * len(cards) * math.prod(cards) for cards, count in larger]
        wide = sum(each for each, (cards, _) in zip(work, larger, strict=True) if len(cards) > 2)
        ties = sum(count * (len(cards) - 1) for cards, count in larger)
        needed = sweeps or (LOOPY_SWEEPS if joined and ties >= variables else SWEEPS)
        messages = sum(count * len(cards) for cards, count in larger)
        return cls(sum(work), messages, wide, needed, min(1.0, variables / max(1.0, ties)))

    @property
    def seconds(self) -> float:
        """Rough time of a run."""
        each = (self.sweep - self.wide) / MESSAGE_RATE + self.wide / WIDE_RATE + self.messages * MESSAGE_SECONDS
        return self.sweeps * self.share * each + self.sweep * BELIEF_SECONDS


def message_cost(graph: ModelGraph, shares: Mapping[int, float] | None = None) -> MessageCost:
    """The cost of messages per token; a table is read once a message.

    shares: instances a token of each relational template. Only data tells them; without it they are not counted.
    """
    found = shares or {}
    tables = [(one.cards, found.get(n, float(not one.relational))) for n, one in enumerate(graph.templates)]
    return MessageCost.of(tables, len(graph.variables), graph.sweeps, joined=bool(found))


def least_seconds(graph: ModelGraph) -> float:
    """Rough time of inference per token, by whichever is faster, without the cliques that data joins."""
    exact, messages = exact_seconds(graph.exact_cost), message_cost(graph)
    return min(exact, messages.seconds) if messages.messages else exact


def exact_pays(exact: OrderCost, max_table: int, messages: MessageCost, *, joined: bool = False) -> bool:
    """Whether exact inference fits, and pays beside messages."""
    return exact.largest <= max_table and pays_beside_messages(exact_seconds(exact, joined=joined), messages)


def pays_beside_messages(seconds: float, messages: MessageCost) -> bool:
    """Whether so many seconds of exact inference are at most twice what messages take, or there are none to send; where
    messages do not converge, at most four times.
    """
    preferred = PREFERRED if messages.sweeps < STUCK else RATHER
    return seconds <= preferred * messages.seconds or messages.messages == 0


class JoinedPairs(NamedTuple):
    """The number of pairs that a relational clique joins in a sentence."""

    clique: str
    median: float
    high: float  # 99 of 100 sentences have at most this many
    most: int


@dataclass(frozen=True)
class TrainingCost:
    """`exact`, `messages`: of inference per token.   features: multiply-adds per token of scores and gradients.

    weights: of each clique of the specification.   automaton: seconds per token by the model's automaton, if that is
    its fastest exact form.   memory: bytes of exact training after the data is read and the weights are known;
    `message_memory` is added if messages are sent.
    """

    weights: tuple[int, ...]
    exact: OrderCost
    messages: MessageCost
    features: float
    tokens: int
    memory: float
    message_memory: float
    joined: tuple[JoinedPairs, ...] = ()
    automaton: float | None = None

    def seconds(self, *, exact: bool, cores: int) -> float:
        """Rough time of one evaluation."""
        inference = self.messages.seconds
        if exact:
            inference = exact_seconds(self.exact) if self.automaton is None else self.automaton
        token = inference + self.features / FEATURE_RATE + TOKEN_SECONDS
        return token * self.tokens / (1 + SHARING * (cores - 1))


def training_cost(
    graph: ModelGraph,
    parameters: Parameters,
    rows: Sequence[FeatureRows],
    sentence_off: Offsets,
    *,
    runs: int,
    history: float,
    relations: Mapping[int, Pairs],
    automaton: float | None = None,
    thin: bool = False,
) -> TrainingCost:
    """The cost of training on these rows. `runs`: partial gradients kept side by side. `history`: vectors of weights
    that the optimizer keeps.   relations: the pairs of each relational clique, by its number.   automaton: as in
    `TrainingCost`.   thin: whether inference works on the thin graph.
    """
    tokens = int(sentence_off[-1])
    weights = tuple(len(clique_weights.bias) + len(clique_weights.entry) for clique_weights in parameters.cliques)
    pairs = 0  # (firing feature, its weight), over the data
    for number, clique_weights in enumerate(parameters.cliques):
        feature_set = graph.templates[number].feature_set
        if feature_set >= 0:
            pairs += int(np.diff(clique_weights.run_off)[rows[feature_set].feature].sum())
    fires = sum(len(set_rows.feature) for set_rows in rows)
    memory = LIBRARY_BYTES + PACKED_BYTES * fires + 8 * sum(weights) * (VECTORS + runs + history)
    memory += _wiring_bytes(graph.thin() if thin else graph, sentence_off)
    joined, shares = list[JoinedPairs](), dict[int, float]()
    for number in graph.relational:
        template = graph.templates[number]
        joined_pairs = relations[template.clique]
        shares[number] = len(joined_pairs.first) / max(1, tokens)
        counts = np.diff(joined_pairs.off)
        middle, high = np.quantile(counts, [0.5, 0.99]) if len(counts) else (0.0, 0.0)
        joined.append(JoinedPairs(template.name, float(middle), float(high), int(counts.max(initial=0))))
    return TrainingCost(
        weights, graph.exact_cost, message_cost(graph, shares), 2 * pairs / max(1, tokens), tokens, memory,
        0.0 if thin else _message_bytes(graph, relations, tokens), tuple(joined), automaton,
    )  # fmt: skip


def _message_bytes(graph: ModelGraph, relations: Mapping[int, Pairs], tokens: int) -> float:
    """Bytes of the messages of all sequences, in single precision; 0 if that is too much to keep them."""
    total = 0.0
    for template in graph.templates:
        instances = len(relations[template.clique].first) if template.relational else tokens
        total += 4.0 * instances * sum(template.cards) * (len(template.cards) > 1)
    return total if total <= REMEMBERED_BYTES else 0.0


def _wiring_bytes(graph: ModelGraph, sentence_off: Offsets) -> float:
    """Bytes of the wiring: one for each length, and a table in the arena for every factor of the longest sequence that
    has its own.
    """
    lengths = np.unique(np.diff(sentence_off))
    sites = sum(len(template.cards) for template in graph.templates)
    own = (one for one in graph.templates if one.feature_set >= 0 and not graph.leaves_out(one))
    entries = sum(template.num_assignments for template in own)
    return float(lengths.sum()) * sites * SITE_BYTES + 8.0 * entries * int(lengths.max(initial=0))


STATE_SECONDS = 1e-9  # a state: its scores, and reading and writing it five times
MOVE_SECONDS = 3.5e-10  # a listed move, or a group; both are a little more than measured where lanes are full
CHAIN_SECONDS = 3e-10  # an entry of the table of a chain …
CHAIN_DECODING_SECONDS = 1e-10  # … and the same in decoding, where an automaton takes as long as for a pass
LEAST = 1e-6  # seconds of the other form below which no automaton is looked for


def automaton_seconds(found: AutomatonGraph) -> float:
    """Rough time of a position."""
    return STATE_SECONDS * found.states + MOVE_SECONDS * found.terms


def other_seconds(graph: ModelGraph, *, chain: bool) -> float:
    """Rough time of a position without an automaton. chain: whether one table between neighbours says it all."""
    if chain:
        return CHAIN_SECONDS * graph.cards[0] ** 2
    remembers = len(graph.variables) > graph.num_labels + graph.num_latents
    return exact_seconds(graph.exact_cost) * (REMEMBERING if remembers else 1.0)


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
