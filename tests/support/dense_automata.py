"""Random automata over random sentences, and the same by dense matrices over all pairs of states."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from template_cases import Case

from dcrfdsl.inference import METHODS, Binder
from dcrfdsl.kernels.automaton import Automaton, AutomatonTables, automaton_of
from dcrfdsl.training.untrained_model import assemble

INF = np.inf
NOTHING = np.zeros(0)
LENGTHS = [1, 1, 2, 3, 17, 4, 4, 4, 5, 9, 30, 2, 7, 6, 6, 6, 6, 8, 12, 3, 1, *[3, 5, 2, 7] * 4]  # more than lanes


class Sentences:
    """Bound sentences with features of one label per column, as the product binds them."""

    def __init__(self, *cards: int):
        draw = np.random.default_rng(7)
        names = [f"y{v}" for v in range(len(cards))]
        states = ["{" + ", ".join(f"L{n:03}" for n in range(card)) + "}" for card in cards]
        text = f"data conll(word, {', '.join(names)})\n"
        for name, values in zip(names, states, strict=True):
            text += f"label {name} in {values}\nclique {name}: bias, word, word[-1]\n"
        sentences = [
            [(f"w{draw.zipf(1.4) % 50}", *(f"L{draw.integers(card):03}" for card in cards)) for _ in range(length)]
            for length in LENGTHS
        ]
        case = Case(text, sentences)
        corpus = case.corpus()
        known = assemble(case.resolved().require(), corpus, {}, {})
        parameters, _ = known.learn_parameters()
        binder = Binder(known.graph, parameters, programs=METHODS["exact"].programs)
        self.plain = binder.bind(known.rows, corpus.sentence_off, known.relations)
        self.packed = self.plain.packed()
        self.cards, self.num_weights = np.array(cards), parameters.num_weights
        self.kinds = [k for k, kind in enumerate(known.graph.kinds) if kind.template.feature_set >= 0]

    def rows(self, s: int, t: int):
        """The weights of features that fire at a position: (variable, weight, label, value)."""
        d = self.plain
        for v, k in enumerate(self.kinds):
            row = d.rows.first_row[d.kinds.feature_set[k], s] + t
            for i in range(d.rows.row_off[row], d.rows.row_off[row + 1]):
                run = d.kinds.run_base[k] + d.rows.feature[i]
                for e in range(d.bindings.run_off[run], d.bindings.run_off[run + 1]):
                    yield v, d.bindings.num_bias + e, d.bindings.entry[e]


@functools.cache
def sentences(*cards: int) -> Sentences:
    return Sentences(*cards)


class Machine(NamedTuple):
    labels: np.ndarray  # [S, V]
    automaton: Automaton
    tables: AutomatonTables


def reached_by(target_group) -> np.ndarray:
    """Pairs of states and groups; -1 is no group, and a state may have a list of them."""
    groups = [(k, g) for k, of in enumerate(target_group) for g in (of if isinstance(of, list) else [of]) if g >= 0]
    return np.array(groups, np.int64).reshape(-1, 2)


def machine(
    data: Sentences, labels, pairs, source_group, target_group, *, classes=None, seed=0, scale=1.0, tables=None
) -> Machine:
    """An automaton with potentials drawn at random. target_group: the groups from which each state is reached."""
    labels = np.asarray(labels).reshape(len(labels), -1)
    source, target = np.array(sorted(pairs, key=lambda pair: pair[::-1]), np.int64).reshape(-1, 2).T
    automaton = automaton_of(
        labels, data.cards, np.array(data.kinds), np.arange(len(data.kinds)), source, target,
        np.asarray(source_group), reached_by(target_group), classes,
    )  # fmt: skip
    draw, n = np.random.default_rng(seed), len(labels)
    drawn = AutomatonTables(*(draw.normal(0, scale, size) for size in (n, n, n, len(source))))
    return Machine(labels, automaton, (tables or (lambda drawn, _: drawn))(drawn, draw))


class Dense:
    """The same by full matrices."""

    def __init__(self, data: Sentences, machine: Machine, weights: np.ndarray):
        self.data, self.weights = data, weights
        self.labels, self.automaton, self.tables = machine
        a = self.automaton
        self.class_of = a.class_of
        self.pair = np.full((a.states, a.states), -INF)
        for g in range(a.groups):
            reached = a.reached[a.reached_off[g] : a.reached_off[g + 1]]
            self.pair[np.ix_(a.source_group[self.class_of] == g, reached)] = 0.0
        for q, (source, target) in enumerate(zip(a.source, a.target, strict=True)):
            self.pair[self.class_of == source, target] = self.tables.transition[q]

    def scores(self, s: int) -> np.ndarray:
        local = np.tile(self.tables.state, (LENGTHS[s], 1))
        for t in range(LENGTHS[s]):
            for v, weight, label in self.data.rows(s, t):
                local[t, self.labels[:, v] == label] += self.weights[weight]
        local[0] += self.tables.first
        local[-1] += self.tables.last
        return local

    def sums(self, s: int):
        """(log Z, state marginals [T, S], expected transitions [S, S])"""
        local, pair = self.scores(s), self.pair
        alpha, beta = [local[0]], [np.zeros(len(pair))]
        for t in range(1, len(local)):
            alpha.append(local[t] + logsumexp(alpha[-1][:, None] + pair, axis=0))
            beta.insert(0, logsumexp(pair + (local[-t] + beta[0])[None, :], axis=1))
        log_z = logsumexp(alpha[-1])
        pairs = np.zeros_like(pair)
        if log_z > -INF:
            for t in range(1, len(local)):
                pairs += np.exp(alpha[t - 1][:, None] + pair + (local[t] + beta[t])[None, :] - log_z)
        return log_z, np.exp(np.array(alpha) + np.array(beta) - log_z), pairs

    def best(self, s: int):
        local, moves = self.scores(s), []
        best = local[0]
        for t in range(1, len(local)):
            ways = best[:, None] + self.pair
            moves.append(ways.argmax(axis=0))
            best = local[t] + ways.max(axis=0)
        path = [int(best.argmax())]
        for move in reversed(moves):
            path.insert(0, int(move[path[0]]))
        return best.max(), self.labels[path]
