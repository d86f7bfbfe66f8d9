"""Rescaling: one factor for the weights of each subset, learned by the likelihood (McCallum & Sutton 2004 §3).

    L(α) = Σ_i [log Z(x_i) − Λ·F(y_i, x_i)] + Σ_s (α_s − 1)² / (2 variance)  at  Λ_k = α_s λ_k for k in subset s
    ∂L/∂α_s = Σ_{k in s} λ_k ∂L/∂Λ_k + (α_s − 1) / variance

The weights λ come from an earlier stage; α begins at 1. Pieces that were trained apart may differ in scale. With so few
parameters, training takes few steps. Not here: the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..foundation import DcrfError, Diagnostic, Floats, Ints
from ..semantics import NoPrior, RescaleSettings, TrainSettings, last_pieces
from .criterion import SummedCriterion
from .likelihood import Likelihood, build_likelihood
from .training_problem import TrainingProblem


class Rescaling(SummedCriterion):
    """The negative log-likelihood of factors α [subsets] of `weights` [W].   subset [W]: the subset of each weight.

    precision: of the Gaussian prior around 1, 0 for none.
    """

    def __init__(self, likelihood: Likelihood, weights: Floats, subset: Ints, precision: float = 0.0):
        self.likelihood, self.weights, self.subset, self.precision = likelihood, weights, subset, precision
        self.num_subsets = int(subset.max(initial=-1)) + 1
        self.num_weights, self.inference_description = likelihood.num_weights, likelihood.inference_description
        self.clamped, self.terms = likelihood.clamped, (likelihood,)

    def start(self, weights: Floats) -> Floats:
        """Factors of 1, [subsets]: the start of the search."""
        return np.ones(self.num_subsets)

    def weights_of(self, point: Floats) -> Floats:
        """The weights [W] at the factors `point` [subsets]."""
        return point[self.subset] * self.weights

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """L(α) in nats and its gradient [subsets]."""
        value, gradient = self.likelihood.value_and_gradient(self.weights_of(weights))
        summed: Floats = np.zeros(self.num_subsets)
        np.add.at(summed, self.subset, gradient * self.weights)
        apart = weights - 1.0
        return value + 0.5 * self.precision * float(apart @ apart), summed + self.precision * apart


def _by_state(problem: TrainingProblem, site: int) -> list[object]:
    """For each weight, the variable or view of one site of its clique, and the number of the state there."""
    clique, _, assignment = problem.parameters.origins()
    out: list[object] = [None] * len(clique)
    for number, template in enumerate(problem.graph.templates[: len(problem.spec.cliques)]):
        clique_weights = np.flatnonzero(clique == number)
        states = np.unravel_index(assignment[clique_weights], template.full_cards)[site]
        view = template.views[site] if template.views else None
        seen_as = template.variables[site] if view is None else view.states
        for w, state in zip(clique_weights.tolist(), states.tolist(), strict=True):
            out[w] = seen_as, state
    return out


def _by_piece(problem: TrainingProblem) -> list[object]:
    """The piece that trains the clique of each weight; DcrfError where two pieces train one clique."""
    pieces = last_pieces(problem.spec, problem.stage)
    of: dict[str, str] = {}
    for piece in pieces:
        for label in {member.clique for member in piece.members if not member.locked}:
            if label in of:
                message = f"the weights of `{label}` are in the pieces `{of[label]}` and `{piece.name}`"
                raise DcrfError(Diagnostic("shared-by-pieces", message, help="write `per = clique`"))
            of[label] = piece.name
    labels = [clique.label for clique in problem.spec.cliques]
    clique, _, _ = problem.parameters.origins()
    return [of.get(labels[number], labels[number]) for number in clique.tolist()]


SUBSETS: Mapping[str, Callable[[TrainingProblem], list[object]]] = {
    "clique": lambda problem: problem.parameters.origins()[0].tolist(),
    "label": lambda problem: _by_state(problem, -1),
    "source": lambda problem: _by_state(problem, 0),
    "piece": _by_piece,
}


def build_rescaling(problem: TrainingProblem, settings: TrainSettings[RescaleSettings]) -> Rescaling:
    """The criterion of a stage. DcrfError where no earlier stage trained weights, or pieces share weights."""
    if not problem.weights.any():
        message = "`rescale` calibrates the weights of an earlier stage, and there are none"
        raise DcrfError(Diagnostic("nothing-to-rescale", message, help="write `train rescale after STAGE`"))
    free = settings.model_copy(update={"prior": NoPrior(), "clique_priors": {}})
    keys = SUBSETS[settings.criterion.per](problem)
    number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    subset = np.array([number[key] for key in keys], np.int64)
    variance = settings.criterion.variance
    precision = 0.0 if variance is None else 1.0 / variance
    return Rescaling(build_likelihood(problem, free), problem.weights, subset, precision)
