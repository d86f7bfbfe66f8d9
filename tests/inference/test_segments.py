"""Models over segments: sums, expectations, best labellings and training, against enumeration by hand."""

from __future__ import annotations

import numpy as np
import pytest
from segment_cases import CASES, Twin, segments

from dcrfdsl.inference import Expectations

EXACT = 1e-9


@pytest.fixture(scope="module", params=CASES)
def twin(request):
    return Twin(CASES[request.param], seed=len(request.param))


def words_of(twin):
    return [[word for word, _ in sentence] for sentence in twin.case.sentences]


def test_the_counts_of_the_gold_labels_are_those_by_hand(twin):
    gold = [twin.counts_of([w for w, _ in s], [state for _, state in s]) for s in twin.case.sentences]
    assert np.array_equal(twin.counts, np.sum(gold, axis=0))
    assert sum(name[0] == "spans" for name in twin.names) >= 5


def test_sums_expectations_and_marginals_are_those_of_all_labellings(twin):
    data = twin.bound()
    out, gradient, marginals, spans = twin.expectations(data)
    off, kinds = twin.corpus.sentence_off, [one.name for one in twin.problem.graph.segmental.segments.classes]
    named, limit = data.segments.named, twin.case.limit
    total = np.zeros_like(gradient)
    for s, words in enumerate(words_of(twin)):
        every = list(twin.labellings(words))
        scores = np.array([score for _, score, _ in every])
        log_z = np.logaddexp.reduce(scores)
        assert out.log_z[s] == pytest.approx(log_z, abs=EXACT)
        share = np.exp(scores - log_z)
        total += share @ np.array([counts for _, _, counts in every])
        expected = np.zeros((len(words), len(twin.states)))
        expected_spans = np.zeros((len(words), limit, named))
        for (labels, _, _), p in zip(every, share, strict=True):
            for t, state in enumerate(labels):
                expected[t, twin.states.index(state)] += p
            for start, end, kind in segments(labels, twin.case.scheme):
                if end - start <= limit:
                    expected_spans[start, end - start - 1, kinds.index(kind)] += p
        assert np.allclose(marginals[off[s] : off[s + 1]], expected, atol=EXACT, rtol=0)
        found = spans[off[s] * limit * named : off[s + 1] * limit * named].reshape(expected_spans.shape)
        assert np.allclose(found, expected_spans, atol=EXACT, rtol=0)
    assert np.allclose(gradient, total, atol=EXACT, rtol=0)


def test_the_best_labellings_come_in_order(twin):
    from dcrfdsl.kernels.segments import SegmentLists

    data, most = twin.bound(), 7
    labelling = np.zeros((most, twin.corpus.num_tokens), np.int32)
    lists = SegmentLists(
        labelling, data.labelling_off, np.zeros(data.num_sequences, np.int64), np.zeros((data.num_sequences, most))
    )
    twin.method(data).nbest(data.potentials(twin.weights), 0, data.num_sequences, Expectations.empty(data), lists)
    off = twin.corpus.sentence_off
    for s, words in enumerate(words_of(twin)):
        every = sorted(twin.labellings(words), key=lambda one: -one[1])[:most]
        assert lists.length[s] == len(every)
        score_of = {labels: score for labels, score, _ in twin.labellings(words)}
        found = [tuple(twin.states[k] for k in row[off[s] : off[s + 1]]) for row in labelling[: len(every)]]
        assert len(set(found)) == len(every)
        for rank, (labels, (_, score, _)) in enumerate(zip(found, every, strict=True)):
            assert lists.score[s, rank] == pytest.approx(score, abs=EXACT)
            assert score_of[labels] == pytest.approx(score, abs=EXACT)  # labellings may tie


def test_decoding_finds_the_best(twin):
    data = twin.bound()
    out, labelling = Expectations.empty(data), np.zeros(twin.corpus.num_tokens, np.int32)
    twin.method(data).decode(data.potentials(twin.weights), 0, data.num_sequences, out, labelling)
    for s, words in enumerate(words_of(twin)):
        assert out.log_z[s] == pytest.approx(max(score for _, score, _ in twin.labellings(words)), abs=EXACT)


def test_sums_of_huge_weights_stay_exact(twin):
    """Moves that underflow beside the likeliest one may be the only ones that are left."""
    twin = Twin(twin.case, seed=0)
    twin.weights *= 3000.0
    out, gradient, _, _ = twin.expectations(twin.bound())
    total = np.zeros_like(gradient)
    for s, words in enumerate(words_of(twin)):
        every = list(twin.labellings(words))
        scores = np.array([score for _, score, _ in every])
        assert out.log_z[s] == pytest.approx(np.logaddexp.reduce(scores), rel=EXACT)
        total += np.exp(scores - np.logaddexp.reduce(scores)) @ np.array([counts for _, _, counts in every])
    assert np.allclose(gradient, total, atol=1e-7, rtol=0)
