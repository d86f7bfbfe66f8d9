"""Hidden Markov SVMs with observation kernels on several cliques, against the model of the features they stand for.

The sum of the kernels of cliques is a kernel of labellings (Altun & Hofmann 2003 eq. 12). Not here: one kernel
(`test_hmsvm`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from template_cases import Case

from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.training.pipeline import fit

GENERATOR = np.random.default_rng(5)
POINTS = [
    [(f"{a:.3f}", f"{b:.3f}", "P" if a * b + 0.1 * c > 0 else "Q") for a, b, c in GENERATOR.normal(size=(n, 3))]
    for n in (1, 2, 3, 1, 2, 1, 3, 2, 1, 1)
]
PAIRS = """
data conll(a:float, b:float, {more}y, z)
label y
label z
clique y as of_y with states = all: {of_y}
clique z as of_z with states = all: bias, a, b
clique y as again with states = all: a
clique y[-1], y
clique y, z
infer exact
train hmsvm: C = 5, loss = hamming, tolerance = 1e-7{kernel}
"""
BOTH = ", kernel.of_y = poly(degree = 2, constant = 0), kernel.of_z = linear"


def of_pairs(kernel: str = "", *, explicit: bool = False, threads: int = 1) -> Any:
    """Two labels, of two and three states, by kernels or by the features that these stand for; and the corpus."""
    rows: list[list[tuple[str, ...]]] = []
    for sentence in POINTS:
        rows.append([])
        for x, x2, y in sentence:
            a, b = float(x), float(x2)
            squares = (f"{a * a!r}", f"{b * b!r}", f"{2**0.5 * a * b!r}") if explicit else ()
            rows[-1].append((x, x2, *squares, y, "NPM"[int(a > 0) + int(a > b)]))
    more, of_y = ("aa:float, bb:float, ab:float, ", "aa, bb, ab") if explicit else ("", "a, b")
    case = Case(PAIRS.format(more=more, of_y=of_y, kernel=kernel), rows, None)
    return fit(case.resolved(), case.corpus(), threads=threads), case.corpus()


def test_kernels_of_several_cliques_equal_the_explicit_model() -> None:
    (found, corpus), (expected, explicit) = of_pairs(BOTH), of_pairs(explicit=True)
    assert len(found.extractor.observation_kernels) == 2
    assert found.record.objective == pytest.approx(expected.record.objective, rel=1e-6)
    for name in ("y", "z"):
        left, right = found.marginals(corpus)[0][name], expected.marginals(explicit)[0][name]
        np.testing.assert_allclose(left, right, atol=1e-3)
        assert found.predict(corpus).texts(name) == expected.predict(explicit).texts(name)


@pytest.mark.long
def test_frank_wolfe_with_several_kernels_closes_in_on_the_same_optimum() -> None:
    found = of_pairs(f"{BOTH}, optimizer = bcfw(max_iterations = 2000)")[0].record
    best = of_pairs(explicit=True)[0].record.objective
    assert found.objective - found.gap <= best * (1 + 1e-9) and best <= found.objective * (1 + 1e-9)


def test_several_kernels_go_to_a_file_and_back_with_the_same_bits(tmp_path: Any) -> None:
    model, corpus = of_pairs(BOTH)
    for threads in (2, 3):
        np.testing.assert_array_equal(of_pairs(BOTH, threads=threads)[0].weights, model.weights)
    model.save(tmp_path / "m.model")
    again = TrainedModel.load(tmp_path / "m.model")
    for name in ("y", "z"):
        np.testing.assert_array_equal(again.marginals(corpus)[0][name], model.marginals(corpus)[0][name])
