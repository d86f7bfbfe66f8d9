"""Runs of one stage from several starts, of which the best is kept.

In a model with a latent variable, weights of 0 are a saddle point: the states of the variable are equal, and the
gradient keeps them so. Before the first training, unless it starts from weights of such a model, the weights that touch
it are thus drawn from N(0, 0.01²), as often as `restarts` says. Not here: a single run (`stage`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..criteria import Criterion
from ..foundation import Floats, Ints
from ..model import TrainedModel
from ..optimizers import Outcome, RunState, outcome_from, outcome_state
from .stage import Stage

__all__ = ["best_of_restarts"]

LATENT_DEVIATION = 0.01  # of the weights that touch a latent variable at the start


def best_of_restarts(stage: Stage, objective: Criterion, state: RunState) -> Outcome:
    """The outcome with the best training objective. No run begins after `should_stop` returned True.

    state: it goes on from what this has saved, if anything.
    """
    best: Outcome | None = None
    done = 0
    saved = state.take("restarts")
    if saved is not None:
        done, best = saved["done"], saved["best"] and outcome_from(saved["best"])
    state.keep("restarts", lambda: {"done": done, "best": None if best is None else outcome_state(best)})
    for number, weights in itertools.islice(_starts(stage), done, None):
        outcome = stage.run(objective, weights, state.below("run"), number)
        done += 1
        if best is None or outcome.objective < best.objective:
            best = outcome
        if stage.is_stopped():
            break
    assert best is not None
    return best


def _starts(stage: Stage) -> Iterator[tuple[int, Floats]]:
    """The number of each run, from 1, or 0 for a single run; and the weights with which it begins."""
    model, settings = stage.model, stage.settings
    latent = _latent_weights(model)
    if latent is None or model.record.stage or model.weights[latent].any():
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
