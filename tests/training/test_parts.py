"""Training on data in parts: what is learned, objectives and weights are those of the same data in memory."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcrfdsl.criteria.criteria_table import CRITERIA
from dcrfdsl.criteria.criterion import Criterion
from dcrfdsl.data import read_corpus
from dcrfdsl.features import RegisteredFeature, feature
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.inference.workers import Workers
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics import stage_settings
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.parts.corpus_parts import CorpusParts, open_parts
from dcrfdsl.training.parts.part_runners import InTurn, joined
from dcrfdsl.training.parts.parted_problem import parse_memory, untrained_on_parts
from dcrfdsl.training.parts.summed_criteria import SummedCriterion
from dcrfdsl.training.pipeline import fit
from dcrfdsl.training.untrained_model import assemble

DATA = "data conll(word, tags: bag, size: float, y)\n"
CHAIN = f"{DATA}label y in bio\nclique y: bias, word[-1..1]\nclique y[-1], y\ninfer exact\n"
LEARNED = {  # templates whose alphabets and weights are learned from parts
    "words": f"{DATA}label y\nfeatures t with min_count = 2:\n    word[-2..2], suffix(word, 1..3), word[-1] & word\n"
    "clique y: bias, t\nclique y[-1], y\n",
    "bags and numbers": f"{DATA}label y\nclique y: bias, tags, tags[-1] & word, size, size[1] & word\n"
    "clique y[-1], y: bias, tags\n",
    "positions": f"{DATA}label y\nclique y: bias, index, first & word, last, index & word\nclique y[-1], y\n",
    "all states": f"{DATA}label y in bio\nclique y with states = all: bias, word\nclique y[-1], y with states = all\n",
    "pairs": f"{DATA}label y\nclique y: bias, word\nclique y[i], y[j] as same:\n    where word[i] = word[j]\n"
    "    bias, word[i] & tags[j]\n",
    "memory": f"{DATA}label y in bio\nmemory m in states(y) = y[-1] if y[-1] is not O else m[-1] initially O\n"
    "clique y: bias, word\nclique y[-1], y\nclique y, m\n",
    "unknown": DATA + 'label y in {B-X, I-X, B-Y, I-Y, O} with missing = "O"\nclique y: bias, word\nclique y[-1], y\n',
    "constraint": f"{DATA}label y in bio\nclique y: bias, word\nclique y[-1], y\nforbid y is I-Y and tags = never\n",
    "wide keys": f"{DATA}label y\nclique y: bias, {' & '.join(f'word[{n}]' for n in range(-8, 9))}\nclique y[-1], y\n",
}
SUMMED = {  # criteria that are sums over sentences
    "likelihood": f"{CHAIN}train likelihood: prior = gaussian(variance = 2)\n",
    "laplace": f"{CHAIN}train likelihood: prior = laplace\n",
    "groups": f"{CHAIN}train likelihood: prior = group_lasso(strength = 0.1, groups = features)\n",
    "latent": f"{DATA}label y\nlatent z in 2\nclique y, z\nclique z: bias, word\nclique z[-1], z\ninfer exact\n"
    "train likelihood\n",
    "unknown": DATA + 'label y in {B-X, I-X, B-Y, I-Y, O} with missing = "O"\nclique y: bias, word\n'
    "clique y[-1], y\ninfer exact\ntrain likelihood\n",
    "loops": f"{DATA}label y\nclique y: bias, word\nclique y[-1], y\nclique y[-2], y\ninfer trp(tolerance = 1e-12)\n"
    "train likelihood\n",
    "mean field": f"{DATA}label y\nclique y: bias, word\nclique y[-1], y\nclique y[-2], y\n"
    "infer mean_field(tolerance = 1e-13, max_iterations = 10000)\ntrain likelihood\n",
    "runs": f"{CHAIN}runs of y up to 40\ntrain likelihood\n",
    "memm": f"{CHAIN}train memm\n",
    "sampled cases": f"{CHAIN}train memm: nota = sampled(rate = 0.4, seed = 3)\n",
    "pwpl": f"{CHAIN}train pwpl\n",
    "pl": f"{CHAIN}train pseudolikelihood\n",
    "mce": f"{CHAIN}train mce: prior = gaussian(variance = 100)\n",
    "mce of labels": f"{CHAIN}train mce: loss = label(y)\n",
    "marginal": f"{CHAIN}train marginal\n",
    "exponential": f"{CHAIN}train exponential: weight = 1\n",
    "hmsvm": f"{CHAIN}train hmsvm\n",
    "perceptron": f"{CHAIN}train perceptron\n",
}
REFUSED = {
    "hmm": f"{CHAIN}train hmm\n",
    "voters": f"{CHAIN}train perceptron: vote = yes\n",
    "induce": f"{CHAIN}train induce\n",
    "adaboost": f"{CHAIN}train adaboost\n",
    "blocks of a dual": f"{CHAIN}train hmsvm: optimizer = bcfw\n",
    "margins of latent states": f"{DATA}label y\nlatent z in 2\nclique y, z\nclique z: bias, word\ninfer exact\n"
    "train hmsvm\n",
    "sgd": f"{CHAIN}train likelihood: optimizer = sgd\n",
    "f-score": f"{CHAIN}train mce: loss = fscore(y)\n",
    "chosen": f"{CHAIN}train pwpl: nota = above(after = 3)\n",
    "rescale": f"{CHAIN}train likelihood as ml\ntrain rescale after ml\n",
}


def written(folder: Path, *, count: int = 60, seed: int = 3, name: str = "data.txt") -> Path:
    """A file of random sentences with segments X and Y, which words tell."""
    draw, lines = random.Random(seed), list[str]()
    for _ in range(count):
        before = "O"
        for _ in range(draw.randint(1, 9)):
            kind = draw.choice("XYO")
            label = "O" if kind == "O" else f"I-{kind}" if before[-1] == kind else f"B-{kind}"
            word = draw.choice(kind + "aé") + str(draw.randint(0, 9 if draw.random() < 0.8 else 500))
            tags = "|".join(draw.sample("pqrst", draw.randint(1, 3))).replace("|", ",")
            lines.append(f"{word} {tags} {draw.randint(-3, 3) / 2} {label}")
            before = label
        lines.append("")
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def parted(path: Path, resolved: Resolved, folder: Path, tokens: int = 50, **where: Any) -> CorpusParts:
    return open_parts(path, resolved, cache=folder / "cache", part_tokens=tokens, **where)


def untrained(resolved: Resolved, parts: CorpusParts, registered: dict[str, RegisteredFeature] | None = None):
    spec = resolved.require(unchecked=True)
    return untrained_on_parts(spec, parts, resolved.directories, registered or {}, Workers(1))


def in_memory(resolved: Resolved, path: Path) -> tuple[TrainedModel, object]:
    from dcrfdsl.training.pipeline import TrainingRequest, _begun

    spec = resolved.require(unchecked=True)
    corpus = read_corpus(path, spec.data)
    return _begun(resolved, spec, corpus, TrainingRequest(), Workers(1))


@pytest.mark.parametrize("case", LEARNED)
def test_states_features_and_weights_are_those_of_the_whole_corpus(case: str, tmp_path: Path) -> None:
    resolved, path = load_text(LEARNED[case]), written(tmp_path)
    whole, _ = in_memory(resolved, path)
    parts = parted(path, resolved, tmp_path)
    assert len(parts.parts) > 4
    for _ in range(2):  # learned, then from the cache
        model, _ = untrained(resolved, parts)
        assert model.states == whole.states
        assert model.extractor.metadata() == whole.extractor.metadata()
        for name, array in whole.extractor.arrays().items():
            np.testing.assert_array_equal(model.extractor.arrays()[name], array, err_msg=name)
        assert list(model.parameters.arrays()) == list(whole.parameters.arrays())
        for name, array in whole.parameters.arrays().items():
            np.testing.assert_array_equal(model.parameters.arrays()[name], array, err_msg=name)


def objectives(text: str, folder: Path, tokens: int, count: int = 60) -> tuple[Criterion, SummedCriterion]:
    """The objective on data in memory, and in parts."""
    resolved, path = load_text(text), written(folder, count=count)
    settings = stage_settings(resolved.require(unchecked=True), None)
    model, problem = in_memory(resolved, path)
    begun = replace(problem, stage=settings.criterion.method, weights=model.weights)
    _, apart = untrained(resolved, parted(path, resolved, folder, tokens))
    apart = replace(apart, stage=begun.stage, weights=model.weights)
    return CRITERIA[settings.criterion.method](begun, settings), apart.summed(settings)


@pytest.mark.parametrize("case", SUMMED)
def test_objectives_are_sums_over_parts(case: str, tmp_path: Path) -> None:
    whole, summed = objectives(SUMMED[case], tmp_path, 60)
    draw = np.random.default_rng(5)
    for scale in (0.0, 0.5, 1.0):
        weights = draw.normal(scale=scale, size=whole.num_weights)
        value, gradient = whole.value_and_gradient(weights)
        for _ in range(2):  # laid out, then from the layout
            summed_value, summed_gradient = summed.value_and_gradient(weights)
            assert summed_value == pytest.approx(value, rel=1e-9)
            tolerance = 1e-9 * max(1.0, float(np.abs(gradient).max()))
            np.testing.assert_allclose(summed_gradient, gradient, rtol=1e-9, atol=tolerance)
    if case != "loops":
        begun = whole.start(np.zeros(whole.num_weights))
        np.testing.assert_allclose(summed.start(np.zeros(whole.num_weights)), begun, rtol=1e-9, atol=1e-12)
    summed.close()


@pytest.mark.parametrize("case", REFUSED)
def test_a_criterion_that_is_no_sum_over_parts_is_refused(case: str, tmp_path: Path) -> None:
    resolved = load_text(REFUSED[case])
    with pytest.raises(DcrfError) as refused:
        fit(resolved, parted(written(tmp_path), resolved, tmp_path))
    (problem,) = refused.value.diagnostics
    assert problem.slug == "no-sum-over-parts" and problem.help


@pytest.mark.long
def test_weights_are_the_same_for_any_memory_and_threads(tmp_path: Path) -> None:
    resolved, path = load_text(SUMMED["likelihood"]), written(tmp_path)
    amounts = ((1, None), (2, "3GB"), (16, None))
    models = [fit(resolved, parted(path, resolved, tmp_path, memory=m), threads=n) for n, m in amounts]
    for model in models[1:]:
        np.testing.assert_array_equal(model.weights, models[0].weights)
    tight = replace_optimizer(SUMMED["likelihood"], "lbfgs(tolerance = 1e-9)")
    spec = tight.require(unchecked=True)
    whole, apart = fit(tight, read_corpus(path, spec.data)), fit(tight, parted(path, tight, tmp_path))
    np.testing.assert_allclose(apart.weights, whole.weights, atol=1e-5)
    assert apart.record.tokens == whole.record.tokens and apart.record.converged


def replace_optimizer(text: str, optimizer: str) -> Resolved:
    return load_text(text.replace("train likelihood:", f"train likelihood:\n    optimizer = {optimizer}\n   "))


@pytest.mark.long
def test_a_training_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    resolved, path = load_text(SUMMED["likelihood"]), written(tmp_path)
    parts, held_out = parted(path, resolved, tmp_path), read_corpus(path, resolved.require().data)
    undisturbed = fit(resolved, parts, dev=held_out)
    file, seen = tmp_path / "checkpoint", []
    fit(
        resolved, parts, dev=held_out, on_iteration=seen.append, should_stop=lambda: len(seen) == 4,
        checkpoint=Checkpoint(file),
    )  # fmt: skip
    resumed = fit(resolved, parted(path, resolved, tmp_path), dev=held_out, checkpoint=Checkpoint(file, resume=True))
    np.testing.assert_array_equal(resumed.weights, undisturbed.weights)
    other = parted(written(tmp_path, seed=4, name="other.txt"), resolved, tmp_path)
    fit(resolved, parts, on_iteration=seen.append, should_stop=lambda: len(seen) == 8, checkpoint=Checkpoint(file))
    seen.clear()
    fit(resolved, parts, on_iteration=seen.append, should_stop=lambda: len(seen) == 2, checkpoint=Checkpoint(file))
    with pytest.raises(DcrfError, match="training data"):
        fit(resolved, other, checkpoint=Checkpoint(file, resume=True))


@pytest.mark.long
def test_stages_and_starts_work_as_in_memory(tmp_path: Path) -> None:
    text = f"{CHAIN}train likelihood as ml: optimizer = lbfgs(tolerance = 1e-9)\ntrain mce after ml\n"
    resolved, path = load_text(text), written(tmp_path)
    parts, corpus = parted(path, resolved, tmp_path), read_corpus(path, resolved.require().data)
    whole, apart = fit(resolved, corpus), fit(resolved, parts)
    assert apart.record.before[0]["objective"] == pytest.approx(whole.record.before[0]["objective"], rel=1e-9)
    assert apart.record.objective == pytest.approx(whole.record.objective, rel=0.05)
    first = fit(load_text(SUMMED["likelihood"]), parts)
    again = fit(load_text(SUMMED["likelihood"]), parts, start=first)
    assert again.record.iterations < first.record.iterations / 3


def test_parts_end_with_sentences_and_are_found_again(tmp_path: Path) -> None:
    resolved, path = load_text(LEARNED["words"]), written(tmp_path)
    corpus = read_corpus(path, resolved.require(unchecked=True).data)
    parts = parted(path, resolved, tmp_path, 40)
    assert (parts.num_tokens, parts.num_sentences) == (corpus.num_tokens, corpus.num_sentences)
    first = 0
    for number, part in enumerate(parts.parts):
        expected, found = corpus.slice(first, first + part.num_sentences), parts.corpus(number)
        first += part.num_sentences
        np.testing.assert_array_equal(found.sentence_off, expected.sentence_off)
        np.testing.assert_array_equal(found.token_line, expected.token_line)
        texts = found.text_column("word")
        assert texts.values == list(expected.text_column("word").values)
        np.testing.assert_array_equal(texts.codes, expected.text_column("word").codes)
        assert part.num_tokens >= 40 or number == len(parts.parts) - 1
        assert part.num_tokens - int(found.lengths()[-1]) < 40
    times = [part.path.stat().st_mtime_ns for part in parts.parts]
    moved = path.rename(tmp_path / "renamed.txt")
    again = parted(moved, resolved, tmp_path, 40)
    assert [part.path.stat().st_mtime_ns for part in again.parts] == times
    assert again.sha256 == parts.sha256
    moved.write_text(moved.read_text(encoding="utf-8") + "new p 0 O\n", encoding="utf-8")
    assert parted(moved, resolved, tmp_path, 40).sha256 != parts.sha256


def test_a_folder_and_several_files_are_one_corpus(tmp_path: Path) -> None:
    resolved, folder = load_text(LEARNED["words"]), tmp_path / "data"
    folder.mkdir()
    one, two = (written(folder, count=9, seed=seed, name=f"{seed}.txt") for seed in (1, 2))
    (folder / ".hidden").write_text("no data")
    whole = open_parts(folder, resolved)
    assert whole.num_sentences == 18 and open_parts([one, two], resolved).sha256 == whole.sha256
    assert "1.txt" in whole.file
    place = whole.cache
    assert place.is_dir()
    del whole
    assert not place.exists()  # it was temporary


def test_wrong_gold_labels_name_their_line(tmp_path: Path) -> None:
    resolved, path = load_text(f"{CHAIN}train likelihood\n"), written(tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[201] = "odd p 0 STRANGE" if lines[201] else lines[201]
    lines[200] = lines[200] and "odd p 0 STRANGE"
    line = 201 if lines[200] else 202
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DcrfError) as wrong:
        fit(resolved, parted(path, resolved, tmp_path))
    assert wrong.value.diagnostics[0].slug == "not-a-segment"
    assert str(line) in str(wrong.value)


def test_too_little_memory_is_an_error_and_amounts_are_read(tmp_path: Path) -> None:
    assert parse_memory("2GB") == 2 * 10**9 and parse_memory("1.5GiB") == 3 << 29 and parse_memory("500m") == 5 * 10**8
    for text in ("2 apples", "12", ""):
        with pytest.raises(DcrfError):
            parse_memory(text)
    resolved = load_text(SUMMED["likelihood"])
    with pytest.raises(DcrfError, match=r"allows 0\.10 GB"):
        fit(resolved, parted(written(tmp_path), resolved, tmp_path, memory="101MB"))


def test_a_tree_adds_in_the_same_order_however_the_work_is_shared() -> None:
    for count in range(1, 20):
        shown = InTurn(1).total(lambda _, n, __: str(n), None, count, None, lambda a, b: f"({a}+{b})")
        level = [str(n) for n in range(count)]
        while len(level) > 1:
            pairs = [f"({a}+{b})" for a, b in zip(level[::2], level[1::2], strict=False)]
            level = [*pairs, *level[2 * len(pairs) :]]
        assert shown == level[0]
    assert InTurn(8, 3).total(lambda _, n, __: str(n), None, 7, None, lambda a, b: f"({a}+{b})") == (
        "(((0+1)+(2+3))+((4+5)+6))"
    )
    assert joined(max, 1, [(0, 1, 3)]) == [(0, 1, 3)]


def test_sums_of_some_parts_join_to_the_tree_of_all() -> None:
    draw = random.Random(3)

    def add(a: str, b: str) -> str:
        return f"({a}+{b})"

    for count in (*range(1, 20), 77, 128):
        whole = InTurn(1).total(lambda _, n, __: str(n), None, count, None, add)
        for shares in (1, 2, 3, 7):
            owner = [draw.randrange(shares) for _ in range(count)]
            owners = owner if draw.random() < 0.5 else sorted(owner)
            found = [
                joined(add, count, ((n, n + 1, str(n)) for n in range(count) if owners[n] == share))
                for share in range(shares)
            ]
            assert joined(add, count, sorted(chain(*found))) == [(0, count, whole)]


def test_weighted_bags_vectors_and_own_functions_are_learned_from_parts(tmp_path: Path) -> None:
    draw = random.Random(8)
    lines = []
    for _ in range(60):
        for _ in range(draw.randint(1, 6)):
            bag = "\t".join(f"f{n}:{draw.randint(1, 4) / 2}" for n in draw.sample(range(30), draw.randint(1, 4)))
            lines.append(f"{draw.choice('PQ')}\t{bag}")
        lines.append("")
    (tmp_path / "bags.txt").write_text("\n".join(lines) + "\n")
    bags = load_text("data crfsuite(y, x: weighted_bag)\nlabel y\nclique y: bias, x, x[-1]\nclique y[-1], y\n")
    rows = [
        f"{line.split()[0]} {draw.random():.3f},{draw.random():.3f} w{draw.randint(0, 9)}" if line else ""
        for line in lines
    ]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n")
    vectors = load_text(
        "data conll(y, v: vector(2), word)\nlabel y\nclique y: bias, v, ending(word)\nclique y[-1], y\n"
    )
    own = {"ending": feature(ending)}
    for resolved, path, registered in ((bags, "bags.txt", {}), (vectors, "vectors.txt", own)):
        spec = resolved.require(unchecked=True)
        whole = assemble(spec, read_corpus(tmp_path / path, spec.data), resolved.directories, registered)
        weights, _ = whole.learn_parameters()
        model, _ = untrained(resolved, parted(tmp_path / path, resolved, tmp_path, 30), registered)
        for name, array in whole.extractor.arrays().items():
            np.testing.assert_array_equal(model.extractor.arrays()[name], array, err_msg=name)
        for name, array in weights.arrays().items():
            np.testing.assert_array_equal(model.parameters.arrays()[name], array, err_msg=name)


def ending(word: str) -> str:
    return word[-1]
