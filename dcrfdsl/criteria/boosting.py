"""The risk that label sequence AdaBoost lowers, and what its rounds need to know of the features (Altun 2003 §6).

    R(λ) = Σ_i D_i Σ_{y ≠ y_i} exp(g(y) − g(y_i)),      D_i = w_i / Σ_j w_j (|Y_j| − 1)

which is 1 where all weights are 0, and never below the rank risk with weights D_i (propositions 5 and 6). The paper's
D_i is this one with w_i = w(T_i) / (|Y_i| − 1); without the division long sequences, which can be wrong in more ways,
count for more. Not here: the rounds (`optimizers.boosting`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import DcrfError, Diagnostic
from ..spec.risks import AdaboostSettings
from ..spec.settings import TrainSettings
from .exponential import WrongSums, finite, needs_exact
from .gold_counts import firing_of
from .penalties import Penalty
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
        firing = firing_of(given)
        self.bounds = firing.bounds(self._wrong.gold)
        self._firing, self._column_of = firing.above, firing.column_of
        varies = np.bincount(self._column_of[self.bounds[1] > self.bounds[0]], minlength=self._firing.num_columns)
        per_sequence = np.bincount(self._firing.sequence, varies[self._firing.column], self._wrong.num_sequences)
        self.most_weights = max(1, int(per_sequence.max(initial=0)))
        self._risk = np.zeros(self._wrong.num_sequences)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Risk.value_and_gradient`."""
        self._risk, gradient = self._wrong.weighed(weights, self.log_weight)
        self.total_status = self._wrong.status
        return float(self._risk.sum()), gradient

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
