"""The losses of pieces by enumeration of their states as texts, and problems to compare them on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import reference
from template_cases import Case
from template_twin import TemplateTwin, position

from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.inference import Workers
from dcrfdsl.kernels.piecewise.piece_losses import ALL
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.piece_shorthands import by_clique, by_site, by_variable, directed
from dcrfdsl.semantics.settings.training_settings import PiecewiseSettings, TrainSettings
from dcrfdsl.syntax import Piece
from dcrfdsl.training.untrained_model import assemble

SHORTHANDS = {
    "piecewise": by_clique,
    "pwpl": by_site,
    "pseudolikelihood": by_variable,
    "memm": lambda spec: directed(spec, 1),
    "memm by slices": lambda spec: directed(spec, 1, by_slice=True),
    "reverse memm": lambda spec: directed(spec, -1),
}
Labelling = Mapping[str, Sequence[str]]


class PieceTwin:
    """The losses of pieces by enumeration of their states as texts, clique by clique."""

    def __init__(self, twin: TemplateTwin, sentence: Mapping[str, Sequence[Any]], gold: Labelling):
        self.twin, self.gold = twin, gold
        self.length = len(next(iter(sentence.values())))
        self.firing = [twin.firing(number, sentence, self.length) for number in range(len(twin.spec.cliques))]
        self.number = {clique.label: number for number, clique in enumerate(twin.spec.cliques)}
        self.weight = {key: twin.weights[k] for key, k in twin.number.items()}
        self.scores: dict[tuple[str, int, tuple[str, ...]], float] = {}  # of clique instances in these states

    def of(self, gold: Labelling) -> PieceTwin:
        """The same sentence with another gold labelling."""
        other = copy(self)
        other.gold = gold
        return other

    def clique_score(self, label: str, anchor: int, labelling: Labelling) -> float | None:
        """The log potential of one instance of a clique; None if there is no such instance."""
        number = self.number[label]
        clique = self.twin.spec.cliques[number]
        places = [(site.variable, position(site, anchor, clique.positions)) for site in clique.sites]
        inside = [0 <= t < self.length for _, t in places]
        if not (any(inside) if clique.edges == "pad" else all(inside)):
            return None
        states = tuple(
            self.twin.seen(labelling, name, t) if 0 <= t < self.length else ("START" if t < 0 else "STOP")
            for name, t in places
        )
        if (label, anchor, states) not in self.scores:
            fires = self.firing[number].get(anchor, {})
            weighted = (value * self.weight.get((label, text, states), 0.0) for text, value in fires.items())
            self.scores[label, anchor, states] = sum(weighted)
        return self.scores[label, anchor, states]

    def instances(self, pieces: Sequence[Piece]) -> list[tuple[list[tuple[str, int]], list[tuple[str, int, bool]]]]:
        """The places that each instance is over, and its clique instances (label, anchor, locked)."""
        cliques = {clique.label: clique for clique in self.twin.spec.cliques}
        span = range(-3, self.length + 3)
        found = []
        for piece in pieces:
            padded = all(cliques[m.clique].edges == "pad" for m in piece.members)
            for t in span:
                over = [(site.variable, t + getattr(site.place, "offset", 0)) for site in piece.over]
                inside = [place for place in over if 0 <= place[1] < self.length]
                held = [(m.clique, t + getattr(m.place, "offset", 0), m.locked) for m in piece.members]
                held = [one for one in held if self.clique_score(one[0], one[1], self.gold) is not None]
                if held and inside and (padded or inside == over):
                    found.append((piece, inside, held))
        placed = {(label, anchor) for _, _, held in found for label, anchor, _ in held}
        for clique in cliques.values():
            for anchor in span:
                score = self.clique_score(clique.label, anchor, self.gold)
                if clique.edges != "pad" or score is None or (clique.label, anchor) in placed:
                    continue
                own = set(self.neighbours([], [(clique.label, anchor, False)]))
                for piece, over, held in found:
                    locked = [m.locked for m in piece.members if m.clique == clique.label]
                    if locked and own & set(over) and own <= {*over, *self.neighbours(over, held)}:
                        held.append((clique.label, anchor, locked[0]))
                        break
        return [(over, held) for _, over, held in found]

    def changed(self, places: Sequence[tuple[str, int]], states: Sequence[str]) -> Labelling:
        labelling = {name: list(cells) for name, cells in self.gold.items()}
        for (name, t), state in zip(places, states, strict=True):
            labelling[name][t] = state
        return labelling

    def joint(self, places: Sequence[tuple[str, int]]) -> Iterator[tuple[str, ...]]:
        return itertools.product(*(self.twin.states[name] for name, _ in places))

    def neighbours(
        self, over: Sequence[tuple[str, int]], held: Sequence[tuple[str, int, bool]]
    ) -> list[tuple[str, int]]:
        """The places that the cliques of an instance touch outside `over`."""
        views = self.twin.views
        touched = set()
        for label, anchor, _ in held:
            clique = self.twin.spec.cliques[self.number[label]]
            for site in clique.sites:
                name = views[site.variable][0] if site.variable in views else site.variable
                touched.add((name, position(site, anchor, clique.positions)))
        return sorted(place for place in touched - set(over) if 0 <= place[1] < self.length)

    def score(self, held: Sequence[tuple[str, int, bool]], labelling: Labelling, shares: Mapping[Any, float]) -> float:
        total = 0.0
        for label, anchor, _ in held:
            clique_score = self.clique_score(label, anchor, labelling)
            assert clique_score is not None
            total += shares.get((label, anchor), 1.0) * clique_score
        return total

    def loss(self, pieces: Sequence[Piece], nota: int | None = None, divide: bool = False) -> float:
        total, shares = 0.0, {}
        instances = self.instances(pieces)
        if divide:
            times: dict[Any, int] = {}
            for _, held in instances:
                for label, anchor, locked in held:
                    times[label, anchor] = times.get((label, anchor), 0) + (not locked)
            shares = {place: 1.0 / max(1, count) for place, count in times.items()}
        for over, held in instances:
            total += self.log_sum(over, held, self.gold, shares, nota) - self.score(held, self.gold, shares)
            if nota is not None:
                neighbours = self.neighbours(over, held)
                right = tuple(self.gold[name][t] for name, t in neighbours)
                for states in self.joint(neighbours):
                    differ = sum(a != b for a, b in zip(states, right, strict=True))
                    if differ and (nota == ALL or differ == 1):
                        total += self.log_sum(over, held, self.changed(neighbours, states), shares, nota)
        return total

    def log_sum(
        self,
        over: Sequence[tuple[str, int]],
        held: Sequence[tuple[str, int, bool]],
        labelling: Labelling,
        shares: Mapping[Any, float],
        nota: int | None,
    ) -> float:
        """log Σ exp score over the states of `over`, including NOTA if there is one."""
        scores = [0.0] if nota is not None else []
        for states in self.joint(over):
            both = {name: list(cells) for name, cells in labelling.items()}
            for (name, t), state in zip(over, states, strict=True):
                both[name][t] = state
            scores.append(self.score(held, both, shares))
        return reference.log_sum(np.array(scores))


def supervised(case: Case) -> tuple[TrainingProblem, Any]:
    resolved, corpus = case.resolved(), case.corpus()
    parts = assemble(resolved.require(), corpus, resolved.directories, {})
    parameters, counts = parts.learn_parameters()
    problem = TrainingProblem(
        parts.spec, parts.graph, parameters, parts.rows, parts.relations, corpus.sentence_off, parts.gold, counts,
        Workers(2), states=tuple(parts.states[name] for name in parts.graph.variables),
    )  # fmt: skip
    return problem, np.random.default_rng(0).normal(0.0, 0.8, parameters.num_weights)


def settings_of(**criterion: Any) -> TrainSettings:
    return TrainSettings(criterion=PiecewiseSettings(**criterion), infer=ExactSettings())
