"""Counts by sentence against the metrics themselves, which count without looking at sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from metric_cases import measure

from dcrfdsl.metrics import (
    AMBIGUOUS,
    MISSING,
    UNSEEN,
    Evaluation,
    Seen,
    View,
    bootstrap_interval,
    sentence_counts,
)
from dcrfdsl.syntax import CallSpec
from dcrfdsl.syntax.nodes import Argument, Reference

MARKED = ("O", "B-X", "I-X", "B-Y", "I-Y", "B-new")  # the last one is no state of the model
PLAIN = ("O", "a", "b", "new")
COARSE = ("low", "high")


def call(text: str) -> CallSpec:
    name, _, rest = text.removesuffix(")").partition("(")
    names = [part.strip() for part in rest.split(",") if part.strip()]
    return CallSpec(name=name, arguments=tuple(Argument(value=Reference(name=part)) for part in names))


# metric, and the value of `measure` that its interval is of
METRICS = {
    "accuracy(x)": "accuracy(x)",
    "accuracy(coarse)": "accuracy(coarse)",
    "joint_accuracy": "joint_accuracy",
    "joint_accuracy(x, y)": "joint_accuracy(x, y)",
    "joint_accuracy(y, topic)": "joint_accuracy(y, topic)",
    "joint_accuracy(x, coarse)": "joint_accuracy(x, coarse)",
    "sentence_accuracy": "sentence_accuracy",
    "sentence_accuracy(x)": "sentence_accuracy(x)",
    "segments(x)": "segments(x).f1",
    "segments(y, runs)": "segments(y, runs).f1",
    "by_state(x)": "by_state(x).macro_f1",
    "by_type(x)": "by_type(x).macro_f1",
    "by_type(y, runs)": "by_type(y, runs).macro_f1",
    "confusion(y)": "confusion(y).right",
    "oov_accuracy(y, word)": "oov_accuracy(y, word)",
    "zero_one_risk": "zero_one_risk",
    "hamming_risk": "hamming_risk",
}


@st.composite
def evaluations(draw: st.DrawFn) -> Evaluation:
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    size = sum(lengths)

    def codes(low: int, high: int) -> np.ndarray:
        return np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size)), np.int64)

    gold = {"x": codes(AMBIGUOUS, len(MARKED) - 1), "y": codes(MISSING, len(PLAIN) - 1), "topic": codes(MISSING, 1)}
    new = codes(0, 1) == 1
    return Evaluation(
        gold,
        {"x": codes(-1, len(MARKED) - 2), "y": codes(-1, len(PLAIN) - 2), "topic": codes(0, 1)},
        {"x": MARKED, "y": PLAIN, "topic": COARSE},
        np.cumsum([0, *lengths]),
        {"x": len(MARKED) - 1, "y": len(PLAIN) - 1},
        oov=lambda _: new,
        sets={"x": [(1, 2)]},
        views={"coarse": View("y", lambda texts: Seen(COARSE, np.arange(len(texts)) // 2))},
        of_sentence=("topic",),
    )


@pytest.mark.long
@settings(max_examples=150)
@given(evaluations())
def test_sums_of_sentences_give_the_metrics(evaluation: Evaluation) -> None:
    calls = [call(text) for text in METRICS]
    values = measure(evaluation, calls)
    found = {one.name: one.value for one in sentence_counts(evaluation, list(evaluation.gold), calls)}
    for name in METRICS.values():
        assert found[name.removesuffix(".f1")] == pytest.approx(values[name], abs=1e-12), name


def test_an_interval_of_a_mean_over_classes_is_that_of_drawn_sentences() -> None:
    """Drawn again by hand: sentences with replacement, measured by the metric."""
    evaluation = Evaluation(
        {"y": np.array([0, 1, 1, 2, 0, 2])}, {"y": np.array([0, 1, 2, 2, 1, 0])}, {"y": ("a", "b", "c")},
        np.arange(0, 7, 2),
    )  # fmt: skip
    *_, one = sentence_counts(evaluation, ["y"], [call("by_state(y)")])
    drawn = np.random.default_rng(0).multinomial(3, np.full(3, 1 / 3), 1000)
    scores = []
    for often in drawn.tolist():
        tokens = [t for s, times in enumerate(often) for t in [2 * s, 2 * s + 1] * times]
        again = Evaluation(
            {"y": evaluation.gold["y"][tokens]}, {"y": evaluation.predicted["y"][tokens]}, evaluation.states,
            np.array([0, len(tokens)]),
        )  # fmt: skip
        scores.append(measure(again, [call("by_state(y)")])["by_state(y).macro_f1"])
    assert bootstrap_interval(one.counts, one.score) == pytest.approx(np.quantile(scores, [0.025, 0.975]))


def test_unseen_gold_is_a_class_and_nothing_predicted_is_none() -> None:
    evaluation = Evaluation({"y": np.array([UNSEEN, 0])}, {"y": np.array([-1, 0])}, {"y": ("a",)}, np.array([0, 2]))
    *_, one = sentence_counts(evaluation, ["y"], [call("by_state(y)")])
    assert one.value == measure(evaluation, [call("by_state(y)")])["by_state(y).macro_f1"] == 0.5
