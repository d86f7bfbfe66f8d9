"""The units in which weights of numbers are trained: a change of variables λ = T z that leaves the objective as it is.

The weight of a feature with values around 10⁹ has a curvature 10¹⁸ times that of an indicator, and a column that is far
from 0 throughout acts as a second bias. In such weights the gradient's norm is that of one weight alone, and no step
suits all. Sizes alone divide each weight's feature by its size:

    z_k = size_k λ_k

Blocks treat the weights of a clique and labelling, of which one is the bias, by what they have in common:

    z = R λ,    RᵀR ∝ n κ M + Λ        M the second moments of their features, Λ the precisions of the prior

so that columns are centred as far as the prior on the bias allows it. Penalties with corners know single weights, and
steps after single sentences the weights that a sentence touches, so both take sizes alone. Not here: an objective in
these units (`derived_objectives`), moments of features (`criteria.feature_moments`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..foundation import Floats, Ints, Mask, dataclass
from .corners import WeightGroups


class UnitBlock(NamedTuple):
    """Weights that are trained together. numbers [A, K]: of A labellings.   factor [K, K]: R, upper triangular."""

    numbers: Ints
    factor: Floats


@dataclass(frozen=True, eq=False)
class WeightUnits:
    """size [W]: of the values of each weight's feature where it fires, powers of 2, so that no digit is lost.

    blocks: they replace the sizes of their weights.
    """

    size: Floats
    blocks: tuple[UnitBlock, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it changes nothing."""
        return not self.blocks and bool((self.size == 1.0).all())

    def sizes_alone(self, groups: WeightGroups | None = None) -> WeightUnits:
        """These units without blocks, and with one size, the largest, for all weights of a group."""
        size = self.size
        if groups is not None:
            largest = np.zeros(len(groups.strength))
            inside = groups.number >= 0
            np.maximum.at(largest, groups.number[inside], size[inside])
            size = np.where(inside, groups.spread(largest, 1.0), size)
        return WeightUnits(size)

    def part(self, numbers: Ints) -> WeightUnits:
        """The units of some weights, in the order of `numbers`."""
        place = np.full(len(self.size), -1, np.int64)
        place[numbers] = np.arange(len(numbers))
        return replace(self._with_blocks(place >= 0, place), size=self.size[numbers])

    def among(self, moving: Mask) -> WeightUnits:
        """The units where only these weights [W] move: blocks consist of them alone."""
        return self._with_blocks(moving, np.arange(len(self.size)))

    def _with_blocks(self, inside: Mask, place: Ints) -> WeightUnits:
        blocks = []
        for numbers, factor in self.blocks:
            whole = numbers[inside[numbers].all(axis=1)]
            if len(whole):
                blocks.append(UnitBlock(place[whole], factor))
        return replace(self, blocks=tuple(blocks))

    def weights(self, point: Floats) -> Floats:
        """λ = T z, [W]."""
        weights = point / self.size
        for numbers, factor in self.blocks:
            weights[numbers] = _product(_inverse(factor), point[numbers])
        return weights

    def point(self, weights: Floats) -> Floats:
        """z = T⁻¹ λ, [W]."""
        point = weights * self.size
        for numbers, factor in self.blocks:
            point[numbers] = _product(factor, weights[numbers])
        return point

    def gradient(self, gradient: Floats) -> Floats:
        """∂/∂z = Tᵀ ∂/∂λ, [W]."""
        changed = gradient / self.size
        for numbers, factor in self.blocks:
            changed[numbers] = _product(_inverse(factor).T, gradient[numbers])
        return changed

    def gradient_of_weights(self, gradient: Floats) -> Floats:
        """∂/∂λ = T⁻ᵀ ∂/∂z, [W]."""
        changed = gradient * self.size
        for numbers, factor in self.blocks:
            changed[numbers] = _product(factor.T, gradient[numbers])
        return changed


def _product(matrix: Floats, rows: Floats) -> Floats:
    """The matrix [K, K] times each row [A, K]. Not by BLAS, whose sums depend on its threads."""
    product: Floats = np.einsum("jk,ak->aj", matrix, rows)
    return product


def _inverse(factor: Floats) -> Floats:
    return np.linalg.inv(factor).astype(np.float64)
