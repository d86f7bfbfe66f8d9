"""The value of every criterion by enumeration of all labellings, from the formulas alone and without the engine.

Each is a function of the enumerated sentences and the weights. If labels are latent or missing, the labellings that
agree with all known labels are right, and the others are wrong. Not here: which criterion belongs to which function
(`criteria_rows`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import reference
from criteria_cases import Enumerated, Key, Structure, segments_of
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Value = Callable[["Problem", Floats], float]


@dataclass
class Problem:
    """The sentences of a structure, enumerated. keys: the key of each weight, by number."""

    structure: Structure
    keys: Mapping[Key, int]
    sentences: list[Enumerated] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sentences = [Enumerated(self.structure, sentence, self.keys) for sentence in self.structure.sentences]


def log_sum(values: Any) -> float:
    scores = np.asarray(values, float)
    return reference.log_sum(scores) if len(scores) else -math.inf


# sums over labellings -------------------------------------------------------------------------------------------------


def likelihood(problem: Problem, weights: Floats) -> float:
    total = 0.0
    for sentence in problem.sentences:
        scores = sentence.counts @ weights
        total += log_sum(scores) - log_sum(scores[sentence.agrees])
    return total


def marginal(problem: Problem, weights: Floats) -> float:
    total = 0.0
    for sentence in problem.sentences:
        scores = sentence.counts @ weights
        for name, cells in sentence.known.items():
            for t, gold in enumerate(cells):
                if gold is not None:
                    here = sentence.where(lambda y: y[name][t] == gold)  # noqa: B023
                    total += log_sum(scores) - log_sum(scores[here])
    return total


def wrong_ratio(sentence: Enumerated, weights: Floats) -> float:
    """log of Σ exp g over the wrong labellings, minus the same over the right ones."""
    scores = sentence.counts @ weights
    return log_sum(scores[~sentence.agrees]) - log_sum(scores[sentence.agrees])


def exponential(weight: float | None) -> Value:
    """The exponential risk. weight: None for `uniform`, under which each sequence counts 1 at λ = 0."""

    def value(problem: Problem, weights: Floats) -> float:
        total = 0.0
        for sentence in problem.sentences:
            at_zero = wrong_ratio(sentence, np.zeros_like(weights))
            if math.isfinite(at_zero):
                share = -at_zero if weight is None else sentence.num_labels * math.log(weight)
                total += math.exp(share + wrong_ratio(sentence, weights))
        return total

    return value


def shares(problem: Problem, weight: float | None) -> list[float]:
    """D_0 of each wrong labelling, one value per sentence; they sum to 1 over all labellings of all sentences."""
    wrong = [int((~sentence.agrees).sum()) for sentence in problem.sentences]
    each = [
        1.0 / n if weight is None else weight**sentence.num_labels
        for n, sentence in zip(wrong, problem.sentences, strict=True)
    ]
    total = sum(n * one for n, one in zip(wrong, each, strict=True))
    return [one / total for one in each]


def boosted(weight: float | None) -> Value:
    def value(problem: Problem, weights: Floats) -> float:
        shared_sentences = zip(problem.sentences, shares(problem, weight), strict=True)
        return sum(share * math.exp(wrong_ratio(sentence, weights)) for sentence, share in shared_sentences)

    return value


def least_bound(
    problem: Problem, weights: Floats, weight: float | None, max_step: float
) -> tuple[Floats, Callable[[int, float], float]]:
    """For each weight the least bound on the risk after a step, and the bound as a function of weight and step.

    In each sequence F_k(y) − F_k(y*) lies between L = −F_k(y*) and U = L + the number of places where the feature of k
    fires (Altun 2003 eq. 16, bounds per sequence); where it cannot fire, the risk is unchanged. The sum of the
    two-point bounds is convex in the step; if all evidence is on one side, the step is `max_step`.
    """
    parts: list[list[tuple[float, float, float, float]]] = [[] for _ in problem.keys]  # L, U, risk at L, risk at U
    still = np.zeros(len(problem.keys))
    for sentence, share in zip(problem.sentences, shares(problem, weight), strict=True):
        fires: dict[tuple[str, str], int] = {}
        for instance in sentence.instances:
            for feature in instance.features:
                fires[instance.clique, feature] = fires.get((instance.clique, feature), 0) + 1
        gold = sentence.counts[sentence.agrees][0]
        u = sentence.counts[~sentence.agrees] - gold
        risk = share * np.exp(u @ weights)
        for key, k in problem.keys.items():
            low, high = -gold[k], fires.get(key[:2], 0) - gold[k]
            if high > low:
                at_low = float(risk @ (high - u[:, k])) / (high - low)
                parts[k].append((low, high, at_low, float(risk.sum()) - at_low))
            else:
                still[k] += float(risk.sum())

    def promise(k: int, step: float) -> float:
        return still[k] + sum(a * math.exp(step * low) + b * math.exp(step * high) for low, high, a, b in parts[k])

    def least(k: int) -> float:
        is_open = any(low < 0 for low, *_ in parts[k]) and any(high > 0 for _, high, *_ in parts[k])
        low, high = (-20.0, 20.0) if is_open else (-max_step, max_step)
        for _ in range(80):
            third = (high - low) / 3
            if promise(k, low + third) < promise(k, high - third):
                high -= third
            else:
                low += third
        return promise(k, (low + high) / 2)

    return np.array([least(k) for k in problem.keys.values()]), promise


# the best labellings --------------------------------------------------------------------------------------------------


def perceptron(problem: Problem, weights: Floats) -> float:
    total = 0.0
    for sentence in problem.sentences:
        scores = sentence.counts @ weights
        total += float(scores.max() - scores[sentence.agrees].max())
    return total


def perceptron_steps(problem: Problem, start: Floats, epochs: int, average: bool, seed: int = 0) -> Floats:
    """The weights after `epochs` passes (Collins 2002, figure 2), in the order drawn by the seed."""
    generator = np.random.default_rng(seed)
    weights, summed, seen = start.copy(), np.zeros_like(start), 0
    for _ in range(epochs):
        moved = False
        for number in generator.permutation(len(problem.sentences)).tolist():
            sentence = problem.sentences[number]
            scores = sentence.counts @ weights
            best = sentence.counts[int(scores.argmax())]
            right = sentence.counts[sentence.agrees][int(scores[sentence.agrees].argmax())]
            if not sentence.agrees[int(scores.argmax())]:
                moved = moved or bool((best != right).any())
                weights = weights + right - best
            summed += weights
            seen += 1
        if not moved:
            break
    return summed / seen if average else weights


def wrong_states(sentence: Enumerated) -> Floats:
    """For each labelling the number of its states that contradict known labels."""
    errors = [
        sum(
            gold is not None and labelling[name][t] != gold
            for name, cells in sentence.known.items()
            for t, gold in enumerate(cells)
        )
        for labelling in sentence.labellings
    ]
    return np.array(errors, float)


def cost_of_states(sentence: Enumerated, pairs: Mapping[tuple[str, str], float], others: float) -> Floats:
    """For each labelling the sum of what its wrong states of `y` cost, by gold and predicted state."""
    costs = [
        sum(
            pairs.get((gold, predicted), others)
            for gold, predicted in zip(sentence.known["y"], labelling["y"], strict=True)
            if gold is not None and predicted != gold
        )
        for labelling in sentence.labellings
    ]
    return np.array(costs, float)


def wrong_segments(sentence: Enumerated, missed: float = 1.0, false: float = 1.0) -> Floats:
    """For each labelling what the gold segments of `y` cost that it misses, and its segments that are no gold ones."""
    gold = segments_of([str(state) for state in sentence.known["y"]])
    found = [segments_of(labelling["y"]) for labelling in sentence.labellings]
    return np.array([missed * len(gold - one) + false * len(one - gold) for one in found], float)


def softmax_margin(cost: Callable[[Enumerated], Floats]) -> Value:
    """Gimpel & Smith 2010: each labelling counts exp of its score and its cost.   cost: of every labelling."""

    def value(problem: Problem, weights: Floats) -> float:
        total = 0.0
        for sentence in problem.sentences:
            scores = sentence.counts @ weights
            total += log_sum(scores + cost(sentence)) - log_sum(scores[sentence.agrees])
        return total

    return value


def hmsvm(
    kind: str | Callable[[Enumerated], Floats], slack: str, cost: float, weight: float = 1.0, pairs: Any = None,
    others: float = 1.0,
) -> Value:  # fmt: skip
    """½ ‖λ‖² + C Σ ξ; y_i is the best labelling that agrees with the known labels. pairs: costs, if `kind` is cost."""

    def value(problem: Problem, weights: Floats) -> float:
        total = 0.5 * float(weights @ weights)
        for sentence in problem.sentences:
            scores = sentence.counts @ weights
            loss = wrong_states(sentence) if kind == "hamming" else (~sentence.agrees).astype(float)
            if kind == "cost":
                loss = cost_of_states(sentence, pairs, others)
            if kind == "segments":
                loss = wrong_segments(sentence)
            if not isinstance(kind, str):
                loss = kind(sentence)
            violation = (loss - 0.5 * (scores[sentence.agrees].max() - scores))[~sentence.agrees]
            violation = np.maximum(violation, 0.0)
            if slack == "sequence":
                total += cost * float(violation.max(initial=0.0))
            else:
                total += cost * weight**sentence.num_labels * float(violation.sum())
        return total

    return value


# rescaling, counting, penalties --------------------------------------------------------------------------------------


def scaled(problem: Problem, weights: Floats, per: str) -> tuple[list[object], Callable[[Floats], float]]:
    """The key of each subset of weights, and the likelihood as a function of the factors of the subsets."""
    sites = {
        instance.clique: tuple(name for name, _ in instance.sites)
        for sentence in problem.sentences
        for instance in sentence.instances
    }

    def subset(key: Key) -> object:
        clique, _, states = key
        n = {"label": -1, "source": 0}.get(per)
        return clique if n is None else (sites[clique][n], states[n])

    keys = [subset(key) for key in problem.keys]
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    index = np.array([numbers[key] for key in keys])
    return keys, lambda factors: likelihood(problem, factors[index] * weights)


def joint_log_probability(problem: Problem, smoothing: float, moves: float) -> Callable[[Enumerated, int], float]:
    """log p(y, x) of a labelling of the chain: p(y_0), p(y_t | y_{t-1}) and p(word | y) by counting."""
    states, sentences = problem.structure.states["y"], problem.structure.sentences
    words = sorted({row[0] for sentence in sentences for row in sentence})
    first = dict.fromkeys(states, 0)
    steps = dict.fromkeys(itertools.product(states, states), 0)
    emitted = dict.fromkeys(itertools.product(states, words), 0)
    for sentence in sentences:
        first[sentence[0][1]] += 1
        for before, after in itertools.pairwise(sentence):
            steps[before[1], after[1]] += 1
        for word, state in sentence:
            emitted[state, word] += 1
    from_state = {a: sum(steps[a, b] for b in states) for a in states}
    often = {a: sum(emitted[a, w] for w in words) for a in states}

    def log_p(enumerated: Enumerated, number: int) -> float:
        y = enumerated.labellings[number]["y"]
        total = math.log((first[y[0]] + moves) / (sum(first.values()) + moves * len(states)))
        for a, b in itertools.pairwise(y):
            total += math.log((steps[a, b] + moves) / (from_state[a] + moves * len(states)))
        for state, word in zip(y, enumerated.words, strict=True):
            total += math.log((emitted[state, word] + smoothing) / (often[state] + smoothing * (len(words) + 1)))
        return total

    return log_p


PENALTIES: Mapping[str, Callable[[Floats], float]] = {
    "none": lambda w: 0.0,
    "gaussian(variance = 3)": lambda w: float(w @ w) / 6.0,
    "lphi(phi = 1.5, C = 2)": lambda w: float((np.abs(w) ** 1.5).sum()) / 3.0,
    "elastic_net(l1 = 0, l2 = 0.3)": lambda w: 0.3 * float(w @ w),
}
