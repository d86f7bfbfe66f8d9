"""Metrics: conlleval's numbers, and what counts where gold is unknown, missing or new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_cases import evaluate_predictions, measure

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.metrics import (
    AMBIGUOUS,
    METRICS,
    MISSING,
    UNSEEN,
    Evaluation,
    SegmentCounts,
    compared_segments,
    confusion,
    default_metrics,
    encode_gold,
    first_metric,
    goodness,
    unseen_values,
)
from dcrfdsl.semantics import has_segments
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.syntax import CallSpec, Column, DataSpec, Label, Scheme
from dcrfdsl.syntax.nodes import Argument, Number, Reference

Sentences = Sequence[Sequence[str]]


def call(text: str) -> CallSpec:
    """`oov_accuracy(pos, word)` as a call."""
    name, _, rest = text.removesuffix(")").partition("(")
    parts = [part.strip().partition(" = ") for part in rest.split(",") if part.strip()]
    arguments = (
        Argument(name=one, value=Number(value=float(value))) if value else Argument(value=Reference(name=one))
        for one, _, value in parts
    )
    return CallSpec(name=name, arguments=tuple(arguments))


def coded(sentences: Sentences, states: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Codes [N] and sentence offsets [S+1]."""
    codes = np.array([states.index(tag) for tag in chain(*sentences)], np.int64)
    return codes, np.cumsum([0, *map(len, sentences)])


def counts(gold: Sentences, predicted: Sentences) -> SegmentCounts:
    states = sorted({*chain(*gold), *chain(*predicted)})
    codes, off = coded(gold, states)
    return compared_segments(codes, coded(predicted, states)[0], states, off).counts


# segments ---------------------------------------------------------------------------------------------------------


def plain_segments(tags: Iterable[str]) -> set[tuple[int, int, str]]:
    """Segments of one sentence, read tag by tag as conlleval's two functions read them."""
    found, start = set(), 0
    before, kind_before = "O", ""
    for t, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        other = kind != kind_before
        ends = before in "ES" or (before in "BI" and (mark in "BSO" or other)) or (before != "O" and other)
        if before != "O" and ends:
            found.add((start, t - 1, kind_before))
        if mark != "O" and (mark in "BS" or before in "OES" or other):
            start = t
        before, kind_before = mark, kind
    return found


SEGMENTS = {
    # tags: first token, last token, type of each segment
    "IOB1": ("I-A I-A B-A O I-B", {(0, 1, "A"), (2, 2, "A"), (4, 4, "B")}),
    "IOB2": ("B-A I-A B-A O B-B", {(0, 1, "A"), (2, 2, "A"), (4, 4, "B")}),
    "IOBES": ("B-A E-A S-A O B-B I-B E-B", {(0, 1, "A"), (2, 2, "A"), (4, 6, "B")}),
    "type changes inside": ("B-A I-B I-B", {(0, 0, "A"), (1, 2, "B")}),
    "I after O starts one": ("O I-A", {(1, 1, "A")}),
    "E alone is one": ("O E-A E-A", {(1, 1, "A"), (2, 2, "A")}),
    "I after E starts one": ("B-A E-A I-A", {(0, 1, "A"), (2, 2, "A")}),
    "I after S starts one": ("S-A I-A E-A", {(0, 0, "A"), (1, 2, "A")}),
    "open at the end": ("O B-A I-A", {(1, 2, "A")}),
    "type with a dash": ("B-A-x I-A-x I-A", {(0, 1, "A-x"), (2, 2, "A")}),
    "none": ("O O", set()),
}


@pytest.mark.parametrize("name", SEGMENTS)
def test_tags_read_as_these_segments(name: str) -> None:
    """Every expected segment is found, and no other: the counts against itself and against each one alone."""
    text, expected = SEGMENTS[name]
    tags = text.split()
    assert plain_segments(tags) == expected
    assert counts([tags], [tags]) == (len(expected),) * 3
    for first, last, kind in expected:
        alone = ["O"] * len(tags)
        alone[first : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - first)
        assert counts([tags], [alone]) == (1, 1, len(expected))


