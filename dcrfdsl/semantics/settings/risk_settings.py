"""Settings of risks that bound the errors of whole sequences and of single labels (Altun & Hofmann 2003 §3, 4, 6).

Not here: what they compute (`criteria.risks.marginal_risk`, `criteria.risks.exponential`,
`criteria.risks.boosting_risk`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .method_settings import CriterionSettings

__all__ = ["AdaboostSettings", "ExponentialSettings", "MarginalSettings"]

Weight = Literal["uniform"] | Annotated[float, Field(gt=0, le=1)]


class MarginalSettings(CriterionSettings):
    """−Σ log p(y_v | x) of every label by itself (eq. 10); labels are then best decoded one by one."""

    method = "marginal"
    decode = "marginal"


class ExponentialSettings(CriterionSettings):
    """Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) (eq. 13).

    weight: w_i of a sequence: `uniform`, 1 over the number of its wrong labellings, so that each counts 1 where all
    weights are 0; or π, which gives π to the power of the number of its labels.
    """

    method = "exponential"
    weight: Weight = "uniform"


class AdaboostSettings(CriterionSettings):
    """The exponential risk, a feature a round (algorithm 2).

    rounds: at most.   tolerance: it ends when a round cannot promise to lower the risk by this share.   max_step: of a
    feature that speaks for one side alone, for which no step would be long enough; of `steepest`, any.   update: by
    bounds of each sequence the best feature (`sequential`), or all of them, each by a small step (`parallel`);
    `steepest`, the one with the largest derivative, by a search for the least risk.   weight: as in `exponential`, of a
    risk that is 1 at the start: `uniform` gives each sequence the same share, 1 each wrong labelling, and so most of it
    to the longest sequences.
    """

    method = "adaboost"
    offers = ()  # it brings steps of its own
    takes_prior = False
    rounds: int = Field(default=500, ge=1)
    tolerance: float = Field(default=1e-5, ge=0, lt=1)
    max_step: float = Field(default=1.0, gt=0)
    update: Literal["sequential", "parallel", "steepest"] = "sequential"
    weight: Weight = "uniform"

    @property
    def passes(self) -> tuple[int, int]:
        return self.rounds, self.rounds
