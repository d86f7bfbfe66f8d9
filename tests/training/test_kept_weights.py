"""`keep`: training keeps so many weights and goes on with them alone; the optimum by another library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from template_cases import Case, sentences
from training_cases import objective_of

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.model import TrainedModel
from dcrfdsl.optimizers import largest_weights
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import fit

TEXT = "data conll(word, y)\nlabel y\nclique y: bias, word, word[-1]\nclique y[-1], y\n"
ROWS = sentences(("P", "Q", "R"), count=12, words="abcd", longest=6)
TRAINS = {
    "likelihood": "likelihood: prior = gaussian(variance = 2)",
    "pieces": "pwpl: prior = gaussian(variance = 2)",
    "corners": "likelihood: prior = elastic_net(l1 = 0.05, l2 = 0.2)",
}


def trained(train: str, more: str, **where: Any) -> TrainedModel:
    spec = load_text(f"{TEXT}train {train}, {more}\n").require()
    return fit(spec, corpus_from_rows(ROWS, spec.data), **where)


@pytest.mark.parametrize("case", TRAINS)
def test_the_optimum_of_the_weights_that_are_kept(case: str) -> None:
    train = TRAINS[case]
    optimizer = "optimizer = owlqn(tolerance = 1e-7)" if case == "corners" else "optimizer = lbfgs(tolerance = 1e-7)"
    everything, few = trained(train, optimizer, threads=1), trained(train, f"{optimizer}, keep = 9", threads=1)
    kept = np.sort(np.argsort(-np.abs(everything.weights), kind="stable")[:9])
    assert set(np.flatnonzero(few.weights).tolist()) <= set(kept.tolist())
    assert np.count_nonzero(few.weights) == 9 or case == "corners"
    assert "9 of" in few.record.reason and "weights kept" in few.record.reason

    smooth = train if case != "corners" else "likelihood: prior = gaussian(variance = 2.5)"
    objective = objective_of(
        Case(TEXT, ROWS, None), smooth.split(":")[0], f"train.{smooth.split(': ')[1]}".replace(" = ", "=", 1)
    )

    def value(part: Any) -> float:
        weights = np.zeros(objective.num_weights)
        weights[kept] = part
        corner = 0.05 * float(np.abs(weights).sum()) if case == "corners" else 0.0
        return objective.value_and_gradient(weights)[0] + corner

    method = "Powell" if case == "corners" else "L-BFGS-B"
    found = minimize(value, np.zeros(9), method=method, options={"maxiter": 10_000, "ftol": 1e-13})
    assert few.record.objective == pytest.approx(found.fun, rel=1e-5)
    assert few.weights[kept] == pytest.approx(found.x, abs=5e-3)


def test_ties_go_to_lower_numbers_and_zeros_are_never_kept() -> None:
    weights = np.array([0.0, -2.0, 1.0, 2.0, 1.0, 0.0])
    assert np.flatnonzero(largest_weights(weights, 3)).tolist() == [1, 2, 3]
    assert np.flatnonzero(largest_weights(weights, 6)).tolist() == [1, 2, 3, 4]


def test_the_same_bits_for_any_number_of_threads() -> None:
    one, two, three = (trained(TRAINS["likelihood"], "keep = 7", threads=n) for n in (1, 2, 3))
    assert np.array_equal(one.weights, two.weights) and np.array_equal(one.weights, three.weights)
    assert trained(TRAINS["likelihood"], "keep = 10000", threads=1).record.reason.count("kept") == 0


@pytest.mark.parametrize("stop_at", [3, 40])
def test_a_broken_training_goes_on_to_the_same_weights(stop_at: int, tmp_path: Any) -> None:
    whole = trained(TRAINS["likelihood"], "keep = 9, optimizer = lbfgs(tolerance = 1e-9)", threads=1)
    stop_at = min(stop_at, whole.record.iterations - 2)
    path, seen = tmp_path / "model.checkpoint", [0]

    def stop() -> bool:
        seen[0] += 1
        return seen[0] >= stop_at

    more = "keep = 9, optimizer = lbfgs(tolerance = 1e-9)"
    trained(TRAINS["likelihood"], more, threads=1, should_stop=stop, checkpoint=Checkpoint(path))
    again = trained(TRAINS["likelihood"], more, threads=1, checkpoint=Checkpoint(path, resume=True))
    assert np.array_equal(again.weights, whole.weights)
