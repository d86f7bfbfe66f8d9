"""Training data in parts as stages take it, and which stages can train on it.

A stage can where its objective is a sum over sentences that its optimizer takes as such: by value and gradient, as the
dual of `hmsvm` by searches of all parts, as a perceptron by passes over each part. Steps after single sentences need
the data itself, so what trains by them is refused. Not here: the sums (`summed_criterion`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...criteria import FeatureMoments, TrainingProblem, number_features
from ...foundation import DcrfError, Diagnostic, data_error
from ...graph import Gold
from ...inference import Workers
from ...semantics import (
    PIECES,
    GaussianPrior,
    LikelyCases,
    MceSettings,
    MeasureLoss,
    ModelSpec,
    PerceptronSettings,
    PieceSettings,
    TrainSettings,
    stage_chain,
    stage_settings,
)
from .learning import LearnedParts
from .part_objectives import StageTerms
from .part_tasks import Numbers, join_moments, moments_of_part
from .part_trees import PartRunner
from .summed_criterion import SummedCriterion
from .summed_margins import SummedMargins
from .summed_perceptron import SummedPerceptron

FULL = ("auto", "lbfgs", "owlqn", "proximal", "cg")  # optimizers that need value and gradient alone
SUMMED = {  # the optimizers of each criterion that is a sum over sentences
    **dict.fromkeys(("likelihood", "mce", "marginal", "exponential", *PIECES), FULL),
    "hmsvm": ("auto", "working_set"),
    "perceptron": ("auto",),
}
BY_PARTS = {"hmsvm": SummedMargins, "perceptron": SummedPerceptron}


def refuse_unsummed(label: str, settings: TrainSettings[Any]) -> None:
    """DcrfError unless the objective of a stage is a sum over sentences, and its optimizer takes value and gradient."""
    criterion, optimizer = settings.criterion, settings.optimizer
    is_likely = isinstance(criterion, PieceSettings) and isinstance(criterion.nota, LikelyCases)
    if criterion.method not in SUMMED:
        what = f"`{criterion.method}` is no sum over sentences of value and gradient"
    elif isinstance(criterion, MceSettings) and isinstance(criterion.loss, MeasureLoss):
        what = f"`{criterion.loss.method}` is a ratio of counts, no sum over sentences"
    elif is_likely:
        what = "cases of NOTA that a model chooses need all data at once"
    elif any(isinstance(prior, GaussianPrior) and prior.tied_to for prior in settings.clique_priors.values()):
        what = "a prior around another clique needs the features of both at hand"
    elif settings.clique_kernels:
        what = "an observation kernel compares all pairs of positions"
    elif isinstance(criterion, PerceptronSettings) and criterion.vote:
        what = "the voters of a perceptron come one after another, and parts take their passes side by side"
    elif optimizer.method not in SUMMED[criterion.method]:
        what = f"`{optimizer.method}` steps after single sentences or needs more than value and gradient"
    else:
        return
    message = f"stage `{label}` cannot train on data in parts: {what}"
    remedy = (
        "train by `likelihood`, `mce`, `marginal`, `exponential` or pieces with "
        f"{', '.join(f'`{name}`' for name in FULL)}, by `hmsvm` or `perceptron` with `auto`, or on data in memory: one "
        "file without `--memory`, `--cache`, `--workers` and `--cluster`"
    )
    raise DcrfError(Diagnostic("no-sum-over-parts", message, help=remedy))


def refuse_unsummed_stages(spec: ModelSpec, stage: str | None) -> None:
    """As `refuse_unsummed` for a stage and those before it; by default for the last one."""
    if any(clique.segmental for clique in spec.cliques):
        message = "data in parts is learned token by token, and a `segment` statement needs whole segments of all of it"
        raise data_error("cannot-segment", message, help="train on the data at once, or leave the statement out")
    for entry in stage_chain(spec, stage):
        refuse_unsummed(entry.label, stage_settings(spec, entry.label))


@dataclass(frozen=True, eq=False)
class PartedSupervision(TrainingProblem):
    """Training data in parts: the fields of data are empty.   learned: its compiled parts.   most_bytes: of memory."""

    learned: LearnedParts | None = None
    runner: PartRunner | None = None
    fits: Callable[[str], None] = field(default=lambda doing: None)

    def summed(self, settings: TrainSettings[Any]) -> SummedCriterion:
        """The criterion of a stage. DcrfError where it is no sum over sentences."""
        refuse_unsummed(self.stage, settings)
        assert self.learned is not None and self.runner is not None
        paths = self.learned.paths
        terms = StageTerms(
            secrets.token_hex(8), paths[0].parent if self.runner.threads else None, paths, self.learned.firsts,
            self.spec, self.graph, self.parameters, self.states, settings.criterion.method, settings, self.stage,
            self.weights, self.start, self.earlier, self.runner.threads,
        )  # fmt: skip
        summed = BY_PARTS.get(settings.criterion.method, SummedCriterion)
        return summed(terms, self.runner, self.workers, self.fits, self.extractor)

    def feature_moments(self) -> dict[int, FeatureMoments]:
        """As `TrainingProblem.feature_moments`, over all parts."""
        if self.extractor is None or self.learned is None or self.runner is None:
            return {}
        dense = number_features(self.extractor)
        if not dense:
            return {}
        paths, sizes = self.learned.paths, {number: self.extractor.sets[number].num_features for number in dense}
        total = self.runner.total(moments_of_part, Numbers(paths, sizes, dense), len(paths), None, join_moments)
        return dict(total.of_sets)


def empty_supervision(
    learned: LearnedParts, workers: Workers, runner: PartRunner, fits: Callable[[str], None]
) -> PartedSupervision:
    """The training data of a model with weights of 0."""
    model = learned.model
    states = tuple(model.states[name] for name in model.graph.variables)
    nothing = Gold(np.zeros((len(states), 0), np.int32), ((),) * len(states))
    return PartedSupervision(
        model.spec, model.graph, model.parameters, (), {}, np.zeros(1, np.int64), nothing,
        np.zeros(model.num_weights), workers, states=states, extractor=model.extractor, learned=learned,
        runner=runner, fits=fits,
    )  # fmt: skip
