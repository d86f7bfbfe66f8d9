"""Benchmarks: one pass of a chain and of a factorial model, extraction, tagging, loading. Run by name:

    python -m pytest tests/benchmarks

Each works on CoNLL-2000 where it lies beside the repository, else on generated sentences of the same shape, and prints
its rate; python-crfsuite, where installed, is timed in the same run as the peer of a chain's pass.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dcrfdsl.criteria import Likelihood
from dcrfdsl.data import corpus_from_rows, read_corpus
from dcrfdsl.data.labels import encode_labels
from dcrfdsl.given import gold_of as full_gold
from dcrfdsl.graph import learn_parameters
from dcrfdsl.inference import METHODS, Binder, Workers
from dcrfdsl.model import TrainedModel
from dcrfdsl.spec.resolve import load_text
from dcrfdsl.spec.settings import ExactSettings, TrpSettings
from dcrfdsl.training import fit

TRAIN = Path(__file__).parents[2].parent / "shared" / "data" / "conll2000" / "train.txt"
SMOKE = bool(os.environ.get("CI"))  # a short round: a slice of the data is enough to see that everything runs
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
WINDOW = """
features window:
    word[-2..2]
    word[-1] & word, word & word[1]
    pos[-2..2]
    pos[-2] & pos[-1], pos[-1] & pos, pos & pos[1], pos[1] & pos[2]
    pos[-2] & pos[-1] & pos, pos[-1] & pos & pos[1], pos & pos[1] & pos[2]
