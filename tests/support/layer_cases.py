"""Templates that read scores alone, and the score of every labelling by hand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from dcrfdsl.foundation import Floats
from dcrfdsl.integrations import ScoredTemplate

CHAIN = """
data jsonl(logits: scores(tag), tag)
label tag in {A, B, C}
clique tag: offset(logits)
clique tag[-1], tag
"""
# name -> template, shape of each column
STRUCTURES = {
    "chain": (CHAIN, {"logits": (3,)}),
    "moves": (
        "data jsonl(a: scores(y), m: scores(y, y), y)\nlabel y in {P, Q}\nclique y: offset(a)\n"
        "clique y[-1], y: offset(m)\n",
        {"a": (2,), "m": (2, 2)},
    ),
    "second order": (
        "data jsonl(a: scores(y), y)\nlabel y in {P, Q}\nclique y: offset(a)\nclique y[-2], y[-1], y\n",
        {"a": (2,)},
    ),
    "segments of a scheme": (
        "data jsonl(a: scores(y), y)\nlabel y in bio(X)\nclique y: offset(a)\nclique y[-1], y\n",
        {"a": (3,)},
    ),
    "two layers": (
        "data jsonl(a: scores(y), b: scores(z), c: scores(y, z), y, z)\nlabel y in {P, Q}\nlabel z in {1, 2, 3}\n"
        "clique y: offset(a)\nclique z: offset(b)\nclique y, z: offset(c)\nclique y[-1], y\nclique z[-1], z\n",
        {"a": (2,), "b": (3,), "c": (2, 3)},
    ),
    "two columns": (
        "data jsonl(a: scores(y), b: scores(y), y)\nlabel y in {P, Q}\nclique y: offset(a), offset(b), bias\n"
        "clique y[-1], y\n",
        {"a": (2,), "b": (2,)},
    ),
    "latent": (
        "data jsonl(a: scores(h), y)\nlabel y in {P, Q}\nlatent h in 3\nclique h: offset(a)\nclique y, h\n"
        "clique h[-1], h\n",
        {"a": (3,)},
    ),
    "memory": (
        "data jsonl(a: scores(y), y)\nlabel y in {O, P, Q}\n"
        "memory last in states(y) = last[-1] if y[-1] is O else y[-1] initially O\n"
        "clique y: offset(a)\nclique last[-1], y\n",
        {"a": (3,)},
    ),
    "moves with a price": (
        "data jsonl(a: scores(y), y)\nlabel y in {P, Q, R}\nclique y: offset(a)\nclique y[-1], y\n"
        "forbid y[-1] is P and y is R with cost = 0.7\n",
        {"a": (3,)},
    ),
    "runs": (
        "data jsonl(a: scores(y), y)\nlabel y in {P, Q, R}\nclique y: offset(a)\nclique y[-1], y\nruns of y from 2\n",
        {"a": (3,)},
    ),
    "forbidden moves": (
        "data jsonl(a: scores(y), y)\nlabel y in {P, Q, R}\nclique y: offset(a)\nclique y[-1], y\n"
        "forbid y[-1] is P and y is R\n",
        {"a": (3,)},
    ),
    "view": (
        'data jsonl(a: scores(v), y)\nlabel y in {Pa, Pb, Qa}\nview v = y if y is Qa else "P"\n'
        "clique v: offset(a)\nclique y[-1], y\n",
        {"a": (2,)},
    ),
}
LENGTHS = (3, 1, 0, 4)


def total_scores(
    template: ScoredTemplate, weights: Floats, scores: Mapping[str, Floats], s: int
) -> dict[tuple[int, ...], float]:
    """The score of every labelling of sentence s: a sum over cliques of weights [W] and scores, [B, T, …] by column."""
    length, graph = LENGTHS[s], template.graph
    found: dict[tuple[int, ...], float] = {}
    for states in itertools.product(*(range(card) for _ in range(length) for card in graph.cards)):
        at = {(t, m): states[t * len(graph.cards) + m] for t in range(length) for m in range(len(graph.cards))}
        score = 0.0
        for number, one in enumerate(graph.templates):
            for t in one.anchors(length):
                sites = [(t + offset, m) for offset, m in zip(one.offsets, one.variables, strict=True)]
                own = tuple(at[site] for site in sites)
                if one.allowed is not None and not one.allowed[own]:
                    score = -np.inf
                seen = tuple(int(see[state]) for see, state in zip(one.seen_states, own, strict=True))
                assignment = int(np.ravel_multi_index(seen, one.weight_cards))
                if one.given is not None:
                    score += sum(scores[term.column][s, t].reshape(-1)[assignment] for term in one.given.terms)
                elif one.coded is not None:  # a rule with a price
                    score += float(one.coded[(0, *own)])
                elif one.has_bias:
                    bias = template.parameters.cliques[number].bias
                    place = np.flatnonzero(bias == assignment)
                    score += sum(weights[template.parameters.bias_start(number) + place])
        if score > -np.inf:
            found[states] = score
    return found


def agreeing(
    template: ScoredTemplate, totals: Mapping[tuple[int, ...], float], tags: Mapping[str, Floats], s: int
) -> list[float]:
    """The scores of the labellings of sentence s that agree with codes [B, T] by label; -1 agrees with every state."""
    variables = template.graph.variables
    return [
        value
        for states, value in totals.items()
        if all(
            int(tags[label][s, t]) in (-1, states[t * len(variables) + variables.index(label)])
            for label in template.labels
            for t in range(LENGTHS[s])
        )
    ]
