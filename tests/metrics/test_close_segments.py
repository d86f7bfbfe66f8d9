"""`events`, `sov` and `edit`: independent counts on random labels, published examples, intervals, templates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from metric_cases import measure
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.metrics import MISSING, Evaluation, SentenceCounts, sentence_counts
from dcrfdsl.metrics.close_segments import close_segments
from dcrfdsl.metrics.metric_table import METRICS
from dcrfdsl.model.comparison import KINDS
from dcrfdsl.semantics.resolve.resolution import load_text

BIO = ("O", "B-X", "I-X", "B-Y", "I-Y")


def metrics(words, states="in bio(X, Y)"):
    return load_text(f"data conll(word, y)\nlabel y {states}\nclique y: word\nevaluate {words}").require().evaluate


def evaluation(sentences, states):
    """sentences: pairs of gold and predicted texts, `?` where the gold value is missing."""
    gold = [MISSING if one == "?" else states.index(one) for pair in sentences for one in pair[0]]
    ours = [states.index(one) for pair in sentences for one in pair[1]]
    off = np.cumsum([0, *(len(pair[0]) for pair in sentences)])
    codes = np.array(gold, np.int64), np.array(ours, np.int64)
    return Evaluation({"y": codes[0]}, {"y": codes[1]}, {"y": states}, off)


def score(words, sentences, states, name=None):
    found = measure(evaluation(sentences, states), metrics(words, f"in {{{', '.join(map(repr_of, states))}}}"))
    return found[name or words]


def repr_of(state):
    return f'"{state}"'


# twins ----------------------------------------------------------------------------------------------------------------


def runs(texts):
    """(type, tokens) of each run of one state but O."""
    at, found = 0, []
    for state, group in itertools.groupby(texts):
        length = len(list(group))
        if state != "O":
            found.append((state, set(range(at, at + length))))
        at += length
    return found


def most_matches(pairs, left):
    """The largest matching, by trying all ways."""
    if not left:
        return 0
    first, *rest = left
    best = most_matches(pairs, rest)
    for a, b in pairs:
        if a == first:
            best = max(best, 1 + most_matches([(c, d) for c, d in pairs if d != b], rest))
    return best


def sov_of(gold, ours):
    """Zemla 1999, eq. 1 to 3, state by state."""
    one, other = runs(gold), runs(ours)
    value = total = 0.0
    for state in {kind for kind, _ in one}:
        for _, s1 in [segment for segment in one if segment[0] == state]:
            overlapping = [s2 for kind, s2 in other if kind == state and s1 & s2]
            total += len(s1) * max(1, len(overlapping))
            for s2 in overlapping:
                minov, maxov = len(s1 & s2), len(s1 | s2)
                delta = min(maxov - minov, minov, len(s1) // 2, len(s2) // 2)
                value += (minov + delta) / maxov * len(s1)
    return value / total if total else float(not other)


def levenshtein(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(levenshtein(a[1:], b) + 1, levenshtein(a, b[1:]) + 1, levenshtein(a[1:], b[1:]) + (a[0] != b[0]))


def edit_of(gold, ours):
    one, other = ([kind for kind, _ in runs(texts)] for texts in (gold, ours))
    return 1.0 - levenshtein(one, other) / max(len(one), len(other), 1)


pairs_of_texts = st.lists(
    st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.lists(st.sampled_from("OHEC"), min_size=n, max_size=n)] * 2)),
    min_size=1,
    max_size=4,
)


def test_a_matching_of_many_segments_is_as_large_as_that_of_scipy():
    random = np.random.default_rng(3)
    for share, off_by in [(None, 1), (None, 5), (0.01, 0), (0.3, 0), (0.6, 0)]:
        gold, ours = (["OHEC"[k] for k in np.repeat(random.integers(0, 4, 4000), random.integers(1, 6, 4000))][:9000]
                      for _ in range(2))  # fmt: skip
        (one, other), pairs = (runs(gold), runs(ours)), []
        for b, (kind, tokens) in enumerate(other):
            for a, (same, others) in enumerate(one):
                if kind != same or max(abs(min(tokens) - min(others)), abs(max(tokens) - max(others))) > 40:
                    continue
                both, whole = len(tokens & others), len(tokens | others)
                ends = max(abs(min(tokens) - min(others)), abs(max(tokens) - max(others)))
                if (both and both >= share * whole) if share is not None else ends <= off_by:
                    pairs.append((b, a))
        matrix = csr_array((np.ones(len(pairs)), np.array(pairs).T), shape=(len(other), len(one)))
        found = close_segments(
            evaluation([(gold, ours)], ("O", "H", "E", "C")), "y", overlap=share, tolerance=float(off_by)
        )
        assert found.right.sum() == (maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum() > 0


@given(pairs_of_texts, st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_counts_are_those_of_the_definitions(sentences, share, off_by):
    states = ("O", "H", "E", "C")
    given_off = evaluation(sentences, states)
    for words, close in [
        (f"events(y, overlap = {share})", lambda s, t: s & t and len(s & t) >= share * len(s | t)),
        (
            f"events(y, tolerance = {off_by})",
            lambda s, t: abs(min(s) - min(t)) <= off_by and abs(max(s) - max(t)) <= off_by,
        ),
    ]:
        matched = predicted = golds = 0
        for gold, ours in sentences:
            one, other = runs(gold), runs(ours)
            pairs = [(a, b) for a, (k, s) in enumerate(one) for b, (m, t) in enumerate(other) if k == m and close(s, t)]
            matched += most_matches(pairs, list(range(len(one))))
            predicted, golds = predicted + len(other), golds + len(one)
        found = measure(given_off, metrics(words, "in {O, H, E, C}"))
        whole = predicted + golds
        assert found[f"{words}.f1"] == pytest.approx(2 * matched / whole if whole else 0.0)
        assert found[f"{words}.precision"] == pytest.approx(matched / predicted if predicted else 0.0)
    for words, twin in [("sov(y)", sov_of), ("edit(y)", edit_of)]:
        expected = [twin(gold, ours) for gold, ours in sentences]
        assert score(words, sentences, states) == pytest.approx(np.mean(expected))


# examples -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gold", "ours", "expected"), [
    # one strand of 10 in the gold, Zemla 1999: ends off by one cost nothing, δ makes up for them
    ("CEEEEEEEEEEC", "CCEEEEEEEECC", 1.0),
    ("HHHHHHHHHH", "HHHHCHHHHH", (10 * (4 + 2) / 10 + 10 * (5 + 2) / 10) / 20),
    ("HHHH", "CCCC", 0.0),
])  # fmt: skip
def test_segment_overlap_of_examples_by_hand(gold, ours, expected):
    found = score("sov(y)", [(list(gold), list(ours))], ("C", "H", "E", "O"))
    if "E" in gold:  # by hand: (8+2)/10·10 for E; each coil of 1 overlaps one of 2, δ = 0: 1/2·1
        expected = (10 + 0.5 + 0.5) / 12
    assert found == pytest.approx(expected)


def test_marks_say_where_segments_end():
    gold, ours = ["B-X", "I-X", "B-X", "O", "B-Y"], ["B-X", "I-X", "I-X", "O", "B-Y"]
    assert score("edit(y)", [(gold, ours)], BIO) == pytest.approx(1 - 1 / 3)
    found = measure(evaluation([(gold, ours)], BIO), metrics("events(y, overlap = 0.6)"))
    assert found["events(y, overlap = 0.6).precision"] == 1.0
    assert found["events(y, overlap = 0.6).recall"] == pytest.approx(2 / 3)


def test_what_is_not_known_is_left_out():
    sentences = [(["B-X", "I-X", "?", "O", "B-Y"], ["B-X", "I-X", "O", "B-Y", "B-Y"]), (["B-X"], ["B-X"])]
    found = measure(evaluation(sentences, BIO), metrics("events(y, tolerance = 0), sov(y), edit(y)"))
    assert found["sov(y)"] == found["edit(y)"] == 1.0  # of the second sentence alone
    assert found["events(y, tolerance = 0).recall"] == 1.0
    only = [(["?", "?"], ["B-X", "O"])]
    assert measure(evaluation(only, BIO), metrics("events(y, overlap = 0.5)"))["events(y, overlap = 0.5).f1"] == 0.0


def test_counts_of_sentences_give_the_score():
    sentences = [(["H", "H", "E"], ["H", "E", "E"]), (["C", "C"], ["H", "C"]), (["O"], ["O"])]
    calls = metrics("events(y, overlap = 0.5), sov(y), edit(y)", "in {O, H, E, C}")
    given_off = evaluation(sentences, ("O", "H", "E", "C"))
    of_all = measure(given_off, calls)
    counts = {one.name: one for one in sentence_counts(given_off, ["y"], calls)}
    for name, value in of_all.items():
        stem = name.removesuffix(".f1")
        if stem in counts:
            assert isinstance(counts[stem], SentenceCounts)
            assert counts[stem].value == pytest.approx(value)
            assert len(counts[stem].counts) == 3
    assert {"events(y, overlap = 0.5)", "events(y, overlap = 0.5).H", "sov(y)", "edit(y)"} <= set(counts)


def test_models_are_compared_by_every_metric_of_sentences():
    kinds = {name for name, metric in METRICS.items() if metric.sentences is not None}
    assert kinds == set(KINDS)


@pytest.mark.parametrize(("words", "expected"), [
    ("events(y)", "expected `events\\(label, overlap = 0.5\\)` or"), ("events(y, overlap = 2)", "from 0 to 1"),
    ("events(y, overlap = 0.5, tolerance = 1)", "expected"), ("events(y, slack = 1)", "expected"),
    ("sov(y, 3)", "expected"), ("edit()", "expected"), ("events(y, tolerance = much)", "from 0 to 1e"),
])  # fmt: skip
def test_bad_arguments_are_refused(words, expected):
    with pytest.raises(DcrfError, match=expected):
        metrics(words)
