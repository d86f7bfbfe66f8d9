"""What a report counts, beside slow twins: confusions of states and segments, reliability, errors and their pages."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.metrics import AMBIGUOUS, MISSING, Evaluation, confusion_of, reliability_of
from dcrfdsl.model.reporting.charts import MOST_POINTS, Series, _ticks, line_chart, posterior_chart
from dcrfdsl.model.reporting.model_sections import frequency_table
from dcrfdsl.model.reporting.quality_sections import segment_confusion, state_confusion
from dcrfdsl.model.reporting.wrong_labels import Why, error_list, error_pages
from dcrfdsl.semantics.resolve.resolution import load_text

STATES = ("O", "B-X", "I-X", "B-Y", "I-Y")


def random_evaluation(seed, *, wrong=0.4, lengths=(0, 9), states=STATES):
    """Gold labels, and predictions that differ at some places."""
    generator = np.random.default_rng(seed)
    off = np.concatenate([[0], np.cumsum(generator.integers(*lengths, 12))])
    gold = generator.integers(0, len(states), off[-1])
    other = generator.integers(0, len(states), off[-1])
    predicted = np.where(generator.random(off[-1]) < wrong, other, gold)
    return Evaluation({"y": gold}, {"y": predicted}, {"y": states}, off, {"y": len(states)})


def segments_read(codes, off, states):
    """(first, last, type) of each segment, token by token: B starts one, and so does I after another type or O."""
    found = []
    for start, end in itertools.pairwise(off):
        current = None
        for t in range(start, end):
            mark, _, kind = states[codes[t]].partition("-")
            if mark == "I" and current is not None and current[2] == kind:
                current[1] = t
            else:
                current = None if mark == "O" else [t, t, kind]
                if current is not None:
                    found.append(current)
    return [tuple(segment) for segment in found]


@pytest.mark.parametrize("seed", range(8))
def test_segments_are_confused_as_a_reader_would_say(seed):
    evaluation = random_evaluation(seed)
    golds, ours = (
        segments_read(of["y"], evaluation.sentence_off, STATES) for of in (evaluation.gold, evaluation.predicted)
    )
    found = segment_confusion(evaluation, "y")

    def touches(one, others):
        return any(one[0] <= other[1] and other[0] <= one[1] for other in others)

    for a, kind in enumerate(found.types):
        mine = [one for one in golds if one[2] == kind]
        partners = [[other[2] for other in ours if other[:2] == one[:2]] for one in mine]
        for b, other in enumerate(found.types):
            assert found.same[a, b] == sum(other in types for types in partners)
        alone = [one for one, types in zip(mine, partners, strict=True) if not types]
        assert found.elsewhere[a] == sum(touches(one, ours) for one in alone)
        assert found.missed[a] == sum(not touches(one, ours) for one in alone)
        invented = [one for one in ours if one[2] == kind and not any(one[:2] == gold[:2] for gold in golds)]
        assert found.elsewhere_predicted[a] == sum(touches(one, golds) for one in invented)
        assert found.invented[a] == sum(not touches(one, golds) for one in invented)
    assert found.same.sum() + found.elsewhere.sum() + found.missed.sum() == len(golds)
    assert found.same.sum() + found.elsewhere_predicted.sum() + found.invented.sum() == len(ours)


def test_a_sentence_without_any_labelling_has_no_predicted_segment():
    """Where a label had no state `O`, its first state was taken for predicted."""
    states, off = ("B-X", "I-X"), np.array([0, 2, 4])
    gold, predicted = np.array([0, 1, 0, 1]), np.array([0, 1, -1, -1])
    found = segment_confusion(Evaluation({"y": gold}, {"y": predicted}, {"y": states}, off), "y")
    assert (found.same.tolist(), found.missed.tolist(), found.invented.tolist()) == ([[1]], [1], [0])


@pytest.mark.parametrize("seed", range(4))
def test_states_are_counted_pair_by_pair(seed):
    evaluation = random_evaluation(seed)
    gold, predicted = evaluation.gold["y"].copy(), evaluation.predicted["y"].copy()
    gold[::7], predicted[::5] = -2, -1  # unknown gold, and sentences without any labelling
    evaluation = Evaluation({"y": gold}, {"y": predicted}, {"y": STATES}, evaluation.sentence_off)
    states, counts = state_confusion(confusion_of(evaluation, "y"))
    often = counts.sum(axis=1).tolist()
    assert often == sorted(often, reverse=True)
    for a, one in enumerate(states):
        for b, other in enumerate(states):
            pairs = zip(gold.tolist(), predicted.tolist(), strict=True)
            assert counts[a, b] == sum((STATES[g], STATES[p]) == (one, other) for g, p in pairs if g >= 0 and p >= 0)


@pytest.mark.parametrize("seed", range(4))
def test_reliability_is_that_of_each_bin(seed):
    generator = np.random.default_rng(seed)
    probabilities = np.concatenate([generator.random(300), [0.0, 1.0, 0.5]])
    right = generator.random(303) < probabilities**2
    found, error = reliability_of(probabilities, right), 0.0
    for n in range(10):
        inside = [(p, r) for p, r in zip(probabilities, right, strict=True) if max(0, int(np.ceil(10 * p)) - 1) == n]
        assert found.counts[n] == len(inside)
        if inside:
            confidence, accuracy = np.mean(inside, axis=0)
            assert (found.confidence[n], found.accuracy[n]) == pytest.approx((confidence, accuracy))
            error += len(inside) / 303 * abs(accuracy - confidence)
    assert found.error == pytest.approx(error)


def test_reliability_of_nothing():
    found = reliability_of(np.zeros(0), np.zeros(0, bool))
    assert np.isnan(found.error) and found.total == 0


def test_calibrated_probabilities_have_no_error():
    assert reliability_of(np.repeat(0.25, 400), np.arange(400) % 4 == 0).error == pytest.approx(0.0)


# errors -----------------------------------------------------------------------------------------------------------

SPEC = load_text("data conll(word, y)\nlabel y\nclique y: bias\n").require()


def two_sentences():
    """Three errors, of which the second is the most confident; one gold value is no state of the model."""
    corpus = corpus_from_rows([[("a", "P"), ("b", "Q"), ("c", "P")], [("d", "Z")]], SPEC.data)
    evaluation = Evaluation(
        {"y": np.array([0, 1, 0, 2])}, {"y": np.array([1, 0, 0, 0])}, {"y": ("P", "Q", "Z")},
        corpus.sentence_off, {"y": 2},
    )  # fmt: skip
    table = np.array([[0.3, 0.7], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    return corpus, evaluation, {"y": table}


def test_errors_come_with_the_most_confident_first():
    _corpus, evaluation, marginals = two_sentences()
    errors = error_list(evaluation, marginals)
    assert errors.token.tolist() == [1, 0, 3]
    assert errors.probability.tolist() == [0.9, 0.7, 0.6]
    assert errors.gold_probability[:2].tolist() == [0.1, 0.3] and np.isnan(errors.gold_probability[2])
    assert error_list(evaluation, {}).token.tolist() == [0, 1, 3]


def test_the_data_of_a_page_hold_a_sentence_once():
    corpus, evaluation, marginals = two_sentences()
    why = Why("P", 1.0, (), (0, 0.0), ("because",))
    new = np.array([False, True, False, False])
    (data,) = error_pages(error_list(evaluation, marginals), corpus, evaluation, {1: why}, new)
    assert [sentence["w"] for sentence in data["sentences"]] == [["a", "b", "c"], ["d"]]
    assert data["sentences"][0] == {"n": 1, "line": 1, "w": ["a", "b", "c"], "p": [[1, 0, 0]], "g": [{"0": 0, "1": 1}]}
    assert data["errors"] == [
        [0, 0, 1, 1, 0, 900, 100, -1, 1],
        [0, 0, 0, 0, 1, 700, 300, 0, 0],
        [0, 1, 0, 2, 0, 600, -1, -1, 0],
    ]
    assert data["labels"] == [{"name": "y", "texts": ["P", "Q", "Z"]}]
    assert json.loads(json.dumps(data)) == data


def test_many_errors_fill_several_pages():
    corpus, evaluation, marginals = two_sentences()
    errors = error_list(evaluation, marginals)
    pages = list(error_pages(errors, corpus, evaluation, {}, None, page_bytes=1))
    assert [len(page["errors"]) for page in pages] == [1, 1, 1]
    assert [page["sentences"][0]["n"] for page in pages] == [1, 1, 2]
    assert len(list(error_pages(errors.first(0), corpus, evaluation, {}, None))) == 1


@pytest.mark.parametrize("span", [(0.0, 1.0), (1.0, 60.0), (-3.2e6, 4.1e5), (0.91234, 0.91235), (5.0, 5.1)])
def test_ticks_are_round_and_inside(span):
    ticks = _ticks(*span)
    assert 2 <= len(ticks) <= 11
    assert span[0] - 1e-9 * abs(span[0]) <= ticks[0] and ticks[-1] <= span[1] + 1e-9 * abs(span[1])
    steps = np.diff(ticks)
    assert steps == pytest.approx(np.full(len(steps), steps[0]), rel=1e-6)


def test_a_scale_is_logarithmic_where_numbers_span_a_decade():
    """The middle of 10 and 1000 is 100 then, and 505 else."""

    def heights(ys):
        drawn = str(line_chart("t", [Series("a", list(enumerate(ys)))], "x", "y"))
        path = re.search(r'polyline class="line c0" points="([^"]*)"', drawn)[1]
        return [float(point.partition(",")[2]) for point in path.split()], "(log scale)" in drawn

    (low, middle, high), is_log = heights([10.0, 100.0, 1000.0])
    assert is_log and middle == pytest.approx((low + high) / 2, abs=0.06)
    (low, middle, high), is_log = heights([500.0, 750.0, 1000.0])
    assert not is_log and middle == pytest.approx((low + high) / 2, abs=0.06)
    assert not heights([-10.0, 1.0, 1000.0])[1]  # a logarithm of what is below 0 there is none


def drawn_posteriors(size, num_states):
    """The heights of a chart's parts as shares, by state, in the order of positions; the table; and the drawing."""
    table = np.random.default_rng(size).dirichlet(np.full(num_states, 0.4), size)
    names, wrong = [f"<{k}>" for k in range(num_states)], np.arange(size) % 5 == 1
    drawn = str(posterior_chart("t", names, table, [f"w{t}" for t in range(size)], wrong))
    assert drawn.count('class="wrong"') == wrong.sum() and "<<" not in drawn
    return table, drawn


