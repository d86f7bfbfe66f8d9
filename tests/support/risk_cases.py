"""Shared by the tests of risks: settings, and risks by enumeration of all labellings."""

from __future__ import annotations

from typing import Any

import numpy as np
from mce_cases import scores_of
from piece_twin import supervised
from template_cases import Case

from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.prior_settings import NoPrior
from dcrfdsl.semantics.settings.training_settings import TrainSettings


def settings_of(criterion: Any, **more: Any) -> TrainSettings:
    return TrainSettings(**{"criterion": criterion, "prior": NoPrior(), "infer": ExactSettings(), **more})


def shares_at_start(case: Case, weight: str | float) -> list[float]:
    """D_i: the initial weight of each wrong labelling, one value per sentence."""
    every = scores_of(case, np.zeros(supervised(case)[0].parameters.num_weights))
    wrong = [int(np.isfinite(scores).sum()) - 1 for scores, _ in every]
    shares = [1.0 / max(n, 1) if weight == "uniform" else float(weight) ** scores.ndim
           for (scores, _), n in zip(every, wrong, strict=True)]  # fmt: skip
    total = sum(w * n for w, n in zip(shares, wrong, strict=True))
    return [w / total for w in shares]


def risks_of(case: Case, weights: Any, shares: list[float]) -> tuple[float, float]:
    """Rank risk and exponential risk by enumeration."""
    rank = exponential = 0.0
    for (scores, right), share in zip(scores_of(case, weights), shares, strict=True):
        wrong = np.isfinite(scores)
        wrong[right] = False
        rank += share * int((scores[wrong] >= scores[right]).sum())
        exponential += share * float(np.exp(scores[wrong] - scores[right]).sum())
    return rank, exponential
