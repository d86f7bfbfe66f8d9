"""The bundles that kernels take: what belongs together goes by one name. Numbers only, no behaviour.

A kernel that works on a run of sequences takes the data (`Problem`), the weights (`Potentials`), what it adds to
(`Totals`) and what it writes (`Results`, `Ragged`). Letters are those of `wiring`, which holds the arrays of the model.

A bundle costs nothing by itself: a call passes the arrays in it one by one. Functions that are called in loops
therefore take only bundles that they read as a whole, or the few arrays that they need (see `compilation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .wiring import Bindings, Kinds, Rows, Schedules, Shapes

__all__ = ["Control", "Potentials", "Problem", "Ragged", "Results", "Sweeps", "Totals", "WarmStart"]

Floats = NDArray[np.float64]


class Problem(NamedTuple):
    """A data set bound to a model."""

    shapes: Shapes
    kinds: Kinds
    bindings: Bindings
    rows: Rows


class Potentials(NamedTuple):
    """Weights, and the base tables that they give. Linear tables have their maxima taken out."""

    weights: Floats  #   [W, then fixed ones; or packed cells]
    log_base: Floats  #  [shared cells]
    base: Floats  #      [shared cells]  exp of them
    peaks: Floats  #     [K]             the maxima that were taken out
    fits: bool  #                        whether linear space holds the tables


class Totals(NamedTuple):
    """What expected feature counts are added to."""

    gradient: Floats  #  [W, or packed cells] of features; empty where only marginals are wanted
    expected: Floats  #  [shared cells]


class Ragged(NamedTuple):
    """An array that all sequences share: of sequence s from off[s] to off[s + 1]. Empty where it is not wanted."""

    value: NDArray  #         [..], or [n, ..]
    off: NDArray[np.int64]  # [S+1]


class Results(NamedTuple):
    """How inference on each sequence ended; each writes at its own index."""

    log_z: Floats  #                 [S]
    status: NDArray[np.int8]  #      [S]  see `status_codes`
    redone: NDArray[np.bool_]  #     [S]  whether it was computed in log space
    iterations: NDArray[np.int64]  # [S]  negative where it did not converge
    residual: Floats  #              [S]
    damped: NDArray[np.bool_]  #     [S]  whether messages oscillated and were damped for that


class Control(NamedTuple):
    """When an iteration ends, and what it begins with."""

    tolerance: float
    max_iterations: int
    damping: float
    seed: int


class Sweeps(NamedTuple):
    """A schedule that sends messages in rounds: ORDERED by the passes of a pool, RANDOM, or FLOOD."""

    kind: int
    passes: Schedules


class WarmStart(NamedTuple):
    """Where each sequence begins, and leaves its last messages (or marginals) for the next call. Empty: nowhere."""

    value: NDArray[np.float32]
    off: NDArray[np.int64]  #        [S+1]
    is_kept: NDArray[np.bool_]  #    [S]  whether there is something to begin from
