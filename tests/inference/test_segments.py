"""Models over segments: sums, expectations, best labellings and training, against enumeration by hand."""

from __future__ import annotations

import numpy as np
import pytest
from segment_cases import CASES, Twin, segments

from dcrfdsl.inference import Decoded, Workers, best_labellings
from dcrfdsl.semantics import ExactSettings, segment_memory, segment_states

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
    out, gradient, marginals, memory = twin.expectations(data)
    off, limit = twin.corpus.sentence_off, twin.case.limit
    states = segment_states(segment_memory(twin.spec), twin.states)
    ending = {(states.kind[k], states.length[k]): k for k in np.flatnonzero(states.ends).tolist()}
    kinds = [one.name for one in twin.problem.graph.templates[2].segments.classes]
    total = np.zeros_like(gradient)
    for s, words in enumerate(words_of(twin)):
        every = list(twin.labellings(words))
        scores = np.array([score for _, score, _ in every])
        log_z = np.logaddexp.reduce(scores)
        assert out.log_z[s] == pytest.approx(log_z, abs=EXACT)
        share = np.exp(scores - log_z)
        total += share @ np.array([counts for _, _, counts in every])
        expected = np.zeros((len(words), len(twin.states)))
        expected_ends = np.zeros((len(words), len(states.names)))
        for (labels, _, _), p in zip(every, share, strict=True):
            for t, state in enumerate(labels):
                expected[t, twin.states.index(state)] += p
            for start, end, kind in segments(labels, twin.case.scheme):
                expected_ends[end - 1, ending[kinds.index(kind), min(end - start, limit + 1)]] += p
        assert np.allclose(marginals[off[s] : off[s + 1]], expected, atol=EXACT, rtol=0)
        named = states.ends & np.array([bool(kinds[kind]) for kind in states.kind])
        found = memory[off[s] : off[s + 1], named]
        assert np.allclose(found, expected_ends[:, named], atol=EXACT, rtol=0)
    assert np.allclose(gradient, total, atol=EXACT, rtol=0)


def test_the_best_labellings_come_in_order(twin):
    data, most = twin.bound(), 7
    parts = [(np.arange(data.num_sequences), data)]
    for words, found in zip(
        words_of(twin), best_labellings(parts, twin.weights, ExactSettings(), most, Workers(1)).sentences, strict=True
    ):
        every = sorted(twin.labellings(words), key=lambda one: -one[1])[:most]
        score_of = {labels: score for labels, score, _ in twin.labellings(words)}
        listed = [tuple(twin.states[k] for k in row) for row in found.codes["y"]]
        assert len(set(listed)) == len(listed) == len(every) and found.exact
        for labels, given, (_, score, _) in zip(listed, found.score, every, strict=True):
            assert given == pytest.approx(score, abs=EXACT)
            assert score_of[labels] == pytest.approx(score, abs=EXACT)  # labellings may tie


def test_decoding_finds_the_best(twin):
    data = twin.bound()
    out = Decoded.empty(data)
    twin.method(data).decode(data.potentials(twin.weights), 0, data.num_sequences, out)
    for s, words in enumerate(words_of(twin)):
        assert out.score[s] == pytest.approx(max(score for _, score, _ in twin.labellings(words)), abs=EXACT)


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
