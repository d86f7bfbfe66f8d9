"""A template model, slow and obvious: every labelling of a sentence scored clique by clique, in texts.

The twin of unrolling, tables and criteria: it knows the specification, the words of a sentence and a weight for each
(clique, feature text, states), and nothing of kinds, arenas, programs or feature numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import reference
from feature_twin import Sentence, Twin

from dcrfdsl.spec.model import CliqueSpec, ModelSpec, Site

WeightOf = Mapping[tuple[str, str, tuple[str, ...]], float]
Joins = Callable[[Sentence], Mapping[tuple[int, int], Sequence[str]]]
Allowed = Callable[[Mapping[str, Sequence[str]], int], bool]


def position(site: Site, anchor: int | tuple[int, int], names: Sequence[str]) -> int:
    if isinstance(anchor, tuple):
        return anchor[names.index(site.place.position)] + site.place.shift
    return anchor + getattr(site.place, "offset", 0)


def offsets(clique: CliqueSpec) -> list[int]:
    return [getattr(site.place, "offset", 0) for site in clique.sites]


class TemplateTwin:
    """`states`: of each label in order.   `weight`: of (clique's label, feature text, states of the sites).

    `allowed(labelling, t)`: hard constraints at position t of a labelling {label: states of the sentence}.
    `views`: of each view its label and what each state is seen as.
    `joins`: of each relational clique, by its label, the pairs of positions in a sentence with the features that fire.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: Mapping[str, Sequence[str]],
        weight: WeightOf,
        allowed: Allowed,
        joins: Mapping[str, Joins] | None = None,
        views: Mapping[str, tuple[str, Mapping[str, str]]] | None = None,
    ):
        self.spec, self.states, self.weight, self.allowed = spec, states, weight, allowed
        self.joins = joins or {}
        self.views = views or {}
        self.features = Twin(spec, {}, {})

    def joint(self, sentence: Sentence) -> np.ndarray:
        """log potential of every labelling; axis t·labels + label."""
        length = len(next(iter(sentence.values())))
        names = list(self.states)
        firing = [self.firing(number, sentence, length) for number in range(len(self.spec.cliques))]
        total = np.zeros([len(self.states[name]) for _ in range(length) for name in names])
        for index in itertools.product(*(range(size) for size in total.shape)):
            labelling = {
                name: [self.states[name][index[t * len(names) + m]] for t in range(length)]
                for m, name in enumerate(names)
            }
            total[index] = self.score(labelling, firing, length)
        return total

    def firing(self, number: int, sentence: Sentence, length: int) -> dict[Any, dict[str, float]]:
        """Anchor → the features that fire there with their values, the bias included."""
        clique = self.spec.cliques[number]
        if clique.where is not None:
            return {pair: dict.fromkeys(texts, 1.0) for pair, texts in self.joins[clique.label](sentence).items()}
        low, high = min(offsets(clique)), max(offsets(clique))
        first = -high if clique.edges == "pad" else 0
        last = length - 1 - low if clique.edges == "pad" else length - 1
        bias = (
            {"bias": 1.0} if not clique.features or "bias" in [getattr(f, "name", "") for f in clique.features] else {}
        )
        rows = self.features.rows(number, [sentence])
        return {
            anchor: bias | {text: value for text, (value, _) in rows[i].items()}
            for i, anchor in enumerate(range(first, last + 1))
        }

    def score(
        self, labelling: Mapping[str, Sequence[str]], firing: Sequence[Mapping[Any, Mapping[str, float]]], length: int
    ) -> float:
        if not all(self.allowed(labelling, t) for t in range(length)):
            return -np.inf
        total = 0.0
        for clique, fires in zip(self.spec.cliques, firing, strict=True):
            for anchor, features in fires.items():
                places = [(site.variable, position(site, anchor, clique.positions)) for site in clique.sites]
                inside = [0 <= t < length for _, t in places]
                if not (any(inside) if clique.edges == "pad" else all(inside)):
                    continue
                states = tuple(
                    self.seen(labelling, name, t) if 0 <= t < length else ("START" if t < 0 else "STOP")
                    for name, t in places
                )
                for text, value in features.items():
                    total += value * self.weight.get((clique.label, text, states), 0.0)
        return total

    def seen(self, labelling: Mapping[str, Sequence[str]], name: str, t: int) -> str:
        if name in self.views:
            label, states = self.views[name]
            return states[labelling[label][t]]
        return labelling[name][t]

    def loss(self, sentence: Sentence, gold: Mapping[str, Sequence[str]]) -> float:
        """−log p(gold | sentence)"""
        total = self.joint(sentence)
        length = len(next(iter(sentence.values())))
        index = tuple(list(self.states[name]).index(gold[name][t]) for t in range(length) for name in self.states)
        return reference.log_sum(total) - float(total[index])
