"""The risk that label sequence AdaBoost lowers, and what its rounds need to know of the features (Altun 2003 §6).

    R(λ) = Σ_i D_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)),      D_i = w_i / Σ_j w_j (|Y_j| − 1)

which is 1 where all weights are 0, and never below the rank risk with weights D_i (propositions 5 and 6). The paper's
D_i is this one with w_i = w(T_i) / (|Y_i| − 1); without the division long sequences, which can be wrong in more ways,
count for more. Not here: the rounds (`optimizers.boosting`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import DcrfError, Diagnostic
from ..inference import BoundData
from ..inference.methods import ExactMethod
from ..spec.risks import AdaboostSettings
from ..spec.settings import TrainSettings
from .exponential import WrongSums, finite, needs_exact
from .gold_counts import firing_of
from .mce.rivals import wrong_data
from .penalties import Penalty
from .ranges import GroupSums, ranges_of
from .risk import Risk
from .supervision import Inference, Supervision

__all__ = ["Boosting", "build_boosting"]

Floats = NDArray[np.float64]


class Boosting(Risk):
    """The risk, and what the criterion says of its own training: see `optimizers.objective.BoostedObjective`."""

    def __init__(self, given: Supervision, settings: TrainSettings, inference: Inference):
        own = settings.criterion
        assert isinstance(own, AdaboostSettings)
        super().__init__(given, Penalty.none(given.parameters.num_weights), None, "exact")
        self.rounds, self.tolerance, self.max_step = own.rounds, own.tolerance, own.max_step
        self.update = own.update
        self._wrong, self._weight = WrongSums(given, inference), own.weight
        labels = given.graph.num_labels * np.diff(given.sentence_off)
        wrong = self._wrong.log_ratios(np.zeros(self.num_weights))[0]
        weight = -finite(wrong) if own.weight == "uniform" else labels * np.log(own.weight)
        total = np.logaddexp.reduce((weight + wrong)[np.isfinite(wrong)], initial=-np.inf)
        self.log_weight = weight - (total if np.isfinite(total) else 0.0)
        self._given, self._inference, self._every = given, inference, firing_of(given)
        self._firing, self._column_of = self._every.above, self._every.column_of
        self.ranges = ranges_of(self._every, self._wrong.gold)
        self._weight_of = np.repeat(np.arange(self.num_weights), np.diff(self.ranges.off))
        of_pair = np.concatenate([[0], np.cumsum((self.ranges.high > self.ranges.low)[self.ranges.group])])
        varies = np.diff(of_pair[self.ranges.pair_off])
        self.most_weights = max(1, int(varies.max(initial=0)))
        self._risk = np.zeros(self._wrong.num_sequences)
        self._point = np.zeros(self.num_weights)
        self._shares: tuple[Floats, Floats] | None = None

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`."""
        self._point, self._shares = weights, None
        if self.update == "steepest":  # most evaluations are of a search, which needs no bounds
            self._risk, gradient = self._wrong.weighed(weights, self.log_weight)
            self.total_status = self._wrong.status
            return float(self._risk.sum()), gradient
        _, mean = self.shares
        self.total_status = self._wrong.status
        gradient = np.bincount(self._weight_of, mean, self.num_weights).astype(np.float64, copy=False)
        return float(self._risk.sum()), gradient

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """See `BoostedObjective.shares`."""
        if self._shares is None:
            self._risk, of_all, of_wrong = self._wrong.shares(self._point, self.log_weight)
            mass, mean = self._of_all.sums(self._point, of_all, self._risk)
            if of_wrong.any():
                mean = mean + self._of_wrong.sums(self._point, of_wrong, np.zeros(len(of_wrong)))[1]
            gold = self._wrong.gold
            known = gold.count * (of_all + of_wrong)[gold.sequence]
            self._shares = mass, mean - np.bincount(self.ranges.gold, known, self.ranges.num_groups)
        return self._shares

    @cached_property
    def _of_all(self) -> GroupSums:
        return self._sums_of(self._given.bind_plain(programs=True))

    @cached_property
    def _of_wrong(self) -> GroupSums:
        return self._sums_of(wrong_data(self._given, range(self._given.graph.num_labels)))

    def _sums_of(self, data: BoundData) -> GroupSums:
        method = self._inference.build(data)
        assert isinstance(method, ExactMethod)
        return GroupSums(data, method, self._every, self.ranges, self.workers)

    @property
    def mass(self) -> Floats:
        """Of each weight the risk of the sequences in which its feature fires, at the last evaluation, [W]."""
        fires = self._risk[self._firing.sequence]
        by_column = np.bincount(self._firing.column, fires, self._firing.num_columns)
        return by_column[self._column_of].astype(np.float64, copy=False)

    def start(self, weights: Floats) -> Floats:
        """As `Exponential.start`."""
        self._wrong.check(weights, self.log_weight, self._weight)
        return weights


def build_boosting(given: Supervision, settings: TrainSettings) -> Boosting:
    """The criterion of a stage. DcrfError where exact inference does not fit, or some label is not known."""
    unknown = np.flatnonzero((given.gold.codes < 0).any(axis=0))
    if len(unknown):
        sentence = int(np.searchsorted(given.sentence_off, unknown[0], side="right"))
        message = f"`adaboost` needs labels that are all known, and in sentence {sentence} some are not"
        raise DcrfError(Diagnostic("cannot-sum-out", message, help="train by `exponential`, which sums them out"))
    return Boosting(given, settings, needs_exact(given, settings))
