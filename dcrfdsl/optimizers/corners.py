"""The part of an objective that has corners: Σ_w l1_w |λ_w| + Σ_g strength_g ‖λ_g‖, for weights in groups g or alone.

What methods need of it is its value, the slope that an objective's gradient has of it, the subgradient of least norm,
and its proximal point, which is known in closed form: single weights move towards 0, groups as a whole, and what would
cross 0 becomes 0. Sources: Parikh & Boyd, "Proximal algorithms" (2014), §6.5; Yuan & Lin (2006). Not here: steps
(`proximal`), strengths (`criteria.penalties`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Mask, dataclass


class WeightGroups(NamedTuple):
    """Disjoint groups of weights. number [W]: the group of each, -1 for none.   strength [G]: the factor of ‖λ_g‖."""

    number: Ints
    strength: Floats

    def norms(self, vector: Floats) -> Floats:
        """‖v_g‖ of every group, [G]. Entries are divided by the largest one first, so that squares stay finite."""
        inside = self.number >= 0
        size = float(np.abs(vector).max(initial=0.0))
        if not 0.0 < size < np.inf:
            return np.full(len(self.strength), 0.0 if size == 0.0 else np.inf)
        squares = np.bincount(self.number[inside], (vector[inside] / size) ** 2, len(self.strength))
        return size * np.sqrt(squares)

    def spread(self, values: Floats, outside: float) -> Floats:
        """A value [G] of each group for its weights, [W]; `outside` for those in no group."""
        return np.append(values, outside)[self.number]

    def directions(self, vector: Floats) -> Floats:
        """v_g / ‖v_g‖ in every group, [W]; 0 where the norm is 0, and outside of all groups."""
        norms = self.norms(vector)
        return vector * self.spread(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0), 0.0)

    def value(self, weights: Floats) -> float:
        """Σ_g strength_g ‖λ_g‖."""
        return float(np.sum(self.strength * self.norms(weights)))

    def slope(self, weights: Floats) -> Floats:
        """Its gradient [W]; 0 in a group that is 0."""
        return self.spread(self.strength, 0.0) * self.directions(weights)

    def shrunk(self, vector: Floats, amount: Floats) -> tuple[Floats, Floats]:
        """Every group nearer to 0 by `amount` [G], at most to 0; and the factors [G] by which they shrank."""
        norms = self.norms(vector)
        left = np.maximum(norms - amount, 0.0)
        factors = np.divide(left, norms, out=np.zeros_like(norms), where=norms > 0.0)
        return vector * self.spread(factors, 1.0), factors


@dataclass(frozen=True, eq=False)
class Corners:
    """The corners of an objective of W weights. l1 [W], groups: None where there are none; no weight is in both."""

    l1: Floats | None
    groups: WeightGroups | None

    def rise(self, weights: Floats, move: Floats) -> float:
        """How much the value rises along `move` [W], by |z| − |x| = (z − x)(z + x) / (|z| + |x|): rounding would drown
        it in a difference of sums.
        """
        moved = weights + move
        product = move * (weights + moved)
        rise = 0.0
        if self.l1 is not None:
            size = np.abs(weights) + np.abs(moved)
            rise += float(np.sum(self.l1 * np.divide(product, size, out=np.zeros_like(size), where=size > 0.0)))
        if self.groups is not None:
            number, norms = self.groups.number, self.groups.norms(weights) + self.groups.norms(moved)
            products = np.bincount(number[number >= 0], product[number >= 0], len(norms))
            rises = np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0.0)
            rise += float(np.sum(self.groups.strength * rises))
        return rise

    def smooth(self, weights: Floats, gradient: Floats) -> Floats:
        """A gradient [W] of the whole objective without the slope of this part."""
        if self.l1 is not None:
            gradient = gradient - self.l1 * np.sign(weights)
        return gradient if self.groups is None else gradient - self.groups.slope(weights)

    def least(self, weights: Floats, gradient: Floats) -> Floats:
        """The subgradient of least norm [W], where the objective has this gradient; 0 at an optimum."""
        if self.l1 is not None:
            least: Floats = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
            gradient = np.where((weights == 0.0) & (self.l1 > 0.0), least, gradient)
        if self.groups is not None:
            at_zero = self.groups.norms(weights) == 0.0
            gradient, _ = self.groups.shrunk(gradient, np.where(at_zero, self.groups.strength, 0.0))
        return gradient

    def proximal(self, point: Floats, curvature: float) -> ProximalPoint:
        """The z that makes ½ curvature ‖z − point‖² plus this part least."""
        slope, across = np.ones(len(point)), None
        moved = point
        if self.l1 is not None:
            moved = np.sign(point) * np.maximum(np.abs(point) - self.l1 / curvature, 0.0)
            slope[(moved == 0.0) & (self.l1 > 0.0)] = 0.0
        if self.groups is not None:
            moved, factors = self.groups.shrunk(moved, self.groups.strength / curvature)
            slope *= self.groups.spread(factors, 1.0)
            across = Across(self.groups.directions(moved), np.where(factors > 0.0, 1.0 - factors, 0.0), self.groups)
        return ProximalPoint(moved, slope, across)

    def moving(self, weights: Floats) -> Mask:
        """Which weights [W] are smooth at `weights`: those of no corner, and of groups that are not 0."""
        free = np.ones(len(weights), np.bool_)
        if self.l1 is not None:
            free &= (self.l1 == 0.0) | (weights != 0.0)
        if self.groups is not None:
            free &= self.groups.spread((self.groups.norms(weights) > 0.0).astype(np.float64), 1.0) > 0.0
        return free


class Across(NamedTuple):
    """What a derivative of the proximal point has beyond its diagonal: Σ_g share_g n_g n_gᵀ.

    direction [W]: n.   share [G].
    """

    direction: Floats
    share: Floats
    groups: WeightGroups


class ProximalPoint(NamedTuple):
    """A proximal point [W] and its generalised derivative, diag(slope) + what goes `across` groups."""

    point: Floats
    slope: Floats
    across: Across | None