COMPARED = {
    "too long": ("B-A I-A O", "B-A I-A I-A", (0, 1, 1)),
    "too short": ("B-A I-A", "B-A O", (0, 1, 1)),
    "starts later": ("B-A I-A", "O B-A", (0, 1, 1)),
    "wrong type": ("B-A I-A", "B-B I-B", (0, 1, 1)),
    "other scheme, same segments": ("B-A I-A O B-B", "I-A I-A O S-B", (2, 2, 2)),
    "one of two": ("B-A B-A", "B-A I-A", (0, 1, 2)),
    "found nothing": ("B-A O", "O O", (0, 0, 1)),
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_segment_is_right_when_all_of_it_is(name: str) -> None:
    gold, predicted, expected = COMPARED[name]
    assert counts([gold.split()], [predicted.split()]) == expected


def test_no_segment_crosses_a_sentence() -> None:
    assert counts([["B-A"], ["I-A"]], [["B-A"], ["O"]]) == (1, 1, 2)


def test_scores_are_those_of_the_counts() -> None:
    found = SegmentCounts(correct=3, predicted=4, gold=6)
    assert (found.precision, found.recall) == (0.75, 0.5)
    assert found.f1 == pytest.approx(2 * 0.75 * 0.5 / (0.75 + 0.5))
    assert SegmentCounts(0, 0, 0).f1 == SegmentCounts(0, 0, 0).precision == 0.0


def tag_pairs(marks: str) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    """Sentences of (gold, predicted) tags; legal or not."""
    tag = st.sampled_from(["O", *(f"{mark}-{kind}" for mark in marks for kind in "AB")])
    return st.lists(st.lists(st.tuples(tag, tag), max_size=8), min_size=1, max_size=4)


@pytest.mark.long
@given(st.sampled_from(["BI", "BIES"]).flatmap(tag_pairs))
def test_counts_are_those_of_the_plain_reading(pairs: list[list[tuple[str, str]]]) -> None:
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    both = [(plain_segments(g), plain_segments(p)) for g, p in zip(gold, predicted, strict=True)]
    expected = (sum(len(g & p) for g, p in both), sum(len(p) for _, p in both), sum(len(g) for g, _ in both))
    assert counts(gold, predicted) == expected


@given(st.sampled_from(["BI", "BIES"]).flatmap(tag_pairs))
def test_types_add_up_to_the_whole(pairs: list[list[tuple[str, str]]]) -> None:
    gold, predicted = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    states = sorted({"O", *chain(*gold), *chain(*predicted)})
    codes, off = coded(gold, states)
    by_type = compared_segments(codes, coded(predicted, states)[0], states, off).by_type
    kinds = {kind for tags in (*gold, *predicted) for _, _, kind in plain_segments(tags)}
    assert list(by_type) == sorted(kinds)
    assert tuple(map(sum, zip(*by_type.values(), strict=True))) == (counts(gold, predicted) if kinds else ())


@pytest.mark.parametrize("marks", ["BI", "BIES"])
def test_scores_are_those_of_seqeval(marks: str) -> None:
    scorers = pytest.importorskip("seqeval.metrics")
    random = np.random.default_rng(7)
    tags = ["O", *(f"{mark}-{kind}" for mark in marks for kind in ("PER", "LOC"))]
    for _ in range(20):
        gold = [random.choice(tags, size=random.integers(1, 20)).tolist() for _ in range(30)]
        kept = 0.7  # of the gold tags, so that some segments are right
        predicted = [[tag if random.random() < kept else str(random.choice(tags)) for tag in s] for s in gold]
        found = counts(gold, predicted)
        assert found.correct > 0
        expected = [scorers.precision_score, scorers.recall_score, scorers.f1_score]
        assert (found.precision, found.recall, found.f1) == pytest.approx(
            [score(gold, predicted) for score in expected], abs=1e-12
        )


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["O", "B-A", "I-A"], True),
        (["S-A", "E-A"], True),
        (["O"], False),
        (["O", "NN"], False),
        (["O", "B-"], False),
        (["B", "I", "O"], False),
    ],
)
def test_states_with_segments(states: list[str], expected: bool) -> None:
    assert has_segments(states) is expected


