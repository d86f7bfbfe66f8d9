"""Whole sentences, right or wrong: d compares y* with a soft maximum over all other labellings (finite ψ).

    softmax (eq. 7)   d = (1/ψ) log [A Σ_{y ≠ y*} exp ψ (g(y) − g*)],     ratio: d = exp of it
    difference        d = −p(y*) + [A Σ_{y ≠ y*} p(y)^ψ]^{1/ψ}

    ∂/∂λ (1/ψ) log Σ_{y ≠ y*} exp ψ (g(y) − g*) = ⟨F⟩_{ψ, y ≠ y*} − F*

Where labels are latent or not known, ψ = 1 and g* = log Σ_h exp g(y*, h). With `normalise`, A = 1 / (|Y| − 1), or where
n labellings agree with what is known, n / (|Y| − n); otherwise A = 1. Source: Suzuki, McDermott & Isozaki 2006 §3,
appendix. Not here: the sums (`wrong_labelling_sums`), ψ = inf (`sequence_errors`, `span_errors`).
"""

from __future__ import annotations

import numpy as np

from ...foundation import Floats
from ...inference import RunStatus
from ...kernels.chain import LARGEST, Smoothing
from ...semantics import MceSettings, TrainSettings
from ..supervision import ResolvedInference, TrainingProblem
from ..wrong_labelling_sums import WrongLabellingSums, finite_or_zero
from .error_counts import ErrorCounts
from .smoothing import smoothed, smoothing_of


class SoftSequenceCounter:
    """Counts wrong sentences, exactly."""

    approximate = False

    def __init__(
        self, supervision: TrainingProblem, settings: TrainSettings[MceSettings], inference: ResolvedInference
    ):
        """inference: exact."""
        self._settings, self._smoothing = settings.criterion, smoothing_of(settings.criterion)
        factor = supervision.sentence_importance(settings)
        self._factor: Floats | float = 1.0 if factor is None else factor
        self._sums = WrongLabellingSums(supervision, inference)
        self._log_mean: Floats | float = 0.0
        if self._settings.normalise:
            # log A: d = 0 where all labellings score the same. Latent states cancel out.
            self._log_mean = -finite_or_zero(self._sums.log_ratios(np.zeros(supervision.parameters.num_weights))[0])

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""
        return self._sums.status

    @property
    def num_spans(self) -> int:
        return self._sums.num_sequences

    def count(self, weights: Floats) -> ErrorCounts:
        """See `Counter.count`."""
        psi, sums = self._settings.psi, self._sums
        ratios = sums.log_ratios(psi * weights)
        above = (ratios[0] + self._log_mean) / psi
        if self._settings.measure != "difference":
            value, slope = (self._factor * each for each in smoothed(self._smoothing, above))
            gradient = sums.differences(psi * weights, ratios, np.where(np.isneginf(above), 0.0, slope))
            return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))
        log_p = -sums.log_free_ratios(weights)
        p, best = np.exp(log_p), np.exp(np.minimum(log_p + above, LARGEST))
        value, slope = (self._factor * each for each in smoothed(Smoothing(*self._smoothing[:3], False), best - p))
        gradient = sums.differences(psi * weights, ratios, slope * best)
        gradient += sums.free_differences(weights, slope * (p - best))
        return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))
