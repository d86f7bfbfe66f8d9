"""Training criteria: value and gradient of an objective over a data set. `CRITERIA` is the table of those that run.

To add one: a settings class in `semantics.settings.training_settings`, a function here that builds the objective, a
line in the table.
"""

from __future__ import annotations

from collections.abc import Callable

from ..registry import Table
from ..semantics.settings.piece_shorthands import PIECES
from ..semantics.settings.training_settings import TrainSettings
from .hidden_markov import Hmm, build_hmm
from .likelihood import Clamped, Likelihood, build_likelihood
from .margin.margin_objective import Hmsvm, build_hmsvm
from .mce.mce_objective import Mce, build_mce
from .penalties import Penalty, weight_penalty
from .perceptron_loss import Perceptron, build_perceptron
from .pieces.piece_likelihood import PieceObjective
from .pieces.separate_pieces import PiecesApart, build_pieces
from .rescale import Rescaling, build_rescaling
from .risks.boosting_risk import Boosting, build_boosting
from .risks.exponential import Exponential, build_exponential
from .risks.marginal_risk import build_marginal
from .risks.risk import Risk
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