# the metrics of `evaluate` ------------------------------------------------------------------------------------------

POS = ("N", "V")
CHUNK = ("O", "B-X", "I-X")
# two sentences of three and two tokens; the model's states are POS and CHUNK
TWO_LABELS = Evaluation(
    gold={"pos": np.array([0, 1, 0, 1, 1]), "chunk": np.array([1, 2, 0, 1, 0])},
    predicted={"pos": np.array([0, 1, 1, 1, 1]), "chunk": np.array([1, 2, 0, 1, 2])},
    states={"pos": POS, "chunk": CHUNK},
    sentence_off=np.array([0, 3, 5]),
    oov={"word": np.array([True, False, True, False, True])}.__getitem__,
    log_likelihood=lambda: -12.5,
    rank_risk=lambda: (0.5, 2, 1),
)
MEASURED = {
    "accuracy(pos)": {"accuracy(pos)": 4 / 5},
    "accuracy(chunk)": {"accuracy(chunk)": 4 / 5},
    "joint_accuracy": {"joint_accuracy": 3 / 5},
    "sentence_accuracy": {"sentence_accuracy": 0.0},
    "sentence_accuracy(pos)": {"sentence_accuracy(pos)": 0.5},
    "segments(pos, runs)": {  # gold (0 N)(1 V)(2 N)|(3-4 V), predicted (0 N)(1-2 V)|(3-4 V)
        "segments(pos, runs).f1": 4 / 7,
        "segments(pos, runs).precision": 2 / 3,
        "segments(pos, runs).recall": 2 / 4,
    },
    "events(pos, overlap = 0.5)": {
        "events(pos, overlap = 0.5).f1": 6 / 7,
        "events(pos, overlap = 0.5).precision": 1.0,
        "events(pos, overlap = 0.5).recall": 3 / 4,
    },
    "sov(pos)": {"sov(pos)": (1.5 / 3 + 1) / 2},
    "edit(pos)": {"edit(pos)": (1 - 1 / 3 + 1) / 2},
    "by_state(pos)": {
        "by_state(pos).macro_f1": (4 / 6 + 6 / 7) / 2,
        "by_state(pos).micro_precision": 4 / 5,
        "by_state(pos).micro_recall": 4 / 5,
        "by_state(pos).micro_f1": 4 / 5,
        "by_state(pos).macro_precision": 7 / 8,
        "by_state(pos).macro_recall": 3 / 4,
        "by_state(pos).weighted_precision": (2 * 1 + 3 * 3 / 4) / 5,
        "by_state(pos).weighted_recall": 4 / 5,
        "by_state(pos).weighted_f1": pytest.approx((2 * 4 / 6 + 3 * 6 / 7) / 5, rel=1e-15),
        "by_state(pos).N.precision": 1.0,
        "by_state(pos).N.recall": 0.5,
        "by_state(pos).N.f1": 4 / 6,
        "by_state(pos).N.support": 2,
        "by_state(pos).V.precision": 3 / 4,
        "by_state(pos).V.recall": 1.0,
        "by_state(pos).V.f1": 6 / 7,
        "by_state(pos).V.support": 3,
    },
    "by_type(chunk)": {
        f"by_type(chunk).{part}": 0.5
        for part in (
            "X.precision",
            "X.recall",
            "X.f1",
            *(f"{mean}_{share}" for mean in ("micro", "macro", "weighted") for share in ("precision", "recall", "f1")),
        )
    }
    | {"by_type(chunk).X.support": 2},
    "confusion(pos)": {
        "confusion(pos).right": 4 / 5,
        'confusion(pos)["N"]["N"]': 1,
        'confusion(pos)["N"]["V"]': 1,
        'confusion(pos)["V"]["V"]': 3,
    },
    # gold (0-1) and (3); predicted (0-1) and (3-4)
    "segments(chunk)": {"segments(chunk).f1": 0.5, "segments(chunk).precision": 0.5, "segments(chunk).recall": 0.5},
    "oov_accuracy(pos, word)": {"oov_accuracy(pos, word)": 2 / 3},
    "log_likelihood": {"log_likelihood": -12.5},
    "zero_one_risk": {"zero_one_risk": 1.0},
    "hamming_risk": {"hamming_risk": 2 / 10},
    "rank_risk": {"rank_risk": 0.25, "at_least(rank_risk)": 1},
}
COUNTS = {"tokens": 5, "sentences": 2, "unseen_labels": 0}


