"""Scores by class and confusion matrices: those of scikit-learn and seqeval, of a hand-made example, and of parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dcrfdsl.metrics import (
    AMBIGUOUS,
    MISSING,
    UNSEEN,
    ClassScores,
    Confusion,
    Evaluation,
    SegmentCounts,
    compared_segments,
    confusion_of,
    scores_by_type,
)

STATES = ("N", "V", "D", "never")
BIO = ("O", "B-X", "I-X", "B-Y", "I-Y")


def evaluation(gold: Sequence[int], predicted: Sequence[int], states: Sequence[str], **more: Any) -> Evaluation:
    codes = np.array(gold, np.int64), np.array(predicted, np.int64)
    return Evaluation({"y": codes[0]}, {"y": codes[1]}, {"y": states}, np.array([0, len(gold)]), **more)


def texts(codes: Sequence[int], states: Sequence[str] = STATES) -> list[str]:
    return [states[code] for code in codes]


code_pairs = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


def same_rows(ours: ClassScores, theirs: dict[str, Any]) -> None:
    """The rows of a `classification_report(output_dict=True)`."""
    rows = {**ours.rows, **{f"{name} avg": row for name, row in ours.averages.items() if f"{name} avg" in theirs}}
    assert set(rows) == set(theirs) - {"accuracy"}
    for name, row in rows.items():
        expected = [theirs[name][key] for key in ("precision", "recall", "f1-score", "support")]
        assert list(row) == pytest.approx(expected), name


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:A single label was found")  # a matrix of one cell
@settings(deadline=None, max_examples=50)
@given(code_pairs)
def test_states_score_as_in_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    gold, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    table = confusion_of(evaluation(gold, predicted, STATES), "y")
    known = texts(gold), texts(predicted)
    same_rows(table.scores, metrics.classification_report(*known, output_dict=True, zero_division=0))
    assert table.scores.micro.f1 == pytest.approx(metrics.accuracy_score(*known))
    assert table.matrix.tolist() == metrics.confusion_matrix(*known, labels=table.states).tolist()
    assert not table.unlabelled.any()


sentences_of_tags = st.lists(
    st.lists(st.tuples(st.sampled_from(BIO), st.sampled_from(BIO)), min_size=1, max_size=8), min_size=1, max_size=4
)


@pytest.mark.long
@settings(deadline=None, max_examples=50)
@given(sentences_of_tags)
def test_types_score_as_in_seqeval(sentences: list[list[tuple[str, str]]]) -> None:
    metrics = pytest.importorskip("seqeval.metrics", reason="seqeval is not installed")
    sides = [[[pair[side] for pair in sentence] for sentence in sentences] for side in (0, 1)]
    gold, predicted = (np.array([BIO.index(tag) for tag in chain(*side)]) for side in sides)
    ours = scores_by_type(
        Evaluation({"y": gold}, {"y": predicted}, {"y": BIO}, np.cumsum([0, *map(len, sentences)])), "y"
    )
    if not ours.counts or not any(metrics.sequence_labeling.get_entities(side) for side in sides[:1]):
        return  # seqeval fails without a segment
    same_rows(ours, metrics.classification_report(*sides, output_dict=True, zero_division=0))


def test_a_report_by_hand() -> None:
    """gold (0-1 X)(3 Y)(5 X), predicted (0-1 X)(3 X)(4-5 X)."""
    codes = [1, 2, 0, 3, 0, 1], [1, 2, 0, 1, 1, 2]
    ours = scores_by_type(evaluation(*codes, BIO), "y")
    assert ours.counts == {"X": (1, 3, 2), "Y": (0, 0, 1)}
    assert ours.rows == {"X": (1 / 3, 1 / 2, 2 / 5, 2), "Y": (0.0, 0.0, 0.0, 1)}
    assert ours.micro == (1 / 3, 1 / 3, 1 / 3, 3)
    assert ours.macro == pytest.approx((1 / 6, 1 / 4, 1 / 5, 3))
    assert ours.weighted == pytest.approx((2 / 9, 1 / 3, 4 / 15, 3))
    assert scores_by_type(evaluation([], [], BIO), "y").averages == dict.fromkeys(
        ("micro", "macro", "weighted"), (0.0, 0.0, 0.0, 0)
    )


FIELDS = ("author", "title", "year", "O")
RUNS = {
    # gold, predicted: right, predicted, gold segments
    "the same": ([0, 0, 1, 2], [0, 0, 1, 2], (3, 3, 3)),
    "too short": ([0, 0, 1, 1], [0, 1, 1, 1], (0, 2, 2)),
    "cut in two": ([1, 1, 1], [1, 0, 1], (0, 3, 1)),
    "O is outside": ([0, 3, 0], [0, 3, 3], (1, 1, 2)),
    "a value that the model does not know ends a run": ([0, UNSEEN, 0], [0, 0, 0], (0, 1, 2)),
    "a missing value between two types leaves both open": ([2, 3, 0, MISSING, 1], [2, 3, 0, 0, 1], (1, 1, 1)),
    "a missing value within a run goes on": ([0, MISSING, 0, 1], [0, 0, 1, 1], (0, 2, 2)),
    "nothing predicted": ([0, 0], [-1, -1], (0, 0, 1)),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_a_state_is_a_segment(name: str) -> None:
    gold, predicted, expected = RUNS[name]
    off = np.array([0, len(gold)])
    assert compared_segments(np.array(gold), np.array(predicted), FIELDS, off, runs=True).counts == expected
    by_type = scores_by_type(evaluation(gold, predicted, FIELDS), "y", runs=True)
    assert tuple(map(sum, zip(*by_type.counts.values(), strict=True))) == expected


def test_runs_end_with_their_sentence() -> None:
    codes = np.array([0, 0, 0])
    assert compared_segments(codes, codes, FIELDS, np.array([0, 1, 3]), runs=True).counts == (2, 2, 2)


def test_fields_score_as_the_same_with_marks() -> None:
    """Runs are read as if each field began with B-."""
    draw = np.random.default_rng(4)
    off = np.array([0, 7, 20, 60])
    gold, predicted = draw.integers(0, 4, 60), draw.integers(0, 4, 60)
    marked = ["O", *(f"{mark}-{field}" for field in FIELDS[:3] for mark in "BI")]

    def with_marks(codes: np.ndarray) -> np.ndarray:
        begins = np.append(True, codes[1:] != codes[:-1]) | np.isin(np.arange(60), off)
        tags = [FIELDS[c] if c == 3 else f"{'B' if b else 'I'}-{FIELDS[c]}" for c, b in zip(codes, begins, strict=True)]
        return np.array([marked.index(tag) for tag in tags])

    expected = compared_segments(with_marks(gold), with_marks(predicted), marked, off).counts
    assert compared_segments(gold, predicted, FIELDS, off, runs=True).counts == expected
    assert expected.correct > 0


def test_nothing_predicted_is_never_a_right_segment() -> None:
    """Where no state is O, too."""
    off = np.array([0, 2])
    assert compared_segments(np.array([0, 0]), np.array([-1, -1]), ("B-X", "I-X"), off).counts == (0, 0, 2)


def test_what_the_model_does_not_know_has_a_row() -> None:
    """A value that only the gold has, one without a text, a missing and an ambiguous one, and nothing predicted."""
    gold = [0, 1, 2, UNSEEN, MISSING, AMBIGUOUS, 0]
    table = confusion_of(evaluation(gold, [0, 0, 1, 1, 1, 1, -1], ("a", "b", "new"), known={"y": 2}), "y")
    assert table.states == ("a", "b", "(unknown)", "new")
    assert table.matrix.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert table.unlabelled.tolist() == [1, 0, 0, 0]
    assert table.scores.counts == {"a": (1, 2, 2), "b": (0, 2, 1), "(unknown)": (0, 0, 1), "new": (0, 0, 1)}
    assert table.mistakes == [("(unknown)", "b", 1), ("a", None, 1), ("b", "a", 1), ("new", "b", 1)]


@given(code_pairs, st.integers(0, 30))
def test_parts_add_up(pairs: list[tuple[int, int]], cut: int) -> None:
    def counted(part: list[tuple[int, int]]) -> tuple[Confusion, ClassScores]:
        both = [[pair[side] for pair in part] for side in (0, 1)]
        of_tags = evaluation(*[[code % 3 for code in codes] for codes in both], BIO)
        return confusion_of(evaluation(*both, STATES), "y"), scores_by_type(of_tags, "y")

    whole, first, rest = counted(pairs), counted(pairs[:cut]), counted(pairs[cut:])
    together = first[0] + rest[0]
    assert together.pairs == whole[0].pairs and together.states == whole[0].states
    assert together.scores.averages == whole[0].scores.averages
    assert ClassScores() + whole[1] == whole[1]
    assert (first[0].scores + rest[0].scores).averages == whole[0].scores.averages


def test_a_class_that_one_part_lacks_counts_nothing_there() -> None:
    parts = (
        ClassScores({"a": SegmentCounts(1, 2, 3)}),
        ClassScores({"b": SegmentCounts(4, 5, 6), "a": SegmentCounts(0, 0, 1)}),
    )
    assert (parts[0] + parts[1]).counts == {"a": (1, 2, 4), "b": (4, 5, 6)}
