"""Runs of one stage from several weights, of which the best is kept.

Where a latent variable is in the model and nothing has been trained yet, weights of zero are a saddle point: its states
cannot be told apart and the gradient keeps them equal. So the weights that touch it are drawn from N(0, 0.01²), as
often as `restarts` says. Not here: a single run (`stage`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Floats, Ints
from ..criteria import Criterion
from ..model import TrainedModel
from ..optimizers import Outcome
from .stage import Stage

__all__ = ["best_of_restarts"]

LATENT_DEVIATION = 0.01  # of the weights that touch a latent variable at the start


def best_of_restarts(stage: Stage, objective: Criterion) -> Outcome:
    """The outcome with the best training objective. No run begins once `should_stop` has said so."""
    best: Outcome | None = None
    for number, weights in _starts(stage):
        outcome = stage.run(objective, weights, number)
        if best is None or outcome.objective < best.objective:
            best = outcome
        if stage.is_stopped():
            break
    assert best is not None
    return best


def _starts(stage: Stage) -> Iterator[tuple[int, Floats]]:
    """The number of each run, 0 where there is one alone, and the weights that it begins with."""
    model, settings = stage.model, stage.settings
    latent = _latent_weights(model)
    if latent is None or model.record.stage:
        yield 0, model.weights
        return
    generator = np.random.default_rng(settings.seed)
    for number in range(settings.restarts):
        weights = model.weights.copy()
        weights[latent] = generator.normal(0.0, LATENT_DEVIATION, len(latent))
        yield number + 1 if settings.restarts > 1 else 0, weights


def _latent_weights(model: TrainedModel) -> Ints | None:
    """The weights of cliques that touch a latent variable; None where no clique does."""
    graph = model.graph
    touching = [
        model.parameters.of_clique(number)
        for number, template in enumerate(graph.templates[: len(model.spec.cliques)])
        if not set(template.variables).isdisjoint(graph.latents)
    ]
    return np.concatenate(touching) if touching else None
