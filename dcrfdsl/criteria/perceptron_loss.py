"""The perceptron's loss: by how much the best labelling scores above the gold one (Collins 2002; Altun 2003 ref. 7).

    L(λ) = Σ_i [max_y λ·F(y, x_i) − λ·F(y_i, x_i)] ≥ 0,    a subgradient: Σ_i F(ŷ_i, x_i) − F(y_i, x_i)

This is the negative log-likelihood with a maximum in place of the sum, so `Likelihood` does everything else. Where
labels are not known, the best labelling that agrees with the known ones stands for the gold one; L is then not convex.
Not here: the steps (`optimizers.perceptron_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..foundation import Floats
from ..inference import METHODS, BoundData, MaximumMethod
from ..optimizers import PerceptronSchedule
from ..semantics import PerceptronSettings, TrainSettings
from .free_and_clamped import Clamped
from .likelihood import Build, Likelihood, WeightedBuild, known_counts, weighted_clamped
from .penalties import Penalty
from .supervision import ResolvedInference, TrainingProblem


class PerceptronLoss(Likelihood):
    """The loss, and how to train it.

    build: builds the method that finds best labellings, for `data` in any layout.
    """

    solver = "perceptron"

    def __init__(
        self,
        data: BoundData,
        supervision: TrainingProblem,
        settings: TrainSettings[PerceptronSettings],
        inference: ResolvedInference,
        build: Build,
        clamped: Clamped | None,
        factor: Floats | None = None,
    ):
        penalty = Penalty.none(data.num_weights)
        super().__init__(
            data, build(data), known_counts(supervision, data, factor), penalty, supervision.workers, clamped,
            supervision.labelling, inference, build, factor,
        )  # fmt: skip
        criterion = settings.criterion
        self._passes = PerceptronSchedule(
            criterion.epochs, criterion.average or criterion.vote, criterion.vote, criterion.voters, settings.seed
        )

    def perceptron_schedule(self) -> PerceptronSchedule:
        return self._passes


@dataclass(frozen=True)
class _MaximumBuild:
    """Builds what finds the best labellings by an inference method."""

    inference: ResolvedInference

    def __call__(self, data: BoundData) -> MaximumMethod:
        return MaximumMethod(data, self.inference.build(data))


def build_perceptron(supervision: TrainingProblem, settings: TrainSettings[PerceptronSettings]) -> PerceptronLoss:
    """The criterion of a stage, which finds labellings by the inference that the stage asks for."""
    inference = supervision.inference(settings)
    programs, factor = METHODS[inference.name].programs, supervision.sentence_importance(settings)
    build = WeightedBuild(_MaximumBuild(inference), factor)
    data, clamped = supervision.bind(programs=programs), None
    partly = ~supervision.gold.complete_sentences(supervision.sentence_off)
    if partly.any():
        known = supervision.bind_known(programs=programs)
        clamped = weighted_clamped(Clamped(known, _MaximumBuild(inference)(known), partly), factor)
    return PerceptronLoss(data, supervision, settings, inference, build, clamped, factor)
