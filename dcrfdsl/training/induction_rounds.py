"""Rounds of feature induction within a stage: each trains for a few iterations, then adds the best new features.

Source: McCallum (2003), §4. Not here: which features are the best ones (`induction`).
"""

from __future__ import annotations

from dataclasses import replace

from ..model import InductionRound
from ..optimizers import RunState
from ..semantics import AutoOptimizer, InduceSettings
from .induction import induce_round, require_known_labels
from .stage import Stage


def with_induced_features(stage: Stage, criterion: InduceSettings) -> tuple[Stage, list[InductionRound]]:
    """The stage with the features that the rounds add, and a summary of each round. Iterations count on."""
    require_known_labels(stage.supervision)
    supervision, extractor = stage.supervision, stage.model.extractor
    rounds: list[InductionRound] = []
    limits: dict[str, int] = {"max_iterations": criterion.iterations}
    for _ in range(criterion.rounds):
        optimizer = stage.settings.optimizer.model_copy(update=limits)
        settings = stage.settings.model_copy(update={"optimizer": optimizer, "patience": None})
        short = replace(stage, supervision=supervision, settings=settings, dev=None, earlier=stage.last)
        outcome = short.run(short.objective(), supervision.weights, RunState())
        supervision = replace(supervision, weights=outcome.weights)
        if stage.is_stopped():
            break
        supervision, extractor, done = induce_round(supervision, extractor, stage.settings)
        if not done.weights:
            break
        rounds.append(done)
        if isinstance(optimizer, AutoOptimizer):
            limits["epochs"] = 0  # long steps on batches would lead away from the optimum of the last round
    model = replace(
        stage.model, extractor=extractor, parameters=supervision.parameters, weights=supervision.weights, voters=None
    )
    return replace(stage, model=model, supervision=supervision), rounds
