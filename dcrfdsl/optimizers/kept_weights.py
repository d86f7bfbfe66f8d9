"""An objective of the weights that are kept, the largest ones; all others stay 0.

Not here: the two runs, before and after weights are left out (`training.minimisation`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..foundation import Floats, Mask
from .corners import WeightGroups
from .objective import Objective, Result


class KeptWeights(Objective):
    """`objective` with a gradient of 0 in the weights that are not `kept` [W].

    reference [W]: the point whose gradient tolerances are relative to.   It has no batches: steps after single
    sentences would move all weights.
    """

    def __init__(self, objective: Objective, kept: Mask, reference: Floats):
        self._objective, self._kept = objective, kept
        self.reference, self.is_steep = np.where(kept, reference, 0.0), objective.is_steep
        self.units = None if objective.units is None else objective.units.among(kept)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """As `Objective.value_and_gradient`."""
        value, gradient = self._objective.value_and_gradient(weights)
        return value, np.where(self._kept, gradient, 0.0)

    def tighten_tolerance(self) -> bool:
        """As `Objective.tighten_tolerance`."""
        return self._objective.tighten_tolerance()

    def gap(self, gradient: Floats) -> float | None:
        """As `Objective.gap`, of the least value with these weights alone."""
        return self._objective.gap(gradient)

    def distance(self, gradient: Floats) -> float | None:
        """As `Objective.distance`."""
        return self._objective.distance(gradient)

    @property
    def l1(self) -> Floats | None:
        """As `Objective.l1`; weights that are not kept have no corner, as they do not move."""
        strengths = self._objective.l1
        return None if strengths is None else np.where(self._kept, strengths, 0.0)

    @property
    def groups(self) -> WeightGroups | None:
        """As `Objective.groups`: weights that are not kept stay 0 in theirs, which keep their strength."""
        return self._objective.groups

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        """As `Objective.spread`."""
        return self._objective.spread(task, num_weights)


def largest_weights(weights: Floats, count: int) -> Mask:
    """The `count` weights farthest from 0, [W]; of equal ones those of lower numbers; none that is 0."""
    order = np.lexsort((np.arange(len(weights)), -np.abs(weights)))[:count]
    kept = np.zeros(len(weights), np.bool_)
    kept[order[weights[order] != 0.0]] = True
    return kept
