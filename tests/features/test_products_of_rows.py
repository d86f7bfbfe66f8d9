"""Products of sparse rows, and observation kernels by them: beside SciPy's sparse matrices and dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from dcrfdsl.features.feature_rows import FeatureRows
from dcrfdsl.features.observation_kernels import ObservationKernel
from dcrfdsl.foundation import Floats
from dcrfdsl.kernels.extraction import row_products
from dcrfdsl.semantics.settings.loss_settings import LinearKernel, PolyKernel, RbfKernel


def some_rows(random: np.random.Generator, count: int, width: int, *, valued: bool) -> tuple[FeatureRows, Floats]:
    """Rows, some of them empty, in which a feature may fire twice; and the same as a dense matrix."""
    off = np.append(0, np.cumsum(random.integers(0, 5, count)))
    feature = random.integers(0, width, off[-1]).astype(np.int32)
    value = random.normal(size=off[-1])
    dense = np.zeros((count, width))
    np.add.at(dense, (np.repeat(np.arange(count), np.diff(off)), feature), value if valued else 1.0)
    return FeatureRows(off, feature, value if valued else np.zeros(0)), dense


@pytest.mark.parametrize("shape", [(7, 5, 3), (0, 5, 3), (4, 1, 1), (30, 3000, 20)], ids=str)
def test_products_are_those_of_scipy(shape: tuple[int, int, int]) -> None:
    rows, between, width = shape
    generator = np.random.default_rng(sum(shape))
    left = csr_array(random_array((rows, between), density=0.3, rng=generator))
    right = csr_array(random_array((between, width), density=0.3, rng=generator))
    parts = [(m.indptr.astype(np.int64), m.indices.astype(np.int32), m.data) for m in (left, right)]
    np.testing.assert_allclose(row_products(*parts[0], *parts[1], width), (left @ right).toarray(), atol=1e-12)


@pytest.mark.parametrize("width", [3, 50, 4000])
@pytest.mark.parametrize("valued", [False, True])
def test_similarities_are_those_of_dense_rows(width: int, valued: bool) -> None:
    random = np.random.default_rng(width)
    rows, ours = some_rows(random, 9, width, valued=valued)
    support, theirs = some_rows(random, 6, width, valued=valued)
    distance = ((ours[:, None] - theirs[None]) ** 2).sum(2)
    for settings, expected in [
        (LinearKernel(), ours @ theirs.T),
        (PolyKernel(degree=3, scale=0.5, constant=2.0), (0.5 * ours @ theirs.T + 2.0) ** 3),
        (RbfKernel(gamma=0.3), np.exp(-0.3 * distance)),
    ]:
        kernel = ObservationKernel(0, 0, width, settings, support)
        np.testing.assert_allclose(kernel.gram(rows), expected, atol=1e-12)
        kept = np.array([4, 0, 5])
        np.testing.assert_allclose(kernel.only(kept).gram(rows), expected[:, kept], atol=1e-12)
        assert kernel.only(kept[:0]).gram(rows).shape == (9, 0)


def test_rows_without_any_feature_have_similarities() -> None:
    nothing = FeatureRows(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0))
    kernel = ObservationKernel(0, 0, 4, RbfKernel(gamma=1.0), nothing)
    np.testing.assert_array_equal(kernel.gram(nothing), np.ones((2, 2)))
