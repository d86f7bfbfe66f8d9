"""A model as an object of a program: copies, pickles, other processes, many threads, forks, bounded memory."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import os
import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_cases import trained
from template_cases import CASES

from dcrfdsl import DcrfError, RegisteredFeature, TrainedModel, corpus_from_rows, fit, load, load_text
from dcrfdsl.inference.bound import binding

WORDS = "abcdefgh"


@functools.cache
def model_of(name: str) -> TrainedModel:
    return trained(CASES[name], seed=1)[0]


def random_sentences(count: int, longest: int = 12, words: str = WORDS, seed: int = 0) -> list[list[str]]:
    draw = np.random.default_rng(seed)
    return [[words[k] for k in draw.integers(len(words), size=draw.integers(1, longest + 1))] for _ in range(count)]


def ends(word: str, count: int) -> str:
    return word[-count:]


REGISTERED = {"ends": RegisteredFeature("ends", ends)}


@functools.cache
def own_feature_model() -> TrainedModel:
    spec = load_text("data conll(word, y)\nlabel y in {P, Q}\nclique y: bias, ends(word, 1)\nclique y[-1], y")
    rows = [[("aa", "P"), ("ab", "Q")], [("ba", "P")], [("bb", "Q"), ("cb", "Q")]]
    return fit(spec, corpus_from_rows(rows, spec.require().data), registered=REGISTERED)


# copies and pickles -------------------------------------------------------------------------------------------------


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, protocol=0)),
    "pickle of a copy": lambda model: pickle.loads(pickle.dumps(copy.deepcopy(model))),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain", "segments"])
def test_a_copy_says_the_same(name: str, way: str) -> None:
    model, sentences = model_of(name), random_sentences(6)
    before = [model.tag(sentence) for sentence in sentences]
    other = COPIES[way](model)
    assert type(other) is TrainedModel and other.spec == model.spec and other.record == model.record
    assert [other.tag(sentence) for sentence in sentences] == before
    assert other.marginals(sentences[0]) == model.marginals(sentences[0])
    assert np.array_equal(other.weights, model.weights)


def test_only_a_deep_copy_and_a_pickle_have_weights_of_their_own() -> None:
    model = model_of("chain")
    shares = {way: np.shares_memory(make(model).weights, model.weights) for way, make in COPIES.items()}
    assert shares == {way: way == "copy" for way in COPIES}


def test_a_pickle_holds_no_caches(tmp_path: Path) -> None:
    model = copy.deepcopy(model_of("skip chain"))
    model.save(tmp_path / "model")
    fresh = len(pickle.dumps(model))
    model.tag_all(random_sentences(50))
    assert len(pickle.dumps(model)) == fresh < 1.1 * (tmp_path / "model").stat().st_size + 500


def test_feature_functions_go_along_if_they_can_be_found_again() -> None:
    model = own_feature_model()
    assert pickle.loads(pickle.dumps(model)).tag(["xa", "xb"]) == model.tag(["xa", "xb"]) == ["P", "Q"]
    anonymous = {"ends": RegisteredFeature("ends", lambda word, count: word[-count:])}
    unknown = replace(model, extractor=_with_functions(model, anonymous))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(unknown)
    assert copy.deepcopy(unknown).tag(["xa"]) == ["P"]


def _with_functions(model: TrainedModel, registered: dict[str, RegisteredFeature]) -> Any:
    extractor = model.extractor
    return type(extractor).restore(model.spec, extractor.arrays(), extractor.metadata(), registered=registered)


def test_a_damaged_pickle_is_one_clear_error() -> None:
    rebuild, (content, registered) = model_of("chain").__reduce__()
    for damaged in (b"", content[:100], content[:-8], content[:-1] + bytes([content[-1] ^ 1]), b"no model" * 20):
        with pytest.raises(DcrfError, match="<pickle>"):
            rebuild(damaged, registered)


@pytest.mark.long
def test_a_spawned_process_gets_the_model() -> None:
    model, sentences = own_feature_model(), [["xa", "xb"], ["b"]]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(model.tag_all, sentences).result(300) == model.tag_all(sentences)


def test_joblib_stores_it(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    joblib.dump(model_of("chain"), tmp_path / "model.joblib", compress=3)
    assert joblib.load(tmp_path / "model.joblib").tag(["a", "b"]) == model_of("chain").tag(["a", "b"])


# threads ------------------------------------------------------------------------------------------------------------


def tagged_by_threads(model: TrainedModel, sentences: Sequence[list[str]], threads: int) -> list[Any]:
    """Every thread tags each sentence, beginning at another one; the answers of all must agree."""
    begin = threading.Barrier(threads, timeout=60)

    def work(turn: int) -> list[Any]:
        begin.wait()
        start = turn * len(sentences) // threads
        answers = [model.tag(sentence) for sentence in (*sentences[start:], *sentences[:start])]
        return [*answers[len(sentences) - start :], *answers[: len(sentences) - start]]

    with ThreadPoolExecutor(threads) as pool:
        first, *others = pool.map(work, range(threads))
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("name", ["chain", "factorial", "skip chain", "second order"])
def test_eight_threads_say_what_one_says(name: str) -> None:
    sentences = random_sentences(30, words="abcxyz")
    expected = [model_of(name).tag(sentence) for sentence in sentences]
    cold = copy.deepcopy(model_of(name))
    assert tagged_by_threads(cold, sentences, 8) == expected


@pytest.mark.long
def test_threads_share_a_model_while_its_caches_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "MOST_VARIABLES", 40)
    monkeypatch.setattr(binding, "MOST_ALONE", 3)
    sentences = random_sentences(40, words="abcxyz", seed=4)
    expected = [model_of("factorial").tag(sentence) for sentence in sentences]
    assert tagged_by_threads(copy.deepcopy(model_of("factorial")), sentences, 6) == expected


@pytest.mark.long
def test_eight_threads_tag_ten_thousand_sentences() -> None:
    model, sentences = model_of("chain"), random_sentences(10_000, words="abcdexyz")
    with ThreadPoolExecutor(8) as pool:
        by_eight = list(pool.map(copy.deepcopy(model).tag, sentences, chunksize=50))
    assert by_eight == model.tag_all(sentences, threads=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_forked_in_the_middle_goes_on() -> None:
    """While other threads tag, with threads of the pool too."""
    model, sentences = copy.deepcopy(model_of("factorial")), random_sentences(40)
    expected = model.tag_all(sentences, threads=4)
    corpus = corpus_from_rows([[(word,) for word in one] for one in sentences], model.spec.data, optional=model.labels)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            model.predict(corpus, threads=3)
            model.tag(sentences[0])

    others = [threading.Thread(target=busy) for _ in range(2)]
    for thread in others:
        thread.start()
    try:
        for _ in range(4):
            child = os.fork()
            if child == 0:
                right = model.tag_all(sentences, threads=3) == expected and model.tag(sentences[1]) == expected[1]
                os._exit(0 if right else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in others:
            thread.join()


# memory -------------------------------------------------------------------------------------------------------------


def kept_variables(model: TrainedModel) -> int:
    return sum(binder.kept.num_variables for binder in model.structure._binders.values())


@pytest.mark.long
@pytest.mark.parametrize("ask", ["tag", "nbest", "predict", "tag_all"])
def test_the_graphs_that_are_kept_are_bounded(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With joined pairs nearly every sentence has a graph of its own."""
    monkeypatch.setattr(binding, "MOST_VARIABLES", 200)
    model, sentences = copy.deepcopy(model_of("skip chain")), random_sentences(60, words="ab", seed=2)
    most = 0
    for n, sentence in enumerate(sentences):
        rows = [[(word,) for word in one] for one in (sentence, sentences[n - 1])]
        match ask:
            case "tag":
                model.tag(sentence)
            case "nbest":
                model.nbest(sentence, 2)
            case "predict":
                model.predict(corpus_from_rows(rows, model.spec.data, optional=model.labels), threads=1)
            case "tag_all":
                model.tag_all([sentence, sentences[n - 1]], threads=1)
        most = max(most, kept_variables(model))
    assert 0 < most <= 2 * 200 or (ask in ("predict", "tag_all") and most == 0)


