"""Several labellings of each sequence: the n best in order, samples from p(y | x), and votes of several models.

The n best are exact and have probabilities wherever the tables of a contraction program fit, whatever the template's
`infer` says. Elsewhere max-product messages find them on ever smaller parts of the labellings, and only their scores
are known. Sampling is exact or refused.

With latent variables, labellings are ranked by p(y | x) = Σ_h p(y, h | x). The search is exact if, for sequences of any
length, summing out the latent variables before all labels leaves tables that fit: then `nbest_summing_latents` searches
these. Otherwise no cheap exact method is known (summing and maximising do not commute), and `ranked_candidates` ranks
labellings that other methods propose.

A vote is for a whole labelling, since labels elected one by one need not be compatible: if every voter satisfies the
hard constraints, so does the winner. Source: Collins (2002) §2.3. Not here: the single best labelling (`methods`), the
voters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ...foundation import Codes, Floats, Ints, Ints32, data_error, dataclass
from ...graph import ModelGraph, order_cost
from ...kernels.exact import exact_samples
from ...kernels.sequences import Latents, NBestLists, exact_nbest, message_nbest
from ...kernels.tables import Potentials
from ...semantics import AutoSettings, BpSettings, ExactSettings, MethodSettings, TrpSettings
from ..base import Expectations
from ..bound import BoundData
from ..methods import MessageMethod, Part, parts_by_cost
from ..run_status import RunStatus
from ..workers import Workers

MOST_WORK = 2**26  # multiply-adds for a sentence with joined pairs; its tables have at most half as many cells


@dataclass(frozen=True, eq=False)
class Labellings:
    """The R ≤ n best labellings of one sentence; R < n if no more are possible (or found, if not `exact`).

    codes: by label, [R, T] int32: indices into the label's states.
    score: [R], descending: Σ log φ in nats; with latent variables log Σ_h exp Σ log φ.
    probability: [R]: exp(score − log Z), NaN where log Z is not known.
    exact: whether these are proven to be the best.
    """

    codes: Mapping[str, Ints32]
    score: Floats
    probability: Floats
    exact: bool

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True, eq=False)
class NBest:
    """The best labellings of every sentence. Made by `TrainedModel.nbest`.

    sentences: the `Labellings` of each.
    status: how inference ended, a `RunStatus`.
    """

    sentences: tuple[Labellings, ...]
    status: RunStatus

    @property
    def exact(self) -> bool:
        """Whether the labellings of every sentence are proven to be the best."""
        return all(labellings.exact for labellings in self.sentences)

    def scaled(self, factor: float) -> NBest:
        """The same labellings with scores multiplied by `factor` > 0; probabilities do not change."""
        if factor == 1.0:
            return self
        return NBest(tuple(replace(one, score=factor * one.score) for one in self.sentences), self.status)

    def first(self, labels: Sequence[str], lengths: Ints, rank: int = 0) -> list[Ints32]:
        """The labelling of rank `rank` (from 0) of every sentence, one array [N] for each of `labels`. `lengths`: [S].

        A sentence with fewer labellings gives its last one; a sentence without any, the first state of every label.
        """
        return [
            np.concatenate(
                [
                    labellings.codes[label][min(rank, len(labellings) - 1)]
                    if len(labellings)
                    else np.zeros(length, np.int32)
                    for labellings, length in zip(self.sentences, lengths.tolist(), strict=True)
                ]
                or [np.zeros(0, np.int32)]
            )
            for label in labels
        ]


@dataclass(frozen=True, eq=False)
class Samples:
    """Labellings drawn from p(y | x). Made by `TrainedModel.sample`.

    codes: by label, [n, N] int32: indices into the label's states, -1 in sentences without any labelling.
    status: how inference ended, a `RunStatus`.
    """

    codes: Mapping[str, Ints32]
    status: RunStatus


def parts_by_width(bind: Callable[[bool], BoundData], graph: ModelGraph, settings: MethodSettings) -> list[Part]:
    """The data with contraction programs where their tables fit (`max_table`, or its default), else without.

    With relational cliques, sentences have different graphs, and this is decided for each.
    """
    if not graph.relational:
        data = bind(graph.exact_cost.largest <= largest_table(settings))
        return [(np.arange(data.num_sequences), data)]
    largest = largest_table(settings)
    return parts_by_cost(bind(False), lambda shape, cost: cost.largest <= largest and cost.work <= MOST_WORK)


def largest_table(settings: MethodSettings) -> int:
    """The most entries that a table of exact inference may have."""
    return settings.max_table if isinstance(settings, ExactSettings | AutoSettings) else ExactSettings().max_table


def check_samples_fit(graph: ModelGraph, settings: MethodSettings) -> None:
    """Raises DcrfError if labellings cannot be drawn exactly."""
    cost = graph.exact_cost
    if cost.largest > largest_table(settings):
        raise data_error(
            "too-wide",
            f"drawing labellings needs exact inference, which would build a table of {cost.largest:.3g} entries over "
            f"{cost.width} variables; `max_table` allows {largest_table(settings)}",
            help="use `infer exact` with a larger `max_table` if there is memory for it",
        )


def best_labellings(
    parts: Sequence[Part], weights: Floats, settings: MethodSettings, count: int, workers: Workers
) -> NBest:
    """The `count` best labellings of each sequence of `parts`, in the order of the data set. `weights` [W]."""
    if count < 1:
        raise ValueError(f"{count} labellings are asked for, expected at least 1")
    sentences: dict[int, Labellings] = {}
    status = RunStatus()
    for sequences, data in parts:
        if not len(sequences):
            continue
        labellings, part_status = _best_of_part(data, data.potentials(weights), settings, count, workers)
        sentences.update(zip(sequences.tolist(), labellings, strict=True))
        status += replace(part_status, impossible=tuple(sequences[list(part_status.impossible)].tolist()))
    return NBest(tuple(sentences[s] for s in sorted(sentences)), status)


def _best_of_part(
    data: BoundData, potentials: Potentials, settings: MethodSettings, count: int, workers: Workers
) -> tuple[list[Labellings], RunStatus]:
    """By programs where the data has them; else by the template's own schedule where it passes messages, or by
    tree-based reparameterization.
    """
    exact = data.bank.order_of is not None
    out = Expectations.empty(data, approximate=not exact)
    with enough_memory():
        lists = room_for(data, count, data.graph.num_labels + data.graph.num_latents)
        if exact:
            programs, patterns = data.bank.program_arrays(), data.bank.pattern_arrays()

            def run(first: int, last: int) -> None:
                exact_nbest(
                    first, last, data.problem, programs, patterns, potentials, None, lists, out.results, *arenas(data)
                )

        else:
            out.log_z[:] = np.nan
            chosen = settings if isinstance(settings, TrpSettings | BpSettings | AutoSettings) else TrpSettings()
            by_name, by_trees = MessageMethod.by_schedule, MessageMethod.by_trees
            method = by_name(data, chosen) if isinstance(chosen, BpSettings) else by_trees(data, chosen)

            def run(first: int, last: int) -> None:
                message_nbest(
                    first, last, data.problem, method.edges, potentials, method.sweeps, method.control, lists,
                    out.results,
                )  # fmt: skip

        workers.map(run, data.runs)
        return list(ordered_labellings(data, lists, out.log_z, exact=exact)), out.summary()


def room_for(data: BoundData, count: int, num_variables: int) -> NBestLists:
    """What kernels fill: labellings [n, labelling_off[S]], how many there are [S], their scores [S, n].

    n: `count`, or how many labellings the longest sequence has over the first `num_variables`, if that is less.
    MemoryError if they do not fit.
    """
    longest, whole = int(np.diff(data.rows.token_off).max(initial=0)), data.graph.of_sentence
    cards = [int(card) for card in data.graph.cards[:num_variables]]
    each = math.prod(card for m, card in enumerate(cards) if m not in whole)
    once = math.prod(card for m, card in enumerate(cards) if m in whole)
    n = min(count, once * each ** min(longest, count.bit_length()))  # 2 to the power of its bits is more than `count`
    try:
        labelling = np.zeros((n, int(data.labelling_off[-1])), np.int32)
        found, score = np.zeros(data.num_sequences, np.int64), np.zeros((data.num_sequences, n))
    except ValueError:  # more cells than an index can number
        raise MemoryError from None
    return NBestLists(labelling, data.labelling_off, found, score)


@contextmanager
def enough_memory() -> Iterator[None]:
    """DcrfError where a list of labellings does not fit into memory."""
    try:
        yield
    except MemoryError:
        message = "so many labellings of each sentence do not fit into memory"
        raise data_error("out-of-memory", message, help="ask for fewer, or for those of shorter sentences") from None


def ordered_labellings(data: BoundData, lists: NBestLists, log_z: Floats, *, exact: bool) -> Iterator[Labellings]:
    """Yields the labellings of each sentence from the results of kernels, best first, without latent variables."""
    names, off, lengths = data.graph.variables, data.labelling_off, np.diff(data.rows.token_off)
    labelling, _, found, score = lists
    data.spread(labelling)
    for s, rank in enumerate(found.tolist()):
        order = np.argsort(-score[s, :rank], kind="stable")  # messages do not find them in order
        states = labelling[:, off[s] : off[s + 1]][order].reshape(rank, lengths[s], len(names))
        with np.errstate(invalid="ignore"):  # infinite scores have no probability
            probability = np.exp(score[s, order] - log_z[s])
        codes = {name: np.ascontiguousarray(states[:, :, m]) for m, name in enumerate(names[: data.graph.num_labels])}
        yield Labellings(codes, score[s, order], probability, exact)


def arenas(data: BoundData) -> tuple[Floats, Floats]:
    """Two arenas for the longest sequence."""
    size = max(int(data.shapes.arena_end.max(initial=0)), data.shapes.local_start)
    return np.empty(size), np.empty(size)


def draw_samples(data: BoundData, potentials: Potentials, count: int, seed: int, workers: Workers) -> Samples:
    """`count` independent labellings of each sequence. Every sequence has its own random generator, so the draws depend
    only on the seed, the sequence's number and the model.
    """
    out = Expectations.empty(data)
    samples = np.empty((count, int(data.labelling_off[-1])), np.int32)
    seeds = np.random.default_rng(seed).integers(2**64, size=data.num_sequences, dtype=np.uint64)
    programs, patterns = data.bank.program_arrays(), data.bank.pattern_arrays()

    def run(first: int, last: int) -> None:
        exact_samples(
            first, last, data.problem, programs, patterns, potentials, seeds, data.ragged(samples), out.results,
            *arenas(data),
        )  # fmt: skip

    workers.map(run, data.runs)
    table = data.spread(samples).reshape(count, data.rows.token_off[-1], len(data.graph.variables))
    labels = data.graph.variables[: data.graph.num_labels]
    codes = {name: np.ascontiguousarray(table[:, :, m]) for m, name in enumerate(labels)}
    return Samples(codes, out.summary())


ROUNDING = 1e-12  # of a log Z, relative, and so of a probability; far more than was ever seen
LENGTHS = (8, 16)  # a table that grows from one to the other grows with the sequence


def latents_first_fits(graph: ModelGraph, settings: MethodSettings) -> bool:
    """Whether the latent variables can be summed out before all others, however long the sequence."""
    if graph.relational:
        return False
    largest = []
    for length in LENGTHS:
        shape = graph.shape(length)
        largest.append(order_cost(shape.scopes, shape.cards, graph.latents_first_order(shape)).largest)
    return largest[0] == largest[1] <= largest_table(settings)


def nbest_summing_latents(data: BoundData, potentials: Potentials, count: int, workers: Workers) -> NBest:
    """The `count` best labellings of each sequence, exactly. The programs of `data` sum out latent variables first."""
    out = Expectations.empty(data)
    programs, patterns = data.bank.program_arrays(), data.bank.pattern_arrays()
    hidden, width = data.graph.latents, len(data.graph.variables)
    with enough_memory():
        lists = room_for(data, count, data.graph.num_labels)

        def run(first: int, last: int) -> None:
            exact_nbest(
                first, last, data.problem, programs, patterns, potentials, Latents(hidden.start, hidden.stop, width),
                lists, out.results, *arenas(data),
            )  # fmt: skip

        workers.map(run, data.runs)
        found = tuple(ordered_labellings(data, lists, out.log_z, exact=True))
    return NBest(found, out.summary())


def ranked_candidates(
    labels: Sequence[str], codes: Sequence[Codes], scores: Floats, log_z: float, count: int, *, complete: bool
) -> Labellings:
    """The `count` best of some labellings of one sentence by log Σ_h exp score(y, h), best first.

    codes: of each labelling, [labels, T], no two alike.   scores [R]: their log Σ_h exp score(y, h); those that are not
    possible have -inf. The first of equally good ones wins.   log_z: of the sentence, nan if it is not known exactly.
    complete: whether no other labelling is possible.

    A labelling that is none of these has at most the probability that they leave. So the result is exact if it has
    `count` labellings and none of them less than that, or if there are no others.
    """
    with np.errstate(invalid="ignore"):
        probability = np.exp(scores - log_z)
    possible = np.flatnonzero(np.isfinite(scores))
    order = possible[np.argsort(-scores[possible], kind="stable")]
    best = order[:count]
    left = 1.0 - float(probability[order].sum()) + ROUNDING * max(1.0, abs(log_z))
    proven = complete or (len(best) == count and bool(probability[best[-1]] >= left))
    length = codes[0].shape[1] if len(codes) else 0
    table = np.array([codes[n] for n in best], np.int32).reshape(len(best), len(labels), length)
    of_label = {label: np.ascontiguousarray(table[:, m]) for m, label in enumerate(labels)}
    return Labellings(of_label, scores[best], probability[best], proven)


class Ballots:
    """Counts votes. sentence_off [S+1]: offsets of the tokens of each sentence.

    Votes for a labelling are recorded only when a voter disagrees: successive voters agree on most sentences.
    """

    def __init__(self, sentence_off: Ints):
        self.off = sentence_off.tolist()
        self._sentence = np.repeat(np.arange(len(self.off) - 1), np.diff(sentence_off))  # of each token
        self._last: Codes | None = None
        self._since = np.zeros(len(self.off) - 1, np.int64)  # votes for the last labelling, not recorded yet
        self._counts: list[dict[bytes, int]] = [{} for _ in self.off[1:]]

    def cast(self, votes: int, codes: Codes) -> None:
        """Adds `votes` for the labelling `codes` [labels, N] of all sentences."""
        if self._last is not None:
            for s in np.unique(self._sentence[(codes != self._last).any(axis=0)]).tolist():
                self._record(s, self._last)
        self._last = codes
        self._since += votes

    def _record(self, s: int, codes: Codes) -> None:
        ballot = codes[:, self.off[s] : self.off[s + 1]].tobytes()
        self._counts[s][ballot] = self._counts[s].get(ballot, 0) + int(self._since[s])
        self._since[s] = 0

    def winners(self) -> Codes:
        """The labelling of each sentence with the most votes, [labels, N]; in case of a tie the one recorded first.

        ValueError if there were no votes.
        """
        if self._last is None:
            raise ValueError("nobody voted")
        elected = self._last.copy()
        for s, counts in enumerate(self._counts):
            self._record(s, self._last)
            states = elected[:, self.off[s] : self.off[s + 1]]
            states[...] = np.frombuffer(max(counts, key=counts.__getitem__), np.int32).reshape(states.shape)
        return elected
