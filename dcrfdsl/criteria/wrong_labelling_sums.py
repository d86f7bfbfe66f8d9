"""Sums over the wrong labellings of each sequence, relative to the known one, and expectations under them.

    log Σ_{y ≠ y_i} exp(g(y) − g(y_i)) = log (Z_i / exp g(y_i) − 1)

Everything is computed through logarithms. Where nearly all the probability is on y_i, Z_i and exp g(y_i) are too close
for a difference, and the sums run over the other labellings alone (`graph.margin_graphs`). Where labels are
latent or not known, g(y_i) = log Σ_h exp g(y_i, h). Not here: the criteria made of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Mask, chosen_ranges
from ..inference import BoundData, ExactMethod, Expectations, RunStatus
from .competing_labellings import data_excluding_gold
from .gold_counts import gold_counts
from .likelihood import clamped_part
from .run_sums import GradientAccumulator
from .training_problem import ResolvedInference, TrainingProblem

NEAR = 1e-3  # log Z − g* below which sums run over the other labellings: the difference would lose digits


class _Source(NamedTuple):
    """A data set, and exact sums over its labellings."""

    data: BoundData
    method: ExactMethod
    sums: GradientAccumulator

    @classmethod
    def of(cls, data: BoundData, problem: TrainingProblem, inference: ResolvedInference) -> _Source:
        method = inference.build(data)
        assert isinstance(method, ExactMethod)
        return cls(data, method, GradientAccumulator(data, problem.workers))

    def log_z(self, weights: Floats, chosen: Mask) -> tuple[Floats, RunStatus]:
        """log Z of the sequences that are `chosen` [S], and how inference ended; 0 for the others."""
        out, potentials, nothing = Expectations.empty(self.data), self.data.potentials(weights), np.zeros(0)

        def run(first: int, last: int) -> None:
            for begin, end in chosen_ranges(chosen[first:last], first):
                self.method.expectations(potentials, begin, end, out, nothing, np.zeros(len(self.data.hard)))

        self.sums.visit(run)
        return out.log_z, out.summary()

    def expected(self, weights: Floats, share: Floats) -> Floats:
        """Σ share ⟨F⟩, [W]; sequences with a share of 0 are skipped where they are many."""
        out, potentials, chosen = Expectations.empty(self.data), self.data.potentials(weights), share != 0.0
        if not chosen.any():
            return np.zeros(self.data.num_weights)
        chosen |= bool(chosen.mean() > 0.5)  # to pass over all takes less time than to skip a few

        def run(first: int, last: int, gradient: Floats, expected: Floats) -> None:
            for begin, end in chosen_ranges(chosen[first:last], first):
                self.method.expectations(potentials, begin, end, out, gradient, expected, share)

        return self.sums.map(run)


class WrongLabellingSums:
    """Sums over the wrong labellings of each sequence, relative to the known one."""

    def __init__(self, problem: TrainingProblem, inference: ResolvedInference):
        self._problem, self._exact = problem, inference
        self._all = _Source.of(problem.bind(programs=True), problem, inference)
        self.clamped = clamped_part(problem, inference)
        self._known, self.num_sequences = None, len(problem.sentence_off) - 1
        if self.clamped is not None:
            self._known, self._partly = _Source.of(self.clamped.data, problem, inference), self.clamped.partly
        self.gold = gold_counts(problem)
        self.status = RunStatus()

    @cached_property
    def _others(self) -> _Source:
        data = data_excluding_gold(self._problem, range(self._problem.graph.num_labels))
        return _Source.of(data, self._problem, self._exact)

    def log_ratios(self, weights: Floats) -> tuple[Floats, Floats]:
        """log Σ_{y ≠ y_i} exp(g(y) − g(y_i)) and log Z_i − g(y_i) of every sequence, [S].

        The latter is nan where the former was not computed from it; the former is -inf without wrong labellings.
        """
        log_z, right = self.free_and_known(weights)
        above = log_z - right
        near = above < NEAR
        ratio = log_wrong_ratio(above)
        if near.any():
            others, _ = self._others.log_z(weights, near)
            ratio = np.where(near, others - right, ratio)
            above = np.where(near, np.nan, above)
        return ratio, above

    def free_and_known(self, weights: Floats) -> tuple[Floats, Floats]:
        """log Z_i and g(y_i), [S] each."""
        log_z, status = self._all.log_z(weights, np.ones(self.num_sequences, np.bool_))
        self.status = self.status + status
        factor = weights[self._all.data.num_weights :]  # see `scaled_weights`
        right = self.gold.times(weights, self._problem.workers) + (
            self._problem.fixed_scores * factor if len(factor) else self._problem.fixed_scores
        )
        if self._known is not None:
            known, _ = self._known.log_z(weights, self._partly)
            right = np.where(self._partly, known, right)
        return log_z, right

    def weighted(self, weights: Floats, log_weight: Floats) -> tuple[Floats, Floats]:
        """w_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)), [S]; and the gradient [W] of their sum, all 0 where it is not finite."""
        ratios = self.log_ratios(weights)
        with np.errstate(over="ignore"):
            risk = np.where(np.isnan(ratios[0]), 0.0, np.exp(log_weight + ratios[0]))
        if not np.isfinite(risk.sum()):
            return risk, np.zeros(self._problem.parameters.num_weights)
        return risk, self.differences(weights, ratios, risk)

    def differences(self, weights: Floats, ratios: tuple[Floats, Floats], share: Floats) -> Floats:
        """Σ_i share_i (⟨F⟩ over the wrong labellings − F(y_i)), [W]. ratios: of `log_ratios` at these weights."""
        ratio, above = ratios
        alone = np.isnan(above)
        with np.errstate(invalid="ignore"):  # over all labellings, ⟨F⟩ − F(y_i) is 1 − p times that over the wrong ones
            of_all = np.where(alone | np.isneginf(ratio), 0.0, share * np.exp(above - ratio))
        gradient = self.free_differences(weights, of_all)
        of_wrong = np.where(alone, share, 0.0)
        if of_wrong.any():
            gradient += self._others.expected(weights, of_wrong) - self._known_features(weights, of_wrong)
        return gradient

    def free_differences(self, weights: Floats, share: Floats) -> Floats:
        """Σ_i share_i (⟨F⟩ over all labellings − F(y_i)), [W]."""
        return self._all.expected(weights, share) - self._known_features(weights, share)

    def _known_features(self, weights: Floats, share: Floats) -> Floats:
        """Σ_i share_i F(y_i), [W], expected where labels are not known."""
        features = self.gold.total(share)
        if self._known is not None:
            features += self._known.expected(weights, np.where(self._partly, share, 0.0))
        return features


def log_wrong_ratio(above: Floats) -> Floats:
    """log (e^d − 1), d = log Z − g*: the log ratio of all wrong labellings to the known one."""
    with np.errstate(divide="ignore"):
        ratio: Floats = above + np.log(-np.expm1(-np.maximum(above, 0.0)))
    return ratio


def finite_or_zero(logs: Floats) -> Floats:
    """These logarithms, with 0 in place of -inf."""
    return np.where(np.isneginf(logs), 0.0, logs)
