"""Hypothesis strategies and fixed families: small factor graphs with every awkward feature."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from dcrfdsl.graph import FactorGraph


def random_tables(cards, scopes, seed, scale=1.0, zeros=0.0):
    """Gaussian log tables; a share `zeros` of the entries is forbidden, but never the all-zero labelling."""
    generator = np.random.default_rng(seed)
    tables = []
    for scope in scopes:
        shape = tuple(cards[v] for v in scope)
        table = generator.normal(0, scale, shape)
        table[generator.random(shape) < zeros] = -np.inf
        table[(0,) * len(shape)] = generator.normal(0, scale)
        tables.append(table)
    return tuple(tables)


def chain(length, states):
    return (states,) * length, tuple([(t,) for t in range(length)] + [(t, t + 1) for t in range(length - 1)])


def factorial(length, cards):
    many = len(cards)
    scopes = [(t * many + m,) for t in range(length) for m in range(many)]
    scopes += [(t * many + m, (t + 1) * many + m) for t in range(length - 1) for m in range(many)]
    scopes += [(t * many + m, t * many + m + 1) for t in range(length) for m in range(many - 1)]
    return tuple(cards) * length, tuple(scopes)


def second_order(length, states):
    triples = [(t, t + 1, t + 2) for t in range(length - 2)]
    return (states,) * length, tuple([(t,) for t in range(length)] + triples)


FAMILIES = {
    "one variable": ((3,), ((0,),)),
    "no factor": ((2, 3), ()),
    "chain": chain(5, 3),
    "chain without unaries": ((2,) * 5, tuple((t, t + 1) for t in range(4))),
    "tree": ((2, 3, 2, 4, 2), ((0, 1), (1, 2), (1, 3), (3, 4), (2,))),
    "two components and an isolated variable": ((2, 3, 2, 2, 4), ((0, 1), (2, 3), (3,))),
    "cycle": ((3,) * 4, ((0, 1), (1, 2), (2, 3), (3, 0))),
    "factorial": factorial(3, (2, 3)),
    "three chains": factorial(2, (2, 2, 3)),
    "second order": second_order(5, 2),
    "same scope twice": ((2, 3), ((0, 1), (1, 0), (0, 1), (0,), (0,))),
    "one-state variables": ((1, 3, 1, 2), ((0, 1), (1, 2), (2, 3), (0,), (3, 0))),
    "four-variable clique": ((2, 2, 3, 2, 2), ((0, 1, 2, 3), (3, 4), (0, 4), (2,))),
}
TREES = (
    "one variable",
    "chain",
    "chain without unaries",
    "tree",
    "two components and an isolated variable",
    "no factor",
)


@st.composite
def factor_graphs(draw, max_variables=6, max_factors=8, zeros=True):
    """Any small graph: factors of one to three variables, some forbidden entries, a wide range of scales."""
    cards = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_variables)))
    possible = [
        scope
        for arity in (1, 2, 3)
        if arity <= len(cards)
        for scope in itertools.permutations(range(len(cards)), arity)
    ]
    scopes = tuple(draw(st.lists(st.sampled_from(possible), max_size=max_factors)))
    scale = draw(st.sampled_from([0.0, 1.0, 5.0, 300.0]))
    share = draw(st.sampled_from([0.0, 0.3])) if zeros else 0.0
    return FactorGraph(cards, scopes, random_tables(cards, scopes, draw(st.integers(0, 10**6)), scale, share))
