"""Settings of risks that bound the errors of whole sequences and of single labels (Altun & Hofmann 2003 §3, 4, 6).

Not here: the computations (`criteria.risks.marginal_risk`, `criteria.risks.exponential`,
`criteria.risks.boosting_risk`).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from .method_settings import LEAST, LONGEST, CriterionSettings, setting

Weight = Literal["uniform"] | Annotated[float, Field(gt=0, le=1)]


class MarginalSettings(CriterionSettings):
    """−Σ log p(y_v | x) of every label by itself. Its models decode label by label."""

    method = "marginal"
    source = "Altun & Hofmann 2003, eq. 10"
    example = "train marginal: prior = gaussian(variance = 10)"
    decode = "marginal"


class ExponentialSettings(CriterionSettings):
    """The exponential risk of wrong labellings, Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)), by its gradient."""

    method = "exponential"
    source = "Altun & Hofmann 2003, eq. 13"
    example = "train exponential(weight = 1): prior = gaussian(variance = 1)"
    weight: Weight = setting(
        "uniform", "w_i of a sequence: `uniform` is 1 over the number of its wrong labellings, so that each sequence "
        "counts 1 where all weights are 0; a number π gives π to the power of the number of its labels",
    )  # fmt: skip

    @property
    def ease(self) -> float:
        """Weights below 1 fall with the power of the length, so that any penalty outweighs all but the shortest."""
        return 1.0 if self.weight == 1.0 else math.inf


class AdaboostSettings(CriterionSettings):
    """Label sequence boosting: the exponential risk, lowered by one feature a round."""

    method = "adaboost"
    source = "Altun & Hofmann 2003, algorithm 2, eq. 13–16"
    example = "train adaboost(rounds = 100)"
    offers = ()  # it brings steps of its own
    takes_prior = False
    rounds: int = setting(500, "rounds, at most", unit="rounds", ge=1)
    tolerance: float = setting(
        1e-5, "it ends when a round cannot promise to lower the risk by this share", unit="relative", ge=0, lt=1
    )
    max_step: float = setting(
        1.0, "the longest step of a feature that speaks for one side alone, for which no step would be long enough; "
        "under `steepest`, of any feature", unit="weight", ge=LEAST, le=LONGEST,
    )  # fmt: skip
    update: Literal["sequential", "parallel", "steepest"] = setting(
        "sequential", "by bounds of each sequence the best feature (`sequential`), or all features, each by a small "
        "step (`parallel`); `steepest` takes the feature with the largest derivative, and searches for the least risk",
    )  # fmt: skip
    weight: Weight = setting(
        "uniform", "as in `exponential`, of a risk that is 1 at the start: `uniform` gives each sequence the same "
        "share, 1 gives it to each wrong labelling, and so most of it to the longest sequences",
    )  # fmt: skip
    divide: bool = setting(
        False, "divides what a number as `weight` gives a sequence among its wrong labellings: the paper's D₀ with "
        "w(T) = π to the power T, where `uniform` is that with w(T) = 1",
    )  # fmt: skip
    bounds: Literal["sequence", "all"] = setting(
        "sequence", "how much more often a wrong labelling may count a feature than the known one: bounds of each "
        "sequence by itself, or one pair for `all` of them, under which a step has a closed form and promises less",
    )  # fmt: skip

    @property
    def passes(self) -> tuple[int, int]:
        return self.rounds, self.rounds