def test_posteriors_are_stacked_bars_over_words():
    table, drawn = drawn_posteriors(7, 4)
    heights = dict.fromkeys(range(7), 0.0)
    number = r'="([\d.]*)"'
    pattern = rf'part c(\d)" x="[\d.]*" y{number} width="[\d.]*" height{number}><title>w(\d): &lt;(\d)&gt; ([\d.]*)<'
    full = 190.0  # pixels of probability 1
    for colour, top, height, word, state, share in re.findall(pattern, drawn):
        assert colour == state and table[int(word), int(state)] == pytest.approx(float(share), abs=5e-5)
        assert float(height) == pytest.approx(full * float(share), abs=0.11)
        heights[int(word)] += float(height)
        below = table[int(word), : int(state) + 1].sum()
        assert float(top) == pytest.approx(14.0 + full * (1.0 - below), abs=0.11)
    assert list(heights.values()) == pytest.approx([full] * 7, abs=1.5)
    assert all(f">w{t}</text>" in drawn for t in range(7))


def test_posteriors_of_many_states_and_positions_are_areas_of_means():
    table, drawn = drawn_posteriors(2 * MOST_POINTS, 9)
    areas = re.findall(r'<polygon class="part c(\d)" points="([^"]*)"><title>([^<]*)<', drawn)
    kept = np.sort(np.argsort(-table.sum(axis=0))[:5]).tolist()
    assert [name for *_, name in areas] == [*(f"&lt;{k}&gt;" for k in kept), "others"]
    for (_, path, _), k in zip(areas[:-1], kept, strict=True):
        points = np.array([point.split(",") for point in path.split()], float)
        assert len(points) == 2 * MOST_POINTS
        thick = points[: MOST_POINTS - 1 : -1, 1] - points[:MOST_POINTS, 1]
        assert thick == pytest.approx(190.0 * table[:, k].reshape(-1, 2).mean(axis=1), abs=0.21)
    assert ">w1<" not in drawn and "position" in drawn


def test_states_are_counted_where_gold_is_known():
    """Both columns count the same tokens."""
    evaluation = Evaluation(
        {"y": np.array([0, MISSING, 1, AMBIGUOUS, 1])}, {"y": np.array([0, 1, 0, 1, 1])}, {"y": ("a", "b")},
        np.array([0, 5]), sets={"y": [(0, 1)]},
    )  # fmt: skip
    table = frequency_table(evaluation, "y")
    assert table.rows == [["b", "2", "66.67", "1"], ["a", "1", "33.33", "2"]]
    assert "3 tokens" in table.caption
