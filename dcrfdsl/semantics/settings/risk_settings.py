"""Settings of risks that bound the errors of whole sequences and of single labels (Altun & Hofmann 2003 §3, 4, 6).

Not here: the computations (`criteria.risks.marginal_risk`, `criteria.risks.exponential`,
`criteria.risks.boosting_risk`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .method_settings import CriterionSettings

__all__ = ["AdaboostSettings", "ExponentialSettings", "MarginalSettings"]

Weight = Literal["uniform"] | Annotated[float, Field(gt=0, le=1)]


class MarginalSettings(CriterionSettings):
    """−Σ_v log p(y_v | x), the sum over single labels (eq. 10); such a model is decoded label by label."""

    method = "marginal"
    decode = "marginal"


class ExponentialSettings(CriterionSettings):
    """Σ_i w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)) (eq. 13).

    weight: the weight w_i of a sequence. `uniform` is 1 over the number of its wrong labellings, so that each sequence
    counts 1 at λ = 0; a number π gives π to the power of the number of its labels.
    """

    method = "exponential"
    weight: Weight = "uniform"


class AdaboostSettings(CriterionSettings):
    """Boosting of the exponential risk, one feature per round (algorithm 2).

    rounds: the largest number of rounds.   tolerance: boosting stops when no round can promise to lower the risk by
    this share.   max_step: the longest step of a feature whose evidence is all on one side, for which the best step is
    infinite; with `steepest`, of any feature.   update: `sequential` moves the feature with the best bound on the risk,
    from bounds for each sequence; `parallel` moves all features, each by a small step; `steepest` moves the feature
    with the largest derivative, by a line search.   weight: as in `exponential`, with the risk scaled to 1 at the
    start. `uniform` gives each sequence the same share; 1 gives each wrong labelling the same share, and so most of the
    risk to the longest sequences.
    """

    method = "adaboost"
    offers = ()  # it has a solver of its own
    takes_prior = False
    rounds: int = Field(default=500, ge=1)
    tolerance: float = Field(default=1e-5, ge=0, lt=1)
    max_step: float = Field(default=1.0, gt=0)
    update: Literal["sequential", "parallel", "steepest"] = "sequential"
    weight: Weight = "uniform"

    @property
    def passes(self) -> tuple[int, int]:
        return self.rounds, self.rounds
