"""Training criteria: value and gradient of an objective over a data set. `CRITERIA` is the table of those that run.

To add one: a settings class in `semantics.settings.training_settings`, a function here that builds the objective, a
line in the table.
"""

from __future__ import annotations

from collections.abc import Callable

from ..registry import Table
from ..semantics import PIECES, TrainSettings
from .free_and_clamped import Clamped
from .hidden_markov import Hmm, build_hmm
from .likelihood import Likelihood, build_likelihood
from .margin import Hmsvm, build_hmsvm
from .mce import Mce, build_mce
from .penalties import Penalty, weight_penalty
from .perceptron_loss import Perceptron, build_perceptron
from .pieces import PieceObjective, PiecesApart, build_pieces
from .rescale import Rescaling, build_rescaling
from .risks import Boosting, Exponential, Risk, build_boosting, build_exponential, build_marginal
from .supervision import Supervision

__all__ = [
    "CRITERIA", "Boosting", "Clamped", "Criterion", "Exponential", "Hmm", "Hmsvm", "Likelihood", "Mce", "Penalty",
    "Perceptron", "PieceObjective", "PiecesApart", "Risk", "Supervision", "weight_penalty",
]  # fmt: skip

Criterion = Hmm | Hmsvm | Likelihood | Mce | PieceObjective | PiecesApart | Rescaling | Risk

CRITERIA: Table[Callable[[Supervision, TrainSettings], Criterion]] = Table(
    "training criterion",
    {
        "likelihood": build_likelihood,
        "induce": build_likelihood,  # of the features at hand; `training` has more of them made before
        **dict.fromkeys(PIECES, build_pieces),
        "rescale": build_rescaling,
        "mce": build_mce,
        "perceptron": build_perceptron,
        "hmsvm": build_hmsvm,
        "hmm": build_hmm,
        "marginal": build_marginal,
        "exponential": build_exponential,
        "adaboost": build_boosting,
    },
)
