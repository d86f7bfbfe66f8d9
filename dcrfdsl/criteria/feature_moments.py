"""Moments of the features that are numbers, and the units in which their weights are trained
(`optimizers.weight_units`).

Features are looked at where they fire: a row is a position, or a pair, with at least one feature. Means and spreads are
of what a row has of a feature in total. They are taken about the mean, and parts are joined by the formulas of Chan,
Golub & LeVeque (1983), since a square of 10⁹ leaves no digits for a spread of 100. Not here: what optimizers do in
these units.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..features import FeatureExtractor, FeatureRows
from ..foundation import Floats, Ints
from ..graph import ModelGraph, Parameters
from ..optimizers import UnitBlock, WeightUnits

MOST = 32  # features of a template, and in a block
SIMILAR = 3  # sizes up to 2^3 or 2^-3 are left as they are
FAR = 10.0  # spreads between the mean and 0: then a feature acts as a bias
CURVATURE = 0.125  # of a softmax in a score, about
ROUNDING = 1e-12
BLOCK = 2**16  # rows looked at together


class FeatureMoments(NamedTuple):
    """rows: with a feature.   fires, squares [F]: how often each fires, and the sum of its squared values.
    dense [K]: the features of which there is more: their means [K] over the rows, and their products about these,
    summed over the rows, [K, K].
    """

    rows: int
    fires: Floats
    squares: Floats
    dense: Ints
    means: Floats
    products: Floats


def number_features(extractor: FeatureExtractor) -> dict[int, Ints]:
    """The feature sets with numbers, and in each the features that may be in blocks: numbers of templates with few."""
    found = {}
    for feature_set in range(len(extractor.sets) - len(extractor.observation_kernels)):
        numbers = ~extractor.indicators(feature_set)
        if numbers.any():
            template = extractor.listed(feature_set)[1]
            few = np.bincount(template[numbers], minlength=int(template.max()) + 1)[template] <= MOST
            found[feature_set] = np.flatnonzero(numbers & few)[:MOST]
    return found


@np.errstate(over="ignore", invalid="ignore")
def moments_of_rows(rows: FeatureRows, num_features: int, dense: Ints) -> FeatureMoments:
    """The moments of a feature set. dense: the features whose means and products are wanted."""
    value = rows.value if len(rows.value) else np.ones(len(rows.feature))
    fires = np.bincount(rows.feature, minlength=num_features).astype(np.float64)
    squares = np.bincount(rows.feature, value**2, num_features).astype(np.float64)  # whole numbers where all is empty
    total = FeatureMoments(0, fires, squares, dense, np.zeros(len(dense)), np.zeros((len(dense), len(dense))))
    place = np.full(num_features + 1, -1, np.int64)
    place[dense] = np.arange(len(dense))
    for table in _tables(rows, value, place, len(dense)):
        means = table.mean(axis=0)
        apart = table - means
        products = np.einsum("ri,rj->ij", apart, apart)  # not by BLAS: the same for any threads
        nothing = np.zeros(num_features)
        total = add_moments(total, FeatureMoments(len(table), nothing, nothing, dense, means, products))
    return total


def _tables(rows: FeatureRows, value: Floats, place: Ints, width: int) -> Iterator[Floats]:
    """What runs of rows have of the features with a place, [rows, width]; empty rows are left out."""
    used = np.flatnonzero(np.diff(rows.row_off)) if width else np.zeros(0, np.int64)
    for first in range(0, len(used), BLOCK):
        some = used[first : first + BLOCK]
        begin, end = int(rows.row_off[some[0]]), int(rows.row_off[some[-1] + 1])
        row = np.repeat(np.arange(len(some)), np.diff(rows.row_off)[some])
        at = place[rows.feature[begin:end]]
        inside = at >= 0
        cells = np.bincount(row[inside] * width + at[inside], value[begin:end][inside], len(some) * width)
        yield cells.astype(np.float64).reshape(len(some), width)


@np.errstate(over="ignore", invalid="ignore")
def add_moments(one: FeatureMoments, other: FeatureMoments) -> FeatureMoments:
    rows = one.rows + other.rows
    apart, share = other.means - one.means, other.rows / max(1, rows)
    return FeatureMoments(
        rows, one.fires + other.fires, one.squares + other.squares, one.dense, one.means + share * apart,
        one.products + other.products + one.rows * share * np.outer(apart, apart),
    )  # fmt: skip


def weight_units(
    graph: ModelGraph, parameters: Parameters, moments: Mapping[int, FeatureMoments], precision: Floats
) -> WeightUnits | None:
    """The units of all weights; None if they are plain. moments: of the feature sets with numbers.

    precision [W]: of the penalty.
    """
    if not moments:
        return None
    clique, feature, assignment = parameters.origins()
    size = np.ones(parameters.num_weights)
    blocks: list[UnitBlock] = []
    for number in range(len(parameters.cliques)):
        found = moments.get(graph.templates[number].feature_set)
        if found is None:
            continue
        own = np.flatnonzero(clique == number)
        of_features = own[feature[own] >= 0]
        size[of_features] = _sizes(found)[feature[of_features]]
        with np.errstate(over="ignore"):  # places in `dense` of the features that are far from 0 throughout
            spread = np.diag(found.products) / max(1, found.rows)
            finite = np.isfinite(spread) & np.isfinite(found.means**2) & (spread > 0.0)
            far = np.flatnonzero(finite & (np.abs(found.means) >= FAR * np.sqrt(np.where(finite, spread, 0.0))))
        if len(far):
            blocks += _blocks(found, far, own, feature[own], assignment[own], precision)
    units = WeightUnits(size, tuple(blocks))
    return None if units.is_plain else units


@np.errstate(over="ignore")
def squares_of_weights(
    graph: ModelGraph, parameters: Parameters, rows: Sequence[FeatureRows], num_tokens: int
) -> Floats:
    """The sum of squares of each weight's feature over all rows, [W]; a bias counts each token once."""
    clique, feature, _ = parameters.origins()
    squares = np.full(parameters.num_weights, float(num_tokens))
    for number in range(len(parameters.cliques)):
        own = np.flatnonzero((clique == number) & (feature >= 0))
        if len(own):
            of_set = rows[graph.templates[number].feature_set]
            value = of_set.value**2 if len(of_set.value) else None
            squares[own] = np.bincount(of_set.feature, value, int(feature[own].max()) + 1)[feature[own]]
    return squares


