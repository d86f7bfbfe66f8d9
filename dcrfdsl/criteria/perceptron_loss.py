"""The perceptron's loss: by how much the best labelling scores above the gold one (Collins 2002; Altun 2003 ref. 7).

    L(λ) = Σ_i [max_y λ·F(y, x_i) − λ·F(y_i, x_i)] ≥ 0,    a subgradient: Σ_i F(ŷ_i, x_i) − F(y_i, x_i)

It is the likelihood with the best labelling in the place of the sum, so that everything else is the likelihood's.
Where labels are not known, the best labelling that agrees with what is known stands for the gold one; L is then not
convex. Not here: the steps (`optimizers.special.perceptron_steps`).
"""

from __future__ import annotations

from ..inference import METHODS, BoundData, MaximumMethod
from ..optimizers import PerceptronSchedule
from ..semantics import PerceptronSettings, TrainSettings
from .free_and_clamped import Clamped
from .likelihood import Build, Likelihood
from .penalties import Penalty
from .supervision import Inference, Supervision

__all__ = ["Perceptron", "build_perceptron"]


class Perceptron(Likelihood):
    """The loss, and how it is to be trained.

    build: a method that finds best labellings, for `data` and for the same laid out in another way.
    """

    solver = "perceptron"

    def __init__(
        self,
        data: BoundData,
        given: Supervision,
        settings: TrainSettings[PerceptronSettings],
        inference: Inference,
        build: Build,
        clamped: Clamped | None,
    ):
        penalty = Penalty.none(data.num_weights)
        super().__init__(
            data, build(data), given.counts, penalty, given.workers, clamped, given.labelling, inference, build
        )
        own = settings.criterion
        self._passes = PerceptronSchedule(own.epochs, own.average or own.vote, own.vote, own.voters, settings.seed)

    def perceptron_schedule(self) -> PerceptronSchedule:
        return self._passes


def build_perceptron(given: Supervision, settings: TrainSettings[PerceptronSettings]) -> Perceptron:
    """The criterion of a stage; labellings are found by the method that it asks for."""
    inference = given.inference(settings)
    programs = METHODS[inference.name].programs

    def build(data: BoundData) -> MaximumMethod:
        return MaximumMethod(data, inference.build(data))

    data, clamped = given.bind(programs=programs), None
    partly = ~given.gold.complete_sentences(given.sentence_off)
    if partly.any():
        known = given.bind_known(programs=programs)
        clamped = Clamped(known, build(known), partly)
    return Perceptron(data, given, settings, inference, build, clamped)
