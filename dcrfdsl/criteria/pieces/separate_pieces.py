"""Pieces that share no weight: their losses are minimised one after another, each over separate weights and tables.

The objective of such pieces is a sum of functions of different weights (McCallum & Sutton 2004 §2: parameters of
factors that are never in a common piece are independent). Minimised alone, most parts need fewer steps than the slowest
one, and each step computes one part's tables. Weights that no piece trains are in no part, and keep their values.
Not here: the losses (`piece_likelihood`), the order of work (`optimizers.separable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...foundation import Floats, Ints
from ...graph import Parameters, independent_pieces, piece_templates, with_constraints_apart
from ...inference import RunStatus
from ...semantics import GaussianPrior, LikelyCases, PieceSettings, TrainSettings, pieces_of
from ..criterion import Criterion, TightenedTolerance
from ..supervision import TrainingProblem
from .piece_likelihood import PieceObjective, build_piecewise


class IndependentPart(NamedTuple):
    """An objective of some weights of the model. weight_numbers [w]: their numbers, ascending."""

    weight_numbers: Ints
    objective: PieceObjective


class IndependentPieces(Criterion):
    """A sum of objectives of different weights. num_weights: W of the model; some weights may be in no part."""

    def __init__(self, apart: Sequence[IndependentPart], num_weights: int):
        self.apart: Sequence[IndependentPart] = tuple(apart)
        self.num_weights = num_weights
        self.inference_description = f"pieces in {len(self.apart)} independent parts"

    @property
    def tightened(self) -> TightenedTolerance | None:
        return next((tightened for part in self.apart if (tightened := part.objective.tightened) is not None), None)

    @property
    def total_status(self) -> RunStatus:
        return sum((part.objective.total_status for part in self.apart), start=RunStatus())

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all pieces and the penalties, in nats, and the gradient [W]."""
        gradient, total = np.zeros(self.num_weights), 0.0
        for numbers, objective in self.apart:
            value, gradient[numbers] = objective.value_and_gradient(weights[numbers])
            total += value
        return total, gradient

    def gap(self, gradient: Floats) -> float | None:
        """See `Likelihood.gap`."""
        gaps = [objective.gap(gradient[numbers]) for numbers, objective in self.apart]
        known = [gap for gap in gaps if gap is not None]
        return sum(known) if len(known) == len(gaps) else None

    def tighten_tolerance(self) -> bool:
        return sum(part.objective.tighten_tolerance() for part in self.apart) > 0  # all of them

    def contradictions(self) -> tuple[int, ...]:
        return tuple(sorted({s for part in self.apart for s in part.objective.contradictions()}))


def restricted_to_cliques(supervision: TrainingProblem, cliques: Iterable[int]) -> tuple[TrainingProblem, Ints]:
    """The training data of a model with only these cliques and their weights; and the numbers of these weights."""
    held = frozenset(cliques)
    parts = tuple(
        weights if c in held else weights.without_weights() for c, weights in enumerate(supervision.parameters.cliques)
    )
    numbers = np.sort(np.concatenate([supervision.parameters.of_clique(c) for c in sorted(held)]))
    kept = tuple(t for t in supervision.graph.templates if t.clique in held or t.clique < 0)
    part = replace(
        supervision,
        graph=replace(supervision.graph, templates=kept),
        parameters=Parameters(parts),
        counts=supervision.counts[numbers],
        weights=supervision.weights[numbers] if len(supervision.weights) else supervision.weights,
        relations={c: pairs for c, pairs in supervision.relations.items() if c in held},
    )
    return part, numbers


def build_pieces(
    supervision: TrainingProblem, settings: TrainSettings[PieceSettings]
) -> PieceObjective | IndependentPieces:
    """The criterion of a stage that trains pieces. Raises DcrfError as `build_piecewise` does.

    Pieces that share no weight are trained apart, except where the whole model is needed on the way: for the score on
    held-out data that `patience` watches, to choose the cases of NOTA, where a
    prior ties cliques, and where `keep` compares all weights.
    """
    criterion = settings.criterion
    templates = piece_templates(supervision.spec, supervision.graph, pieces_of(supervision.spec, criterion))
    supervision = replace(supervision, graph=with_constraints_apart(supervision.graph, templates))
    groups = independent_pieces(templates)
    is_tied = any(isinstance(p, GaussianPrior) and p.tied_to is not None for p in settings.clique_priors.values())
    compares = is_tied or settings.keep is not None or isinstance(criterion.nota, LikelyCases)
    if len(groups) == 1 or settings.patience is not None or compares:
        return build_piecewise(supervision, settings, templates)
    parts = []
    for group in groups:
        part, numbers = restricted_to_cliques(
            supervision, (clique for template in group for clique, *_ in template.members)
        )
        if len(numbers):
            parts.append(IndependentPart(numbers, build_piecewise(part, settings, group)))
    return IndependentPieces(parts, supervision.parameters.num_weights)
