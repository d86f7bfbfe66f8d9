"""Whole sentences, right or wrong: d compares y* with all other labellings, by a maximum or a soft one.

With ψ = inf by the best of all other labellings:

    softmax (eq. 7)   d = −g* + max_{y ≠ y*} g(y),     ratio: d = exp of it
    difference        d = −p(y*) + max_{y ≠ y*} p(y)

Where labels are latent or not known, g* is the score of their best completion. One pass counts sentences whose labels
are all known, if inference is exact (`span_errors`). With finite ψ by a soft maximum over them:

    softmax (eq. 7)   d = (1/ψ) log [A Σ_{y ≠ y*} exp ψ (g(y) − g*)],     ratio: d = exp of it
    difference        d = −p(y*) + [A Σ_{y ≠ y*} p(y)^ψ]^{1/ψ}

    ∂/∂λ (1/ψ) log Σ_{y ≠ y*} exp ψ (g(y) − g*) = ⟨F⟩_{ψ, y ≠ y*} − F*

Where labels are latent or not known, ψ = 1 and g* = log Σ_h exp g(y*, h). With `normalise`, A = 1 / (|Y| − 1), or where
n labellings agree with what is known, n / (|Y| − n); otherwise A = 1. Source: Suzuki, McDermott & Isozaki 2006 §3,
appendix. Not here: the other labellings (`competing_labellings`), sums over them (`wrong_labelling_sums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Codes, Floats
from ..graph import scaled_weights
from ..inference import METHODS, Expectations, RunStatus, run_decoding, run_inference, score_sequences
from ..kernels.chain import LARGEST, Smoothing
from ..semantics import MceSettings, TrainSettings
from .competing_labellings import ConstrainedSearch, Search
from .error_counts import ErrorCounts, smoothed, smoothing_of
from .run_sums import GradientAccumulator
from .training_problem import ResolvedInference, TrainingProblem
from .wrong_labelling_sums import WrongLabellingSums, finite_or_zero

TINY = 1e-300  # a factor that makes all scores alike, but for -inf


class _ScoreDerivatives(NamedTuple):
    """Derivatives of ℓ by the scores of the wrong labellings, of the right one, and by log Z, each [S]."""

    wrong: Floats
    right: Floats
    every: Floats


class SequenceCounter:
    """Counts wrong sentences.   competitors: finds the best wrong labellings."""

    def __init__(
        self, problem: TrainingProblem, settings: TrainSettings[MceSettings], inference: ResolvedInference,
        completing: ResolvedInference, competitors: Search | ConstrainedSearch,
    ):  # fmt: skip
        """completing: the inference that fills in labels that are latent or not known."""
        self._settings, self._smoothing = settings.criterion, smoothing_of(settings.criterion)
        self._workers, self._factor = problem.workers, problem.sentence_importance(settings)
        self._competitors = competitors
        self._data = problem.bind(programs=METHODS[inference.name].programs)
        self._sums, self.num_spans = GradientAccumulator(self._data, problem.workers), self._data.num_sequences
        self._method = inference.build(self._data)
        self.approximate = self._method.approximate
        self._labelling: Codes | None = problem.labelling
        if not problem.gold.complete_sentences(problem.sentence_off).all():
            self._labelling = None
            self._known = problem.bind_known(programs=METHODS[completing.name].programs)
            self._known_method = completing.build(self._known)
        self._status = RunStatus()

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""
        return self._status + self._competitors.status

    def count(self, weights: Floats) -> ErrorCounts:
        labelling, right = self._right(weights)
        competitor = self._competitors.best(weights).T.ravel()
        value, derivatives = self._compare(weights, right, self._scores(weights, competitor))
        if self._factor is not None:
            value = value * self._factor
            derivatives = _ScoreDerivatives(*(slope * self._factor for slope in derivatives))
        gradient = self._sums.labellings(
            np.stack((labelling, competitor)), np.stack((derivatives.right, derivatives.wrong))
        )
        if derivatives.every.any():
            out, potentials = Expectations.empty(self._data), self._data.potentials(weights)
            gradient += self._sums.expectations(self._method, potentials, out, derivatives.every)
        self._status = self._status + RunStatus(graphs=self._data.num_sequences, approximate=self.approximate)
        return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))

    def _right(self, weights: Floats) -> tuple[Codes, Floats]:
        """y* with hidden labels filled in, and g*, [S]."""
        if self._labelling is not None:
            return self._labelling, self._scores(weights, self._labelling)
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
        log_z = run_inference(self._data, self._method, self._data.potentials(weights), self._workers).log_z
        p, best = np.exp(right - log_z), np.exp(np.minimum(wrong - log_z, LARGEST))
        value, slope = smoothed(Smoothing(*self._smoothing[:3], False), best - p)
        return value, _ScoreDerivatives(slope * best, -slope * p, slope * (p - best))

    def _scores(self, weights: Floats, labelling: Codes) -> Floats:
        """g of a labelling of each sentence, -inf where there is none, [S]."""
        scores = score_sequences(self._data, labelling, self._data.potentials(weights), self._workers)
        return np.where(np.isnan(scores), -np.inf, scores)


# soft maxima over all other labellings --------------------------------------------------------------------------------


class SoftSequenceCounter:
    """Counts wrong sentences, exactly."""

    approximate = False

    def __init__(self, problem: TrainingProblem, settings: TrainSettings[MceSettings], inference: ResolvedInference):
        """inference: exact."""
        self._settings, self._smoothing = settings.criterion, smoothing_of(settings.criterion)
        factor = problem.sentence_importance(settings)
        self._factor: Floats | float = 1.0 if factor is None else factor
        self._graph, self._sums = problem.graph, WrongLabellingSums(problem, inference)
        self.num_spans = self._sums.num_sequences
        self._log_mean: Floats | float = 0.0
        if self._settings.normalise:
            # log A: d = 0 where all labellings score the same. Latent states cancel out.
            alike = scaled_weights(problem.graph, np.zeros(problem.parameters.num_weights), TINY)
            self._log_mean = -finite_or_zero(self._sums.log_ratios(alike)[0])

    @property
    def status(self) -> RunStatus:
        """How inference ended, over all calls."""
        return self._sums.status

    def count(self, weights: Floats) -> ErrorCounts:
        psi, sums = self._settings.psi, self._sums
        scaled = scaled_weights(self._graph, weights, psi)
        ratios = sums.log_ratios(scaled)
        above = (ratios[0] + self._log_mean) / psi
        if self._settings.measure != "difference":
            value, slope = (self._factor * each for each in smoothed(self._smoothing, above))
            gradient = sums.differences(scaled, ratios, np.where(np.isneginf(above), 0.0, slope))
            return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))
        log_z, right = sums.free_and_known(weights)
        log_p = right - log_z
        p, best = np.exp(log_p), np.exp(np.minimum(log_p + above, LARGEST))
        value, slope = (self._factor * each for each in smoothed(Smoothing(*self._smoothing[:3], False), best - p))
        gradient = sums.differences(scaled, ratios, slope * best)
        gradient += sums.free_differences(weights, slope * (p - best))
        return ErrorCounts(float(value.sum()), 0.0, gradient, np.zeros(len(weights)))
