"""Whether an optimizer may say that it converged, whatever its own rule says: by what is known of the distance.

A rule that is relative to the gradient at the start, or to the last change, can be kept far from an optimum: where one
weight makes up the norm, or steps are short. So the bound of the distance, where there is one, must be no larger than
the objective. Where there is none, the estimate by each weight's own curvature must be a small part of the objective,
or of what it was at first, as some fall to 0 without an end. Not here: rules, bounds.
"""

from __future__ import annotations

from ..foundation import Floats
from .objective import Objective

PART = 0.01  # of the objective, by the estimate


def is_near_least(objective: Objective, gradient: Floats, value: float, first: float) -> bool:
    """Whether the objective may be near its least value at a point with this gradient [W] and value.

    gradient: in corners the subgradient of least norm.   first: an early value of the training.
    """
    gap = objective.gap(gradient)
    if gap is not None:
        return bool(gap <= abs(value))
    distance = objective.distance(gradient)
    return distance is None or bool(distance <= PART * max(abs(value), abs(first)))
