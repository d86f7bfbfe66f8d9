"""Whole sentences, right or wrong: d compares y* with all other labellings, or with the best of them.

    softmax (eq. 7)   d = −g* + (1/ψ) log [A Σ_{y ≠ y*} exp ψ g(y)],   ψ = inf: −g* + max_{y ≠ y*} g(y)
    ratio             d = exp of it
    difference        d = −p(y*) + [A Σ_{y ≠ y*} p(y)^ψ]^{1/ψ}

    ∂d/∂λ = ⟨F⟩_{ψ, y ≠ y*} − F*,   an expectation under exp ψ g over the others, or F of the best of them

Where labels are latent or not known, g* is the score of their best completion (ψ = inf), or log Σ_h exp g(y*, h)
(ψ = 1). Source: Suzuki, McDermott & Isozaki 2006 §3, appendix. Not here: the other labellings
(`graph.variants.excluding_gold`, `competing_labellings`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...arrays import Codes, Floats
from ...inference import (
    METHODS,
    BoundData,
    ExactMethod,
    Expectations,
    ExpectingMethod,
    RunStatus,
    run_decoding,
    run_inference,
    score_sequences,
)
from ...kernels.chain import LARGEST, Smoothing
from ...kernels.optimization import count_labellings
from ...semantics import ExactSettings, MceSettings
from ..competing_labellings import CompetitorSearch
from ..run_sums import FeatureSums
from ..supervision import Inference, Supervision
from .error_counts import ErrorCounts
from .smoothing import smoothed, smoothing_of

__all__ = ["SequenceCounter"]


class _ScoreDerivatives(NamedTuple):
    """Derivatives of ℓ by the scores of the wrong labellings, of the right one, and by log Z, each [S]."""

    wrong: Floats
    right: Floats
    every: Floats


class SequenceCounter:
    """Counts wrong sentences. One of two arguments has the labellings that y* is compared with; the other is None.

    competitors: finds the best one (ψ = inf).   others: a data set with all of them, without y* (finite ψ); exact.
    """

    def __init__(
        self, supervision: Supervision, settings: MceSettings, inference: Inference, completing: Inference,
        competitors: CompetitorSearch | None, others: BoundData | None,
    ):  # fmt: skip
        """completing: the inference that fills in labels that are latent or not known, or sums them out."""
        self._settings, self._smoothing, self._workers = settings, smoothing_of(settings), supervision.workers
        self._competitors, self._sentence_off = competitors, supervision.sentence_off
        self._data = supervision.bind(programs=METHODS[inference.name].programs)
        self._sums = FeatureSums(self._data, supervision.workers)
        self._method = inference.build(self._data)
        self.approximate = self._method.approximate
        partly = ~supervision.gold.complete_sentences(supervision.sentence_off)
        self._labelling = supervision.labelling if not partly.any() else None
        self._known = self._known_method = None
        if partly.any():
            self._known = supervision.bind_known(programs=METHODS[completing.name].programs)
            self._known_method = completing.build(self._known)
            self._known_sums = FeatureSums(self._known, supervision.workers)
        self._others = others
        self._log_mean: Floats | float = 0.0
        if others is not None:
            self._other_method = ExactMethod(others, ExactSettings())
            self._other_sums = FeatureSums(others, supervision.workers)
            if settings.normalise:
                self._log_mean = -self._log_sum(others, self._other_method, np.zeros(others.num_weights))
        self._status = RunStatus()

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""
        return self._status + (self._competitors.status if self._competitors is not None else RunStatus())

    @property
    def num_spans(self) -> int:
        return self._data.num_sequences

    def count(self, weights: Floats) -> ErrorCounts:
        """See `Counter.count`."""
        labelling, right = self._right(weights)
        competitor: Codes | None = None
        if self._competitors is not None:
            competitor = self._competitors.best_wrong(weights).T.ravel()
            wrong = self._scores(weights, competitor)
        else:
            assert self._others is not None
            psi = self._settings.psi
            wrong = (self._log_sum(self._others, self._other_method, psi * weights) + self._log_mean) / psi
        value, derivatives = self._compare(weights, right, wrong)
        gradient = self._labelling_counts(labelling, derivatives.right, competitor, derivatives.wrong)
        if competitor is None:
            assert self._others is not None
            gradient += self._expected(
                self._others, self._other_method, self._other_sums, self._settings.psi * weights, derivatives.wrong
            )
        if labelling is None:
            assert self._known is not None and isinstance(self._known_method, ExactMethod)
            gradient += self._expected(self._known, self._known_method, self._known_sums, weights, derivatives.right)
        if derivatives.every.any():
            assert isinstance(self._method, ExactMethod)
            gradient += self._expected(self._data, self._method, self._sums, weights, derivatives.every)
        self._status = self._status + RunStatus(graphs=self._data.num_sequences, approximate=self.approximate)
        return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))

    def _right(self, weights: Floats) -> tuple[Codes | None, Floats]:
        """y* with hidden labels filled in, None where they are summed out; and g*, [S]."""
        if self._labelling is not None:
            return self._labelling, self._scores(weights, self._labelling)
        assert self._known is not None and self._known_method is not None
        if math.isfinite(self._settings.psi):
            return None, self._log_sum(self._known, self._known_method, weights)
        data, method = self._known, self._known_method
        labelling = run_decoding(data, method, data.potentials(weights), self._workers).labelling
        return labelling, self._scores(weights, labelling)

    def _compare(self, weights: Floats, right: Floats, wrong: Floats) -> tuple[Floats, _ScoreDerivatives]:
        """ℓ(d) of each sentence, and its derivatives."""
        nothing = np.zeros(len(right))
        if self._settings.measure != "difference":
            with np.errstate(invalid="ignore"):
                value, slope = smoothed(self._smoothing, np.where(np.isneginf(wrong), -np.inf, wrong - right))
            slope = np.where(np.isneginf(wrong), 0.0, slope)
            return value, _ScoreDerivatives(slope, -slope, nothing)
        log_z = self._log_sum(self._data, self._method, weights)
        p, best = np.exp(right - log_z), np.exp(np.minimum(wrong - log_z, LARGEST))
        value, slope = smoothed(Smoothing(*self._smoothing[:3], False), best - p)
        return value, _ScoreDerivatives(slope * best, -slope * p, slope * (p - best))

    def _scores(self, weights: Floats, labelling: Codes) -> Floats:
        """g of a labelling of each sentence, -inf where there is none, [S]."""
        scores = score_sequences(self._data, labelling, self._data.potentials(weights), self._workers)
        return np.where(np.isnan(scores), -np.inf, scores)

    def _log_sum(self, data: BoundData, method: ExpectingMethod, weights: Floats) -> Floats:
        """log Z of each sentence, [S]."""
        return run_inference(data, method, data.potentials(weights), self._workers).log_z

    def _expected(
        self, data: BoundData, method: ExactMethod, sums: FeatureSums, weights: Floats, share: Floats
    ) -> Floats:
        """Σ share ⟨F⟩, [W]."""
        out, potentials = Expectations.empty(data), data.potentials(weights)

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            method.expectations(potentials, first, last, out, gradient, expected, share)

        return sums.map(run)

    def _labelling_counts(
        self, right: Codes | None, right_mass: Floats, wrong: Codes | None, wrong_mass: Floats
    ) -> Floats:
        """Σ mass F of both labellings, [W]; one that is None counts nothing."""
        data = self._data
        present = [(codes, mass) for codes, mass in ((right, right_mass), (wrong, wrong_mass)) if codes is not None]
        if not present:
            return np.zeros(data.num_weights)
        labellings = np.stack([codes for codes, _ in present])
        masses = np.stack([mass for _, mass in present])

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            belief = np.zeros(int(data.shapes.local_end.max(initial=0)))
            count_labellings(
                first, last, data.shapes, data.kinds, data.bindings, data.rows, labellings, data.labelling_off,
                masses, belief, expected, gradient,
            )  # fmt: skip

        return self._sums.map(run)
