"""An objective over data in parts: the sum of the terms of all parts, and the penalty once.

    L(λ) = ((L_1 + L_2) + (L_3 + L_4)) + … + P(λ)

The sum is a fixed tree over parts, so its bits do not depend on memory, threads or machines. Not here: the terms
(`part_objectives`), which objectives can be summed (`parted_supervision`).
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...criteria import CRITERIA, Criterion
from ...features import FeatureExtractor
from ...foundation import Floats
from ...inference import RunStatus, Workers
from ...semantics import (
    TrainSettings,
)
from .part_files import read_compiled
from .part_objectives import PartSum, Point, StageTerms, add_terms, forget_terms, supervision_of, term_of_part
from .part_trees import PartRunner


class SummedCriterion(Criterion):
    """The sum over all parts, and the penalty."""

    total_status = RunStatus()  # summed over all evaluations

    def __init__(
        self, terms: StageTerms, runner: PartRunner, workers: Workers, fits: Callable[[str], None],
        extractor: FeatureExtractor | None = None,
    ):  # fmt: skip
        """extractor: of the features, for priors that ask what a weight stands for."""
        self._terms, self._runner, self._fits, self._extractor = terms, runner, fits, extractor
        self._count, self._sharpened = len(terms.paths), 0
        self.num_weights, self.workers = terms.parameters.num_weights, workers
        first = self._first(terms.joint)  # what is the same in all parts, penalty included
        self.penalty, self.inference_description = first.penalty, first.inference_description
        self.is_steep = first.is_steep
        weakref.finalize(self, forget_terms, terms.key)  # also where training ends with an error
        self._has_gap = first.gap(np.zeros(self.num_weights)) is not None

    def _first(self, settings: TrainSettings[Any]) -> Criterion:
        part = read_compiled(self._terms.paths[0])
        supervision = replace(supervision_of(self._terms, part, 0), extractor=self._extractor)
        return CRITERIA[self._terms.method](supervision, settings)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The sum over all parts with the penalty, and its gradient [W]."""
        total: PartSum = self._total(self._terms, weights)
        self.total_status = self.total_status + total.status
        self._has_gap &= not total.is_hidden
        gradient = total.gradient if total.gradient.flags.writeable else total.gradient.copy()
        value = total.value
        if self.penalty is not None:
            value += self.penalty.add(weights, gradient)
        return value, gradient

    def _total(self, terms: StageTerms, weights: Floats) -> PartSum:
        point = Point(weights, self._sharpened)
        total = self._runner.total(term_of_part, terms, self._count, point, add_terms)
        self._fits("evaluating the objective")
        return total

    def start(self, weights: Floats) -> Floats:
        """As `Criterion.start`; `mce` begins at 0 with a small step down the likelihood of all parts."""
        if self._terms.method != "mce" or weights.any():
            return weights
        likelihood = replace(self._terms, key=secrets.token_hex(8), method="likelihood")
        downhill = self._total(likelihood, weights).gradient
        self._runner.everywhere(forget_terms, likelihood.key)
        return self.downhill_from_zero(downhill)

    def gap(self, gradient: Floats) -> float | None:
        """See `Likelihood.gap`; None where labels of some part are summed out."""
        return self.penalty.gap(gradient) if self._has_gap and self.penalty is not None else None

    def tighten_tolerance(self) -> bool:
        """Asks inference for tighter convergence in every part; False if it is as exact as it gets."""
        first = self._first(self._terms.without_prior)
        able = [first.tighten_tolerance() for _ in range(self._sharpened + 1)][-1]
        self._sharpened += able
        self._tightened = first.tightened
        return able

    _tightened: Any = None

    @property
    def tightened(self) -> Any:
        return self._tightened

    def remembered(self) -> dict[str, Any]:
        return {**super().remembered(), "sharpened": self._sharpened}

    def recall(self, saved: Mapping[str, Any]) -> None:
        super().recall(saved)
        self._sharpened = saved["sharpened"]

    def close(self) -> None:
        """Frees the layouts of the parts."""
        self._runner.everywhere(forget_terms, self._terms.key)