"""
CHAIN = f"""
data conll(word, pos, chunk)
label chunk
{WINDOW}
clique chunk with states = seen: window
clique chunk[-1], chunk with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5), optimizer = lbfgs(max_iterations = 2)
"""
FACTORIAL = """
data conll(word, pos, chunk)
label pos
label chunk in {B-NP, I-NP, O} with others = O
features q: word, word matches /[A-Z][a-z]+/, word matches /[A-Z]+/, word matches /.*[0-9].*/
clique pos: bias, q[-3..3]
clique chunk: bias, q[-3..3]
clique pos[-1], pos
clique chunk[-1], chunk
clique pos, chunk
infer exact
train likelihood: optimizer = lbfgs(max_iterations = 2)
"""
LONG = """
data conll(word, y)
label y
clique y: bias, word
clique y[-1], y
infer exact
train likelihood: optimizer = lbfgs(max_iterations = 2)
"""
LONG_LENGTH = 20_000 if SMOKE else 1_000_000  # positions; short sentences have hundreds at most
LONG_BYTES = 1000  # a position, the marginals of 20 states included


def rows():
    """Sentences of (word, pos, chunk)."""
    if TRAIN.exists():
        blocks = TRAIN.read_text().strip().split("\n\n")
        return [[tuple(line.split()) for line in block.split("\n")] for block in blocks[: 300 if SMOKE else None]]
    generator = np.random.default_rng(0)
    tags = ["B-NP", "I-NP", "O", "B-VP"]
    return [
        [
            (f"w{generator.zipf(1.5) % 5000}", f"P{generator.integers(40)}", tags[generator.integers(4)])
            for _ in range(24)
        ]
        for _ in range(300 if SMOKE else 4000)
    ]


@pytest.fixture(scope="module")
def data():
    return rows()


@pytest.fixture(scope="module")
def models(data):
    out = {}
    for name, text in {"chain": CHAIN, "factorial": FACTORIAL}.items():
        resolved = load_text(text)
        corpus = corpus_from_rows(data, resolved.require().data)
        out[name] = (fit(resolved, corpus), corpus)
    return out


def objective(model, corpus, settings, threads):
    entry = METHODS[settings.method]
    features = model.extractor.extract(corpus)
    gold = full_gold(model.spec, model.states, model.extractor, corpus, encode_labels(model.spec, model.states, corpus))
    counts = [s.num_features for s in model.extractor.sets]
    parameters, empirical = learn_parameters(
        model.spec.cliques, model.graph, features, counts, gold, corpus.sentence_off
    )
    bound = Binder(model.graph, parameters, programs=entry.programs).bind(features, corpus.sentence_off)
    precision = np.full(parameters.num_weights, 0.2)
    return Likelihood(bound, entry.build(bound, settings), empirical, precision, Workers(threads))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "settings"),
    [("chain", ExactSettings()), ("factorial", ExactSettings()), ("factorial", TrpSettings())],
    ids=["chain exact", "factorial exact", "factorial trp"],
)
def test_objective_and_gradient(benchmark, models, name, settings, threads):
    model, corpus = models[name]
    target = objective(model, corpus, settings, threads)
    value, _ = benchmark(target.value_and_gradient, model.weights)
    benchmark.extra_info["tokens"] = corpus.num_tokens
    assert np.isfinite(value)


def test_crfsuite_peer(benchmark, data, tmp_path):
    """The peer of "chain exact": seconds an L-BFGS iteration of python-crfsuite on the same features."""
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is in the extra `bench`")
    templates = (
        [[(o, 0)] for o in range(-2, 3)] + [[(-1, 0), (0, 0)], [(0, 0), (1, 0)]] + [[(o, 1)] for o in range(-2, 3)]
    )
    templates += [[(o, 1), (o + 1, 1)] for o in range(-2, 2)] + [[(o, 1), (o + 1, 1), (o + 2, 1)] for o in range(-2, 1)]
    trainer = pycrfsuite.Trainer(verbose=False)

    def value(sentence, i, column):
        if i < 0:
            return f"<{i}>"
        return f"<+{i - len(sentence) + 1}>" if i >= len(sentence) else sentence[i][column]

    for sentence in data:
        features = [
            [f"{k}=" + "|".join(value(sentence, t + o, c) for o, c in template) for k, template in enumerate(templates)]
            for t in range(len(sentence))
        ]
        trainer.append(features, [row[2] for row in sentence])
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0, "c2": 0.1, "max_iterations": 8, "epsilon": 1e-12, "delta": 0})
    benchmark.pedantic(trainer.train, args=(str(tmp_path / "peer"),), rounds=1)
    times = [float(step["time"]) for step in trainer.logparser.iterations]
    benchmark.extra_info["seconds_an_iteration"] = statistics.median(times)
    assert times


def test_extraction(benchmark, models):
    model, corpus = models["chain"]
    rows_of = benchmark(model.extractor.extract, corpus)
    benchmark.extra_info["tokens"] = corpus.num_tokens
    assert len(rows_of[0].row_off) == corpus.num_tokens + 1


def test_reading(benchmark, data, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("\n\n".join("\n".join(" ".join(row) for row in sentence) for sentence in data) + "\n")
    spec = load_text(CHAIN).require()
    corpus = benchmark(read_corpus, path, spec.data)
    benchmark.extra_info["tokens"] = corpus.num_tokens
    assert corpus.num_sentences == len(data)


def test_tagging(benchmark, models):
    model, corpus = models["chain"]
    prediction = benchmark(model.predict, corpus)
    benchmark.extra_info["tokens"] = corpus.num_tokens
    assert len(prediction.codes["chunk"]) == corpus.num_tokens


LONG_RUN = """
import resource, sys, time
import numpy as np
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.spec.resolve import load_text
from dcrfdsl.training import fit
text, length, task = sys.argv[1], int(sys.argv[2]), sys.argv[3]
resolved = load_text(text)
draw = np.random.default_rng(0).integers
sentences = [[(f"w{draw(50)}", f"L{draw(20)}") for _ in range(50)] for _ in range(40)]
small = corpus_from_rows(sentences, resolved.require().data)
model = fit(resolved, small)
run = getattr(model, task)
run(small)  # compiles
one = corpus_from_rows([[(f"w{i % 50}", f"L{i % 20}") for i in range(length)]], resolved.require().data)
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
run(one)
seconds = time.perf_counter() - start
print(seconds, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.parametrize("task", ["predict", "marginals"])
def test_one_long_sequence(benchmark, task):
    """A chain of 20 states in a fresh process: seconds, and bytes beyond what the loaded data takes."""
    command = [sys.executable, "-c", LONG_RUN, LONG, str(LONG_LENGTH), task]
    done = benchmark.pedantic(
        lambda: subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=True), rounds=1
    )
    seconds, size = (float(word) for word in done.stdout.split())
    benchmark.extra_info.update(tokens=LONG_LENGTH, seconds=seconds, bytes=size)
    assert size < LONG_BYTES * LONG_LENGTH + 2**25


@pytest.mark.parametrize("arguments", [["--help"], ["check", "chunk.dcrf"]], ids=["help", "check"])
def test_cold_start(benchmark, arguments, tmp_path):
    """A command from a cold process: 0.4 s is the target."""
    (tmp_path / "chunk.dcrf").write_text(CHAIN)
    command = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", *arguments]
    done = benchmark.pedantic(
        lambda: subprocess.run(command, cwd=tmp_path, capture_output=True, env=ENVIRONMENT), rounds=5
    )
    assert done.returncode == 0


def test_loading(benchmark, models, tmp_path):
    model, _ = models["chain"]
    path = tmp_path / "chain.model"
    model.save(path)
    loaded = benchmark(TrainedModel.load, path)
    assert np.array_equal(loaded.weights, model.weights)
