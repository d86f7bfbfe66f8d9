"""The cost of inference: one evaluation of the objective and its gradient, and messages per second."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import peers
from figures import Figure, Skip, Target, at_least, at_most, seconds_of, times_faster
from work import CHUNKING, FACTORIAL, POS, ROUNDS, SMOKE, corpus_of, objective, segment_errors, trained_weights

from dcrfdsl.graph.factor_graph import FactorGraph
from dcrfdsl.inference import infer_graph
from dcrfdsl.semantics.settings.infer_settings import BpSettings


def _pass(source: str, threads: int, method: str | None = None) -> float:
    """Seconds of one evaluation of objective and gradient, at the weights of the tenth iteration."""
    weights = trained_weights(source)
    criterion = objective(source, corpus_of(source), threads=threads, method=method)
    return seconds_of(lambda: criterion.value_and_gradient(weights), ROUNDS)


def _crfsuite(source: str, label: str) -> float | str:
    try:
        return peers.crfsuite_pass(source, label)
    except Skip as reason:
        return str(reason)


def _against_crfsuite(name: str, source: str, label: str, targets: dict[int, Target]) -> Iterator[Figure]:
    other = _crfsuite(source, label)
    for threads, target in targets.items():
        yield Figure(
            f"{name}, {threads} thread{'s' if threads > 1 else ''}", _pass(source, threads), "s",
            "ours: -log p(y|x), penalty and gradient over all sentences; CRFsuite: the median of its L-BFGS iterations "
            "(mostly one evaluation each), one thread, the same features",
            target, other,
        )  # fmt: skip


def chain_pass() -> Iterator[Figure]:
    """The chain of CoNLL-2000 chunking (22 labels, 456,468 weights): one pass against CRFsuite."""
    yield from _against_crfsuite("chain pass", CHUNKING, "chunk", {1: times_faster(7), 2: times_faster(12)})


def pos_pass() -> Iterator[Figure]:
    """A chain of 44 part-of-speech labels: one pass against CRFsuite."""
    yield from _against_crfsuite("POS pass", POS, "pos", {1: times_faster(5), 2: times_faster(8)})


def error_pass() -> Iterator[Figure]:
    """Segment errors of the chunker, smoothed, with their gradient (Suzuki 2006): at most 2.5 likelihood passes."""
    weights, corpus = trained_weights(CHUNKING), corpus_of(CHUNKING)
    for threads in (1, 2):
        errors = segment_errors(CHUNKING, corpus, "chunk", threads=threads)
        yield Figure(
            f"segment errors, {threads} thread{'s' if threads > 1 else ''}",
            seconds_of(lambda: errors.value_and_gradient(weights), ROUNDS),  # noqa: B023
            "s",
            "the best labellings that agree and disagree with each gold segment, and each segment of the best wrong "
            "labelling, F-score and gradient; peer: our own likelihood pass at the same weights and threads",
            times_faster(1 / 2.5), _pass(CHUNKING, threads),
        )  # fmt: skip


def factorial_pass() -> Iterator[Figure]:
    """The factorial model of two chains (44 × 3): one pass, exact and by TRP, and an exact sentence of pyAgrum."""
    corpus = corpus_of(FACTORIAL)
    work = "-log p(y|x), penalty and gradient, all sentences and features; TRP stops where no message moves by 1e-3"
    exact, trp = _pass(FACTORIAL, 2, "exact"), _pass(FACTORIAL, 2, "trp(tolerance = 1e-3, seed = 0)")
    yield Figure("factorial pass, exact, 2 threads", exact, "s", work, at_most(0.4))
    yield Figure("factorial pass, trp, 2 threads", trp, "s", work, at_most(1.2))
    try:
        tree: float | str = peers.pyagrum_exact(corpus.num_tokens // corpus.num_sentences, 44, 3, max(3, ROUNDS))
    except Skip as reason:
        tree = str(reason)
    yield Figure(
        "a sentence of it, exact", exact / corpus.num_sentences, "s",
        "ours: the exact pass above by its sentences, features and gradient included; pyAgrum: a junction tree and all "
        "marginals of one sentence of mean length, all its cores, no features, no gradient",
        None, tree,
    )  # fmt: skip


def messages() -> Iterator[Figure]:
    """Belief propagation on a loopy graph that has no kernel of its own: messages a second on one core."""
    cards, length = 45, 10 if SMOKE else 25
    scopes = [(chain * length + t - 1, chain * length + t) for chain in range(3) for t in range(1, length)]
    scopes += [(chain * length + t, (chain + 1) * length + t) for chain in range(2) for t in range(length)]
    scopes += [(t, t + length // 2) for t in range(length // 2)]  # skip edges
    draw = np.random.default_rng(0).normal
    tables = tuple(draw(size=(cards, cards)) for _ in scopes)
    graph = FactorGraph((cards,) * (3 * length), tuple(scopes), tables)

    def seconds(sweeps: int) -> float:
        settings = BpSettings(schedule="flood", max_iterations=sweeps, tolerance=1e-300)
        start = time.perf_counter()
        infer_graph(graph, "mar", settings)
        return time.perf_counter() - start

    few, many = (20, 60) if SMOKE else (10, 90)  # a run at rounding error is damped after 100 rounds, and does more
    seconds(few)  # compiles
    sweep = np.median([seconds(many) - seconds(few) for _ in range(max(3, 5 * ROUNDS))]) / (many - few)
    try:
        other: float | str = peers.pgmax_updates(cards, scopes, 3 * length, 10 if SMOKE else 50)
    except Skip as reason:
        other = str(reason)
    yield Figure(
        "messages, 45 × 45 tables", float(2 * len(scopes) / sweep), "updates/s",
        "both: three coupled chains with skip edges, sum-product, every message of every sweep, set-up left out; "
        "ours on one core in double, PGMax compiled by JAX on all cores in single precision",
        at_least(3e6), other,
    )  # fmt: skip
