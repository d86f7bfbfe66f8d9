"""Coupled models of other shapes than two chains: four chains, four layers tied in a position, edges that skip a
position, cliques of three variables.

Labels and words are drawn at random: the time of exact inference does not depend on them, that of messages little.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from unittest import mock

import numpy as np
from figures import Figure, seconds_of, times_faster
from work import ROUNDS, SMOKE, objective

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.graph import unroll
from dcrfdsl.semantics.resolve.resolution import load_text

SENTENCES = 20 if SMOKE else 200
METHODS = ("exact", "trp(tolerance = 1e-3, seed = 0)")


def _template(labels: int, edges: tuple[str, ...]) -> str:
    names = [f"y{n}" for n in range(labels)]
    lines = [f"data conll(word, {', '.join(names)})", *(f"label {name}" for name in names)]
    lines += [f"clique {name}: bias, word[-1..1]" for name in names]
    lines += [f"clique {edge} with states = all" for edge in edges]
    return "\n".join([*lines, "train likelihood: prior = gaussian(variance = 5)"]) + "\n"


_CHAINS = (*(f"y{n}[-1], y{n}" for n in range(4)), *(f"y{a}, y{b}" for a, b in itertools.pairwise(range(4))))
_TIES = ("y0, y1", "y0, y2", "y0, y3", "y1, y2", "y3, y1")  # those of templates/morphology.dcrf
_LAYERS = _template(4, (*_CHAINS[:4], *_TIES))
STATES = (12, 9, 12, 8)  # and the states of its layers in the demo
SHAPES = {  # template, labels, states of each
    "four chains of 6": (_template(4, _CHAINS), 4, 6),
    "skip edges, 20 states": (_template(1, ("y0[-1], y0", "y0[-2], y0")), 1, 20),
    "triples, 20 and 4 states": (_template(2, ("y0[-1], y0, y1", "y1[-1], y1")), 2, (20, 4)),
}


def random_corpus(text: str, labels: int, states: int | tuple[int, ...]) -> Corpus:
    """Sentences of 5 to 44 words; states: of all labels, or of each."""
    draw = np.random.default_rng(0)
    cards = (states,) * labels if isinstance(states, int) else states
    rows = []
    for length in draw.integers(5, 45, size=SENTENCES).tolist():
        words = np.minimum(draw.zipf(1.4, length), 5000).tolist()
        tags = np.stack([draw.integers(card, size=length) for card in cards], axis=1).tolist()
        rows.append([(f"w{word}", *(f"L{tag}" for tag in row)) for word, row in zip(words, tags, strict=True)])
    return corpus_from_rows(rows, load_text(text).require().data)


def shape_passes() -> Iterator[Figure]:
    """Four chains, skip edges, cliques of three variables: a pass by exact inference and by TRP, one thread."""
    for name, (text, labels, states) in SHAPES.items():
        corpus = random_corpus(text, labels, states)
        for method in METHODS:
            criterion = objective(text, corpus, threads=1, method=method)
            weights = np.random.default_rng(0).normal(scale=0.1, size=criterion.num_weights)
            seconds = seconds_of(lambda pass_=criterion, at=weights: pass_.value_and_gradient(at), ROUNDS)
            yield Figure(
                f"{name}, {method.partition('(')[0]}", seconds / corpus.num_tokens * 1e6, "µs/token",
                f"-log p(y|x), penalty and gradient, {SENTENCES} sentences, all features, one thread",
            )  # fmt: skip
    yield _tied_layers()


def _tied_layers() -> Figure:
    """Four layers whose ties have one table together, beside the same with these tables one by one."""
    corpus = random_corpus(_LAYERS, 4, STATES)
    together = objective(_LAYERS, corpus, threads=1, method="exact")
    with mock.patch.object(unroll, "candidate_products", lambda *_: []):
        one_by_one = objective(_LAYERS, corpus, threads=1, method="exact")
    weights = np.random.default_rng(0).normal(scale=0.1, size=together.num_weights)
    seconds, without = (
        seconds_of(lambda pass_=criterion: pass_.value_and_gradient(weights), ROUNDS)  # type: ignore[misc]
        for criterion in (together, one_by_one)
    )
    return Figure(
        "four tied layers of 12, 9, 12 and 8, exact", seconds, "s",
        f"-log p(y|x), penalty and gradient, {SENTENCES} sentences, one thread; peer: the ties one by one",
        times_faster(1.2), without,
    )  # fmt: skip
