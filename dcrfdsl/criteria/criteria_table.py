"""Training criteria: value and gradient of an objective over a data set. `CRITERIA` lists them by name.

To add one: write a settings class in `semantics.settings.training_settings` and a line in the table there; write a file
here with a class that extends `criterion.Criterion` and a function that builds it; add a line to this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .. import semantics
from ..foundation import Table, checked_kind
from .boosting_risk import build_boosting
from .criterion import Criterion
from .expected_shares import with_expected_shares
from .hidden_markov import build_hmm
from .likelihood import build_likelihood, build_perceptron
from .margin_objective import build_hmsvm
from .mce_objective import build_mce
from .piece_likelihood import build_pieces
from .rescale import build_rescaling
from .risks import ExponentialRisk, build_marginal
from .training_problem import TrainingProblem

Settings = TypeVar("Settings", bound=semantics.CriterionSettings)


class Builder(Generic[Settings]):
    """Builds the criterion of a stage. Calls raise DcrfError where the data or the model does not allow it.

    settings: the settings class of the criterion.
    """

    def __init__(
        self, settings: type[Settings], build: Callable[[TrainingProblem, semantics.TrainSettings[Settings]], Criterion]
    ):
        self.settings, self._build = settings, build

    def __call__(self, problem: TrainingProblem, settings: semantics.TrainSettings[Any]) -> Criterion:
        checked_kind(settings.criterion, self.settings)
        return self._build(problem, settings)


CRITERIA: Table[Builder[Any]] = Table(
    "training criterion",
    {
        "likelihood": Builder(
            semantics.LikelihoodSettings,
            lambda problem, settings: with_expected_shares(build_likelihood(problem, settings), problem, settings),
        ),
        "induce": Builder(
            semantics.CriterionSettings, build_likelihood
        ),  # of the present features; `training` adds new ones first
        **dict.fromkeys(semantics.PIECES, Builder(semantics.PieceSettings, build_pieces)),
        "rescale": Builder(semantics.RescaleSettings, build_rescaling),
        "mce": Builder(semantics.MceSettings, build_mce),
        "perceptron": Builder(semantics.PerceptronSettings, build_perceptron),
        "hmsvm": Builder(semantics.HmsvmSettings, build_hmsvm),
        "hmm": Builder(semantics.HmmSettings, build_hmm),
        "marginal": Builder(semantics.CriterionSettings, build_marginal),
        "exponential": Builder(semantics.ExponentialSettings, ExponentialRisk),
        "adaboost": Builder(semantics.AdaboostSettings, build_boosting),
    },
)