def _sizes(found: FeatureMoments) -> Floats:
    """Of each feature the size of its values where it fires: a power of 2, 1 for what is about as large as 1."""
    fires = (found.fires > 0.0) & (found.squares > 0.0) & np.isfinite(found.squares)
    squares = np.divide(found.squares, found.fires, out=np.ones(len(found.fires)), where=fires)
    exponent = np.round(0.5 * np.log2(squares))
    return np.exp2(np.where(np.abs(exponent) <= SIMILAR, 0.0, exponent))


def _blocks(
    found: FeatureMoments, far: Ints, own: Ints, feature: Ints, assignment: Ints, precision: Floats
) -> Iterator[UnitBlock]:
    """The blocks of a clique: those with the bias and those without. own: its weights, with feature and assignment."""
    places = [np.flatnonzero(feature == number) for number in (-1, *found.dense[far].tolist())]
    places = [place[np.argsort(assignment[place])] for place in places]
    common = functools.reduce(np.intersect1d, (assignment[place] for place in places[1:]))
    for with_bias in (True, False):
        wanted = common[np.isin(common, assignment[places[0]]) == with_bias]
        if not len(wanted):
            continue
        used = places if with_bias else places[1:]
        numbers = np.stack([own[place][np.searchsorted(assignment[place], wanted)] for place in used], axis=1)
        factor = _factor(found, far, precision[numbers[0]], with_bias)
        if factor is not None:
            yield UnitBlock(numbers, factor)


def _factor(found: FeatureMoments, far: Ints, precision: Floats, with_bias: bool) -> Floats | None:
    """R of a block, with 1 for the bias; None if rounding leaves nothing of it.

    The bias is eliminated first: n κ m mᵀ of the features is then left by α / (n κ + α), the share of its precision α.
    """
    mass, means = CURVATURE * found.rows, found.means[far]
    spread = found.products[np.ix_(far, far)] / found.rows
    alpha = float(precision[0]) if with_bias else np.inf
    left = 1.0 if np.isinf(alpha) else alpha / (mass + alpha)
    rest = mass * (spread + left * np.outer(means, means)) + np.diag(precision[1:] if with_bias else precision)
    scale = np.sqrt(np.diag(rest))
    try:
        lower = np.linalg.cholesky(rest / np.outer(scale, scale) + ROUNDING * np.eye(len(far)))
    except np.linalg.LinAlgError:
        return None
    upper: Floats = lower.T * scale / np.sqrt(mass)
    if not with_bias:
        return upper
    factor = np.zeros((len(far) + 1, len(far) + 1))
    factor[0, 0], factor[1:, 1:] = 1.0, upper * np.sqrt(mass / (mass + alpha))
    factor[0, 1:] = mass / (mass + alpha) * means
    return factor
