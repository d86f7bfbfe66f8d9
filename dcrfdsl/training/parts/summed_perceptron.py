"""The perceptron's loss over data in parts, and passes over each part from the same weights.

Not here: the steps, and how the weights of parts are mixed (`optimizers.perceptron_steps`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...features import FeatureExtractor
from ...foundation import Floats
from ...inference import Workers
from ...optimizers import PartedPasses, PassOfPart, perceptron_pass
from .part_objectives import StageTerms, open_term
from .part_trees import PartRunner
from .summed_criterion import SummedCriterion


class PassPoint(NamedTuple):
    """Where a pass begins: weights [W], its number, and the seed of all passes."""

    weights: Floats
    number: int
    seed: int


def pass_of_part(shared: StageTerms, number: int, point: PassPoint) -> PassOfPart:
    """A pass over a part; its order depends on the numbers of the pass and of the part alone."""
    return perceptron_pass(open_term(shared, number), np.asarray(point.weights), (point.seed, point.number, number))


def add_passes(one: PassOfPart, other: PassOfPart) -> PassOfPart:
    """The sum of passes over different parts."""
    return PassOfPart(
        one.change + other.change, one.weighted + other.weighted, one.loss + other.loss,
        one.mistakes + other.mistakes, one.sequences + other.sequences, one.parts + other.parts,
    )  # fmt: skip


class SummedPerceptron(SummedCriterion, PartedPasses):
    """The loss of all parts."""

    solver = "mixed_perceptron"

    def __init__(
        self, terms: StageTerms, runner: PartRunner, workers: Workers, fits: Callable[[str], None],
        extractor: FeatureExtractor | None = None,
    ):  # fmt: skip
        super().__init__(terms, runner, workers, fits, extractor)
        schedule = self._first(terms.joint).perceptron_schedule()
        assert schedule is not None
        self.schedule = schedule

    def parted_passes(self) -> PartedPasses:
        return self

    def one_pass(self, weights: Floats, number: int) -> PassOfPart:
        """See `PartedPasses.one_pass`."""
        point = PassPoint(weights, number, self.schedule.seed)
        done: PassOfPart = self._runner.total(pass_of_part, self._terms, self._count, point, add_passes)
        self._fits("a pass of the perceptron")
        return done
