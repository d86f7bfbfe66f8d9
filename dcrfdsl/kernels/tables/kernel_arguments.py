"""The NamedTuples that kernels take as arguments: arrays that belong together. Numbers only, no behaviour.

A kernel that works on a run of sequences takes the data (`Problem`), the weights (`Potentials`), the buffers that it
adds to (`Totals`) and those that it writes (`Results`, `Ragged`). The letters of shapes are those of `wiring`, which
holds the arrays of the model.

A NamedTuple costs nothing by itself: a call passes its arrays one by one. Functions that are called in loops therefore
take only NamedTuples that they need as a whole, or the few arrays that they use (see `runtime.compilation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .wiring import Bindings, Kinds, Rows, Schedules, Shapes

Floats = NDArray[np.float64]


class Problem(NamedTuple):
    """A data set bound to a model."""

    shapes: Shapes
    kinds: Kinds
    bindings: Bindings
    rows: Rows


class Potentials(NamedTuple):
    """Weights, and the base tables computed from them. Linear tables are divided by their maxima."""

    weights: Floats  #   [W, then fixed ones; or packed cells]
    log_base: Floats  #  [shared cells]
    base: Floats  #      [shared cells]  exp of them
    peaks: Floats  #     [K]             logarithms of these maxima
    fits: bool  #                        whether linear space holds the tables …
    products_fit: bool  #                … and the products of tables, which exact inference alone reads


class Totals(NamedTuple):
    """Buffers that expected feature counts are added to."""

    gradient: Floats  #  [W, or packed cells] of features; empty where only marginals are wanted
    expected: Floats  #  [shared cells]


class Ragged(NamedTuple):
    """One array for all sequences: sequence s has the part off[s] to off[s + 1]. Empty if it is not wanted."""

    value: NDArray  #         [..], or [n, ..]
    off: NDArray[np.int64]  # [S+1]


class Results(NamedTuple):
    """How inference on each sequence ended, indexed by sequence."""

    log_z: Floats  #                 [S]
    status: NDArray[np.int8]  #      [S]  see `status_codes`
    redone: NDArray[np.bool_]  #     [S]  whether it was computed in log space
    iterations: NDArray[np.int64]  # [S]  negative where it did not converge
    residual: Floats  #              [S]
    damped: NDArray[np.bool_]  #     [S]  whether messages oscillated and were therefore damped


class Control(NamedTuple):
    """Stopping criteria of an iterative method, its damping and the seed of its random numbers."""

    tolerance: float
    max_iterations: int
    damping: float
    seed: int


class Sweeps(NamedTuple):
    """A schedule that sends messages in rounds: see `messages.propagation`. `passes` of ORDERED, or the first trees."""

    kind: int
    passes: Schedules


class WarmStart(NamedTuple):
    """Messages (or marginals) that each sequence starts from and leaves for the next call. Empty: none are kept."""

    value: NDArray[np.float32]
    off: NDArray[np.int64]  #        [S+1]
    is_kept: NDArray[np.bool_]  #    [S]  whether there is something to start from
