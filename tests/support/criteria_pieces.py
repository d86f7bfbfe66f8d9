"""The losses of pieces by enumeration of their states, for the structures of `criteria_cases`.

The pieces that a shorthand stands for are spelled out here on clique instances, not on a template. Source: McCallum &
Sutton 2004 §2 and 3. Not here: all other criteria (`criteria_twin`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from criteria_cases import Enumerated, Instance
from criteria_twin import Problem, Value, log_sum
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Place = tuple[str, int]
PieceAt = tuple[tuple[Place, ...], list[int]]  # the places that a piece is over, the numbers of its clique instances
Rule = Callable[[Sequence[Instance], Sequence[str]], Iterator[PieceAt]]


def by_clique(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
    """One piece per clique instance."""
    yield from ((instance.sites, [n]) for n, instance in enumerate(instances))


def joined_apart(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
    """The same, except that one piece over every position has all instances that the data joins, if any."""
    yield from ((instance.sites, [n]) for n, instance in enumerate(instances) if instance.clique != "again")
    everywhere = sorted({site for instance in instances for site in instance.sites})
    yield tuple(everywhere), [n for n, instance in enumerate(instances) if instance.clique == "again"]


def by_site(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
    for n, instance in enumerate(instances):
        for site in instance.sites:
            yield (site,), [n]


def by_variable(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
    for place in dict.fromkeys(site for instance in instances for site in instance.sites):
        yield (place,), [n for n, instance in enumerate(instances) if place in instance.sites]


def directed(first: bool = False, by_slice: bool = False) -> Rule:
    """Each instance belongs to the piece of its last variable (or its first); one piece per variable, or position."""

    def rule(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
        choose = min if first else max
        ends = [choose(instance.sites, key=lambda site: (site[1], names.index(site[0]))) for instance in instances]
        if not by_slice:
            for place in dict.fromkeys(ends):
                yield (place,), [n for n, end in enumerate(ends) if end == place]
            return
        for t in sorted({t for _, t in ends}):
            yield tuple((name, t) for name in names), [n for n, end in enumerate(ends) if end[1] == t]

    return rule


def both_ways(instances: Sequence[Instance], names: Sequence[str]) -> Iterator[PieceAt]:
    yield from directed()(instances, names)
    yield from directed(first=True)(instances, names)


@dataclass
class Cases:
    """The cases in which NOTA is right. reach: `all` wrong joint values of the variables that a piece conditions on, or
    those with `one` wrong variable.   chosen: whether a case is included; None: all are.
    """

    reach: str = "all"
    chosen: Callable[[Enumerated, Mapping[Place, str]], bool] | None = None

    def holds(self, sentence: Enumerated, case: Mapping[Place, str], differ: int) -> bool:
        """Whether a case is included in which `differ` variables differ from the gold."""
        reached = differ > 0 if self.reach == "all" else differ == 1
        return reached and (self.chosen is None or self.chosen(sentence, case))


def pieces(rule: Rule, nota: Cases | None = None, divide: bool = False) -> Value:
    """Σ −log p̃ of each piece given the other variables of its cliques (McCallum & Sutton 2004 §2, 3)."""

    def value(problem: Problem, weights: Floats) -> float:
        states = problem.structure.states
        names = list(states)
        total = 0.0
        for sentence in problem.sentences:
            gold = {(name, t): state for name, cells in sentence.known.items() for t, state in enumerate(cells)}
            instances_of_pieces = list(rule(sentence.instances, names))
            times = [sum(n in held for _, held in instances_of_pieces) for n in range(len(sentence.instances))]

            def score(held: Sequence[int], at: Mapping[Place, str]) -> float:
                """The score of some instances; `at` has the states of all their variables."""
                summed = 0.0
                for n in held:
                    instance = sentence.instances[n]  # noqa: B023
                    key_states = tuple(at[site] for site in instance.sites)
                    for feature in instance.features:
                        k = problem.keys.get((instance.clique, feature, key_states))
                        if k is not None:
                            summed += weights[k] / (times[n] if divide else 1)  # noqa: B023
                return summed

            for over, held in instances_of_pieces:
                touched = {site for n in held for site in sentence.instances[n].sites}
                neighbours = sorted(touched - set(over))
                right = {place: gold.get(place) for place in neighbours}

                def outcomes(at: Mapping[Place, Any], free: Sequence[Place], held: list[int] = held) -> list[float]:
                    every = itertools.product(*(states[name] for name, _ in free))
                    return [score(held, {**at, **dict(zip(free, one, strict=True))}) for one in every]

                none = [0.0] if nota is not None else []
                unknown = [place for place in over if gold.get(place) is None]
                known = {place: gold[place] for place in over if gold.get(place) is not None}
                gold_score = log_sum(outcomes({**right, **known}, unknown))
                total += log_sum([*outcomes(right, over), *none]) - gold_score
                if nota is None:
                    continue
                for one in itertools.product(*(states[name] for name, _ in neighbours)):
                    case = dict(zip(neighbours, one, strict=True))
                    differ = sum(case[place] != right[place] for place in neighbours)
                    if nota.holds(sentence, case, differ):
                        total += log_sum([*outcomes(case, over), 0.0])
        return total

    return value


def likely_cases(weights: Floats, threshold: float) -> Cases:
    """The cases whose joint marginal under the model is above a threshold."""

    def chosen(sentence: Enumerated, case: Mapping[Place, str]) -> bool:
        scores = sentence.counts @ weights
        here = sentence.where(lambda y: all(y[name][t] == state for (name, t), state in case.items()))
        return math.exp(log_sum(scores[here]) - log_sum(scores)) > threshold

    return Cases(chosen=chosen)