@pytest.mark.parametrize("text", MEASURED)
def test_a_metric_has_these_keys_and_values(text: str) -> None:
    assert measure(TWO_LABELS, [call(text)]) == {**MEASURED[text], **COUNTS}


def test_every_metric_is_tested() -> None:
    assert {call(text).name for text in MEASURED} == set(METRICS)


def test_what_is_not_said_is_segments_else_accuracy_and_joint() -> None:
    assert default_metrics({"chunk": CHUNK}) == (call("segments(chunk)"),)
    both = (call("accuracy(pos)"), call("segments(chunk)"), call("joint_accuracy"))
    assert default_metrics({"pos": POS, "chunk": CHUNK}) == both
    assert measure(TWO_LABELS) == measure(TWO_LABELS, both)


BAD_CALLS = {
    "accuracies(pos)": "did you mean `accuracy`?",
    "accuracy(po)": "did you mean `pos`?",
    "accuracy": "expected `accuracy(label)`",
    "joint_accuracy(pos)": "expected `joint_accuracy`",
    "segments(pos)": "state `N` marks no segment",
    "segments(pos, run)": "expected `segments(label)` or `segments(label, runs)`",
    "segments(chunk, runs)": "`runs` is for states without marks",
    "by_type(chunk, runs)": "write `by_type(chunk)`",
    "sentence_accuracy(pos, chunk)": "expected `sentence_accuracy` or `sentence_accuracy(label)`",
}


@pytest.mark.parametrize("text", BAD_CALLS)
def test_a_metric_that_cannot_be_computed_is_one_message(text: str) -> None:
    with pytest.raises(DcrfError) as caught:
        measure(TWO_LABELS, [call(text)])
    assert BAD_CALLS[text] in str(caught.value)


def one_label(gold: list[int], predicted: list[int], states: Sequence[str], known: int, off: list[int]) -> Evaluation:
    return Evaluation({"y": np.array(gold)}, {"y": np.array(predicted)}, {"y": states}, np.array(off), {"y": known})


ALL = [call("accuracy(y)"), call("joint_accuracy"), call("sentence_accuracy")]


def shares(evaluation: Evaluation) -> tuple[float, ...]:
    values = measure(evaluation, ALL)
    return values["accuracy(y)"], values["joint_accuracy"], values["sentence_accuracy"], values["unseen_labels"]


def test_an_unknown_label_is_counted_and_cannot_be_right() -> None:
    assert shares(one_label([0, UNSEEN, 2, 1], [0, UNSEEN, 2, 1], ["a", "b", "new"], 2, [0, 3, 4])) == (
        0.5,
        0.5,
        0.5,
        2,
    )


def test_a_missing_label_is_not_scored() -> None:
    assert shares(one_label([0, MISSING, 1, MISSING], [0, 0, 0, 1], ["a", "b"], 2, [0, 2, 3, 4])) == (0.5, 0.5, 0.5, 0)