def test_a_shape_that_comes_again_is_kept_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "MOST_ALONE", 2)
    kept = binding.ShapeCache(model_of("chain").graph, programs=True, latents_first=False)
    banks = [kept.bank([(length, ())])[0] for length in (3, 4, 3, 5, 3, 4)]
    assert banks[0] is banks[2] is banks[4]
    assert banks[5] is not banks[1]  # 4 was forgotten for 5


def test_a_bank_in_use_never_changes() -> None:
    kept = binding.ShapeCache(model_of("factorial").graph, programs=True, latents_first=False)
    first, numbers = kept.bank([(3, ()), (5, ())])
    arrays = first.program_arrays()
    second, more = kept.bank([(5, ()), (4, ()), (3, ())])
    assert numbers.tolist() == [0, 1] and more.tolist() == [1, 2, 0]
    assert len(first.shapes) == 2 and first.program_arrays() is arrays and len(second.shapes) == 3
    assert kept.bank([(3, ()), (4, ())])[0] is second


def test_a_sentence_longer_than_all_that_is_kept_is_tagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "MOST_VARIABLES", 5)
    model = copy.deepcopy(model_of("factorial"))
    assert model.tag(["a"] * 30) == model_of("factorial").tag(["a"] * 30) and kept_variables(model) <= 5


def test_a_model_from_a_file_is_the_same_object(tmp_path: Path) -> None:
    model = model_of("chain")
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").tag(list("abc")) == model.tag(list("abc"))
