"""Errors by type on sentences small enough to be judged by eye."""

from __future__ import annotations

import numpy as np
import pytest

from dcrfdsl.metrics import MISSING, Evaluation, label_errors

STATES = ("O", "B-X", "I-X", "B-Y", "I-Y")


def errors_of(gold: str, predicted: str, states=STATES, **how) -> dict:
    codes = [np.array([MISSING if s == "?" else states.index(s) for s in text.split()]) for text in (gold, predicted)]
    evaluation = Evaluation({"y": codes[0]}, {"y": codes[1]}, {"y": states}, np.array([0, len(codes[0])]))
    return label_errors(evaluation, "y", **{"of_segments": True, **how})


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("B-X I-X O", "B-X I-X O", {}),
        ("B-X I-X O", "O O O", {(0, 1, "X"): "missing"}),
        ("O O O", "B-X I-X O", {(0, 1, "X"): "spurious"}),
        ("B-X I-X O", "B-Y I-Y O", {(0, 1, "X"): "wrong type"}),
        ("B-X I-X O", "B-X I-X I-X", {(0, 1, "X"): "wrong border"}),
        ("B-X I-X O", "O B-Y I-Y", {(0, 1, "X"): "wrong border"}),  # of another type, too
        ("B-X I-X I-X", "B-X B-X B-X", {(0, 2, "X"): "wrong border"}),  # once, however often it is cut
        ("B-X B-Y O", "B-X I-X O", {(0, 0, "X"): "wrong border", (1, 1, "Y"): "wrong border"}),
        ("O B-X O B-Y", "B-X O O B-Y", {(1, 1, "X"): "missing", (0, 0, "X"): "spurious"}),
        ("? B-X I-X", "B-X I-X O", {(1, 2, "X"): "wrong border"}),
        ("B-X ? B-Y", "B-X I-X B-Y", {}),  # the first gold segment may go on, so nothing is known of its border
    ],
)
def test_segments(gold, predicted, expected):
    assert errors_of(gold, predicted) == expected


def test_runs_and_tokens():
    states = ("O", "X", "Y")
    assert errors_of("X X O Y", "X X Y Y", states, runs=True) == {(3, 3, "Y"): "wrong border"}
    assert errors_of("X ? O Y", "X X Y O", states, of_segments=False) == {
        (2, 2, "O"): "wrong label",
        (3, 3, "Y"): "wrong label",
    }