def test_nothing_to_score_is_zero() -> None:
    assert shares(one_label([], [], ["a"], 1, [0, 0])) == (0.0, 0.0, 0.0, 0)
    assert shares(one_label([MISSING], [0], ["a"], 1, [0, 1])) == (0.0, 0.0, 0.0, 0)


def test_a_segment_of_a_type_that_the_model_does_not_know_is_a_gold_segment() -> None:
    states = ("O", "B-A", "I-A", "B-new", "I-new")
    found = measure(one_label([3, 4, 1, 0], [1, 2, 1, 0], states, 3, [0, 4]), [call("segments(y)")])
    assert (found["segments(y).precision"], found["segments(y).recall"], found["unseen_labels"]) == (0.5, 0.5, 2)


def test_a_predicted_segment_where_gold_is_missing_does_not_count() -> None:
    found = measure(one_label([1, MISSING, MISSING], [1, 0, 1], ("O", "B-A"), 2, [0, 3]), [call("segments(y)")])
    assert found["segments(y).f1"] == 1.0


# what is partly known ----------------------------------------------------------------------------------------------

PARTIAL = {
    # states, gold sets, gold codes, predicted codes: share right, tokens that the model cannot get right
    "one of the set": ("ab", [(0, 1)], [AMBIGUOUS], [1], 1.0, 0),
    "none of the set": ("abc", [(0, 1)], [AMBIGUOUS], [2], 0.0, 0),
    "each token has its own set": ("abc", [(0, 1), (1, 2)], [AMBIGUOUS, AMBIGUOUS - 1], [0, 0], 0.5, 0),
    "beside known and missing values": ("abc", [(0, 1)], [2, AMBIGUOUS, MISSING, 1], [2, 1, 0, 0], 2 / 3, 0),
    "a new state in the set": ("ab", [(1, 2)], [AMBIGUOUS, AMBIGUOUS], [1, 0], 0.5, 0),
    "only new states in the set": ("ab", [(2, 3)], [AMBIGUOUS, 0], [1, 0], 0.5, 1),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_an_ambiguous_value_is_right_if_the_prediction_is_one_of_its_states(name: str) -> None:
    known, sets, gold, predicted, share, unseen = PARTIAL[name]
    evaluation = Evaluation(
        {"y": np.array(gold)}, {"y": np.array(predicted)}, {"y": (*known, "new", "newer")}, np.array([0, len(gold)]),
        {"y": len(known)}, sets={"y": sets},
    )  # fmt: skip
    whole = float(share == 1.0)  # there is one sentence
    assert shares(evaluation) == (share, share, whole, unseen)


# Of each token: gold of two labels (`?`: missing, `ab`: one of them) and their predictions.
JOINT = {
    "both right": ("a a", "a a", 1, 1),
    "one of two wrong": ("a a", "a b", 0, 1),
    "one missing, the other right": ("a ?", "a b", 0, 0),
    "one missing, the other wrong": ("? a", "b b", 0, 0),
    "one of a set and a known one": ("ab c", "b c", 1, 1),
    "not of the set, and a known one": ("ab c", "c c", 0, 1),
}


@pytest.mark.parametrize("name", JOINT)
def test_joint_accuracy_counts_tokens_whose_labels_are_all_known(name: str) -> None:
    """The case stands beside a token that is right, so the share tells whether it counts."""
    gold, predicted, right, counted = JOINT[name]
    codes = {"?": MISSING, "ab": AMBIGUOUS, "a": 0, "b": 1, "c": 2}
    columns = [[codes[text], 0] for text in gold.split()]
    guesses = [[codes[text], 0] for text in predicted.split()]
    evaluation = Evaluation(
        dict(zip("xy", map(np.array, columns), strict=True)), dict(zip("xy", map(np.array, guesses), strict=True)),
        {"x": "abc", "y": "abc"}, np.array([0, 2]), sets={"x": [(0, 1)], "y": [(0, 1)]},
    )  # fmt: skip
    assert measure(evaluation, [call("joint_accuracy")])["joint_accuracy"] == (right + 1) / (counted + 1)


# from a corpus --------------------------------------------------------------------------------------------------------

DATA = DataSpec(format="conll", columns=(Column(name="word", source="word"), Column(name="y", source="y")))


def corpus(*sentences: str) -> Corpus:
    """Sentences of `word/label`."""
    return corpus_from_rows([[tuple(token.split("/")) for token in text.split()] for text in sentences], DATA)


SPLIT = Label(name="y", ambiguous="|")
ENCODED = {
    # label, states of the model, data: codes, states with the new ones, sets
    "plain": (Label(name="y"), ["N", "V"], "a/V b/N", [1, 0], ("N", "V"), ()),
    "new": (Label(name="y"), ["N"], "a/V b/N c/W d/V", [1, 0, 2, 1], ("N", "V", "W"), ()),
    "others": (Label(name="y", others="O"), ["B", "O"], "a/V b/B c/O", [1, 0, 1], ("B", "O"), ()),
    "missing": (Label(name="y", missing="_"), ["N"], "a/_ b/N", [MISSING, 0], ("N",), ()),
    "missing is a state too": (Label(name="y", missing="_"), ["_", "N"], "a/_ b/N", [MISSING, 1], ("_", "N"), ()),
    "not declared ambiguous": (Label(name="y"), ["N", "V"], "a/N|V", [2], ("N", "V", "N|V"), ()),
    "several": (SPLIT, ["A", "B", "C"], "a/A|B b/A c/B|A d/C|B", [-3, 0, -3, -4], ("A", "B", "C"), ((0, 1), (1, 2))),
    "twice the same": (SPLIT, ["A", "B"], "a/A|A", [0], ("A", "B"), ()),
    "all states": (SPLIT, ["A", "B"], "a/B|A", [MISSING], ("A", "B"), ()),
    "a state with the mark": (SPLIT, ["A", "A|B", "|"], "a/A|B b/|", [1, 2], ("A", "A|B", "|"), ()),
    "several, one new": (SPLIT, ["A", "B"], "a/A|X", [-3], ("A", "B", "X"), ((0, 2),)),
    "several, one missing": (Label(name="y", missing="_", ambiguous="|"), ["A", "B"], "a/A|_", [-2], ("A", "B"), ()),
    "several and others": (
        Label(name="y", others="O", ambiguous="|"), ["A", "B", "O"], "a/A|X b/X|Z", [-3, 2], ("A", "B", "O"), ((0, 2),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODED)
def test_gold_texts_are_codes_of_the_model(name: str) -> None:
    label, states, text, *expected = ENCODED[name]
    gold = encode_gold(label, states, corpus(text))
    assert [gold.codes.tolist(), gold.states, gold.sets] == expected


def test_a_set_with_an_empty_member_is_one_message() -> None:
    with pytest.raises(DcrfError) as caught:
        encode_gold(SPLIT, ["A"], corpus("a/A", "b/A|"))
    assert (caught.value.diagnostics[0].slug, caught.value.diagnostics[0].location) == ("empty-member", "<rows>:2")


def test_what_partly_known_labels_leave_out_is_counted() -> None:
    data = DataSpec(format="conll", columns=tuple(Column(name=name, source=name) for name in ("word", "x", "y")))
    spec = ModelSpec(data=data, labels=(Label(name="x", missing="_"), Label(name="y", missing="?", ambiguous="|")))
    gold = corpus_from_rows([[("a", "P", "B-A|O"), ("b", "_", "O"), ("c", "_", "?")]], data)
    states = {"x": ("P", "Q"), "y": ("B-A", "I-A", "O"), "hidden": ("0", "1")}
    predicted = {"x": np.array([0, 1, 1]), "y": np.array([2, 2, 0]), "hidden": np.array([0, 0, 0])}
    assert evaluate_predictions(spec, gold, predicted, states) == {
        "accuracy(x)": 1.0,  # of one token
        "segments(y).f1": 0.0,  # nothing to find: the only B-A is predicted where the gold is missing
        "segments(y).precision": 0.0,
        "segments(y).recall": 0.0,
        "joint_accuracy": 1.0,  # of the first token
        "tokens": 3,
        "sentences": 1,
        "unseen_labels": 0,
        "not_scored(x)": 2,
        "not_scored(y)": 1,
        "ambiguous(y)": 1,
        "not_scored(segments(y))": 0,
        "not_judged(segments(y))": 1,
        "not_scored(joint_accuracy)": 2,
    }


def test_a_value_is_new_where_training_did_not_show_it() -> None:
    column = corpus("a/X b/X", "a/X").text_column("word")
    assert unseen_values(column, {"a"}).tolist() == [False, True, False]


def test_a_corpus_is_measured_by_the_metrics_of_its_template() -> None:
    spec = ModelSpec(
        data=DATA,
        labels=(Label(name="y", domain=Scheme(name="bio", types=("A",))),),
        evaluate=(call("segments(y)"), call("oov_accuracy(y, word)")),
    )
    states = ("B-A", "I-A", "O")
    gold = corpus("a/B-A b/I-A c/O", "new/B-B a/O")
    predicted = {"y": np.array([0, 1, 1, 0, 2])}
    values = evaluate_predictions(spec, gold, predicted, {"y": states}, known_values={"word": {"a", "b"}}.__getitem__)
    assert values == {
        "segments(y).f1": 0.0,  # one segment is too long, the other has the wrong type
        "segments(y).precision": 0.0,
        "segments(y).recall": 0.0,
        "oov_accuracy(y, word)": 0.0,  # c and new, both wrong
        "tokens": 5,
        "sentences": 2,
        "unseen_labels": 1,
        "illegal_moves(y)": 0,
    }
    broken = evaluate_predictions(
        spec, gold, {"y": np.array([1, 2, 1, 0, 2])}, {"y": states}, known_values={"word": {"a"}}.__getitem__
    )
    assert broken["illegal_moves(y)"] == 2  # I-A at the start, I-A after O


def test_gold_that_is_not_there_is_one_message() -> None:
    spec = ModelSpec(data=DATA, labels=(Label(name="z"),))
    with pytest.raises(DcrfError) as caught:
        evaluate_predictions(spec, corpus("a/N"), {"z": np.array([0])}, {"z": ("N",)})
    assert "label `z` has no gold values here" in str(caught.value)


def test_confusion_counts_pairs() -> None:
    table = confusion(np.array([0, 0, 1, UNSEEN, 2]), np.array([0, 1, 1, 0, 0]), 2)
    assert table.tolist() == [[1, 1], [0, 1]]


FIRST = ["accuracy(y)", "joint_accuracy", "segments(y)", "by_state(y)", "by_type(y)", "confusion(y)", "hamming_risk"]


@pytest.mark.parametrize("metric", FIRST)
def test_the_first_metric_is_named_as_its_first_value(metric: str) -> None:
    evaluation = one_label([1, 0, 0], [1, 2, 0], ("O", "B-A", "I-A"), 3, [0, 3])
    name, value = next(iter(measure(evaluation, [call(metric)]).items()))
    told = first_metric([call(metric)], evaluation.states)
    assert told == (f"1 - {name}" if goodness(name, value) != value else name)


def test_without_metrics_the_default_one_is_named() -> None:
    assert first_metric([], {"y": ("O", "B-A")}) == "segments(y).f1"
    assert first_metric([], {"y": ("a", "b"), "z": ("a", "b")}) == "accuracy(y)"
