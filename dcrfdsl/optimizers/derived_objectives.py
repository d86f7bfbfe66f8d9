"""Objectives made of another one: with most weights held at 0, and in the units of its features (`weight_units`).

In units, value and optimum are those of the objective; the optimizer, its checkpoints and the norms of gradients that
it reports are in units; what `watch` sees and what the run returns are weights. Not here: the units; the two runs,
before and after weights are left out (`training.stage`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..foundation import Floats, Ints, Ints32, Mask
from .corners import WeightGroups
from .objective import Batches, Iteration, Objective, Outcome, Result, Scaling, Watch
from .run_state import RunState
from .weight_units import WeightUnits


class _DerivedObjective(Objective):
    """An objective that asks another one for whatever is the same."""

    def __init__(self, objective: Objective):
        self._objective, self.is_steep, self.seconds = objective, objective.is_steep, objective.seconds

    def _original(self, gradient: Floats) -> Floats:
        """A gradient [W] as one of the other objective."""
        return gradient

    def begin_inference(self, anew: str = "") -> bool:
        return self._objective.begin_inference(anew)

    def tighten_tolerance(self) -> bool:
        return self._objective.tighten_tolerance()

    def gap(self, gradient: Floats) -> float | None:
        return self._objective.gap(self._original(gradient))

    def distance(self, gradient: Floats) -> float | None:
        return self._objective.distance(self._original(gradient))

    def spread(self, task: Callable[[int, int], Result], num_weights: int) -> list[Result]:
        return self._objective.spread(task, num_weights)


class KeptWeights(_DerivedObjective):
    """`objective` with a gradient of 0 in the weights that are not `kept` [W].

    reference [W]: the point whose gradient tolerances are relative to.   It has no batches: steps after single
    sentences would move all weights. `gap` is that to the least value with these weights alone.
    """

    def __init__(self, objective: Objective, kept: Mask, reference: Floats):
        super().__init__(objective)
        self._kept, self.reference = kept, np.where(kept, reference, 0.0)
        self.units = None if objective.units is None else objective.units.among(kept)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        value, gradient = self._objective.value_and_gradient(weights)
        return value, np.where(self._kept, gradient, 0.0)

    @property
    def l1(self) -> Floats | None:
        """Weights that are not kept have no corner, as they do not move."""
        strengths = self._objective.l1
        return None if strengths is None else np.where(self._kept, strengths, 0.0)

    @property
    def groups(self) -> WeightGroups | None:
        """Weights that are not kept stay 0 in their groups, which keep their strength."""
        return self._objective.groups


def largest_weights(weights: Floats, count: int) -> Mask:
    """The `count` weights farthest from 0, [W]; of equal ones those of lower numbers; none that is 0."""
    order = np.lexsort((np.arange(len(weights)), -np.abs(weights)))[:count]
    kept = np.zeros(len(weights), np.bool_)
    kept[order[weights[order] != 0.0]] = True
    return kept


class ScaledObjective(_DerivedObjective):
    """`objective` as a function of z, for weights λ = T z."""

    def __init__(self, objective: Objective, units: WeightUnits):
        super().__init__(objective)
        self._units, self.solver = units, objective.solver
        self.reference = None if objective.reference is None else units.point(objective.reference)

    def _original(self, gradient: Floats) -> Floats:
        return self._units.gradient_of_weights(gradient)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        value, gradient = self._objective.value_and_gradient(self._units.weights(weights))
        return value, self._units.gradient(gradient)

    @property
    def l1(self) -> Floats | None:
        strengths = self._objective.l1
        return None if strengths is None else strengths / self._units.size

    @property
    def groups(self) -> WeightGroups | None:
        """The weights of a group have one size."""
        groups = self._objective.groups
        if groups is None:
            return None
        size = np.ones(len(groups.strength))
        inside = groups.number >= 0
        size[groups.number[inside]] = self._units.size[inside]
        return groups._replace(strength=groups.strength / size)

    def batches(self, size: int | None = None) -> Batches | None:
        """None with blocks, whose weights move together and not as a batch touches them."""
        batches = None if self._units.blocks else self._objective.batches(size)
        return None if batches is None else _ScaledBatches(batches, self._units.size)

    def scaling(self) -> Scaling | None:
        """That of features divided by their sizes."""
        scaling = self._objective.scaling()
        return None if scaling is None else _ScaledFeatures(scaling, self._units.size)


class _ScaledBatches:
    """Batches of which each weight has a size [W]."""

    def __init__(self, batches: Batches, size: Floats):
        self._batches, self._size = batches, size
        self.precision, self.share = batches.precision / size**2, batches.share / size**2
        self._touched = np.zeros(0, np.int32)

    @property
    def count(self) -> int:
        return self._batches.count

    def begin(self, weights: Floats) -> None:
        self._point, self._weights = weights, weights / self._size
        self._batches.begin(self._weights)

    def gradient(self, number: int) -> tuple[float, Ints32, Floats]:
        value, self._touched, gradient = self._batches.gradient(number)
        return value, self._touched, gradient / self._size[self._touched]

    def moved(self, number: int) -> None:
        """Is called after the gradient of this batch."""
        touched = self._touched
        self._weights[touched] = self._point[touched] / self._size[touched]
        self._batches.moved(number)


class _ScaledFeatures:
    """Scaling of features that are divided by sizes [W]; their totals are already (`Objective.units`)."""

    def __init__(self, scaling: Scaling, size: Floats):
        self._scaling, self._size, self.counts = scaling, size, scaling.counts / size
        self.totals = scaling.totals

    def expectations_by_total(self, weights: Floats, totals: Floats) -> list[tuple[Ints, Floats]]:
        parts = self._scaling.expectations_by_total(weights / self._size, totals)
        return [(numbers, amount / self._size[numbers]) for numbers, amount in parts]


def minimise_in_units(
    minimise: Callable[[Objective, Floats, Any, Watch, RunState], Outcome], objective: Objective, units: WeightUnits,
    start: Floats, settings: Any, watch: Watch, state: RunState,
) -> Outcome:  # fmt: skip
    """Runs an optimizer in units, from the weights `start` [W]."""

    def in_weights(step: Iteration, point: Floats) -> bool:
        return watch(step, units.weights(point))

    outcome = minimise(ScaledObjective(objective, units), units.point(start), settings, in_weights, state)
    return replace(outcome, weights=units.weights(outcome.weights))
