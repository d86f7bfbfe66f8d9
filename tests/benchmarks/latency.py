"""One sentence at a time, as a program asks: latency beside python-crfsuite, and throughput by threads.

Both sides get the words and parts of speech of a sentence of 20 tokens and return its labels: python-crfsuite's
features are made by a function like that of its tutorial. Not here: files (`commands`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import peers
from figures import Figure, Skip, at_most
from work import CHUNKING, SMOKE, conll2000, resolved_of, work_folder

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.inference.bound import chain_runs
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.training.pipeline import fit

LENGTH = 20  # tokens
TRAINED_ON = 400  # sentences
THREADS = (1, 2, 8)

Sentence = list[tuple[str, str]]


def sentences_of(part: str) -> list[list[tuple[str, ...]]]:
    return [[tuple(line.split()) for line in block.split("\n")] for block in conll2000(part).strip().split("\n\n")]


def latency() -> Iterator[Figure]:
    """One sentence of 20 tokens at a time, beside python-crfsuite; throughput with 1, 2 and 8 threads."""
    resolved = resolved_of(CHUNKING)
    training = sentences_of("train")[:TRAINED_ON]
    model = fit(resolved, corpus_from_rows(training, resolved.require().data))
    asked: list[Sentence] = [
        [(word, pos) for word, pos, _ in one] for one in sentences_of("test") if len(one) == LENGTH
    ]
    asked = asked[:50] or [[(word, pos) for word, pos, _ in one] for one in training][:5]
    try:
        tagger = _crfsuite(training)
    except Skip as reason:
        other: float | str = str(reason)
        alone: float | str = str(reason)
    else:
        features = [_features(one) for one in asked]
        other = _median(lambda one: tagger.tag(_features(one)), asked)
        alone = _median(tagger.tag, features)
    tag, kernel = _median(model.tag, asked), _kernel_seconds(model, asked)
    yield Figure(
        "tag, one sentence", tag, "s", "both: words and parts of speech to labels, features included", at_most(2e-4),
        other,
    )  # fmt: skip
    yield Figure(
        "tag, beside decoding alone", tag, "s", "ours as above; CRFsuite: the features at hand as lists of texts", None,
        alone,
    )  # fmt: skip
    work = f"the kernel itself takes {1e6 * kernel:.0f} µs of it"
    yield Figure("tag, without its kernel", tag - kernel, "s", work, at_most(2e-4))
    yield Figure("marginals, one sentence", _median(model.marginals, asked), "s", "all probabilities as dicts")
    three = _median(lambda one: model.nbest(one, 3, threads=1), asked)
    yield Figure("nbest, one sentence", three, "s", "the three best labellings")
    for threads in THREADS:
        yield Figure(
            f"tag, {threads} thread{'s' * (threads > 1)}", _rate(model, asked * (2 if SMOKE else 40), threads),
            "sentences/s", "one model, a call a sentence",
        )  # fmt: skip


def _median(ask: Callable[[Any], Any], asked: Sequence[Any]) -> float:
    """Seconds of a call, warm: the median over the sentences and rounds."""
    for one in asked:
        ask(one)
    taken = []
    for one in asked * (1 if SMOKE else 10):
        start = time.perf_counter()
        ask(one)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _kernel_seconds(model: TrainedModel, asked: Sequence[Sentence]) -> float:
    """Seconds of the kernel that decodes, called as `tag` calls it."""
    taken: list[float] = []
    kernel = chain_runs.kernels.chain_decode

    def timed(*arguments: Any) -> None:
        start = time.perf_counter()
        kernel(*arguments)
        taken.append(time.perf_counter() - start)

    chain_runs.kernels.chain_decode = timed
    try:
        for one in asked * (1 if SMOKE else 10):
            model.tag(one)
    finally:
        chain_runs.kernels.chain_decode = kernel
    return statistics.median(taken)


def _rate(model: TrainedModel, asked: Sequence[Sentence], threads: int) -> float:
    """Sentences per second with so many threads."""
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        for _ in pool.map(model.tag, asked, chunksize=50):
            pass
        return len(asked) / (time.perf_counter() - start)


def _crfsuite(training: Sequence[Sequence[tuple[str, ...]]]) -> Any:
    """CRFsuite's tagger with the same features, trained on the same sentences."""
    pycrfsuite = peers.peer("pycrfsuite", "python-crfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for one in training:
        trainer.append(_features([(word, pos) for word, pos, _ in one]), [label for _, _, label in one])
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0, "c2": peers.C2, "max_iterations": 50})
    path = str(work_folder() / "latency.crfsuite")
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return tagger


def _features(sentence: Sentence) -> list[list[str]]:
    """The 19 features of each token."""

    def at(column: int, t: int) -> str:
        if 0 <= t < len(sentence):
            return sentence[t][column]
        return f"_{t if t < 0 else t - len(sentence) + 1}"

    rows = []
    for t in range(len(sentence)):
        words, tags = ([at(column, t + offset) for offset in range(-2, 3)] for column in (0, 1))
        row = [f"w{n}={word}" for n, word in enumerate(words)] + [f"p{n}={tag}" for n, tag in enumerate(tags)]
        row += [f"w{n}{n + 1}={words[n]}|{words[n + 1]}" for n in (1, 2)]
        row += [f"p{n}{n + 1}={tags[n]}|{tags[n + 1]}" for n in range(4)]
        row += [f"p{n}{n + 2}={tags[n]}|{tags[n + 1]}|{tags[n + 2]}" for n in range(3)]
        rows.append(row)
    return rows
