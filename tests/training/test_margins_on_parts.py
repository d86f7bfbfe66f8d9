"""Margins and perceptrons on data in parts: the optimum of the same data in memory, and passes mixed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_parts import CHAIN, DATA, objectives, parted, written

from dcrfdsl.data import read_corpus
from dcrfdsl.semantics import stage_settings
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import fit

LOOPS = f"{DATA}label y\nclique y: bias, word\nclique y[-1], y\nclique y[-2], y\n"
MARGINS = {
    "one loss": f"{CHAIN}train hmsvm: tolerance = 1e-6\n",
    "hamming": f"{CHAIN}train hmsvm: C = 0.5, loss = hamming(y), tolerance = 1e-6\n",
    "segments": f"{CHAIN}train hmsvm: C = 0.5, loss = segments(y), tolerance = 1e-5\n",
    "each labelling": f"{CHAIN}train hmsvm: C = 3, weight = 1, slack = labelling, most = 1000, tolerance = 1e-5\n",
    "loops": f"{LOOPS}infer exact\ntrain hmsvm: C = 1, tolerance = 1e-6\n",
    "messages": f"{LOOPS}infer trp\ntrain hmsvm: C = 1, loss = hamming(y), tolerance = 1e-3\n",
}


@pytest.mark.long
@pytest.mark.parametrize("case", MARGINS)
def test_margins_have_the_optimum_of_data_in_memory(case: str, tmp_path: Path) -> None:
    resolved, path = load_text(MARGINS[case]), written(tmp_path)
    parts, corpus = parted(path, resolved, tmp_path), read_corpus(path, resolved.require().data)
    assert len(parts.parts) > 4
    whole, apart = fit(resolved, corpus), fit(resolved, parts)
    tolerance = stage_settings(resolved.require()).criterion.tolerance
    assert apart.record.converged and "duality gap" in apart.record.reason
    assert apart.record.objective == pytest.approx(whole.record.objective, rel=2 * tolerance)
    assert not any("more labellings" in remark for remark in apart.record.notes)
    if "trp" in MARGINS[case]:  # messages may find other labellings from other messages
        return
    one, summed = objectives(MARGINS[case], tmp_path, 50)
    value, _ = one.value_and_gradient(apart.weights)  # of all data in memory
    assert value == pytest.approx(apart.record.objective, rel=1e-9)
    assert summed.value_and_gradient(whole.weights)[0] == pytest.approx(whole.record.objective, rel=1e-9)
    again = fit(resolved, parts, threads=2)
    np.testing.assert_array_equal(again.weights, apart.weights)


@pytest.mark.parametrize("average", ["yes", "no"])
def test_a_perceptron_mixes_passes_over_its_parts(average: str, tmp_path: Path) -> None:
    text = f"{CHAIN}train perceptron: epochs = 3, average = {average}\n"
    resolved, path = load_text(text), written(tmp_path, count=25)
    spec = resolved.require(unchecked=True)
    settings, parts = stage_settings(spec), parted(path, resolved, tmp_path, 40)
    trained = fit(resolved, parts)
    whole, _ = objectives(text, tmp_path, 40, 25)
    size = whole.num_weights
    sequences = whole.batches(1)
    assert sequences is not None
    weights, summed, seen = np.zeros(size), np.zeros(size), 0
    for number in range(3):
        ends, first = [], 0
        for place, part in enumerate(parts.parts):
            own = weights.copy()
            for n in np.random.default_rng((settings.seed, number, place)).permutation(part.num_sentences).tolist():
                sequences.begin(own)
                _, touched, gradient = sequences.gradient(first + n)
                own[touched] -= gradient
                summed, seen = summed + own, seen + 1
            first += part.num_sentences
            ends.append(own)
        weights = np.mean(ends, axis=0)
    assert seen == 3 * 25
    np.testing.assert_allclose(trained.weights, summed / seen if average == "yes" else weights, atol=1e-9)


@pytest.mark.long
def test_a_mixed_perceptron_learns_what_can_be_separated(tmp_path: Path) -> None:
    text = f"{CHAIN}train perceptron: epochs = 60, average = no\n"
    resolved, path = load_text(text), written(tmp_path)
    trained = fit(resolved, parted(path, resolved, tmp_path))
    corpus = read_corpus(path, resolved.require().data)
    if trained.record.converged:
        assert trained.predict(corpus).texts("y") == list(corpus.text_column("y").strings())
    assert trained.record.objective >= 0.0


@pytest.mark.long
@pytest.mark.parametrize("stage", ["hmsvm: tolerance = 1e-6", "perceptron: epochs = 12"])
def test_both_go_on_from_a_checkpoint(stage: str, tmp_path: Path) -> None:
    resolved, path = load_text(f"{CHAIN}train {stage}\n"), written(tmp_path)
    parts, file, seen = parted(path, resolved, tmp_path), tmp_path / "checkpoint", []
    undisturbed = fit(resolved, parts)
    fit(resolved, parts, on_iteration=seen.append, should_stop=lambda: len(seen) == 4, checkpoint=Checkpoint(file))
    resumed = fit(resolved, parts, checkpoint=Checkpoint(file, resume=True))
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)
