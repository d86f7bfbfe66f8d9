"""Priors as the precision of each weight: a gaussian prior of variance v has the penalty λ²/2v (Sutton 2004 §3.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..graph.parameters import Parameters
from ..registry import Table
from ..spec.model import CliqueSpec
from ..spec.settings import GaussianPrior, MethodSettings, TrainSettings

__all__ = ["PRIORS", "weight_precisions"]


def _none(settings: MethodSettings) -> float:
    return 0.0


def _gaussian(settings: MethodSettings) -> float:
    assert isinstance(settings, GaussianPrior)
    return 1.0 / settings.variance


PRIORS: Table[Callable[[MethodSettings], float]] = Table("prior", {"none": _none, "gaussian": _gaussian})


def weight_precisions(
    settings: TrainSettings, cliques: Sequence[CliqueSpec], parameters: Parameters
) -> NDArray[np.float64]:
    """1/v of every weight [W]; `prior.NAME` of a stage replaces the general prior for the clique of that name."""
    precision = np.full(parameters.num_weights, PRIORS[settings.prior.method](settings.prior))
    for number, clique in enumerate(cliques):
        own = settings.clique_priors.get(clique.label)
        if own is not None:
            precision[parameters.of_clique(number)] = PRIORS[own.method](own)
    return precision
