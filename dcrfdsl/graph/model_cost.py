"""The cost of a model before training: weights, table sizes, multiply-adds per token, memory, time.

All numbers are computed from the unrolled graph and the features, none is measured; time is a rough estimate. `auto`
follows `exact_pays`, and exact inference takes an automaton where `paying_automaton` finds that it is the fastest form.
Where the data joins positions, every sentence has a graph of its own, and the numbers are those of the elimination
orders that inference takes. Not here: the display of the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..features import FeatureRows, Pairs
from ..foundation import Ints, Offsets, dataclass
from .automaton_graphs import AutomatonGraph, automaton_graph
from .elimination import MOST_ENTRIES, OrderCost, best_order, forest_order, least_table, order_cost
from .parameters import Parameters
from .segment_factors import of_lengths
from .templates import CliqueTemplate
from .unroll import ModelGraph

# Fitted to runs on CoNLL-2000 and CoNLL-2002 (2 shared cores): right within a factor of about two there
SWEEPS = 6  # sweeps of an evaluation by messages where a pattern repeats along a sequence …
LOOPY_SWEEPS = 40  # … where data joins positions to loops: trp took 30 to 94 iterations on such graphs …
DENSE_SWEEPS = 400  # … and where half of all pairs are joined: one in ten does not converge, and takes all iterations
DENSE_LOOPS = 2.0  # independent loops per variable that a dense graph has at least
PREFERRED = 2.0  # exact inference may take so many times as long as messages: its gradients are right
PASSES = 3  # passes through the tables of exact inference: up, down, and expected counts
RATE = 5e9  # multiply-adds per second and core, in the matrix products of exact inference …
MESSAGE_RATE = 8e9  # … in messages over tables of two variables, which are products with a matrix in the cache …
WIDE_RATE = 3e8  # … in messages over tables of more variables, which are summed entry by entry …
FEATURE_RATE = 2e9  # … and over features, which are scattered in memory
MESSAGE_SECONDS = 1.5e-7  # for sending one message, besides its multiply-adds
TOKEN_SECONDS = 3e-7  # per token in every evaluation
SHARING = 0.8  # the gain of each further core
VECTORS = 12  # vectors of weights that training keeps beside the optimizer's history
PACKED_BYTES = 12  # per firing feature, for the layout of training
REMEMBERED_BYTES = 2**28  # messages are kept between evaluations if they take at most this
CHEAP = 2e-5  # seconds per position at which exact inference is preferred even if messages take less
SITE_BYTES = 64  # wiring per site of a factor, once per length
LIBRARY_BYTES = 1e7  # what a process that trained a sample has not loaded or allocated


def exact_seconds(work: float) -> float:
    """Rough time of exact inference, from the multiply-adds of its elimination."""
    return PASSES * work / RATE


def message_seconds(sweep: float, messages: float, wide: float = 0.0, sweeps: float = SWEEPS) -> float:
    """Rough time of message passing until convergence, from the multiply-adds and the messages of a sweep.

    wide: which of the multiply-adds lie in cliques of three and more variables.   sweeps: see `sweeps_to_converge`.
    """
    return sweeps * ((sweep - wide) / MESSAGE_RATE + wide / WIDE_RATE + messages * MESSAGE_SECONDS)


def sweeps_to_converge(variables: float, ties: float, *, joined: bool) -> float:
    """About how many sweeps messages need. variables, ties: of a sequence, or a position; a clique of n has n - 1 ties.

    joined: whether data joins the variables, to loops of any length.
    """
    loops = (ties - variables) / max(1.0, variables)
    if loops > DENSE_LOOPS and ties >= variables * (variables - 1) / 4:
        return DENSE_SWEEPS
    return LOOPY_SWEEPS if joined and ties >= variables else SWEEPS


class MessageCost(NamedTuple):
    """The cost of messages on a sequence, or a token. sweep, messages, wide: as `message_seconds` takes them."""

    sweep: float
    messages: float
    wide: float = 0.0
    sweeps: float = SWEEPS

    @property
    def seconds(self) -> float:
        """Rough time until convergence."""
        return message_seconds(*self)


def message_cost(graph: ModelGraph) -> MessageCost:
    """The cost of messages per token, each of which is sent once a sweep; a table is read once a message.

    Relational cliques are not counted: only data tells the number of their instances.
    """
    larger = [t for t in graph.templates if len(t.cards) > 1 and not t.relational]
    sweep, wide = sum(map(_sweep_work, larger)), sum(map(_wide_work, larger))
    sweeps = sweeps_to_converge(len(graph.variables), sum(len(t.cards) - 1 for t in larger), joined=False)
    return MessageCost(float(sweep), float(sum(len(t.cards) for t in larger)), float(wide), sweeps)


def exact_pays(exact: OrderCost, max_table: int, messages: MessageCost, positions: float = 1.0) -> bool:
    """Whether exact inference fits, and pays beside messages."""
    return exact.largest <= max_table and pays_beside_messages(exact_seconds(exact.work), messages, positions)


def pays_beside_messages(seconds: float, messages: MessageCost, positions: float = 1.0) -> bool:
    """Whether so many seconds of exact inference are at most twice what messages take, or `CHEAP` per position."""
    return seconds <= max(PREFERRED * messages.seconds, CHEAP * positions)


def _sweep_work(template: CliqueTemplate) -> int:
    return math.prod(template.cards) * len(template.cards) if len(template.cards) > 1 else 0


def _wide_work(template: CliqueTemplate) -> int:
    return _sweep_work(template) if len(template.cards) > 2 else 0


class JoinedPairs(NamedTuple):
    """The number of pairs that a relational clique joins in a sentence."""

    clique: str
    median: float
    high: float  # 99 of 100 sentences have at most this many
    most: int


@dataclass(frozen=True)
class TrainingCost:
    """`exact`, `sweep`, `features`: multiply-adds per token of exact inference, of a sweep, of scores and gradients.

    wide: the part of `sweep` in cliques of three and more variables.   weights: of each clique of the specification.
    messages: per token of a sweep.   automaton: seconds per token by the model's automaton, if that is its fastest
    exact form.   memory: bytes of exact training after the data is read and the weights are known; `message_memory` is
    added if messages are sent.
    """

    weights: tuple[int, ...]
    exact: OrderCost
    sweep: float
    messages: float
    features: float
    tokens: int
    memory: float
    message_memory: float
    joined: tuple[JoinedPairs, ...] = ()
    automaton: float | None = None
    wide: float = 0.0

    def seconds(self, *, exact: bool, cores: int) -> float:
        """Rough time of one evaluation."""
        inference = message_seconds(self.sweep, self.messages, self.wide)
        if exact:
            inference = exact_seconds(self.exact.work) if self.automaton is None else self.automaton
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
    sweep, messages, wide, _ = message_cost(graph)
    joined = list[JoinedPairs]()
    for number in graph.relational:
        template = graph.templates[number]
        joined_pairs = relations[template.clique]
        share = len(joined_pairs.first) / max(1, tokens)
        sweep += _sweep_work(template) * share
        wide += _wide_work(template) * share
        messages += len(template.cards) * share
        counts = np.diff(joined_pairs.off)
        middle, high = np.quantile(counts, [0.5, 0.99]) if len(counts) else (0.0, 0.0)
        joined.append(JoinedPairs(template.name, float(middle), float(high), int(counts.max(initial=0))))
    return TrainingCost(
        weights, graph.exact_cost, sweep, messages, 2 * pairs / max(1, tokens), tokens, memory,
        0.0 if thin else _message_bytes(graph, relations, tokens), tuple(joined), automaton, wide,
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


MOST_SENTENCES = 100  # that have loops: their orders are searched for


class JoinedCost(NamedTuple):
    """forests: sentences without a loop, of all.   sample: sentences with loops that were looked at.   too_wide: those
    of them whose tables do not fit.   work: multiply-adds a token where they do.   median, most: entries of the largest
    table of a sentence, also where it does not fit.
    """

    sentences: int
    forests: int
    sample: int
    too_wide: int
    work: float
    median: float
    most: float


def joined_costs(graph: ModelGraph, sentence_off: Offsets, relations: Mapping[int, Pairs]) -> JoinedCost:
    """The cost on a data set; of sentences with loops on the first ones.   relations: see `Binder.bind`."""
    clique = [graph.templates[number].clique for number in graph.relational]
    lengths = np.diff(sentence_off).tolist()
    forests = loops = too_wide = tokens = 0
    work, largest = 0.0, []
    for s, length in enumerate(lengths):
        shape = graph.shape(length, [relations[number].local(s, sentence_off) for number in clique])
        order = forest_order(shape.scopes, len(shape.cards))
        forests += order is not None
        if order is None:
            loops += 1
            if loops > MOST_SENTENCES:
                continue
            least = least_table(shape.scopes, shape.cards)
            order = best_order(shape.scopes, shape.cards) if least <= MOST_ENTRIES else []
            if not order:
                largest.append(least)
                too_wide += 1
                continue
        cost = order_cost(shape.scopes, shape.cards, order)
        largest.append(cost.largest)
        if cost.largest > MOST_ENTRIES:
            too_wide += 1
        else:
            work, tokens = work + cost.work, tokens + length
    return JoinedCost(
        len(lengths), forests, min(loops, MOST_SENTENCES), too_wide, work / tokens if tokens else math.inf,
        float(np.median(largest)) if largest else 1.0, max(largest, default=1.0),
    )  # fmt: skip


STATE_SECONDS = 1e-9  # a state: its scores, and reading and writing it five times
MOVE_SECONDS = (
    3.5e-10  # a listed move, or a group; both are a little more than measured where caches and lanes are full
)
CHAIN_SECONDS = 3e-10  # an entry of the table of a chain …
CHAIN_DECODING_SECONDS = 1e-10  # … and the same in decoding, where an automaton takes as long as for a pass
LEAST = 1e-6  # seconds of the other form below which no automaton is looked for


def automaton_seconds(found: AutomatonGraph) -> float:
    """Rough time of a position."""
    return STATE_SECONDS * found.states + MOVE_SECONDS * found.terms


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
