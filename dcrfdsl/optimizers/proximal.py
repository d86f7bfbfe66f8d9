"""Proximal quasi-Newton: for objectives with corners where single weights, or whole groups of weights, are zero.

Each iteration takes the smooth part by its quasi-Newton model and the corners as they are, finds the point that makes
both together least, and searches on the way there. So a weight or group becomes exactly zero in one step, and stays so
while the slope of the smooth part does not exceed its strength. It stops on the subgradient of least norm, which is 0
at an optimum: there every group of zeros has a smooth gradient no longer than its strength.

The model: the last k moves s and changes of the gradient y give the compact form of L-BFGS,

    B = σI − Nᵀ M⁻¹ N,    N = (σS, Y),    M = (σ SᵀS, L; Lᵀ, −D),

with D the diagonal and L the strict lower triangle of SᵀY, and σ = yᵀy / sᵀy of the newest pair. The least point of
gᵀ(z − x) + ½ (z − x)ᵀB(z − x) + corners(z) is z = prox(x + (Nᵀα − g) / σ), where the 2k numbers α solve

    M α = N (z(α) − x).

Newton's method with the generalised derivative of prox solves that exactly in a few steps, since its matrix
M − N prox′ Nᵀ / σ is never singular where B is positive definite. So an iteration takes a few passes over the memory,
and none over the data. Sources: Nocedal & Wright, "Numerical optimization", §7.2; Lee, Sun & Saunders, "Proximal
Newton-type methods" (2014); Scheinberg & Tang (2016); Kanzow & Lechner, "Globalized inexact proximal Newton-type
methods" (2021); Friedlander & Goh, "Efficient evaluation of scaled proximal operators" (2017). Not here: storing pairs
(`stored_pairs`), corners (`corners`), the stopping rule (`progress`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..foundation import Floats
from ..kernels.optimization import combine, dot, inner_products
from ..semantics import LbfgsSettings
from .corners import Corners, ProximalPoint
from .line_search import backtrack
from .objective import Objective, Outcome, Watch
from .progress import Progress
from .run_state import RunState
from .stored_pairs import StoredPairs, as_bits

# the model ------------------------------------------------------------------------------------------------------------


Result = TypeVar("Result")
MOST_STEPS = 50  # of Newton's method
EXACT = 1e-10  # of the two sides of its equation: their relative distance
TRIALS = 12  # halvings of a step of Newton's method


class _Trial(NamedTuple):
    """A candidate: α, its proximal point, and the distance between the sides of the equation with their size."""

    alpha: Floats
    found: ProximalPoint
    rest: Floats
    size: float

    @property
    def distance(self) -> float:
        return float(np.sqrt(np.sum(self.rest**2)))


class ProximalMemory(StoredPairs):
    """Pairs with their products. sigma: of the newest pair."""

    def __init__(self, objective: Objective, num_weights: int, size: int, state: RunState):
        super().__init__(objective, num_weights, size, ("cross", "plain"), state)
        self._cross, self._plain = self._tables.values()  # [i, j]: s_i · y_j, s_i · s_j

    def _remember(self) -> dict[str, Any]:
        return {**super()._remember(), "sigma": self.sigma}

    def _recall(self, saved: Mapping[str, Any]) -> None:
        super()._recall(saved)
        self.sigma = saved["sigma"]

    def forget(self) -> bool:
        self.sigma = 0.0
        return super().forget()

    def _spread(self, task: Callable[[int, int], Floats], size: int) -> Floats:
        """The sum of `task` over ranges of `size` weights."""
        total: Floats = np.sum(self._objective.spread(task, size), axis=0)
        return total

    def _along(self, vector: Floats) -> tuple[Floats, Floats]:
        """s_i · v and y_i · v of all pairs in use, by rows."""
        used, others = len(self.pairs), vector.reshape(1, -1)
        moves, changes = self._moves[:used], self._changes[:used]
        of_moves = self._spread(lambda a, b: inner_products(a, b, moves, others), self._num_weights)
        of_changes = self._spread(lambda a, b: inner_products(a, b, changes, others), self._num_weights)
        return of_moves[:, 0], of_changes[:, 0]

    def add(self, move: Floats, change: Floats) -> None:
        """Remembers a pair in place of the oldest one, if it has information on the curvature."""
        nothing = np.zeros(self._num_weights)
        row = self._store(move, nothing, change, nothing)
        if row is None:
            return
        used = len(self.pairs)
        of_moves, of_changes = self._along(self._moves[row].astype(np.float64))
        self._plain[row, :used] = self._plain[:used, row] = of_moves
        self._cross[row, :used] = of_changes
        change_products = self._along(self._changes[row].astype(np.float64))
        self._cross[:used, row] = change_products[0]
        self.sigma = float(change_products[1][row] / self._cross[row, row])

    def least(self, weights: Floats, gradient: Floats, corners: Corners, first: float) -> Floats | None:
        """The least point [W] of the model with `corners`; None if it was not found.

        gradient [W]: of the smooth part.   first: σ without pairs.
        """
        if not self.pairs:
            return corners.proximal(weights - gradient / first, first).point
        matrix = self._matrix()
        now = self._trial(np.zeros(2 * len(self.pairs)), weights, gradient, corners, matrix)
        for _ in range(MOST_STEPS):
            if now.distance <= EXACT * now.size:
                return now.found.point
            try:
                step = np.linalg.solve(matrix - self._curved(now.found) / self.sigma, now.rest)
            except np.linalg.LinAlgError:
                return None
            for halving in range(TRIALS):
                trial = self._trial(now.alpha - 0.5**halving * step, weights, gradient, corners, matrix)
                if trial.distance < now.distance:
                    break
            else:  # as near as rounding allows, or stuck: the caller sees whether the point is lower
                return now.found.point
            now = trial
        return now.found.point

    def _matrix(self) -> Floats:
        """M, in the order of `pairs`."""
        order = np.ix_(self.pairs, self.pairs)
        cross, plain = self._cross[order], self._plain[order]
        lower = np.tril(cross, -1)
        return np.block([[self.sigma * plain, lower], [lower.T, -np.diag(np.diag(cross))]])

    def _trial(self, alpha: Floats, weights: Floats, gradient: Floats, corners: Corners, matrix: Floats) -> _Trial:
        used, out = len(self.pairs), np.empty(self._num_weights)
        of_moves, of_changes = np.zeros((2, used))
        of_moves[self.pairs], of_changes[self.pairs] = self.sigma * alpha[:used], alpha[used:]
        moves, changes, nothing = as_bits(self._moves[:used]), as_bits(self._changes[:used]), np.zeros(0)
        self._objective.spread(
            lambda a, b: combine(a, b, gradient, -1.0, changes, of_changes, 1.0, 0.0, nothing, moves, of_moves, out),
            self._num_weights,
        )
        found = corners.proximal(weights + out / self.sigma, self.sigma)
        along_moves, along_changes = self._along(found.point - weights)
        right = np.concatenate([self.sigma * along_moves[self.pairs], along_changes[self.pairs]])
        left = matrix @ alpha
        size = float(np.sqrt(np.sum(left**2)) + np.sqrt(np.sum(right**2)))
        return _Trial(alpha, found, left - right, size)

    def _curved(self, found: ProximalPoint) -> Floats:
        """N prox′ Nᵀ, in the order of `pairs`; weights with a slope of 0 take no part."""
        active = np.flatnonzero(found.slope)
        rows = np.concatenate([self._moves[self.pairs][:, active], self._changes[self.pairs][:, active]])
        scale = np.repeat([self.sigma, 1.0], len(self.pairs))
        others = rows * found.slope[active]
        curved = self._spread(lambda a, b: inner_products(a, b, rows, others), len(active))
        if found.across is not None:
            direction, share, groups = found.across
            number, along = groups.number[active], direction[active]
            inside = number >= 0
            sums = [np.bincount(number[inside], (row * along)[inside], len(share)) for row in rows]
            curved = curved + np.einsum("ig,g,jg->ij", sums, share, sums)  # not by BLAS: the same for any threads
        scaled: Floats = scale[:, None] * curved * scale
        return scaled


# the descent ----------------------------------------------------------------------------------------------------------


def minimise_proximal(
    objective: Objective, start: Floats, settings: LbfgsSettings, watch: Watch, state: RunState
) -> Outcome:
    """Minimises from `start` [W]; without corners it is L-BFGS with a simpler line search."""
    corners = Corners(objective.l1, objective.groups)
    progress = Progress(objective, start, settings, watch, state, corners)
    memory = ProximalMemory(objective, len(start), settings.memory, state)
    progress.run(lambda: _iterate(progress, memory, corners), memory.forget)
    return progress.outcome()


def _iterate(progress: Progress, memory: ProximalMemory, corners: Corners) -> bool:
    """One iteration; False if it finds no better point."""
    before = progress.weights
    smooth = corners.smooth(before, progress.gradient)
    goal = memory.least(before, smooth, corners, max(1.0, progress.norm))
    if goal is None:
        return False
    direction = goal - before
    # how much the model falls, its curvature left out: an upper bound of the slope
    slope = float(dot(smooth, direction)) + corners.rise(before, direction)
    if not slope < 0.0:
        return False

    def trial(step: float) -> tuple[Floats, float]:
        return goal if step == 1.0 else before + step * direction, slope * step

    point = backtrack(progress, trial, 1.0, tries_first=True)
    if point is None:
        return False
    weights, value, gradient = point
    # the curvature of what moves: slopes of weights that stay 0 do not belong to steps among the others
    free = corners.moving(before) | corners.moving(weights)
    memory.add(weights - before, np.where(free, corners.smooth(weights, gradient) - smooth, 0.0))
    progress.accept(weights, value, gradient)
    return True
