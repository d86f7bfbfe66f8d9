"""Margins that grow with wrong segments: value and subgradient by enumeration, for every way to mark segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
from mce_cases import BIO, HEADER, SEGMENTED, labellings_of, segments
from model_cases import trained
from numpy.typing import NDArray
from optimizer_cases import least_primal
from template_cases import Case
from training_cases import objective_of

from dcrfdsl.criteria.margin_objective import Hmsvm
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.optimizers.optimizer_table import OPTIMIZERS
from dcrfdsl.semantics.settings.optimizer_settings import BcfwSettings, WorkingSetSettings

Floats = NDArray[np.float64]
C = 0.7
IOB1 = [
    [("p", "I-A"), ("q", "I-A"), ("p", "B-A"), ("r", "O")],
    [("q", "O"), ("r", "I-B"), ("p", "B-B"), ("q", "I-A")],
    [("q", "I-B")],
]
FREE = "data conll(word, y)\nlabel y in bio(A) with constrain = no\nclique y: bias, word\nclique y[-1], y\n"
CHANGES = [[("p", "I-A"), ("q", "B-A"), ("r", "I-A"), ("p", "O")], [("r", "O"), ("q", "I-A")]]
CASES = {
    **SEGMENTED,
    "iob1": Case(HEADER.format(scheme="iob1"), IOB1, None),
    "no rules": Case(FREE, CHANGES, None),
}
LABELS = {"two labels": "y, z"}


def lenient(labels: list[str]) -> set[tuple[int, int, str]]:
    """The segments of any B and I, as conlleval reads them."""
    found: list[tuple[int, int, str]] = []
    for t, label in enumerate(labels):
        goes_on = t > 0 and label[0] == "I" and labels[t - 1][1:] == label[1:]
        if goes_on:
            found[-1] = (found[-1][0], t, label[2:])
        elif label != "O":
            found.append((t, t, label[2:]))
    return set(found)


def missed_and_false(name: str, gold: dict[str, list[str]], labels: dict[str, list[str]]) -> int:
    of = lenient if name in ("iob1", "no rules") else segments
    return sum(len(of(labels[label]) ^ of(gold[label])) for label in gold)


def margins(name: str, *overrides: str) -> Hmsvm:
    loss = f"train.loss=segments({LABELS.get(name, 'y')})"
    found = objective_of(
        CASES[name], "hmsvm", f"train.C={C}", "train.infer=exact", loss, *(f"train.{one}" for one in overrides)
    )
    assert isinstance(found, Hmsvm)
    return found


def enumerated(name: str, weights: Floats, slack: str) -> float:
    total = 0.5 * float(weights @ weights)
    for gold, every in labellings_of(CASES[name], weights):
        right = next(score for labels, score in every if labels == gold)
        short = [
            max(0.0, missed_and_false(name, gold, labels) - 0.5 * (right - score))
            for labels, score in every
            if labels != gold
        ]
        total += C * (max(short, default=0.0) if slack == "sequence" else sum(short))
    return total


@pytest.mark.parametrize(
    ("name", "slack"),
    [*((name, "sequence") for name in CASES), *((name, "labelling") for name in ("two labels", "no rules"))],
)
def test_the_primal_counts_missed_and_false_segments(name: str, slack: str) -> None:
    """At trained weights, at which some labellings keep their margin, and at drawn ones, at which few do."""
    weights = trained(CASES[name])[0].weights
    objective = margins(name, f"slack={slack}", *(["most=100000"] if slack == "labelling" else []))
    for point in (weights, np.random.default_rng(3).normal(0.0, 0.5, len(weights))):
        value, gradient = objective.value_and_gradient(point)
        assert value == pytest.approx(enumerated(name, point, slack), rel=1e-9)
        reference.assert_gradient(lambda w: objective.value_and_gradient(w)[0], point, gradient, 1e-5)


@pytest.mark.parametrize("name", ["bio", "iob1"])
def test_both_solvers_reach_the_optimum_of_a_general_one(name: str) -> None:
    objective = margins(name, "tolerance=1e-5")
    expected, start = least_primal(objective), np.zeros(objective.num_weights)
    for settings, tolerance in ((WorkingSetSettings(), 1e-5), (BcfwSettings(max_iterations=5000), 1e-2)):
        found = OPTIMIZERS[settings.method](margins(name, f"tolerance={tolerance}"), start, settings, _never)
        assert found.converged
        assert found.objective == pytest.approx(expected, rel=2 * tolerance)


def _never(step: Any, weights: Floats) -> bool:
    return False


def test_auto_is_exact() -> None:
    """On graphs that differ from sentence to sentence too."""
    for name in ("bio", "skip"):
        exact, auto = margins(name), margins(name, "infer=auto")
        weights = np.random.default_rng(1).normal(0.0, 0.5, exact.num_weights)
        assert auto.value_and_gradient(weights)[0] == pytest.approx(exact.value_and_gradient(weights)[0], rel=1e-12)
        assert not auto.approximate


def test_a_long_sentence_is_decoded_in_blocks() -> None:
    """At weights of 0 the worst labelling misses all gold segments, and each token is a false one."""
    gold = ["B-A", "I-A", "O"] * 3000
    case = Case("data conll(word, y)\nlabel y in bio(A)\nclique y: word\n", [[("w", label) for label in gold]], None)
    objective = objective_of(case, "hmsvm", "train.C=1", "train.infer=exact", "train.loss=segments(y)")
    assert objective.value_and_gradient(np.zeros(objective.num_weights))[0] == 3000 + 9000


def refused(case: Case, *settings: str) -> str:
    with pytest.raises(DcrfError) as refusal:
        objective_of(case, "hmsvm", *(f"train.{setting}" for setting in settings))
    return refusal.value.diagnostics[0].slug


def test_messages_cannot_follow_segments() -> None:
    assert refused(CASES["skip"], "loss=segments(y)", "infer=trp") == "needs-exact"
    assert refused(CASES["second order"], "loss=segments(y)", "infer=exact(max_table = 30)") == "too-wide"


def test_labels_without_segments_are_refused() -> None:
    plain = [[(word, label[0]) for word, label in sentence] for sentence in BIO]
    learned = Case("data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\n", plain, None)
    assert refused(learned, "loss=segments(y)", "infer=exact") == "no-segments"
