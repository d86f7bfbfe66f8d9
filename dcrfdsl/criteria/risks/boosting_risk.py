"""The risk that label sequence AdaBoost lowers, and what its rounds need from the features (Altun 2003 §6).

    R(λ) = Σ_i D_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)),      D_i = w_i / Σ_j w_j (|Y_j| − 1)

R is 1 where all weights are 0, and never below the rank risk with weights D_i (propositions 5 and 6). The paper's D_i
is this one with w_i = w(T_i) / (|Y_i| − 1), which `uniform` and `divide` ask for. Without the division, long sequences
count for more, as they can be wrong in more ways. Not here: the rounds (`optimizers.boosting_rounds`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...foundation import DcrfError, Diagnostic, Floats, Ints
from ...inference import BoundData, ExactMethod
from ...kernels.sequences import known_scores, sum_groups
from ...optimizers import BoostingProblem
from ...semantics import AdaboostSettings, TrainSettings
from ..competing_labellings import unpacked_data_excluding_gold
from ..gold_counts import feature_firings
from ..penalties import Penalty
from ..supervision import ResolvedInference, TrainingProblem
from ..wrong_labelling_sums import NEAR, WrongLabellingSums, finite_or_zero, log_wrong_ratio
from .count_ranges import PairExpectations, count_ranges_of
from .exponential import check_start, log_importance, require_exact
from .risk import Risk


class BoostingRisk(Risk):
    """The risk, and what rounds of boosting need from it."""

    solver = "boosting"

    def __init__(
        self, supervision: TrainingProblem, settings: TrainSettings[AdaboostSettings], inference: ResolvedInference
    ):
        criterion = settings.criterion
        super().__init__(supervision, Penalty.none(supervision.parameters.num_weights), None, "exact")
        self.rounds, self.tolerance, self.max_step = criterion.rounds, criterion.tolerance, criterion.max_step
        self.update: str = criterion.update
        self._wrong, self._weight = WrongLabellingSums(supervision, inference), criterion.weight
        labels = supervision.graph.num_labels * np.diff(supervision.sentence_off)
        wrong = self._wrong.log_ratios(np.zeros(self.num_weights))[0]
        weight = np.zeros(len(labels)) if criterion.weight == "uniform" else labels * np.log(criterion.weight)
        if criterion.weight == "uniform" or criterion.divide:
            weight = weight - finite_or_zero(wrong)
        weight = weight + log_importance(supervision, settings)
        total = np.logaddexp.reduce((weight + wrong)[np.isfinite(wrong)], initial=-np.inf)
        self.log_weight = weight - (total if np.isfinite(total) else 0.0)
        self._supervision, self._inference, self._every = supervision, inference, feature_firings(supervision)
        self._column_of, self._fires_in = self._every.column_of, self._every.sequences_of()
        self.ranges = count_ranges_of(self._every, self._wrong.gold, shared=criterion.bounds == "all")
        self._weight_of = np.repeat(np.arange(self.num_weights), np.diff(self.ranges.off))
        size = self._wrong.num_sequences
        varies = np.repeat(self.ranges.high > self.ranges.low, np.diff(self.ranges.slot_off))
        self.most_weights = max(1, int(np.bincount(self.ranges.sequence[varies], minlength=size).max(initial=0)))
        # The last point, and at that point: for each sequence the score of its known labels, its risk, and the factor
        # of its expectations in the gradient; for each pair these expectations.
        self._point: Floats | None = None
        self._right, self._risk, self._share = np.zeros((3, size))
        self._value = np.zeros(len(self.ranges.slot))
        self._group_shares = np.zeros((2, self.ranges.num_groups))
        self._summed = False

    def boosting(self) -> BoostingProblem:
        return self

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`. Only computes the sequences that have changed since the last call."""
        self._move(weights)
        gradient = np.bincount(self._weight_of, self.shares[1], self.num_weights).astype(np.float64, copy=False)
        return float(self._risk.sum()), gradient

    def _move(self, weights: Floats) -> None:
        """Brings all stored values to `weights` [W]."""
        changed = self._changed(weights)
        self._point, self._summed = weights.copy(), False
        gold = self._wrong.gold
        known_scores(changed, gold.off, gold.column, gold.count, weights, self._right)
        self._of_all.update(weights, changed, self._value)
        above = self._of_all.out.log_z[changed] - self._right[changed]
        ratio, near = log_wrong_ratio(above), above < NEAR
        if near.any():
            few = changed[near]
            self._of_wrong.update(weights, few, self._value)
            ratio[near] = self._of_wrong.out.log_z[few] - self._right[few]
        with np.errstate(over="ignore"):
            self._risk[changed] = np.exp(self.log_weight[changed] + ratio)
            self._share[changed] = np.exp(self.log_weight[changed] + np.where(near, ratio, above))
        self.total_status = self.total_status + self._of_all.out.summary()

    def _changed(self, weights: Floats) -> Ints:
        """The sequences in which a changed weight can count."""
        if self._point is None:
            return np.arange(len(self._risk))
        off, sequences = self._fires_in
        columns = np.unique(self._column_of[np.flatnonzero(weights != self._point)])
        fires = np.zeros(len(self._risk), np.bool_)
        for column in columns.tolist():
            fires[sequences[off[column] : off[column + 1]]] = True
        return np.flatnonzero(fires)

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """See `BoostingProblem.shares`."""
        if not self._summed:
            ranges = self.ranges
            sum_groups(ranges.slot_off, ranges.sequence, self._risk, self._share, self._value, self._group_shares)
            self._summed = True
        return self._group_shares[0], self._group_shares[1]

    @cached_property
    def _of_all(self) -> PairExpectations:
        return self._expectations(self._supervision.bind_plain(programs=True))

    @cached_property
    def _of_wrong(self) -> PairExpectations:
        return self._expectations(
            unpacked_data_excluding_gold(self._supervision, range(self._supervision.graph.num_labels))
        )

    def _expectations(self, plain: BoundData) -> PairExpectations:
        data = plain.packed()
        method = self._inference.build(data)
        assert isinstance(method, ExactMethod)
        return PairExpectations(data, method, self._every, self.ranges, self._wrong.gold, self.workers)

    def mass(self, weight: int) -> float:
        """See `BoostingProblem.mass`."""
        off, sequences = self._fires_in
        column = self._column_of[weight]
        return float(self._risk[sequences[off[column] : off[column + 1]]].sum())

    def start(self, weights: Floats) -> Floats:
        """As `ExponentialRisk.start`."""
        check_start(self.log_weight + self._wrong.log_ratios(weights)[0], self._weight)
        return weights


def build_boosting(supervision: TrainingProblem, settings: TrainSettings[AdaboostSettings]) -> BoostingRisk:
    """The criterion of a stage. DcrfError where exact inference does not fit, or some label is not known."""
    unknown = np.flatnonzero((supervision.gold.codes < 0).any(axis=0))
    if len(unknown):
        sentence = int(np.searchsorted(supervision.sentence_off, unknown[0], side="right"))
        message = f"`adaboost` needs labels that are all known, and in sentence {sentence} some are not"
        raise DcrfError(Diagnostic("cannot-sum-out", message, help="train by `exponential`, which sums them out"))
    return BoostingRisk(supervision, settings, require_exact(supervision, settings))
